"""`manage.py makemigrations`: Django's command, but without starting the embedded server.

Django's command would start the server just to check the migration history.
"""

from pathlib import Path
from typing import Any

from django.db import connections

from marginalia.local.embedded import Embedded

try:  # since django-mongodb-backend 6.1
    from django_mongodb_backend.management.commands import makemigrations
except ImportError:
    from django.core.management.commands import makemigrations


class Command(makemigrations.Command):
    def handle(self, *app_labels: str, **options: Any) -> None:
        for connection in connections.all():
            scheme, _, folder = connection.settings_dict["HOST"].partition(":")
            if scheme == "embedded" and Embedded(Path(folder)).running() is None:
                # With the dummy engine, Django doesn't check the migration history, so the server isn't started. If the
                # server is already running, the engine isn't replaced, and the history is checked as usual.
                connection.settings_dict["ENGINE"] = "django.db.backends.dummy"
        super().handle(*app_labels, **options)
