"""Schemas of the request and response bodies for discussions."""

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, StrictBool, StrictInt

from api.schemas.shapes import Id, Shape
from marginalia.comments.api import shapes
from marginalia.comments.api.shapes import Kind, Order, Slug, Writer
from marginalia.comments.types import MAX_SLOW_SECONDS, TermKind

# The names of the kinds of bans, and the kinds that they stand for.
BAN_KINDS = {
    "account": TermKind.ACCOUNT,
    "network": TermKind.NETWORK,
    "email": TermKind.EMAIL,
    "email-domain": TermKind.EMAIL_DOMAIN,
    "link-domain": TermKind.LINK_DOMAIN,
    "words": TermKind.PATTERN,
}
BanKind = Literal["account", "network", "email", "email-domain", "link-domain", "words"]
MAX_DECISIONS = 100


class Comment(shapes.Comment):
    """A comment. A removed comment has no author and no text."""

    node: Id
    source: str = Field("", description="The text as typed. Only for moderators and the account that wrote it.")


class CommentOnPage(Comment):
    """A comment, and the page that contains it."""

    page: str | None = Field(
        description="The cursor of the page that contains the comment. null for a pending comment."
    )


class Discussion(shapes.Discussion):
    """A node's discussion. `order` is the default order of its pages.

    `open` is true if the discussion currently accepts comments. `likes` is true if readers can like comments.
    """

    node: Id


Minute = Annotated[
    str, Field(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$", examples=["08:30"], description="In the site's time zone.")
]


class Hours(Shape):
    """The daily hours in which comments are accepted."""

    begin: Minute
    end: Minute


class Restrictions(Shape):
    """What moderators have set for one discussion. Comments by moderators aren't restricted.

    `pinned` is the comment shown above the others, or "". No one can reply below the comments in `locked`.
    """

    slow_seconds: int
    hold_until: datetime | None
    hours: Hours | None
    pinned: Slug | Literal[""]
    locked: list[Slug]


class ManagedDiscussion(Discussion):
    """A node's discussion with its restrictions."""

    restrictions: Restrictions


class DiscussionChanges(Shape):
    """Changes to a discussion. Settings that aren't sent don't change. `lock` and `unlock` are slugs of comments."""

    open: StrictBool = True
    slow_seconds: StrictInt = Field(0, ge=0, le=MAX_SLOW_SECONDS)
    hold_until: AwareDatetime | None = None
    hours: Hours | None = None
    pinned: Slug | Literal[""] = ""
    lock: Slug | None = None
    unlock: Slug | None = None


class Comments(Shape):
    """A page of a discussion.

    `order` is the order of the comments on this page, which may differ from the requested order if the discussion is
    very long.
    """

    items: list[Comment]
    next: str | None
    previous: str | None
    order: Order
    discussion: Discussion


class Thread(Shape):
    """A comment and all replies in its thread."""

    items: list[Comment]
    next: str | None
    discussion: Discussion


class Count(Shape):
    """The number of public comments on a node."""

    node: Id
    count: int


class Counts(Shape):
    """The number of public comments on each node, in the order in which the nodes were requested."""

    items: list[Count]


class ForModerators(Shape):
    """A comment as moderators see it. `path` is the path of its page, or null if the page is hidden."""

    rev: int
    slug: Slug
    node: str
    path: str | None
    parent: Slug | None
    kind: Kind
    posted: datetime
    author: Writer
    body_html: str
    source: str


class Pending(ForModerators):
    """A comment in the moderation queue. `path` is the path of its page, or null if the page is hidden."""

    id: Id
    state: Literal["waiting", "spam", "rejected"]
    email: str
    reasons: list[str] = Field(description="Why the comment is pending.")


class Queue(Shape):
    """A page of the moderation queue, oldest comments first."""

    items: list[Pending]
    next: str | None


class Seen(Shape):
    """A comment in the queue. `rev` identifies the version that you read."""

    id: Id
    rev: StrictInt = Field(ge=1, le=10**9 - 1)


class Decisions(Shape):
    """An action to apply to comments in the queue. `seen` is the state that the comments had when you listed them."""

    action: Literal["approve", "reject", "spam", "wait"]
    seen: Literal["waiting", "spam", "rejected"] = "waiting"
    items: list[Seen] = Field(min_length=1, max_length=MAX_DECISIONS)


class Decision(Shape):
    """The result of a decision about one comment. If nothing was changed, `reason` explains why."""

    id: Id
    done: bool
    reason: str | None


class Decided(Shape):
    """The results of the decisions, in the order in which you sent the comments."""

    items: list[Decision]


class BanTerm(Shape):
    """The kind and the value of a ban.

    The value is a user name, a network such as 203.0.113.0/24, an email address, a domain, or words that a comment must
    all contain. A word that ends with * stands for all words that begin with it.
    """

    kind: BanKind
    value: str = Field(max_length=500, examples=["casino.example"])


class NewBan(BanTerm):
    """A ban to store. `hide` also hides the published comments that it matches, and marks the pending ones as spam."""

    reason: str = Field("", max_length=500, description="Only moderators see the reason.")
    expires: AwareDatetime | None = Field(None, description="null for a permanent ban.")
    hide: StrictBool = False


class Ban(Shape):
    """A ban. For networks, the value is a keyed hash. For accounts, it is the account's id."""

    id: Id
    kind: BanKind
    value: str
    reason: str
    created: datetime
    expires: datetime | None


class Bans(Shape):
    """A page of bans, newest first."""

    items: list[Ban]
    next: str | None


class BanPreview(Shape):
    """How many comments a ban matches, and in how many discussions. If `more` is true, there are even more."""

    published: int
    pending: int
    discussions: int
    more: bool


class CommentFilters(Shape):
    """Filters for comments. A comment must match all of them. Empty filters match every comment."""

    q: str = Field("", max_length=200, description="Words of the text. A word with * stands for its beginning.")
    author: str = Field("", max_length=200, description="The author's name or email address.")
    link: str = Field("", max_length=500, description="The domain of a link.")
    network: str = Field("", max_length=100, examples=["203.0.113.0/24"], description="An address or a network.")
    section: str = Field("", max_length=100, description="The id of the section that contains the pages.")
    model: str = Field("", max_length=100, examples=["nodes.photo"], description="The model of the pages.")
    since: date | None = Field(None, description="The first day.")
    until: date | None = Field(None, description="The last day.")


class FoundComment(ForModerators):
    """A comment that a search found. `id` is its id in the queue, or null for a comment that isn't in the queue."""

    id: Id | None
    state: Literal["public", "removed", "waiting", "spam", "rejected"]


class FoundComments(Shape):
    """A page of comments that a search found, newest first."""

    items: list[FoundComment]
    next: str | None


class NewBulkDecision(Shape):
    """A decision about all comments that match the filters. At least one filter is required."""

    action: Literal["spam", "reject", "approve"]
    filters: CommentFilters


class BulkDecision(Shape):
    """A decision about many comments.

    `total` comments were selected, `left` are still to be changed, and `skipped` could not be changed. `restored` is
    the number of comments that an undo has changed back. If they had been approved, they were hidden instead.
    """

    id: Id
    created: datetime
    action: Literal["spam", "reject", "approve"]
    state: Literal["marking", "hiding", "approving", "done", "undoing", "undone"]
    total: int
    left: int
    skipped: int
    restored: int


class BulkDecisions(Shape):
    """A page of decisions about many comments, newest first."""

    items: list[BulkDecision]
    next: str | None


class BanResult(Shape):
    """The stored ban, and the decision that hides comments, or null if none was requested."""

    ban: Ban
    decision: BulkDecision | None
