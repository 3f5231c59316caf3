"""Policies, which determine who can comment, and which comments have to wait for a moderator.

`comments.register` or COMMENTS["POLICY"] specifies the function that returns the policy of an object. Marginalia's own
function uses the settings of the site and of the object's section.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from typing import Any, ClassVar

from django.core.exceptions import FieldDoesNotExist
from django.db.models import Model
from django.utils.timezone import is_naive, make_aware

from marginalia.comments import accounts, conf, targets
from marginalia.comments.moderators import is_moderator
from marginalia.comments.types import Discussion
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
        moderates: The time from which on every comment has to wait for a moderator, or None.
    """

    mode: Mode
    closes: datetime | None = None
    trust_after: int = 1
    likes: bool = False
    moderates: datetime | None = None

    def is_closed(self, discussion: Discussion) -> bool:
        """Return whether the discussion accepts no new comments."""
        return self.mode is Mode.CLOSED or not discussion.open or (self.closes is not None and self.closes <= now())

    def needs_account(self, user: str) -> bool:
        """Return whether the writer must log in first. `user` is the key of the writer's account, or "" without one."""
        return self.mode is Mode.MEMBERS and not user

    @property
    def holds_all(self) -> bool:
        """Return whether every comment has to wait for a moderator."""
        return self.mode is Mode.HOLD_ALL or (self.moderates is not None and self.moderates <= now())


class ModelPolicy:
    """A base class for the policy of a model's objects, with the options of Django's comments framework.

    Pass an instance to `comments.register`. Override `__call__` for rules that these attributes can't express.

    Attributes:
        enable_field: The name of a field. If its value is false, the object accepts no comments.
        auto_close_field: The name of a date field.
        close_after: The number of days after the date in `auto_close_field` at which the discussion closes.
        auto_moderate_field: The name of a date field.
        moderate_after: The number of days after the date in `auto_moderate_field` from which on every comment has to
            wait for a moderator.
    """

    enable_field: ClassVar[str] = ""
    auto_close_field: ClassVar[str] = ""
    close_after: ClassVar[int | None] = None
    auto_moderate_field: ClassVar[str] = ""
    moderate_after: ClassVar[int | None] = None

    def __call__(self, obj: Any) -> Policy:
        """Return the policy of an object. The mode and likes come from the COMMENTS setting."""
        policy = stock(obj)
        is_enabled = not self.enable_field or getattr(obj, self.enable_field)
        return replace(
            policy,
            mode=policy.mode if is_enabled else Mode.CLOSED,
            closes=_days_after(obj, self.auto_close_field, self.close_after),
            moderates=_days_after(obj, self.auto_moderate_field, self.moderate_after),
        )

    def missing_fields(self, model: type[Model]) -> Iterator[str]:
        """Yield the names of fields that the model doesn't have."""
        names = (self.enable_field, self.auto_close_field, self.auto_moderate_field)
        for name in filter(None, dict.fromkeys(names)):
            try:
                model._meta.get_field(name)
            except FieldDoesNotExist:
                yield name


def _days_after(obj: Any, field: str, days: int | None) -> datetime | None:
    """Return the time `days` days after the date in a field, or None if there is no such date."""
    start = getattr(obj, field) if field and days is not None else None
    if start is None or days is None:
        return None
    if isinstance(start, date) and not isinstance(start, datetime):
        start = datetime.combine(start, time())
    moment: datetime = make_aware(start) if is_naive(start) else start
    return moment + timedelta(days=days)


def policy_for(obj: Model) -> Policy:
    """Return the policy of an object, as determined by its registered function or by COMMENTS["POLICY"]."""
    policy: Policy = targets.policy_function(type(obj))(obj)
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
    user = accounts.find(user_id)
    return user is not None and is_moderator(user)
