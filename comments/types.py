"""The immutable values that backends accept and return. Backends never return raw documents.

All datetimes are timezone-aware, in UTC, and have millisecond precision. A slug is a path: the slug of a reply begins
with the slug of its parent.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Any, TypedDict

_WEB_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)


class Order(StrEnum):
    """The order of comments on a page."""

    OLDEST = "oldest"
    NEWEST = "newest"
    THREADED = "threaded"

    @property
    def native(self) -> "Order":
        """Return the order in which comments have to be stored so that they can be read in this order.

        For NEWEST, this is OLDEST, because the stored comments can be read backwards.
        """
        return Order.THREADED if self is Order.THREADED else Order.OLDEST


class Kind(StrEnum):
    """The origin of a comment."""

    COMMENT = "comment"
    PINGBACK = "pingback"
    TRACKBACK = "trackback"


class State(StrEnum):
    """The state of a comment. A REMOVED comment has no text and no author, but keeps its position."""

    PUBLIC = "public"
    REMOVED = "removed"


class Verdict(StrEnum):
    """The verdict on a queued comment. If its author withdraws it (WITHDRAWN), its text and author are deleted."""

    WAITING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    SPAM = "spam"
    WITHDRAWN = "withdrawn"


class TermKind(StrEnum):
    """The kind of a term, by which comments are searched and banned. A term is a string of the form "kind:value"."""

    WORD = "word"
    NAME = "name"
    ACCOUNT = "account"
    EMAIL = "email"
    EMAIL_DOMAIN = "from"
    LINK_DOMAIN = "link"
    SHINGLE = "like"
    # The keyed hash of a network. It expires, so it isn't stored among the terms of a comment.
    NETWORK = "network"
    MODEL = "on"
    # Several words, each of which a comment must contain. Only bans have such terms.
    PATTERN = "words"

    def term(self, value: str) -> str:
        """Return the term for a value."""
        return f"{self}:{value}"


@dataclass(frozen=True, slots=True)
class Target:
    """The identity of an object that can have a discussion: the label of its model, and its primary key as a str.

    The str of a target has the form "app.model:pk", which is used in tokens, files and messages. Stored documents
    contain the `id` instead.
    """

    label: str
    pk: str

    def __str__(self) -> str:
        return f"{self.label}:{self.pk}"

    @property
    def id(self) -> str:
        """Return the `_id` of the discussion document, "3fa9:app.model:pk".

        The hash at the beginning distributes discussions evenly across the shards. Without it, all new discussions
        would be stored on the same shard if primary keys increase with time.
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
    """The author of a comment, without the email address. For the email address, see `selectors.email_of`.

    Attributes:
        name: The name that readers see.
        id: The primary key of the account as a str, or None if there is no account.
        url: The author's website. If the value is not an http or https URL, it is replaced with "", because pages and
            API clients show it as a link, and an older release stored other values.
        is_moderator: Whether the account was a moderator when the comment was posted.
        picture: The URL of the account's picture, or "". Only embedded discussions show it.
    """

    name: str
    id: str | None = None
    url: str = ""
    is_moderator: bool = False
    picture: str = ""

    def __post_init__(self) -> None:
        if self.url and not _WEB_ADDRESS.fullmatch(self.url):
            object.__setattr__(self, "url", "")
        if self.picture and not _WEB_ADDRESS.fullmatch(self.picture):
            object.__setattr__(self, "picture", "")


@dataclass(frozen=True, slots=True)
class NewComment:
    """A validated and rendered comment that is not stored yet.

    Attributes:
        token: The token of the form. Even if it is sent several times, only one comment is created.
        text_hash: A keyed hash of the text that was sent with the token.
        parent: The slug of the comment that this comment replies to, or "".
        email: The author's email address, which is stored but never shown.
        posted: The time of the comment, which is set only by imports. None means the current time.
        slug: The slug that the comment had when it was exported, or "". An imported comment keeps this slug, even if
            MAX_DEPTH is now lower.
        extra: The values of the fields that a project's form adds, in types that JSON has.
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
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Comment:
    """A stored comment.

    Attributes:
        answers: The slug of the comment that this comment replies to, or "". It differs from `parent` if the reply
            would have exceeded the maximum depth.
        rev: The revision, which each change increases by one. A change must specify the revision that the user saw.
        text_hash: A keyed hash of the text with which the comment was first sent, or "" for removed and imported
            comments.
        extra: The values of the fields that a project's form adds, in types that JSON has.
        likes: How many readers like the comment. Only the selectors that return pages read this number.
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
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    likes: int = 0

    def __str__(self) -> str:
        return self.source

    @property
    def depth(self) -> int:
        """Return how many levels above the comment there are. For a root comment, this is 0."""
        return self.slug.count("/")

    @property
    def removed(self) -> bool:
        """Return whether the comment has been removed."""
        return self.state is State.REMOVED

    @property
    def part(self) -> str:
        """Return the last part of the slug. It is unique in the discussion, and short enough for an anchor."""
        return self.slug.rpartition("/")[2]


