"""`manage.py sendtestemail`: Django's command, which reports a failure of the email server without a traceback."""

from typing import Any

from django.core.management import CommandError
from django.core.management.commands import sendtestemail

from marginalia.mongo.management.base import COULD_NOT_RUN


class Command(sendtestemail.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            super().handle(*args, **options)
        except OSError as error:  # for example a refused connection, or an SMTPException
            reason = " ".join(str(error).split())
            raise CommandError(
                f"The email wasn't sent: {reason}. Check EMAIL_URL.", returncode=COULD_NOT_RUN
            ) from error
