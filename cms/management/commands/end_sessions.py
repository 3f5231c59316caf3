"""`manage.py end_sessions`: log out one account, or all accounts, on all devices."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.core.management.base import CommandError

from cms.accounts import sessions
from marginalia.mongo.management.base import COULD_NOT_RUN, MongoCommand


class Command(MongoCommand):
    help = "End all sessions of one account, or all sessions of the site. API tokens remain valid."

    def add_arguments(self, parser: ArgumentParser) -> None:
        accounts = parser.add_mutually_exclusive_group(required=True)
        accounts.add_argument("--user", metavar="NAME", help="the account to log out")
        accounts.add_argument("--all", action="store_true", help="log out every account and every visitor")
        parser.add_argument(
            "--dry-run", action="store_true", help="count the sessions that would end, and change nothing"
        )

    def handle(self, *args: Any, user: str | None, dry_run: bool, **options: Any) -> None:
        keys = self._keys(user) if user else list(Session.objects.values_list("session_key", flat=True))
        if dry_run:
            self.stdout.write(f"Dry run: would end {len(keys)} sessions.")
        else:
            self.stdout.write(f"Ended {sessions.delete_sessions(keys)} sessions.")

    def _keys(self, username: str) -> list[str]:
        user_model = get_user_model()
        try:
            return sessions.session_keys(user_model.objects.get_by_natural_key(username))
        except user_model.DoesNotExist as error:
            raise CommandError(
                f"The account {username!r} doesn't exist. Check the username.", returncode=COULD_NOT_RUN
            ) from error
