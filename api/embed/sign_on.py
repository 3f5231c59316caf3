"""Sign-on with accounts of the sites that embed discussions.

Such a site signs a JSON Web Token for its logged-in reader with one of the keys in EMBED["KEYS"]. The name and rights in
the token apply only to embedded discussions. The people have no account on this site.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.conf import settings

from marginalia.comments.moderators import MODERATE
from marginalia.comments.posting.preparation import MAX_NAME, one_line

AUDIENCE = "marginalia"
MAX_TOKEN, MAX_SUBJECT, MAX_PICTURE = 4_000, 100, 500
# Seconds by which the clocks of the two sites can differ.
LEEWAY = 30


class InvalidToken(ValueError):
    """The token has expired, wasn't signed with a registered key, or lacks a claim."""


@dataclass(frozen=True)
class SignedOnUser:
    """A reader who is logged in to another site. It has the attributes of a user that access functions read."""

    pk: str
    name: str
    is_moderator: bool
    comment_picture: str = ""
    email: str = ""
    is_authenticated: bool = True
    is_active: bool = True
    is_staff: bool = False

    def has_perm(self, permission: str, obj: Any = None) -> bool:
        """Return whether the permission is that of moderators, and the token has the claim `moderator`."""
        return self.is_moderator and permission == MODERATE

    def get_full_name(self) -> str:
        """Return the name that readers see."""
        return self.name

    def get_username(self) -> str:
        """Return the name that readers see, because other sites have their own user names."""
        return self.name


def read(token: str) -> SignedOnUser:
    """Return the reader whom a token identifies.

    Raises:
        InvalidToken: The token is not valid, or has no expiry time, subject or name.
    """
    claims = _verified_claims(token)
    subject, name = claims["sub"], claims["name"]
    if not (isinstance(subject, str) and isinstance(name, str) and 0 < len(subject) <= MAX_SUBJECT):
        raise InvalidToken("The claims `sub` and `name` must be text.")
    shown_name = one_line(name)[:MAX_NAME]
    if not shown_name or one_line(subject) != subject:
        raise InvalidToken("The claims `sub` and `name` must contain visible characters.")
    picture = claims.get("picture")
    # Keys of this site's own accounts never contain a colon.
    return SignedOnUser(
        f"embed:{subject}",
        shown_name,
        is_moderator=claims.get("moderator") is True,
        comment_picture=picture if isinstance(picture, str) and len(picture) <= MAX_PICTURE else "",
    )


def _verified_claims(token: str) -> dict[str, Any]:
    if len(token) <= MAX_TOKEN:
        for algorithm, key in _keys():
            try:
                claims: dict[str, Any] = jwt.decode(
                    token,
                    key,
                    algorithms=[algorithm],
                    audience=AUDIENCE,
                    leeway=LEEWAY,
                    options={"require": ["exp", "aud", "sub", "name"]},
                )
                return claims
            except jwt.InvalidTokenError:
                continue
    raise InvalidToken("The token has expired or isn't valid.")


def _keys() -> Iterator[tuple[str, str | Ed25519PublicKey]]:
    """Yield the registered keys, each with the only algorithm that it is used for."""
    for entry in settings.EMBED["KEYS"]:
        algorithm, _colon, key = entry.partition(":")
        if algorithm == "EdDSA":
            yield algorithm, Ed25519PublicKey.from_public_bytes(base64.b64decode(key))
        else:
            yield algorithm, key
