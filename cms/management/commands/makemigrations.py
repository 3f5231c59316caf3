"""`manage.py makemigrations`, without starting the embedded server only to check the migration history."""

from pathlib import Path
from typing import Any

from django.core.management.commands import makemigrations
from django.db import connections

from marginalia.local.embedded import Embedded


class Command(makemigrations.Command):
    def handle(self, *app_labels: str, **options: Any) -> None:
        for connection in connections.all():
            scheme, _, folder = connection.settings_dict["HOST"].partition(":")
            if scheme == "embedded" and Embedded(Path(folder)).running() is None:
                # Django doesn't check the migration history with this engine. If the server is already running, the
                # history is checked as usual.
                connection.settings_dict["ENGINE"] = "django.db.backends.dummy"
        super().handle(*app_labels, **options)