# The longest time between two comments of a writer in a slow discussion, in seconds.
MAX_SLOW_SECONDS = 7 * 24 * 3_600


@dataclass(frozen=True, slots=True)
class Restrictions:
    """What moderators have set for one discussion, in addition to its policy. They can comment without restrictions.

    Attributes:
        slow_seconds: The number of seconds that writers have to wait between two comments, or 0.
        hold_until: The time until which every comment needs approval, or None.
        hours: The daily hours in which comments are accepted, or None: the first and the last minute, as minutes after
            midnight in the current time zone. If the first minute is greater, the hours include midnight.
        pinned: The slug of the comment that is shown above the others, or "".
        locked: The slugs of comments whose threads accept no replies.
    """

    slow_seconds: int = 0
    hold_until: datetime | None = None
    hours: tuple[int, int] | None = None
    pinned: str = ""
    locked: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError if a value is out of range, or if `hold_until` has no time zone."""
        if not 0 <= self.slow_seconds <= MAX_SLOW_SECONDS:
            raise ValueError(f"slow_seconds must be between 0 and {MAX_SLOW_SECONDS}")
        if self.hold_until and self.hold_until.tzinfo is None:
            raise ValueError("hold_until needs a time zone")
        # Times at the ends of the calendar can't be converted to other time zones.
        if self.hold_until and not 1970 <= self.hold_until.year < 9999:
            raise ValueError("hold_until must be between 1970 and 9998")
        if self.hours and not (0 <= min(self.hours) < max(self.hours) < 24 * 60):
            raise ValueError("hours must be two different minutes of a day")

    def is_locked(self, slug: str) -> bool:
        """Return whether the comment `slug` is in a locked thread."""
        return any(slug == locked or slug.startswith(f"{locked}/") for locked in self.locked)


class RestrictionChanges(TypedDict, total=False):
    """Keyword arguments of `Backend.restrict`: the fields of Restrictions that can be replaced."""

    slow_seconds: int
    hold_until: datetime | None
    hours: tuple[int, int] | None
    pinned: str


@dataclass(frozen=True, slots=True)
class Discussion:
    """The discussion of a target. The discussion might not be stored yet.

    Attributes:
        begun: Whether the discussion is stored. Usually, this is False until the first post.
        count: The number of public comments.
        last_number: The highest number assigned so far.
        version: An id that changes with each change that readers can see, or "" if there was none yet. It can be part
            of the cache key of a response that contains the comments, if it is read before the comments.
        moving: The layout that the discussion is being converted to, or "".
        writing: Whether there is a writer that hasn't set a new version yet, because it is still active or has crashed.
            If so, the version is not reliable.
        has_likes: Whether a comment has ever been liked.
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
    restrictions: Restrictions = field(default_factory=Restrictions)
    has_likes: bool = False


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

    Pages in the orders OLDEST and NEWEST have numbers, beginning with 1. NEWEST has the same pages as OLDEST, but
    begins with the last page. Pages in the order THREADED have cursors instead of numbers.

    Attributes:
        order: The order of the comments. If the discussion is too long to be shown in `requested_order`, this is the
            order in which it is stored.
        number: The page number, or 0 in threaded order.
        pages: The number of the last page, or 0 in threaded order.
        previous: The number of the previous page in reading order as a str, or a cursor that can be passed to
            `Backend.page` as `before`. This is "" if there is no previous page.
        next: The number of the next page in reading order as a str, or a cursor that can be passed to `Backend.page` as
            `after`. This is "" if there is no next page.
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
    """A comment in the moderation queue. It is pending, or has been approved, rejected or withdrawn.

    If the comment is approved, `number` and `posted` determine its position in the discussion.

    Attributes:
        rev: The revision, which increases by one each time the author changes the comment.
        settled: Whether a moderator has begun to approve the comment, so that its author can no longer change it.
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
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


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
    """The result of sending a comment: either a public comment or a held comment.

    Attributes:
        new: Whether the comment was stored by this request. This is False if the token had already been used.
    """

    comment: Comment | None
    held: HeldComment | None = None
    new: bool = True


@dataclass(frozen=True)
class ImportedId:
    """The id of an imported comment in another comment system.

    Attributes:
        slug: The slug of the comment.
        anchor: The fragment of the old permalink, for example "comment-123".
        dislikes: How many readers disliked the comment there.
    """

    slug: str
    anchor: str
    dislikes: int = 0


@dataclass(frozen=True)
class FlaggedComment:
    """A flagged comment, with the number of readers who flagged it and the time of the latest flag."""

    target: Target
    slug: str
    count: int
    last: datetime


@dataclass(frozen=True)
class Subscription:
    """The subscription of an email address to replies in a discussion.

    Attributes:
        slugs: The slugs of comments. The address receives an email about each reply to one of these comments.
        confirmed: The time of the confirmation, or None if the subscription is not confirmed yet.
    """

    id: str
    target: Target
    email: str
    slugs: tuple[str, ...]
    confirmed: datetime | None


@dataclass(frozen=True)
class Ban:
    """A ban on the comments that contain a term.

    Attributes:
        kind: ACCOUNT, NETWORK, EMAIL, EMAIL_DOMAIN, LINK_DOMAIN or PATTERN.
        reason: The reason, for moderators.
        by: The primary key of the moderator, or "".
        expires: The time when the ban ends, or None if it is permanent.
    """

    id: str
    kind: TermKind
    value: str
    reason: str
    by: str
    created: datetime
    expires: datetime | None

    @property
    def term(self) -> str:
        """Return the term that is banned."""
        return self.kind.term(self.value)

    def is_active(self, moment: datetime) -> bool:
        """Return whether the ban applies at `moment`."""
        return self.expires is None or self.expires > moment


@dataclass(frozen=True)
class Selection:
    """The comments that have all of these properties. An empty property matches every comment.

    Attributes:
        terms: Terms that a comment must have.
        prefixes: Beginnings of terms that a comment must have.
        alike: The shingles of a text. A comment must share at least half of them.
        network: The keyed hash of the network from which a comment was sent.
        discussions: The ids of the discussions, or None for all discussions.
        since: The time from which on a comment must have been posted.
        until: The time before which a comment must have been posted.
        comments: The (discussion id, slug) of the comments, or None for all comments.
    """

    terms: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()
    network: str = ""
    discussions: tuple[str, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None
    comments: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True)
class Selected:
    """How many comments a selection contains, published and pending, and in how many discussions.

    Attributes:
        more: Whether counting stopped, so that there may be more comments.
    """

    published: int
    pending: int
    discussions: int
    more: bool = False

    @property
    def comments(self) -> int:
        """Return the number of comments."""
        return self.published + self.pending


@dataclass(frozen=True)
class Found:
    """A comment that a search found.

    Attributes:
        state: The State of a published comment, or the Verdict on a pending one.
        held_id: The id in the queue, or "" for a published comment.
    """

    id: str
    target: Target
    slug: str
    posted: datetime
    state: "State | Verdict"
    held_id: str = ""


class BatchState(StrEnum):
    """The progress of a bulk decision. All states except DONE and UNDONE are being worked on."""

    MARKING = "marking"
    HIDING = "hiding"
    APPROVING = "approving"
    DONE = "done"
    UNDOING = "undoing"
    UNDONE = "undone"


@dataclass(frozen=True)
class Batch:
    """A bulk decision: published comments are hidden, and pending comments get a verdict.

    Attributes:
        verdict: The verdict on pending comments: SPAM, REJECTED or APPROVED. If it is APPROVED, no comment is hidden.
        what: The term by which the comments were selected, or "" if they were selected in another way.
        total: How many comments were selected. Until this is known, it is 0.
        left: How many comments are still to be changed.
        skipped: How many comments could not be changed, for example because their discussion is damaged.
        restored: How many comments were restored by an undo. If they had been approved, they were hidden instead.
    """

    id: str
    by: str
    created: datetime
    verdict: Verdict
    what: str
    state: BatchState
    total: int
    left: int
    skipped: int
    restored: int

    @property
    def is_finished(self) -> bool:
        """Return whether nothing is left to do."""
        return self.state in (BatchState.DONE, BatchState.UNDONE)


# A function that is called with comments that a bulk decision has changed. Its arguments are their targets and slugs,
# their new verdict, and the scheme and host for links in notices, or "". After an undo, the verdict is WAITING.
OnDecided = Callable[[list[tuple[Target, str]], Verdict, str], None]


@dataclass(frozen=True)
class Fault:
    """A fault in a stored discussion.

    Attributes:
        discussion: The target as a str, "app.model:pk".
        kind: The kind of fault, in a single word.
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
