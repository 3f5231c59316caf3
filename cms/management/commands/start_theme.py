"""`manage.py start_theme`: create a theme folder with a template and a style sheet."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from cms.management import themes
from marginalia.mongo.management.base import COULD_NOT_RUN, MongoCommand


class Command(MongoCommand):
    help = (
        "Make a theme folder (THEME) with a template and a style sheet to begin with. Nothing that is there is changed."
    )
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            files = themes.create(settings.THEME_DIR)
        except OSError as error:
            raise CommandError(f"No theme was made: {error}.", returncode=COULD_NOT_RUN) from error
        for name in files:
            self.stdout.write(f"  {settings.THEME_DIR / name}")
        self.stdout.write(f"{len(files)} files made. Start the site again to see them.")
