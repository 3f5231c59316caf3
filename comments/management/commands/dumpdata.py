"""Django's dumpdata command, which can't dump comments, because they are not stored as rows."""

from typing import Any

from django.core.management import CommandError
from django.core.management.commands import dumpdata

from marginalia.mongo.management.base import MongoCommand
from marginalia.mongo.servers import describe_outage, is_outage


class Command(MongoCommand, dumpdata.Command):
    """Django's dumpdata command, except that it never dumps comments."""

    def handle(self, *app_labels: str, **options: Any) -> None:
        """Dump the requested models, or all models except those of the comments app.

        Raises:
            CommandError: The user explicitly requested models of the comments app.
        """
        if any(label.partition(".")[0] == "marginalia_comments" for label in app_labels):
            raise CommandError("dumpdata doesn't support comments. Use export_comments.")
        if not app_labels:
            options["exclude"] = [*options["exclude"], "marginalia_comments"]
        try:
            super().handle(*app_labels, **options)
        except CommandError as error:
            # During an outage, Django's own message would not mention the cause.
            if is_outage(error):
                raise CommandError(describe_outage(error)) from error
            raise
