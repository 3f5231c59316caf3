"""Slugs: the names and the order of comments.

A slug is a path of parts. A full slug is the same path with times: "2026.11.21.10.07.03.512:abcdefghijklmnop/…".
All parts have the same length, and all their characters sort above "/". Therefore the descendants of p are exactly
the range [p + "/", p + "0").
"""

import base64
import hashlib
import re
from datetime import UTC, datetime

_PART = re.compile(r"[a-z2-7]{16}", re.ASCII)
# The character after "/", the separator.
AFTER_DESCENDANTS = "0"


def part(token: str) -> str:
    """Return the slug part of a token: 80 bits of its digest in lower-case base32."""
    digest = hashlib.sha256(token.encode()).digest()
    return base64.b32encode(digest[:10]).decode().lower()


def is_part(text: str) -> bool:
    """Return whether `text` has the form of a slug part."""
    return _PART.fullmatch(text) is not None


def is_slug(text: object) -> bool:
    """Return whether `text` has the form of a slug: parts joined by "/"."""
    return isinstance(text, str) and all(is_part(piece) for piece in text.split("/"))


def stamp(posted: datetime) -> str:
    """Return `posted` in the format of full slugs: UTC, fixed width, to the millisecond."""
    posted = posted.astimezone(UTC)
    return f"{posted:%Y.%m.%d.%H.%M.%S}.{posted.microsecond // 1000:03d}" if posted.year > 999 else _early(posted)


def _early(posted: datetime) -> str:
    # strftime does not pad years below 1000 on every platform.
    return f"{posted.year:04d}.{posted:%m.%d.%H.%M.%S}.{posted.microsecond // 1000:03d}"


def join(parent: str, own: str) -> str:
    """Return the path `own` under `parent`, which can be ""."""
    return f"{parent}/{own}" if parent else own


def parent_of(slug: str) -> str:
    """Return the path of the parent, "" for a root."""
    return slug.rpartition("/")[0]


def allowed_parent(answered: str, max_depth: int) -> str:
    """Return the slug under which a reply to `answered` is stored, so that threads have at most `max_depth` levels.

    With a `max_depth` of 1, all comments are roots.
    """
    return "/".join(answered.split("/")[: max_depth - 1]) if answered else ""


def from_token(token: str, answered: str, max_depth: int) -> str:
    """Return the slug of the comment that is posted with `token` as a reply to `answered`, which is "" for a root.

    The same token always gives the same slug.
    """
    return join(allowed_parent(answered, max_depth), part(token))


def descendants(path: str) -> tuple[str, str]:
    """Return the range [low, high) of the paths below `path`."""
    return path + "/", path + AFTER_DESCENDANTS
