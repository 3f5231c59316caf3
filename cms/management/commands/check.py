"""`manage.py check`: run Django's checks. With options, also check the database.

With --deploy, the command checks MongoDB's write concern. With --database, it lists the commands that still have to be
run after an upgrade.
"""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management import CommandError
from django.core.management.commands import check

from marginalia.mongo import indexes
from marginalia.mongo.doctor.findings import examine
from marginalia.mongo.doctor.settings import pending_migrations
from marginalia.mongo.management.base import COULD_NOT_RUN, problems_error
from marginalia.mongo.servers import unmet_write_concern
from nodes.doctor import versions


class Command(check.Command):
    """Django's check command, with checks of the database's write concern and of its state after an upgrade."""

    def handle(self, *app_labels: str, **options: Any) -> None:
        super().handle(*app_labels, **options)
        if options["deploy"] and (reason := unmet_write_concern(settings.DATABASES["default"])):
            raise CommandError(reason, returncode=COULD_NOT_RUN)
        if options["databases"]:
            try:
                steps = list(_upgrade_steps())
            except indexes.FormerFormat as error:
                raise CommandError(str(error), returncode=COULD_NOT_RUN) from error
            if steps:
                raise problems_error("\n".join(["The database isn't up to date:", *(f"- {step}" for step in steps)]))


def _upgrade_steps() -> Iterator[str]:
    """Yield a line for each command that still has to be run after an upgrade, in the order in which to run them.

    Raises:
        FormerFormat: This release can't read the stored documents.
    """
    if migrations := examine(checks=[pending_migrations]):
        yield f"Unapplied migrations: {len(migrations)}. Run manage.py migrate."
    if changes := [change for change in indexes.plan() if not change.optional]:
        yield f"Missing or different indexes, validators and collections: {len(changes)}. Run manage.py setup_indexes."
    for finding in examine(checks=[versions]):
        yield f"{finding.message} {finding.fix}"
