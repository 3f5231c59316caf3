"""Sort the comments of a post so that parents are stored before their replies."""

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from wordpress.export.records import Comment
from wordpress.texts.content import plain
from wordpress.texts.markdown import to_markdown

__all__ = ["PreparedComment", "public_name", "approved_comments", "pending_comments"]

EMAIL = re.compile(r"([^\s@<>]+)@[^\s@<>]+\.[^\s@<>]+")
MAX_NAME = 200
MAX_URL = 500
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class PreparedComment:
    """A comment that is ready to be stored.

    Attributes:
        parent: The id of the nearest approved ancestor, which must be stored before this comment, or 0 if there is
            none.
    """

    comment: Comment
    parent: int
    posted: datetime
    author: str
    url: str
    email: str
    source: str


def approved_comments(comments: Sequence[Comment], posted: datetime | None) -> Iterator[PreparedComment]:
    """Yield the approved comments, sorted by time, but with each reply after its parent.

    The order of the comments in the file doesn't matter.

    A reply to a comment that is not approved is attached to its nearest approved ancestor.

    Args:
        comments: All comments of the post.
        posted: The time that comments without a date get.
    """
    every = _by_id(comments)
    approved = {number: comment for number, comment in every.items() if comment.status == "approved"}
    parents = {number: _nearest_ancestor(comment, every, approved) for number, comment in approved.items()}
    below: dict[int, list[Comment]] = {}
    for number, comment in approved.items():
        below.setdefault(parents[number], []).append(comment)
    pending = [(_posted_at(comment, posted), comment.id) for comment in below.get(0, ())]
    heapq.heapify(pending)
    while pending:
        time, number = heapq.heappop(pending)
        yield _prepare(approved[number], parents[number], time)
        for reply in below.get(number, ()):
            # A reply can be older than its parent, if the old site's clock was set back. It must still be stored after
            # its parent.
            heapq.heappush(pending, (max(_posted_at(reply, posted), time), reply.id))


def pending_comments(comments: Sequence[Comment], posted: datetime | None) -> Iterator[PreparedComment]:
    """Yield the pending comments, sorted by time, each with its nearest approved ancestor."""
    every = _by_id(comments)
    approved = {number: comment for number, comment in every.items() if comment.status == "approved"}
    held = [comment for comment in every.values() if comment.status == "pending"]
    for comment in sorted(held, key=lambda comment: (_posted_at(comment, posted), comment.id)):
        yield _prepare(comment, _nearest_ancestor(comment, every, approved), _posted_at(comment, posted))


def _by_id(comments: Sequence[Comment]) -> dict[int, Comment]:
    """Return the comments, keyed by id. Leave out duplicates, and give comments without an id negative numbers."""
    comments_by_id: dict[int, Comment] = {}
    for place, comment in enumerate(comments, 1):
        number = comment.id or -place
        comments_by_id.setdefault(number, comment if comment.id else replace(comment, id=number))
    return comments_by_id


def public_name(name: str) -> str:
    """Return `name` on a single line. If it contains email addresses, leave out their domains."""
    return EMAIL.sub(lambda match: match[1], plain(name))[:MAX_NAME].strip()


def _nearest_ancestor(comment: Comment, every: dict[int, Comment], by_id: dict[int, Comment]) -> int:
    """Return the id of a comment's nearest ancestor in `by_id`, or 0 if there is none."""
    seen = {comment.id}
    number = comment.parent
    while number and number not in seen:
        if number in by_id:
            return 0 if _is_descendant(by_id[number], comment.id, every) else number
        seen.add(number)
        number = every[number].parent if number in every else 0
    return 0


def _is_descendant(comment: Comment, number: int, every: dict[int, Comment]) -> bool:
    """Return whether `comment` is a descendant of the comment `number`.

    `number` must not get one of its own descendants as its parent, because the two comments would form a cycle.
    """
    seen: set[int] = set()
    above = comment.parent
    while above and above not in seen:
        if above == number:
            return True
        seen.add(above)
        above = every[above].parent if above in every else 0
    return False


def _posted_at(comment: Comment, posted: datetime | None) -> datetime:
    return comment.posted or posted or EPOCH


def _prepare(comment: Comment, parent: int, posted: datetime) -> PreparedComment:
    url = comment.url if len(comment.url) <= MAX_URL else ""
    email = comment.email if EMAIL.fullmatch(comment.email) and len(comment.email) <= 254 else ""
    return PreparedComment(comment, parent, posted, public_name(comment.author), url, email, to_markdown(comment.text))
