"""Export and import of discussions as newline-delimited JSON, to move them to another site, layout or order.

If an exported file is imported and exported again, the bytes are the same. A discussion begins with the line
{"discussion": "app.model:pk", "open": true}, which is followed by its comments, oldest first. If moderators have set
restrictions, the line contains them, too. The file contains no
HTML, because the import renders the comments again. Therefore, a file can't introduce unsafe HTML.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from marginalia.comments import slugs
from marginalia.comments.errors import CommentError, CommentNotFound, DiscussionBusy
from marginalia.comments.operations import importing
from marginalia.comments.posting import preparation, services
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, CommentAuthor, HeldComment, Kind, NewComment, Restrictions, State, Target

T = TypeVar("T")
Rows = Iterator[dict[str, Any]]

# Maximum length of a line in bytes. This is enough for a comment of the maximum length, even if all of its characters
# are escaped.
MAX_LINE = 1_000_000
MAX_LIKES = 10**9
# How many times to try to read a discussion that is being converted.
ATTEMPTS = 3
# How many queued comments each query reads.
PAGE_SIZE = 100


class BrokenFile(Exception):
    """A line can't be imported. The lines before it were imported."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line


@dataclass
class Counts:
    """How many discussions, comments and new comments an import contained."""

    discussions: int = 0
    comments: int = 0
    new: int = 0


def export(label: str = "") -> Iterator[str]:
    """Yield the lines of all discussions, or only of discussions about objects of the model `label`."""
    for target in selectors.iterate_targets(label=label):
        yield from map(_line, rows(target))


def read_rows(target: Target, collect: Callable[[Rows], T], *, addresses: bool = True) -> T:
    """Return the result of calling `collect` with the `rows` of a discussion.

    If the discussion is converted while it is being read, call `collect` again with new rows.

    Raises:
        DiscussionBusy: The discussion was converted during each attempt.
        DiscussionDamaged: The discussion is damaged.
    """
    for _attempt in range(ATTEMPTS - 1):
        with suppress(DiscussionBusy):
            return collect(rows(target, addresses=addresses))
    return collect(rows(target, addresses=addresses))


def rows(target: Target, *, addresses: bool = True) -> Rows:
    """Yield the lines of a discussion as dicts, beginning with the line of the discussion itself.

    If `addresses` is false, email addresses are omitted.
    """
    discussion = selectors.discussion(target)
    yield {"discussion": str(target), "open": discussion.open, **_restrictions(discussion.restrictions)}
    likes = selectors.likes(target) if discussion.has_likes else {}
    for comment, email in selectors.iterate_with_emails(target):
        yield _row(comment, email if addresses else "", likes.get(comment.slug, 0))


def held_rows(*, addresses: bool = True) -> Iterator[dict[str, Any]]:
    """Yield the pending comments as dicts, each with its discussion and the reasons why the comment is waiting."""
    after = ""
    while page := selectors.held(limit=PAGE_SIZE, after=after):
        for held in page:
            context = {"discussion": str(held.target), "reasons": list(held.reasons)}
            yield {**_queued(held), **extra_of(held), **context, "email": held.email if addresses else ""}
        after = page[-1].id


def import_held(row: dict[str, Any], *, dry_run: bool = False) -> bool:
    """Hold a comment from `held_rows`, unless this site already has it. Return whether it is new.

    A comment that this site has already published or rejected isn't held again.

    Raises:
        BrokenFile: `row` is not valid.
        CommentError: The comment can't be held.
    """
    target = _target(row, 0)
    new = _comment(row, 0)
    if _is_known(target, new.slug):
        return False
    if not dry_run:
        importing.hold_imported(target, new, reasons=[str(reason) for reason in row.get("reasons", ())])
    return True


def _is_known(target: Target, slug: str) -> bool:
    if selectors.find_held(target, slug, verdict=None):
        return True
    try:
        selectors.get(target, slug)
    except CommentNotFound:
        return False
    return True


