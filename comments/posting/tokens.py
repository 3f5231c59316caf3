"""Signed data: form tokens, the cookie that lists the comments that were sent from a browser, and the guest's id.

A form token identifies one intended comment. The slug of the comment is derived from the token's nonce, so even if the
form is sent several times, only one comment is posted. The discussion and the parent are read from the token, never
from another field of the form.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.core import signing
from django.utils.crypto import salted_hmac

from marginalia.comments import conf
from marginalia.comments.posting import preparation
from marginalia.comments.types import Target
from marginalia.trust import MAX_TRUST_AFTER

FORM_SALT = "comments.form"
OWN_SALT = "comments.own"
OWN_COOKIE = "comments_own"
# The lifetime of the cookie in seconds, and how many comments it can contain. It must contain enough for guests to become
# trusted.
OWN_SECONDS = 365 * 24 * 60 * 60
MAX_SENT = MAX_TRUST_AFTER
GUEST_SALT = "comments.guest"
GUEST_COOKIE = "comments_guest"


class BadToken(Exception):
    """The token was not signed by this site, or was modified afterwards."""


@dataclass(frozen=True)
class FormToken:
    """The token of a form, which identifies one intended comment.

    Attributes:
        discussion: The target as a str.
        begun: The time when the form was first rendered for this comment, in seconds since 1970.
        user: The primary key of the account for which the form was rendered, or "" if the visitor wasn't logged in.
        expired: Whether the form is too old to be accepted.
    """

    discussion: str
    parent: str
    nonce: str
    begun: int
    user: str = ""
    expired: bool = False

    @classmethod
    def new(cls, target: Target, parent: str = "", user: str = "") -> "FormToken":
        """Return a token for a new form."""
        return cls(str(target), parent, preparation.new_token(), int(time.time()), user)

    @property
    def target(self) -> Target:
        """Return the target of the discussion."""
        return Target.parse(self.discussion)

    def renew(self, user: str = "") -> "FormToken":
        """Return a token with a new nonce for the same discussion and parent."""
        return replace(self, nonce=preparation.new_token(), user=user, expired=False)

    def signed(self) -> str:
        """Return the value of the form's hidden field."""
        return signing.dumps([self.discussion, self.parent, self.nonce, self.begun, self.user], salt=FORM_SALT)

    def age(self) -> int:
        """Return the number of seconds since the form was first rendered for this comment."""
        return int(time.time()) - self.begun


def read_form(signed: str) -> FormToken:
    """Return the token of a submitted form. If the token is too old, `expired` is True.

    Raises:
        BadToken: The token was not signed by this site, or was modified.
    """
    try:
        discussion, parent, nonce, begun, user = signing.loads(signed, salt=FORM_SALT)
    except (signing.BadSignature, ValueError, TypeError) as error:
        raise BadToken("The form's token is invalid.") from error
    token = FormToken(discussion, parent, nonce, begun, user)
    try:
        signing.loads(signed, salt=FORM_SALT, max_age=conf.get("FORM_HOURS") * 3600)
    except signing.SignatureExpired:
        return replace(token, expired=True)
    return token


@dataclass(frozen=True)
class SentComment:
    """A comment that was sent from the user's browser.

    Attributes:
        discussion: The target as a str.
        slug: The slug of the comment.
        nonce: The nonce of the form.
    """

    discussion: str
    slug: str
    nonce: str

    @property
    def target(self) -> Target:
        """Return the target of the discussion."""
        return Target.parse(self.discussion)


def read_sent(cookie: str) -> tuple[SentComment, ...]:
    """Return the comments that a browser's cookie lists, newest first, or () if the cookie is not valid."""
    if not cookie:
        return ()
    try:
        return tuple(SentComment(**entry) for entry in signing.loads(cookie, salt=OWN_SALT, max_age=OWN_SECONDS))
    except (signing.BadSignature, TypeError, ValueError):
        return ()


def browser_key(sent: Sequence[SentComment], nonce: str) -> str:
    """Return a keyed hash of the oldest comment in a browser's cookie or, without one, of the form's own nonce.

    All copies of a cookie have the same key until the oldest of MAX_SENT comments is dropped from it.
    """
    return salted_hmac("comments.browser", sent[-1].nonce if sent else nonce, algorithm="sha256").hexdigest()[:32]


def sign_sent(sent: Iterable[SentComment]) -> str:
    """Return the value of the cookie for the first MAX_SENT comments."""
    entries: list[dict[str, Any]] = [asdict(entry) for entry in sent]
    return signing.dumps(entries[:MAX_SENT], salt=OWN_SALT, compress=True)


def guest_or_new(signed: str) -> str:
    """Return the signed id of a guest or, if it wasn't signed by this site, a new one. The id is random."""
    return signed if read_guest(signed) else signing.dumps(preparation.new_token(), salt=GUEST_SALT)


def read_guest(signed: str) -> str:
    """Return the id of a guest, or "" if it wasn't signed by this site."""
    try:
        return str(signing.loads(signed, salt=GUEST_SALT)) if signed else ""
    except signing.BadSignature:
        return ""
