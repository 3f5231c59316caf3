"""`manage.py start_theme`: create a theme folder that contains a template and a style sheet."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from cms.management import themes
from marginalia.mongo.management.base import COULD_NOT_RUN, MongoCommand


class Command(MongoCommand):
    help = "Create a theme folder (THEME) that contains a template and a style sheet. Existing files are not changed."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            files = themes.create(settings.THEME_DIR)
        except OSError as error:
            raise CommandError(f"The theme was not created: {error}.", returncode=COULD_NOT_RUN) from error
        for name in files:
            self.stdout.write(f"  {settings.THEME_DIR / name}")
        self.stdout.write(f"Created {len(files)} files. Restart the site to see the theme.")
