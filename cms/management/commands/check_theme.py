"""`manage.py check_theme`: report parts of a theme that no longer work with the site."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from cms.management import themes
from marginalia.mongo.management.base import COULD_NOT_RUN, MongoCommand, problems_error


class Command(MongoCommand):
    help = (
        "Check whether the theme folder (THEME) contains templates, blocks, static files or custom properties that "
        "the site doesn't have. The command exits with code 1 if the theme has problems, and with code 2 if there is "
        "no theme."
    )
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.THEME_DIR.is_dir():
            raise CommandError(
                f"The theme folder {settings.THEME_DIR} doesn't exist. Run manage.py start_theme to create it.",
                returncode=COULD_NOT_RUN,
            )
        faults = list(themes.find_faults(settings.THEME_DIR))
        for fault in faults:
            self.stdout.write(fault)
        if faults:
            raise problems_error(f"Problems in {settings.THEME_DIR}: {len(faults)}.")
        self.stdout.write(f"{settings.THEME_DIR} has no problems.")
