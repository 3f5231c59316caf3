"""Command-line options that select an author."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from marginalia.comments.operations.privacy import Person


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options that select an author."""
    parser.add_argument("--user", metavar="NAME", default="", help="the account with this user name, and its address")
    parser.add_argument("--id", metavar="KEY", default="", help="the account that had this primary key")
    parser.add_argument("--email", metavar="ADDRESS", default="", help="who left this e-mail address")


def author(options: dict[str, Any]) -> Person:
    """Return the author selected by the options.

    Raises:
        CommandError: If no author or an unknown account is selected.
    """
    key = options["id"]
    email = options["email"]
    if name := options["user"]:
        model = get_user_model()
        user = model._default_manager.filter(**{model.USERNAME_FIELD: name}).first()
        if user is None:
            raise CommandError(f"There is no account {name!r}: name a deleted one by --id.")
        key = key or str(user.pk)
        email = email or getattr(user, "email", "")
    if not key and not email:
        raise CommandError("Say who is meant: --user, --id or --email.")
    return Person(key, email)
