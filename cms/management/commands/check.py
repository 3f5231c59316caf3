"""`manage.py check`: run Django's checks. With --deploy, also check MongoDB's write concern."""

from typing import Any

from django.conf import settings
from django.core.management import CommandError
from django.core.management.commands import check

from marginalia.mongo.management.base import COULD_NOT_RUN
from marginalia.mongo.servers import unmet_write_concern


class Command(check.Command):
    """Django's check command. With --deploy, the command also checks whether MongoDB can satisfy the write concern."""

    def handle(self, *app_labels: str, **options: Any) -> None:
        super().handle(*app_labels, **options)
        if options["deploy"] and (reason := unmet_write_concern(settings.DATABASES["default"])):
            raise CommandError(reason, returncode=COULD_NOT_RUN)