def import_(lines: Iterable[bytes], *, dry_run: bool = False, step: Callable[[], object] = lambda: None) -> Counts:
    """Import the discussions in `lines`. Existing comments are not changed.

    Args:
        lines: The lines of the file.
        dry_run: Whether to check the lines without importing them.
        step: A function that is called for each line.

    Returns:
        How many discussions, comments and new comments the lines contained.

    Raises:
        BrokenFile: A line can't be imported. The lines before it were imported.
    """
    reading = _Reading(lines, step)
    while reading.head:
        target, is_open, restrictions = _head(reading)
        reading.counts.discussions += 1
        if dry_run:
            for _comment in reading.comments():
                pass
            continue
        try:
            reading.counts.new += importing.import_(target, reading.comments())
            importing.import_likes(target, reading.likes)
            if not is_open:
                services.close(target)
            _restrict(target, restrictions)
        except CommentError as error:
            # Comments are stored in batches. When a missing parent is detected, more lines may have been read already,
            # so look up the number of the line that refers to this parent.
            number = reading.answering.get(str(error), reading.number)
            raise BrokenFile(number, f"{type(error).__name__}: {error}") from error
    return reading.counts


@dataclass
class _Reading:
    """The state of an import.

    Attributes:
        head: The line that begins the next discussion, or None at the end of the file.
        answering: The number of the first line in the current discussion that replies to a comment, keyed by the slug
            of that comment.
        likes: The numbers of likes of the comments in the current discussion, keyed by slug.
    """

    lines: Iterable[bytes]
    step: Callable[[], object]
    head: dict[str, Any] | None = None
    number: int = 0
    counts: Counts = field(default_factory=Counts)
    answering: dict[str, int] = field(default_factory=dict)
    likes: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._iterator = iter(self.lines)
        self.head = self._next()
        if self.head and "discussion" not in self.head:
            raise BrokenFile(self.number, "a comment comes before the first discussion")

    def comments(self) -> Iterator[NewComment]:
        """Yield the comments of the current discussion."""
        self.answering.clear()
        self.likes.clear()
        while (row := self._next()) and "discussion" not in row:
            self.counts.comments += 1
            comment = _comment(row, self.number)
            self.answering.setdefault(comment.parent, self.number)
            if likes := _likes(row, self.number):
                self.likes[comment.slug] = likes
            yield comment
        self.head = row

    def _next(self) -> dict[str, Any] | None:
        for line in self._iterator:
            self.number += 1
            self.step()
            if len(line) > MAX_LINE:
                raise BrokenFile(self.number, "the line is too long")
            if line.strip():
                return self._parsed(line)
        return None

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BrokenFile(self.number, f"this is not valid JSON: {error}") from error
        if not isinstance(row, dict) or not {"discussion", "comment"} & row.keys():
            raise BrokenFile(self.number, "this is neither a discussion nor a comment")
        return row


def _head(reading: _Reading) -> tuple[Target, bool, Restrictions]:
    head = reading.head or {}
    if not isinstance(head.get("open"), bool):
        raise BrokenFile(reading.number, "this is not a discussion")
    try:
        stored = head.get("restrictions", {})
        hold_until = stored.get("hold_until")
        begin, end = stored.get("hours") or (0, 0)
        restrictions = Restrictions(
            int(stored.get("slow_seconds", 0)),
            datetime.fromisoformat(hold_until) if hold_until else None,
            (int(begin), int(end)) if stored.get("hours") else None,
            str(stored.get("pinned", "")),
            tuple(str(slug) for slug in stored.get("locked", ())),
        )
    except (AttributeError, OverflowError, TypeError, ValueError) as error:
        raise BrokenFile(reading.number, f"the restrictions are not valid: {error}") from error
    return _target(head, reading.number), head["open"], restrictions


def _restrictions(given: Restrictions) -> dict[str, Any]:
    if given == Restrictions():
        return {}
    values = {**asdict(given), "hold_until": _time(given.hold_until) if given.hold_until else None}
    return {"restrictions": {name: value for name, value in values.items() if value}}


