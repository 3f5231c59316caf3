"""Policies, which determine who can comment, and which comments have to wait for a moderator.

COMMENTS["POLICY"] specifies the function that returns the policy of an object. Marginalia's own function uses the
settings of the site and of the object's section.
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

# The permission that moderators have.
MODERATE = "marginalia_comments.can_moderate"


class Mode(StrEnum):
    """How comments are handled if no spam rule objects to them."""

    OPEN = "open"
    HOLD_FIRST = "hold-first"
    HOLD_ALL = "hold-all"
    MEMBERS = "members"
    CLOSED = "closed"


@dataclass(frozen=True)
class Policy:
    """The policy of one discussion.

    Attributes:
        closes: The time when the discussion stops accepting comments, or None if it never stops.
    """

    mode: Mode
    closes: datetime | None = None

    def is_closed(self, discussion: Discussion) -> bool:
        """Return whether the discussion accepts no new comments."""
        return self.mode is Mode.CLOSED or not discussion.open or (self.closes is not None and self.closes <= now())


def policy_for(obj: Model) -> Policy:
    """Return the policy of an object, as determined by the function COMMENTS["POLICY"]."""
    policy: Policy = conf.load("POLICY")(obj)
    return policy


def stock(obj: Model) -> Policy:
    """Return a policy with the mode COMMENTS["MODE"]. This function is the default for COMMENTS["POLICY"]."""
    return Policy(Mode(conf.get("MODE")))


def closing_time(published: datetime | None, days: int) -> datetime | None:
    """Return the time when a discussion closes, which is `days` days after `published`.

    Return None if `days` is 0 or `published` is None.
    """
    return published + timedelta(days=days) if published and days else None


def is_moderator(user: Any) -> bool:
    """Return whether a user has permission to moderate comments."""
    return bool(user.has_perm(MODERATE))


def is_moderator_key(user_id: str) -> bool:
    """Return whether the account with the primary key `user_id` exists and has permission to moderate comments."""
    accounts = get_user_model()
    try:
        key = targets.parse_key(Target(accounts._meta.label_lower, user_id))
    except TargetNotFound:
        return False
    user = accounts._default_manager.filter(pk=key).first()
    return user is not None and is_moderator(user)


def is_known(user_id: str, sent: tuple[SentComment, ...]) -> bool:
    """Return whether an author already has a public comment.

    An author is identified by an account, or by comments that were sent from the same browser before. Names and email
    addresses prove nothing, because visitors can enter any name or address.
    """
    if user_id and selectors.by_author(user_id, limit=1):
        return True
    return any(_is_public(entry) for entry in sent)


def _is_public(entry: SentComment) -> bool:
    try:
        return not selectors.get(entry.target, entry.slug).removed
    except CommentNotFound:
        return False
