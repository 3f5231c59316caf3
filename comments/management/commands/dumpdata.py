"""Django's dumpdata command, without comments. Comments can't be dumped, because they are not stored as rows."""

from typing import Any

from django.core.management import CommandError
from django.core.management.commands import dumpdata

from marginalia.mongo.management.base import MongoCommand
from marginalia.mongo.servers import describe_outage, is_outage


class Command(MongoCommand, dumpdata.Command):
    """Django's dumpdata command, except that the command fails if it is asked to dump comments."""

    def handle(self, *app_labels: str, **options: Any) -> None:
        """Dump everything except comments.

        Raises:
            CommandError: The requested models include comments.
        """
        if any(label.partition(".")[0] == "marginalia_comments" for label in app_labels):
            raise CommandError("dumpdata doesn't support comments. Use export_comments.")
        if not app_labels:
            options["exclude"] = [*options["exclude"], "marginalia_comments"]
        try:
            super().handle(*app_labels, **options)
        except CommandError as error:
            # Django's own message doesn't mention the cause.
            if is_outage(error):
                raise CommandError(describe_outage(error)) from error
            raise
