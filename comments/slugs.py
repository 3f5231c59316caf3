"""Slugs: how comments are named and sorted.

A slug is a path of parts, a full slug the same path with times: "2026.11.21.10.07.03.512:abcdefghijklmnop/…". Parts
have one length and an alphabet that sorts above "/", so that the descendants of p are exactly the range [p + "/", p +
"0").
"""

import base64
import hashlib
import re
from datetime import UTC, datetime

_PART = re.compile(r"[a-z2-7]{16}", re.ASCII)
# One above "/", the separator.
AFTER_DESCENDANTS = "0"


def part(token: str) -> str:
    """Return the slug part that a token stands for: 80 bits of its digest in lower-case base32."""
    digest = hashlib.sha256(token.encode()).digest()
    return base64.b32encode(digest[:10]).decode().lower()


def is_part(text: str) -> bool:
    """Return whether `text` can be a slug part."""
    return _PART.fullmatch(text) is not None


def is_slug(text: object) -> bool:
    """Return whether `text` can be a slug: parts joined by "/"."""
    return isinstance(text, str) and all(is_part(piece) for piece in text.split("/"))


def stamp(posted: datetime) -> str:
    """Return a time as it stands in full slugs: UTC, fixed width, to the millisecond."""
    posted = posted.astimezone(UTC)
    return f"{posted:%Y.%m.%d.%H.%M.%S}.{posted.microsecond // 1000:03d}" if posted.year > 999 else _early(posted)


def _early(posted: datetime) -> str:
    # strftime does not pad years below 1000 on every platform.
    return f"{posted.year:04d}.{posted:%m.%d.%H.%M.%S}.{posted.microsecond // 1000:03d}"


def join(parent: str, own: str) -> str:
    """Return the path `own` under `parent`, which may be ""."""
    return f"{parent}/{own}" if parent else own


def parent_of(slug: str) -> str:
    """Return the parent's path, "" at the root."""
    return slug.rpartition("/")[0]


def allowed_parent(answered: str, max_depth: int) -> str:
    """Return under which slug an answer to `answered` is stored, so that no comment lies deeper than `max_depth`.

    `max_depth` counts levels: with 1 all comments are roots.
    """
    return "/".join(answered.split("/")[: max_depth - 1]) if answered else ""


def of(token: str, answered: str, max_depth: int) -> str:
    """Return the slug of the comment with this token that answers `answered`, "" if none: the same however often it is sent."""
    return join(allowed_parent(answered, max_depth), part(token))


def descendants(path: str) -> tuple[str, str]:
    """Return the range [low, high) of the paths below `path`."""
    return path + "/", path + AFTER_DESCENDANTS
