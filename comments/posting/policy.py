"""Who may comment, and whose comments wait for a moderator.

COMMENTS["POLICY"] names the function that says so for a target; the site answers with its settings and the section's.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Model

from marginalia.comments import conf, targets
from marginalia.comments.errors import CommentNotFound, TargetNotFound
from marginalia.comments.posting.tokens import Own
from marginalia.comments.reading import selectors
from marginalia.comments.types import Discussion, Target
from marginalia.mongo.clock import now

# The permission that makes a moderator.
MODERATE = "marginalia_comments.can_moderate"


class Mode(StrEnum):
    """What is done with a comment that no spam rule minds."""

    OPEN = "open"
    HOLD_FIRST = "hold-first"
    HOLD_ALL = "hold-all"
    MEMBERS = "members"
    CLOSED = "closed"


@dataclass(frozen=True)
class Policy:
    """The rules of one discussion; `closes`: when it takes no more comments, None for never."""

    mode: Mode
    closes: datetime | None = None

    def is_closed(self, discussion: Discussion) -> bool:
        """Return whether the discussion takes no comments now."""
        return self.mode is Mode.CLOSED or not discussion.open or (self.closes is not None and self.closes <= now())


def of(obj: Model) -> Policy:
    """Return the policy that holds for an object."""
    found: Policy = conf.imported("POLICY")(obj)
    return found


def stock(obj: Model) -> Policy:
    """Return COMMENTS["MODE"] for every object: the stock COMMENTS["POLICY"]."""
    return Policy(Mode(conf.get("MODE")))


def closing(published: datetime | None, days: int) -> datetime | None:
    """Return when a discussion that is open for `days` after `published` closes; None for 0 days."""
    return published + timedelta(days=days) if published and days else None


def is_moderator(user: Any) -> bool:
    """Return whether a user may decide about comments."""
    return bool(user.has_perm(MODERATE))


def moderates(user_id: str) -> bool:
    """Return whether the account with this key is one here, and may decide about comments."""
    accounts = get_user_model()
    try:
        key = targets.key_of(Target(accounts._meta.label_lower, user_id))
    except TargetNotFound:
        return False
    user = accounts._default_manager.filter(pk=key).first()
    return user is not None and is_moderator(user)


def is_known(user_id: str, own: tuple[Own, ...]) -> bool:
    """Return whether an author has a public comment: under the account or, without one, sent from this browser.

    A name or an e-mail address proves nothing: any visitor can type both.
    """
    if user_id and selectors.by_author(user_id, limit=1):
        return True
    return any(_is_public(entry) for entry in own)


def _is_public(entry: Own) -> bool:
    try:
        return not selectors.get(entry.target, entry.slug).removed
    except CommentNotFound:
        return False
