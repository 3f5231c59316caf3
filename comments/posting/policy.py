"""Policies: who can comment, and whose comments wait for a moderator.

COMMENTS["POLICY"] names the function that returns the policy of a target. The site's function uses its settings and
those of the section.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Model

from marginalia.comments import conf, targets
from marginalia.comments.errors import CommentNotFound, TargetNotFound
from marginalia.comments.posting.tokens import SentComment
from marginalia.comments.reading import selectors
from marginalia.comments.types import Discussion, Target
from marginalia.mongo.clock import now

# The permission of moderators.
MODERATE = "marginalia_comments.can_moderate"


class Mode(StrEnum):
    """What happens to a comment that no spam rule objects to."""

    OPEN = "open"
    HOLD_FIRST = "hold-first"
    HOLD_ALL = "hold-all"
    MEMBERS = "members"
    CLOSED = "closed"


@dataclass(frozen=True)
class Policy:
    """The rules of one discussion. `closes` is the time when it stops accepting comments, None for never."""

    mode: Mode
    closes: datetime | None = None

    def is_closed(self, discussion: Discussion) -> bool:
        """Return whether the discussion accepts no comments now."""
        return self.mode is Mode.CLOSED or not discussion.open or (self.closes is not None and self.closes <= now())


def policy_for(obj: Model) -> Policy:
    """Return the policy of an object, from COMMENTS["POLICY"]."""
    policy: Policy = conf.load("POLICY")(obj)
    return policy


def stock(obj: Model) -> Policy:
    """Return COMMENTS["MODE"] for every object: the default of COMMENTS["POLICY"]."""
    return Policy(Mode(conf.get("MODE")))


def closing_time(published: datetime | None, days: int) -> datetime | None:
    """Return the time when a discussion closes that is open for `days` after `published`; None for 0 days."""
    return published + timedelta(days=days) if published and days else None


def is_moderator(user: Any) -> bool:
    """Return whether `user` can decide about comments."""
    return bool(user.has_perm(MODERATE))


def is_moderator_key(user_id: str) -> bool:
    """Return whether an account with the primary key `user_id` exists here and can decide about comments."""
    accounts = get_user_model()
    try:
        key = targets.parse_key(Target(accounts._meta.label_lower, user_id))
    except TargetNotFound:
        return False
    user = accounts._default_manager.filter(pk=key).first()
    return user is not None and is_moderator(user)


def is_known(user_id: str, sent: tuple[SentComment, ...]) -> bool:
    """Return whether an author has a public comment: by account or, without one, sent from this browser.

    A name or an email address proves nothing, because any visitor can type both.
    """
    if user_id and selectors.by_author(user_id, limit=1):
        return True
    return any(_is_public(entry) for entry in sent)


def _is_public(entry: SentComment) -> bool:
    try:
        return not selectors.get(entry.target, entry.slug).removed
    except CommentNotFound:
        return False
