"""What is signed: forms, bound to their place, and the cookie by which authors without an account know their comments again.

A form's token names one intent. However often the form is sent, one comment comes of it, and its nonce gives the comment's
slug part; the place (discussion and parent) is read from the token, never from another field.
"""

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.core import signing

from marginalia.comments import conf
from marginalia.comments.posting import preparation
from marginalia.comments.types import Target

FORM_SALT = "comments.form"
OWN_SALT = "comments.own"
OWN_COOKIE = "comments_own"
# How long a browser is remembered to have written, and how many comments it is remembered for.
OWN_SECONDS = 365 * 24 * 60 * 60
OWN_MOST = 8


class BadToken(Exception):
    """The token is not one of ours, or was changed."""


@dataclass(frozen=True)
class FormToken:
    """A form before it is sent.

    `begun`: when the first form of this intent was rendered, in seconds since 1970; `user`: for which account, "" for
    any visitor; `expired`: whether it was rendered too long ago to be taken.
    """

    discussion: str
    parent: str
    nonce: str
    begun: int
    user: str = ""
    expired: bool = False

    @classmethod
    def new(cls, target: Target, parent: str = "", user: str = "") -> "FormToken":
        """Return the token of a form that is rendered now."""
        return cls(str(target), parent, preparation.new_token(), int(time.time()), user)

    @property
    def target(self) -> Target:
        """The target under which the form's comment goes."""
        return Target.parse(self.discussion)

    def again(self, user: str = "") -> "FormToken":
        """Return a fresh token for the same text in the same place."""
        return replace(self, nonce=preparation.new_token(), user=user, expired=False)

    def signed(self) -> str:
        """Return the value of the form's hidden field."""
        return signing.dumps([self.discussion, self.parent, self.nonce, self.begun, self.user], salt=FORM_SALT)

    def age(self) -> int:
        """Return for how many seconds the text was written."""
        return int(time.time()) - self.begun


def read_form(signed: str) -> FormToken:
    """Return the token of a form that was sent. Raises BadToken; one that is too old is returned as `expired`."""
    try:
        discussion, parent, nonce, begun, user = signing.loads(signed, salt=FORM_SALT)
    except (signing.BadSignature, ValueError, TypeError) as error:
        raise BadToken("The form's token is not ours.") from error
    token = FormToken(discussion, parent, nonce, begun, user)
    try:
        signing.loads(signed, salt=FORM_SALT, max_age=conf.get("FORM_HOURS") * 3600)
    except signing.SignatureExpired:
        return replace(token, expired=True)
    return token


@dataclass(frozen=True)
class Own:
    """A comment that this browser sent: `nonce` finds it while it is pending, `slug` when it is public."""

    discussion: str
    slug: str
    nonce: str

    @property
    def target(self) -> Target:
        """The target of its discussion."""
        return Target.parse(self.discussion)


def read_own(cookie: str) -> tuple[Own, ...]:
    """Return the comments that a browser's cookie names, newest first; none for a cookie that is not ours."""
    if not cookie:
        return ()
    try:
        return tuple(Own(**entry) for entry in signing.loads(cookie, salt=OWN_SALT, max_age=OWN_SECONDS))
    except (signing.BadSignature, TypeError, ValueError):
        return ()


def signed_own(own: Iterable[Own]) -> str:
    """Return the cookie's value for these comments, of which the first OWN_MOST are kept."""
    entries: list[dict[str, Any]] = [asdict(entry) for entry in own]
    return signing.dumps(entries[:OWN_MOST], salt=OWN_SALT, compress=True)
