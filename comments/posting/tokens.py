"""Signed data: the tokens of forms, and the cookie that identifies comments of authors without an account.

A form's token identifies one intent. However often the form is sent, it posts one comment, whose slug part is made
from the nonce. The place (discussion and parent) is read from the token, never from another field.
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
# The lifetime of the cookie, and the maximum number of comments in it.
OWN_SECONDS = 365 * 24 * 60 * 60
MAX_SENT = 8


class BadToken(Exception):
    """The token was not signed by this site, or was changed."""


@dataclass(frozen=True)
class FormToken:
    """The token of a form, which identifies one intent.

    `begun` is the time when the first form of this intent was rendered, in seconds since 1970. `user` is the
    account, "" for any visitor. `expired` is True if the form is too old to be accepted.
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
        """Return the target of the form's comment."""
        return Target.parse(self.discussion)

    def renew(self, user: str = "") -> "FormToken":
        """Return a new token for the same text in the same place."""
        return replace(self, nonce=preparation.new_token(), user=user, expired=False)

    def signed(self) -> str:
        """Return the value of the form's hidden field."""
        return signing.dumps([self.discussion, self.parent, self.nonce, self.begun, self.user], salt=FORM_SALT)

    def age(self) -> int:
        """Return the seconds since the first form of this intent was rendered."""
        return int(time.time()) - self.begun


def read_form(signed: str) -> FormToken:
    """Return the token of a submitted form. Raises BadToken. A token that is too old is returned as `expired`."""
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
class SentComment:
    """A comment that this browser sent. `nonce` finds it while it is pending, `slug` when it is public."""

    discussion: str
    slug: str
    nonce: str

    @property
    def target(self) -> Target:
        """Return the target of the comment."""
        return Target.parse(self.discussion)


def read_sent(cookie: str) -> tuple[SentComment, ...]:
    """Return the comments in a browser's cookie, newest first, () for a cookie that this site did not sign."""
    if not cookie:
        return ()
    try:
        return tuple(SentComment(**entry) for entry in signing.loads(cookie, salt=OWN_SALT, max_age=OWN_SECONDS))
    except (signing.BadSignature, TypeError, ValueError):
        return ()


def sign_sent(sent: Iterable[SentComment]) -> str:
    """Return the value of the cookie for the first MAX_SENT of these comments."""
    entries: list[dict[str, Any]] = [asdict(entry) for entry in sent]
    return signing.dumps(entries[:MAX_SENT], salt=OWN_SALT, compress=True)
