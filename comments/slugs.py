"""Slugs, which identify comments and determine their order.

A slug is a path. It contains a part for each comment from the root of the thread down to the comment itself. In a full
slug, each part is preceded by the time of the comment: "2026.11.21.10.07.03.512:abcdefghijklmnop/…". All parts have the
same length, and none of them contains "/". Therefore, the paths below the path p are exactly those that sort from p +
"/" up to, but not including, p + "0".
"""

import base64
import hashlib
import re
from datetime import UTC, datetime

_PART = re.compile(r"[a-z2-7]{16}", re.ASCII)
# The character that follows the separator "/" in sort order. Appended to a path, it gives an upper bound for the path's
# descendants.
AFTER_DESCENDANTS = "0"


def part(token: str) -> str:
    """Return the part of a slug that is derived from `token`: 80 bits of its SHA-256 hash, in lowercase base32."""
    digest = hashlib.sha256(token.encode()).digest()
    return base64.b32encode(digest[:10]).decode().lower()


def is_part(text: str) -> bool:
    """Return whether `text` has the format of a slug part."""
    return _PART.fullmatch(text) is not None


def is_slug(text: object) -> bool:
    """Return whether `text` has the format of a slug: parts joined by "/"."""
    return isinstance(text, str) and all(is_part(piece) for piece in text.split("/"))


def stamp(posted: datetime) -> str:
    """Return `posted` in the format that full slugs use: in UTC, with millisecond precision and a fixed width."""
    posted = posted.astimezone(UTC)
    return f"{posted:%Y.%m.%d.%H.%M.%S}.{posted.microsecond // 1000:03d}" if posted.year > 999 else _early(posted)


def _early(posted: datetime) -> str:
    # On some platforms, strftime does not pad years below 1000.
    return f"{posted.year:04d}.{posted:%m.%d.%H.%M.%S}.{posted.microsecond // 1000:03d}"


def join(parent: str, own: str) -> str:
    """Return the path of the part `own` below the path `parent`. If `parent` is "", this is `own` itself."""
    return f"{parent}/{own}" if parent else own


def parent_of(slug: str) -> str:
    """Return the path of the parent of `slug`, or "" for a root comment."""
    return slug.rpartition("/")[0]


def last_part(slug: str) -> str:
    """Return the part of `slug` that is derived from the comment's own token."""
    return slug.rpartition("/")[2]


def allowed_parent(answered: str, max_depth: int) -> str:
    """Return the slug of the comment under which a reply to `answered` is stored.

    Threads have at most `max_depth` levels. A reply that would be deeper is stored under the deepest ancestor that
    still allows it. If `max_depth` is 1, all comments are root comments.
    """
    return "/".join(answered.split("/")[: max_depth - 1]) if answered else ""


def from_token(token: str, answered: str, max_depth: int) -> str:
    """Return the slug of a comment that is posted with `token`. It is always the same for the same arguments.

    Args:
        token: The token of the form.
        answered: The slug of the comment that the new comment replies to, or "" for a root comment.
        max_depth: The maximum number of levels in a thread.
    """
    return join(allowed_parent(answered, max_depth), part(token))


def descendants(path: str) -> tuple[str, str]:
    """Return the range (low, high) that contains the paths below `path`. The range does not include `high`."""
    return path + "/", path + AFTER_DESCENDANTS
