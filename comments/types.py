"""The immutable values that backends accept and return. Raw documents are never exposed.

All datetimes are timezone-aware, in UTC, with millisecond precision. Slugs are paths: the slug of a reply begins with
the slug of its parent.
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
    """The order of comments on a page."""

    OLDEST = "oldest"
    NEWEST = "newest"
    THREADED = "threaded"

    @property
    def native(self) -> "Order":
        """Return the order in which comments must be stored so that they can be read in this order.

        For NEWEST, this is OLDEST. The stored comments are then read backwards.
        """
        return Order.THREADED if self is Order.THREADED else Order.OLDEST


class Kind(StrEnum):
    """The origin of a comment."""

    COMMENT = "comment"
    PINGBACK = "pingback"
    TRACKBACK = "trackback"


class State(StrEnum):
    """The state of a comment. A REMOVED comment keeps only its position, and has no text or author."""

    PUBLIC = "public"
    REMOVED = "removed"


class Verdict(StrEnum):
    """The verdict on a queued comment. If authors withdraw a comment (WITHDRAWN), its text and author are deleted."""

    WAITING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    SPAM = "spam"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Target:
    """The identity of an object with a discussion: the label of its model and its primary key as a str.

    The str of a target has the form "app.model:pk", which is used in URLs, tokens, files and messages. Stored documents
    use `id`.
    """

    label: str
    pk: str

    def __str__(self) -> str:
        return f"{self.label}:{self.pk}"

    @property
    def id(self) -> str:
        """Return the `_id` of the discussion document, "3fa9:app.model:pk".

        The hash at the beginning distributes discussions evenly across the shards. Without this hash, keys that
        increase with time would put all new discussions on one shard.
        """
        return f"{blake2b(str(self).encode(), digest_size=2).hexdigest()}:{self}"

    @classmethod
    def parse(cls, name: str) -> "Target":
        """Return the target for `name`, which has the form "app.model:pk"."""
        label, _, pk = name.partition(":")
        return cls(label, pk)

    @classmethod
    def from_id(cls, discussion_id: str) -> "Target":
        """Return the target for the `_id` of a discussion document."""
        return cls.parse(discussion_id.partition(":")[2])


@dataclass(frozen=True, slots=True)
class CommentAuthor:
    """The author of a comment. The email address is not included: see `selectors.email_of`.

    Attributes:
        name: The name that readers see.
        id: The primary key of the account as a str, or None if there is no account.
        url: The author's website. Any value that is not an http or https URL is replaced by "", because pages and API
            clients link to this value, and an older release stored other values.
        is_moderator: Whether the account was a moderator when the comment was posted.
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
    """A validated and rendered comment that is not stored yet.

    Attributes:
        token: The token of the form. A token creates only one comment, even if the token is sent several times.
        text_hash: A keyed hash of the text that was sent with the token.
        parent: The slug of the comment that this comment replies to, or "".
        email: The author's email address, which is stored but never shown.
        posted: The time of the comment. Only imports set this time.
        slug: The slug of an exported comment. This slug is set only when an export is imported, so that the comment
            keeps its slug even if MAX_DEPTH is lower now.
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
    """A stored comment.

    Attributes:
        answers: The slug of the comment that this comment replies to, or "". This value differs from `parent` for
            replies below the maximum depth.
        rev: The revision, which increases by one with each change. A change must specify the revision that the user
            saw.
        text_hash: A keyed hash of the text that was first sent with the form, or "" for removed and imported comments.
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
        """Return the number of levels above the comment, which is 0 for a root comment."""
        return self.slug.count("/")

    @property
    def removed(self) -> bool:
        """Return whether the comment has been removed."""
        return self.state is State.REMOVED

    @property
    def part(self) -> str:
        """Return the last part of the slug: 16 characters, unique in the discussion, and short enough for an anchor."""
        return self.slug.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Discussion:
    """The discussion of a target. The discussion might not be stored yet.

    Attributes:
        begun: Whether the discussion is stored. The value is False until the first post.
        count: The number of public comments.
        last_number: The highest number assigned so far.
        version: An id that changes whenever readers can see a change. Read the version before the comments, so that you
            can use it as the cache key of a response that contains the comments.
        moving: The layout that the discussion is being converted to, or "".
        writing: Whether a writer is active, or stopped before updating the version. If so, the version is not reliable.
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
    """Keyword arguments of `Backend.page`."""

    order: Order | None
    size: int
    number: int
    after: str
    before: str
    at: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page of comments in a discussion.

    Pages in the orders OLDEST and NEWEST have page numbers, beginning with 1. NEWEST shows the same pages as OLDEST,
    beginning with the last page. Pages in the order THREADED have cursors.

    Attributes:
        order: The order of the comments. This order differs from `requested_order` if the discussion is too long to be
            shown in the requested order.
        number: The page number, or 0 in threaded order.
        pages: The number of the last page, or 0 in threaded order.
        previous: The page number as a str, or the cursor, of the previous page in reading order. The value is "" if
            there is no previous page. Pass a cursor as `before` to `Backend.page`.
        next: The page number as a str, or the cursor, of the next page in reading order. The value is "" if there is no
            next page. Pass a cursor as `after` to `Backend.page`.
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
        """Return whether `order` differs from `requested_order`."""
        return self.order is not self.requested_order


@dataclass(frozen=True, slots=True)
class HeldComment:
    """A comment in the moderation queue. It is either pending, or was approved, rejected or withdrawn.

    `number` and `posted` determine the comment's place in the discussion once the comment is approved.

    Attributes:
        rev: The revision, which increases by one each time the author changes the comment.
        settled: Whether a moderator has approved the comment, so that its author can no longer change it.
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
    """Keyword arguments of `Backend.held`."""

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
    """A previous version of a comment.

    Attributes:
        at: The time of the change that replaced this version.
        by: The primary key of the user who made the change, or "".
    """

    comment: Comment
    at: datetime
    by: str


@dataclass(frozen=True, slots=True)
class PostResult:
    """The result of a post: either a public comment or a held comment.

    Attributes:
        new: False if the token had already been used.
    """

    comment: Comment | None
    held: HeldComment | None = None
    new: bool = True


@dataclass(frozen=True)
class FlaggedComment:
    """A flagged comment, with the number of readers who flagged it and the time of the latest flag."""

    target: Target
    slug: str
    count: int
    last: datetime


@dataclass(frozen=True)
class Subscription:
    """A subscription of an email address to replies to comments in a discussion.

    Attributes:
        slugs: The slugs of the comments. Each reply to one of these comments causes a notice.
        confirmed: The time of the confirmation, or None if the subscription is not confirmed yet.
    """

    id: str
    target: Target
    email: str
    slugs: tuple[str, ...]
    confirmed: datetime | None


@dataclass(frozen=True)
class Fault:
    """A fault in a stored discussion.

    Attributes:
        discussion: The target as a str, "app.model:pk".
        kind: The kind of fault, as a single word.
        description: A description of the fault.
        repairable: Whether `Backend.repair` can repair the fault.
    """

    discussion: str
    kind: str
    description: str
    repairable: bool = True


class ConversionOptions(TypedDict, total=False):
    """Keyword arguments of `Backend.convert`."""

    renumber: bool
    patience: float | None
    progress: Callable[[int], None]
