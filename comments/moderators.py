"""Moderators: the users who have permission to moderate comments."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

# The permission that moderators have.
MODERATE = "marginalia_comments.can_moderate"


def is_moderator(user: Any) -> bool:
    """Return whether a user has permission to moderate comments."""
    return bool(user.has_perm(MODERATE))


def is_sent_by_moderator(request: HttpRequest) -> bool:
    """Return whether a request was sent by a moderator, without reading the session of a request that has none.

    Reading the session would make the response depend on cookies, so that caches couldn't store it.
    """
    return settings.SESSION_COOKIE_NAME in request.COOKIES and is_moderator(request.user)
