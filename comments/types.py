"""The values that back ends accept and return: frozen, never a raw document.

All datetimes are aware, in UTC, with millisecond precision. Slugs are paths: the slug of a reply begins with its
parent's.
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
    """The order in which comments are read."""

    OLDEST = "oldest"
    NEWEST = "newest"
    THREADED = "threaded"

    @property
    def native(self) -> "Order":
        """Return the stored order for reading in this order. Newest first is oldest first, read backwards."""
        return Order.THREADED if self is Order.THREADED else Order.OLDEST


class Kind(StrEnum):
    """The origin of a comment."""

    COMMENT = "comment"
    PINGBACK = "pingback"
    TRACKBACK = "trackback"


class State(StrEnum):
    """PUBLIC comments are shown. A REMOVED comment keeps only its place, without text and author."""

    PUBLIC = "public"
    REMOVED = "removed"


class Verdict(StrEnum):
    """The decision about a pending comment. A comment WITHDRAWN by its author keeps only its place."""

    WAITING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    SPAM = "spam"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Target:
    """The object that a discussion is about, of any model: its label ("app.model") and its primary key as a str.

    As a str it is "app.model:pk", the form in URLs, tokens, files and messages. Stored documents use `id`.
    """

    label: str
    pk: str

    def __str__(self) -> str:
        return f"{self.label}:{self.pk}"

    @property
    def id(self) -> str:
        """Return the `_id` of its discussion, "3fa9:app.model:pk".

        It begins with a hash, so that discussions are distributed evenly between "0000" and "ffff", and on shards.
        Keys that grow with time would put everything new on one shard.
        """
        return f"{blake2b(str(self).encode(), digest_size=2).hexdigest()}:{self}"

    @classmethod
    def parse(cls, name: str) -> "Target":
        """Return the target for a name, "app.model:pk"."""
        label, _, pk = name.partition(":")
        return cls(label, pk)

    @classmethod
    def from_id(cls, discussion_id: str) -> "Target":
        """Return the target of the discussion with this `_id`."""
        return cls.parse(discussion_id.partition(":")[2])


@dataclass(frozen=True, slots=True)
class CommentAuthor:
    """The author of a comment. `id` is a user's primary key as a str, None without an account.

    `is_moderator` records whether the account was a moderator when the comment was posted. The email address is not
    here: see `selectors.email_of`.
    `url` is "" unless it is a web address, because pages and API clients make links of it. An older release stored
    other values.
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

    `token` identifies the intent: however often it is sent, it creates one comment. `text_hash` is a keyed hash of
    the text that came with the token. `parent` is a slug or "". `email` is stored separately and never shown.
    Only imports set `posted`. Only imports of an export set `slug`: the comment keeps its slug, even if threads are
    shallower now.
    """

    author: CommentAuthor
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
    text_hash: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """A stored comment. `rev` rises by one with each change, and a change must name the `rev` that its author saw.

    `text_hash` is a keyed hash of the text that its form sent first, "" for a tombstone or an imported comment.
    """

    target: Target
    slug: str
    full_slug: str
    number: int
    posted: datetime
    parent: str
    answers: str
    author: CommentAuthor
    source: str
    html: str
    kind: Kind
    state: State
    rev: int
    edited: datetime | None
    text_hash: str = ""

    def __str__(self) -> str:
        return self.source

    @property
    def depth(self) -> int:
        """Return the level below the root, 0 for a comment that replies to none."""
        return self.slug.count("/")

    @property
    def removed(self) -> bool:
        """Return whether only the place of the comment remains."""
        return self.state is State.REMOVED

    @property
    def part(self) -> str:
        """Return the comment's own 16 characters, which are unique, and short enough for an anchor."""
        return self.slug.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Discussion:
    """The discussion of a target, stored or not. `begun` is False before the first post.

    `version` changes with every change that readers can see. Read it before the comments; a response made from them
    can then be cached under it. The version is not reliable while a writer is `writing`, which includes writers
    that stopped before the new version.
    `last_number` is the highest number given. `count` is the number of public comments. `moving` is the layout that
    the discussion is being converted to, "" for none.
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
    """Arguments that select a page: see `Backend.page`."""

    order: Order | None
    size: int
    number: int
    after: str
    before: str
    at: str


@dataclass(frozen=True, slots=True)
class Page:
    """Some comments of a discussion, in `order`.

    It differs from `requested_order` if the discussion is too long for that order.
    In the orders by number, `number` is the number of the page (from 1; newest first shows the same pages,
    beginning with the last), `pages` that of the last page. `previous` and `next` are page numbers as str, in
    reading direction.
    In threads there are only cursors: pass `next` as `after`, `previous` as `before`. All are "" if there is no
    such page.
    """

    discussion: Discussion
    comments: tuple[Comment, ...]
    order: Order
    requested_order: Order
    size: int
    number: int = 0
    pages: int = 0
    previous: str = ""
    next: str = ""

    @property
    def fell_back(self) -> bool:
        """Return whether the order differs from the requested one."""
        return self.order is not self.requested_order


@dataclass(frozen=True, slots=True)
class HeldComment:
    """A comment that waits for a moderator, or did.

    It gets its place (`number`, `posted`) when it is approved. `rev` rises by one each time its author changes it.
    `settled` is True once a moderator approved it, so that its author can no longer change it.
    """

    id: str
    target: Target
    slug: str
    parent: str
    number: int
    posted: datetime
    author: CommentAuthor
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
    text_hash: str = ""


class HeldQuery(TypedDict, total=False):
    """Arguments that select queued comments: see `Backend.held`."""

    target: Target | None
    author_id: str
    slug: str
    leased_by: str
    available_to: str
    verdict: Verdict | None
    limit: int
    after: str


@dataclass(frozen=True, slots=True)
class ReplacedComment:
    """A version of a comment that a change replaced.

    `at` is the time of the change. `by` is the primary key of the user who made it, or "".
    """

    comment: Comment
    at: datetime
    by: str


@dataclass(frozen=True, slots=True)
class PostResult:
    """The result of a post: `comment` is public, or `held` waits.

    `new` is False if the token was posted before.
    """

    comment: Comment | None
    held: HeldComment | None = None
    new: bool = True


@dataclass(frozen=True)
class FlaggedComment:
    """A comment that readers flagged, with the number of these readers and the time of the last flag."""

    target: Target
    slug: str
    count: int
    last: datetime


@dataclass(frozen=True)
class Subscription:
    """The subscription of an email address to replies to `slugs` in a discussion.

    `confirmed` is the time of its confirmation, None if it is unconfirmed.
    """

    id: str
    target: Target
    email: str
    slugs: tuple[str, ...]
    confirmed: datetime | None


@dataclass(frozen=True)
class Fault:
    """A fault of a stored discussion, "app.model:pk". `kind` is a word, `description` a sentence.

    `repairable` is False if only a person can repair it.
    """

    discussion: str
    kind: str
    description: str
    repairable: bool = True


class ConversionOptions(TypedDict, total=False):
    """Options of a conversion: see `Backend.convert`."""

    renumber: bool
    patience: float | None
    progress: Callable[[int], None]
