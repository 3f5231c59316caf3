"""Policies, which determine who can comment, and which comments have to wait for a moderator.

COMMENTS["POLICY"] specifies the function that returns the policy of an object. Marginalia's own function uses the
settings of the site and of the object's section.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.contrib.auth import get_user_model
from django.db.models import Model

from marginalia.comments import conf, targets
from marginalia.comments.errors import TargetNotFound
from marginalia.comments.moderators import is_moderator
from marginalia.comments.types import Discussion, Target
from marginalia.mongo.clock import now


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
        trust_after: With HOLD_FIRST, the number of public comments after which a writer's comments appear immediately.
        likes: Whether readers can like comments.
    """

    mode: Mode
    closes: datetime | None = None
    trust_after: int = 1
    likes: bool = False

    def is_closed(self, discussion: Discussion) -> bool:
        """Return whether the discussion accepts no new comments."""
        return self.mode is Mode.CLOSED or not discussion.open or (self.closes is not None and self.closes <= now())


def policy_for(obj: Model) -> Policy:
    """Return the policy of an object, as determined by the function COMMENTS["POLICY"]."""
    policy: Policy = conf.load("POLICY")(obj)
    return policy


def stock(obj: Model) -> Policy:
    """Return a policy with the MODE, TRUST_AFTER and LIKES of the object's model, or of COMMENTS if the model has none.

    This function is the default for COMMENTS["POLICY"].
    """
    own = conf.entry(obj._meta.label_lower)
    mode, trust_after, likes = (own.get(key, conf.get(key)) for key in ("MODE", "TRUST_AFTER", "LIKES"))
    return Policy(Mode(mode), trust_after=trust_after, likes=likes)


def closing_time(published: datetime | None, days: int) -> datetime | None:
    """Return the time when a discussion closes, which is `days` days after `published`.

    Return None if `days` is 0 or `published` is None.
    """
    return published + timedelta(days=days) if published and days else None


def is_moderator_key(user_id: str) -> bool:
    """Return whether the account with the primary key `user_id` exists and has permission to moderate comments."""
    accounts = get_user_model()
    try:
        key = targets.parse_key(Target(accounts._meta.label_lower, user_id))
    except TargetNotFound:
        return False
    user = accounts._default_manager.filter(pk=key).first()
    return user is not None and is_moderator(user)
