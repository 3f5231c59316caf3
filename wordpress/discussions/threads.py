"""The comments of one post, in the order in which they can be stored: parents before their replies."""

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from wordpress.export.records import Comment
from wordpress.texts.content import plain
from wordpress.texts.markdown import to_markdown

__all__ = ["Ready", "public_name", "ready", "waiting"]

ADDRESS = re.compile(r"([^\s@<>]+)@[^\s@<>]+\.[^\s@<>]+")
LONGEST_NAME = 200
LONGEST_URL = 500
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Ready:
    """A comment as it can be stored. `parent` is the id of the nearest one above it that is stored before, 0 for none."""

    comment: Comment
    parent: int
    posted: datetime
    author: str
    url: str
    email: str
    source: str


def ready(comments: Sequence[Comment], posted: datetime | None) -> Iterator[Ready]:
    """Yield the approved comments, by time, each behind the one it answers, whatever the order in the file.

    A reply to one that is not approved answers the nearest above that is. `posted` is for those without a date.
    """
    every = _by_id(comments)
    approved = {number: comment for number, comment in every.items() if comment.status == "approved"}
    parents = {number: _above(comment, every, approved) for number, comment in approved.items()}
    below: dict[int, list[Comment]] = {}
    for number, comment in approved.items():
        below.setdefault(parents[number], []).append(comment)
    pending = [(_time(comment, posted), comment.id) for comment in below.get(0, ())]
    heapq.heapify(pending)
    while pending:
        time, number = heapq.heappop(pending)
        yield _ready(approved[number], parents[number], time)
        for reply in below.get(number, ()):
            # A clock that was set back must not put an answer before its question.
            heapq.heappush(pending, (max(_time(reply, posted), time), reply.id))


def waiting(comments: Sequence[Comment], posted: datetime | None) -> Iterator[Ready]:
    """Yield the comments that wait for a moderator, by time, each with the nearest approved one above it."""
    every = _by_id(comments)
    approved = {number: comment for number, comment in every.items() if comment.status == "approved"}
    held = [comment for comment in every.values() if comment.status == "pending"]
    for comment in sorted(held, key=lambda comment: (_time(comment, posted), comment.id)):
        yield _ready(comment, _above(comment, every, approved), _time(comment, posted))


def _by_id(comments: Sequence[Comment]) -> dict[int, Comment]:
    """The comments by id, the first of each; those without one get a number that is none."""
    found: dict[int, Comment] = {}
    for place, comment in enumerate(comments, 1):
        number = comment.id or -place
        found.setdefault(number, comment if comment.id else replace(comment, id=number))
    return found


def public_name(name: str) -> str:
    """A name as everybody may read it: one line, and of an e-mail address only what stands before the @."""
    return ADDRESS.sub(lambda found: found[1], plain(name))[:LONGEST_NAME].strip()


def _above(comment: Comment, every: dict[int, Comment], by_id: dict[int, Comment]) -> int:
    """The id of the nearest comment above that is in `by_id`, 0 for none."""
    seen = {comment.id}
    number = comment.parent
    while number and number not in seen:
        if number in by_id:
            return 0 if _leads_to(by_id[number], comment.id, every) else number
        seen.add(number)
        number = every[number].parent if number in every else 0
    return 0


def _leads_to(comment: Comment, number: int, every: dict[int, Comment]) -> bool:
    """Whether the comment stands, by way of its parents, below the one with this number: then nothing holds it up."""
    seen: set[int] = set()
    above = comment.parent
    while above and above not in seen:
        if above == number:
            return True
        seen.add(above)
        above = every[above].parent if above in every else 0
    return False


def _time(comment: Comment, posted: datetime | None) -> datetime:
    return comment.posted or posted or BEGINNING


def _ready(comment: Comment, parent: int, posted: datetime) -> Ready:
    url = comment.url if len(comment.url) <= LONGEST_URL else ""
    email = comment.email if ADDRESS.fullmatch(comment.email) and len(comment.email) <= 254 else ""
    return Ready(comment, parent, posted, public_name(comment.author), url, email, to_markdown(comment.text))
