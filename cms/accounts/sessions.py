"""Find and delete an account's sessions on behalf of operators."""

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.sessions.models import Session

# Maximum number of sessions deleted per MongoDB command.
BATCH = 500


def session_keys(user: AbstractBaseUser) -> list[str]:
    """Return the keys of all sessions in which a user is logged in.

    This function reads all sessions, because only the signed data of a session identifies the user.
    """
    user_id = str(user.pk)
    return [
        session.session_key
        for session in Session.objects.iterator(chunk_size=BATCH)
        if session.get_decoded().get(SESSION_KEY) == user_id
    ]


def delete_sessions(keys: list[str]) -> int:
    """Delete the sessions that have these keys, and return the number of deleted sessions."""
    deleted = 0
    for start in range(0, len(keys), BATCH):
        deleted += Session.objects.filter(session_key__in=keys[start : start + BATCH]).delete()[0]
    return deleted
