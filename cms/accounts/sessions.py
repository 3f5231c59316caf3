"""Sessions of accounts, ended by an operator."""

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.sessions.models import Session

# Sessions deleted by one command.
BATCH = 500


def keys_of(user: AbstractBaseUser) -> list[str]:
    """Return the keys of all sessions in which a user is logged in.

    A session names its user only in its signed data, so every session is read.
    """
    user_id = str(user.pk)
    return [
        session.session_key
        for session in Session.objects.iterator(chunk_size=BATCH)
        if session.get_decoded().get(SESSION_KEY) == user_id
    ]


def end(keys: list[str]) -> int:
    """Delete sessions by their keys; return how many were deleted."""
    deleted = 0
    for start in range(0, len(keys), BATCH):
        deleted += Session.objects.filter(session_key__in=keys[start : start + BATCH]).delete()[0]
    return deleted
