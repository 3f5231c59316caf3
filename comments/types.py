"""What crosses the boundary of the back ends: frozen values, never a raw document.

All datetimes are aware, in UTC, of millisecond precision. Slugs are paths: a reply's begins with its parent's.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from typing import TypedDict

_WEB_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)


class Order(StrEnum):
    """In which order comments are read."""

    OLDEST = "oldest"
    NEWEST = "newest"
    THREADED = "threaded"

    @property
    def native(self) -> "Order":
        """The order in which a discussion is stored to be read so: newest first is oldest first, read backwards."""
        return Order.THREADED if self is Order.THREADED else Order.OLDEST


class Kind(StrEnum):
    """Where a comment came from."""

    COMMENT = "comment"
    PINGBACK = "pingback"
    TRACKBACK = "trackback"


class State(StrEnum):
    """PUBLIC is shown; of a REMOVED one only the place is left: no text, no author."""

    PUBLIC = "public"
    REMOVED = "removed"


class Verdict(StrEnum):
    """What became of a pending comment. Of a WITHDRAWN one, by its author, nothing but the place is left."""

    WAITING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    SPAM = "spam"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Target:
    """What a discussion is about: any model's object, by label ("app.model") and primary key as a str.

    As a str it is "app.model:pk": so it stands in addresses, tokens, files and messages. Stored it is called by its `id`.
    """

    label: str
    pk: str

    def __str__(self) -> str:
        return f"{self.label}:{self.pk}"

    @property
    def id(self) -> str:
        """The `_id` of its discussion, "3fa9:app.model:pk". It begins with a hash, so that discussions lie evenly between
        "0000" and "ffff", and on shards: keys that grow with time would put all that is new on one."""
        return f"{blake2b(str(self).encode(), digest_size=2).hexdigest()}:{self}"

    @classmethod
    def parse(cls, name: str) -> "Target":
        """Return the target that is called "app.model:pk"."""
        label, _, pk = name.partition(":")
        return cls(label, pk)

    @classmethod
    def of_id(cls, discussion_id: str) -> "Target":
        """Return the target of a discussion's `_id`."""
        return cls.parse(discussion_id.partition(":")[2])


@dataclass(frozen=True, slots=True)
class Author:
    """Who wrote: `id` is a user's primary key as a str, None without an account; `is_moderator`: whether the account was a
    moderator's then. The e-mail address is not here: see `selectors.email_of`.

    `url` is "" if it was given as anything but a web address: pages and clients of the API make links of it. An older
    release stored others.
    """

    name: str
    id: str | None = None
    url: str = ""
    is_moderator: bool = False

    def __post_init__(self) -> None:
        if self.url and not _WEB_ADDRESS.fullmatch(self.url):
            object.__setattr__(self, "url", "")


@dataclass(frozen=True, slots=True)
class NewComment:
    """A comment before it is stored: validated, rendered and cleaned.

    `token` names the intent: however often it is sent, one comment comes of it; `said` is a keyed hash of the text that
    came with it. `parent` is a slug or "". `email` is kept apart and never shown. `posted` is given by imports alone, and
    `slug` by those of an export: what it is called there, however deep threads may go now.
    """

    author: Author
    source: str
    html: str
    token: str
    parent: str = ""
    email: str = ""
    kind: Kind = Kind.COMMENT
    posted: datetime | None = None
    edited: datetime | None = None
    state: State = State.PUBLIC
    slug: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """A stored comment. `rev` rises by one at each change; who changes a comment says which `rev` was seen. `said`: a keyed
    hash of what its form said at first, "" for a tombstone and for what was imported."""

    target: Target
    slug: str
    full_slug: str
    number: int
    posted: datetime
    parent: str
    answers: str
    author: Author
    source: str
    html: str
    kind: Kind
    state: State
    rev: int
    edited: datetime | None
    said: str = ""

    def __str__(self) -> str:
        return self.source

    @property
    def depth(self) -> int:
        """0 for a comment that answers none."""
        return self.slug.count("/")

    @property
    def removed(self) -> bool:
        """Whether only the place is left."""
        return self.state is State.REMOVED

    @property
    def part(self) -> str:
        """The comment's own 16 characters: unique, and short enough for an anchor."""
        return self.slug.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Discussion:
    """A target's discussion, stored or yet to be begun (`begun` False: before the first post).

    `version` is new after every change that readers can see: take it before the comments, and what is rendered may be
    kept under it, but not shown while a writer is `writing` (or stopped before the new version). `last_number` is the
    highest number given, `count` how many comments are public.
    """

    target: Target
    layout: str
    order: Order
    open: bool = True
    begun: bool = False
    count: int = 0
    last_number: int = 0
    version: str = ""
    epoch: int = 0
    moving: str = ""
    writing: bool = False


