"""Accounts, by the key that is stored with comments and decisions."""

from typing import Any

from django.contrib.auth import get_user_model

from marginalia.comments import targets
from marginalia.comments.errors import TargetNotFound
from marginalia.comments.types import Target


def find(key: str) -> Any:
    """Return the account with the primary key `key`, or None if there is none on this site.

    Readers and moderators of embedded discussions have keys such as "embed:7", and no account.
    """
    accounts = get_user_model()
    try:
        return accounts._default_manager.filter(pk=targets.parse_key(Target(accounts._meta.label_lower, key))).first()
    except TargetNotFound:
        return None
