"""Command-line options that select an author."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError

from marginalia.comments.operations.privacy import Person


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options that select an author."""
    parser.add_argument(
        "--user",
        metavar="NAME",
        default="",
        help="username of the author, whose email address is also used to find comments",
    )
    parser.add_argument(
        "--id", metavar="KEY", default="", help="primary key of the author's account, even if the account was deleted"
    )
    parser.add_argument("--email", metavar="ADDRESS", default="", help="email address of the author")


def author(options: dict[str, Any]) -> Person:
    """Return the author selected by the options.

    Raises:
        CommandError: The options select no author, or an account that does not exist.
    """
    key = options["id"]
    email = options["email"]
    if name := options["user"]:
        model = get_user_model()
        user = model._default_manager.filter(**{model.USERNAME_FIELD: name}).first()
        if user is None:
            raise CommandError(f"The account {name!r} doesn't exist. If it was deleted, specify --id.")
        key = key or str(user.pk)
        email = email or getattr(user, "email", "")
    if not key and not email:
        raise CommandError("No author was specified. Specify --user, --id or --email.")
    return Person(key, email)
