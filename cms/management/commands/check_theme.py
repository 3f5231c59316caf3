"""`manage.py check_theme`: report parts of a theme that no longer fit the site."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from cms.management import themes
from marginalia.mongo.management.base import COULD_NOT_RUN, MongoCommand, problems_error


class Command(MongoCommand):
    help = (
        "Name what the theme folder (THEME) overrides or uses that the site does not have (any more): templates, blocks, static"
        " files, custom properties. Ends with 1 if there is any, with 2 if there is no theme."
    )
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.THEME_DIR.is_dir():
            raise CommandError(f"There is no theme: {settings.THEME_DIR}.", returncode=COULD_NOT_RUN)
        faults = list(themes.find_faults(settings.THEME_DIR))
        for fault in faults:
            self.stdout.write(fault)
        if faults:
            raise problems_error(f"{len(faults)} faults in {settings.THEME_DIR}.")
        self.stdout.write(f"{settings.THEME_DIR}: nothing is wrong.")