class PageQuery(TypedDict, total=False):
    """Which page is wanted: see `Backend.page`."""

    order: Order | None
    size: int
    number: int
    after: str
    before: str
    at: str


@dataclass(frozen=True, slots=True)
class Page:
    """Some comments of a discussion, in `order`. `asked` differs from it where the discussion is too long for the order
    that was asked for: tell the reader.

    In the orders by number, `number` is the page's (from 1; newest first shows the same pages, from the last), `pages`
    the last page's, `previous` and `next` are page numbers as str, in reading direction. In threads there are cursors
    only: give `next` as `after`, `previous` as `before`. "" where there is none.
    """

    discussion: Discussion
    comments: tuple[Comment, ...]
    order: Order
    asked: Order
    size: int
    number: int = 0
    pages: int = 0
    previous: str = ""
    next: str = ""

    @property
    def fell_back(self) -> bool:
        """Whether the order is not the one that was asked for."""
        return self.order is not self.asked


@dataclass(frozen=True, slots=True)
class Held:
    """A comment that waits for a moderator, or did. It takes its place in `number` and `posted` when approved. `rev` rises
    by one each time that its author changes it; `settled`: a moderator approved it, so that its author no longer can."""

    id: str
    target: Target
    slug: str
    parent: str
    number: int
    posted: datetime
    author: Author
    email: str
    source: str
    html: str
    kind: Kind
    verdict: Verdict
    reasons: tuple[str, ...] = field(default=())
    decided_by: str = ""
    decided: datetime | None = None
    rev: int = 1
    settled: bool = False
    said: str = ""


class HeldQuery(TypedDict, total=False):
    """Which queued comments are wanted: see `Backend.held`."""

    target: Target | None
    author_id: str
    slug: str
    taken_by: str
    open_to: str
    verdict: Verdict | None
    limit: int
    after: str


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a change replaced: the comment as it was, when it changed and by whom (a user's primary key, or "")."""

    comment: Comment
    at: datetime
    by: str


@dataclass(frozen=True, slots=True)
class Posted:
    """What came of a post: `comment` is public, or `held` waits. `new` is False for a token that had been posted
    before."""

    comment: Comment | None
    held: Held | None = None
    new: bool = True


@dataclass(frozen=True)
class Flagged:
    """A comment that readers flagged, and how many did."""

    target: Target
    slug: str
    count: int
    last: datetime


@dataclass(frozen=True)
class Subscription:
    """An address that wants to hear of replies to `slugs` in a discussion; `confirmed`: since when it does, if it does."""

    id: str
    target: Target
    email: str
    slugs: tuple[str, ...]
    confirmed: datetime | None


@dataclass(frozen=True)
class Fault:
    """Something wrong with a stored discussion, "app.model:pk": `kind` in a word, `what` in a sentence; whether a repair can
    mend it."""

    discussion: str
    kind: str
    what: str
    mendable: bool = True


class Converting(TypedDict, total=False):
    """How a discussion is converted: see `Backend.convert`."""

    renumber: bool
    patience: float | None
    progress: Callable[[int], None]