def _restrict(target: Target, given: Restrictions) -> None:
    if given == Restrictions():
        return
    services.restrict(
        target,
        slow_seconds=given.slow_seconds,
        hold_until=given.hold_until,
        hours=given.hours,
        pinned=given.pinned,
    )
    for slug in given.locked:
        with suppress(CommentNotFound):
            services.lock_thread(target, slug, locked=True)


def _target(row: dict[str, Any], number: int) -> Target:
    target = Target.parse(str(row.get("discussion")))
    if "." not in target.label or not target.pk:
        raise BrokenFile(number, "this is not a discussion")
    return target


def _row(comment: Comment, email: str, likes: int) -> dict[str, Any]:
    row = {
        "comment": comment.slug,
        "answers": comment.answers,
        "posted": _time(comment.posted),
        "edited": _time(comment.edited) if comment.edited else None,
        "kind": comment.kind.value,
        "state": comment.state.value,
        "name": comment.author.name,
        "user": comment.author.id,
        "url": comment.author.url,
        "moderator": comment.author.is_moderator,
        **picture_of(comment.author),
        "email": email,
        "text": comment.source,
    }
    return row | extra_of(comment) | ({"likes": likes} if likes else {})


def extra_of(comment: Comment | HeldComment) -> dict[str, Any]:
    """Return the field of a record for the values of a project's own form, or {} if there are none."""
    return {"extra": dict(comment.extra)} if comment.extra else {}


def _queued(held: HeldComment) -> dict[str, Any]:
    return {
        "comment": held.slug,
        "answers": held.parent,
        "posted": _time(held.posted),
        "edited": None,
        "kind": held.kind.value,
        "state": State.PUBLIC.value,
        "name": held.author.name,
        "user": held.author.id,
        "url": held.author.url,
        "moderator": held.author.is_moderator,
        **picture_of(held.author),
        "text": held.source,
    }


def picture_of(author: CommentAuthor) -> dict[str, str]:
    """Return the field of a record for the author's picture, or {} if there is none."""
    return {"picture": author.picture} if author.picture else {}


def _comment(row: dict[str, Any], number: int) -> NewComment:
    try:
        texts = {name: row[name] for name in ("comment", "answers", "name", "url", "email", "text")}
        texts["picture"] = row.get("picture", "")
        if not all(isinstance(value, str) for value in texts.values()) or not isinstance(row["user"], str | None):
            raise ValueError("a field has the wrong type")
        slug = texts["comment"]
        answers = texts["answers"]
        if not slugs.is_slug(slug) or (answers and not slugs.is_slug(answers)):
            raise ValueError("a slug is invalid")
        # A reply's slug isn't always below the slug of the comment that it replies to. If that comment is at the
        # maximum depth of threads, the reply is at the same level.
        if not f"{answers}/".startswith(slugs.join(slugs.parent_of(slug), "")):
            raise ValueError("its slug isn't below the comment that it replies to")
        return NewComment(
            author=CommentAuthor(
                texts["name"], row["user"], texts["url"], row.get("moderator") is True, texts["picture"]
            ),
            source=texts["text"],
            html=preparation.render(texts["text"]) if texts["text"] else "",
            token="",
            parent=answers,
            email=texts["email"],
            kind=Kind(row["kind"]),
            posted=_moment(row["posted"]),
            edited=_moment(row["edited"]) if row["edited"] else None,
            state=State(row["state"]),
            slug=slug,
            extra=dict(row.get("extra", {})),
        )
    except KeyError as error:
        raise BrokenFile(number, f"{error} is missing") from error
    except (ValueError, TypeError) as error:
        raise BrokenFile(number, str(error)) from error


def _likes(row: dict[str, Any], number: int) -> int:
    likes = row.get("likes", 0)
    if type(likes) is not int or not 0 <= likes <= MAX_LIKES:
        raise BrokenFile(number, "the number of likes is not valid")
    return likes


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time has no time zone")
    return moment.astimezone(UTC)


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))
