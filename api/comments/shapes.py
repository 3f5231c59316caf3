"""Shapes of discussions: what is sent and answered."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt

from api.schemas.shapes import Id, Shape

# Written out, because this is what was promised: a word that marginalia.comments.types gets is a new one here, too.
Kind = Literal["comment", "pingback", "trackback"]
Order = Literal["oldest", "newest", "threaded"]
PENDING = "pending"
# A bound on what is read at all; the site's own is narrower, and told by the form's rules.
LONGEST = 200_000
MOST_DECIDED = 100

Slug = Annotated[
    str,
    Field(
        max_length=600,
        pattern="^[a-z2-7]{16}(/[a-z2-7]{16})*$",
        examples=["mfzwizltoq2gk3tu"],
        description="What names a comment in its discussion: below its parent's, by a slash.",
    ),
]


class Writer(Shape):
    """Who wrote a comment. `is_author`: of the page, too; `is_moderator`: whether the account was a moderator's then."""

    name: str
    url: str
    is_author: bool
    is_moderator: bool


class Comment(Shape):
    """A comment. Of a removed one only the place is left: no writer, no text."""

    slug: Slug
    node: Id
    parent: Slug | None = Field(description="The comment that it answers.")
    depth: int = Field(description="0 for one that answers none.")
    kind: Kind
    state: Literal["public", "removed", "pending"]
    rev: int = Field(description="Rises by one with every change; If-Match compares it.")
    posted: datetime
    edited: datetime | None
    author: Writer | None
    body_html: str = Field(description="The text, clean.")
    source: str = Field("", description="The text as it was typed: for its author, by account, and moderators.")
    url: str = Field(description="The permalink.")


class CommentOnPage(Comment):
    """A comment, and where it is read."""

    page: str | None = Field(description="The cursor of the page that it is on; null while it waits.")


class Discussion(Shape):
    """What is said about a node. `order`: of its pages, where none is asked for; `open`: whether it takes comments now."""

    node: Id
    count: int
    open: bool
    order: Order


class Comments(Shape):
    """A page of a discussion. `order`: that of the page, which in a very long discussion may not be what was asked for."""

    items: list[Comment]
    next: str | None
    previous: str | None
    order: Order
    discussion: Discussion


class Thread(Shape):
    """A comment and all that hangs below it."""

    items: list[Comment]
    next: str | None
    discussion: Discussion


class Count(Shape):
    """How many comments a node has that readers see."""

    node: Id
    count: int


class Counts(Shape):
    """The counts of those nodes that readers see, in the order in which they were asked for."""

    items: list[Count]


class NewComment(Shape):
    """A comment to post. `name` and `email` are for visitors; an account is signed with its own."""

    text: str = Field(max_length=LONGEST, examples=["Where was this taken?"])
    parent: Slug | None = Field(None, description="The comment that it answers.")
    name: str = Field("", max_length=LONGEST)
    email: str = Field("", max_length=LONGEST, description="Never shown.")
    notify: StrictBool = Field(False, description="Whether to hear of replies by e-mail.")


class NewText(Shape):
    """What a comment is to say."""

    text: str = Field(max_length=LONGEST)


class Pending(Shape):
    """A comment of the moderators' queue. `path`: of what it is about, null where readers do not see that."""

    id: Id
    rev: int
    slug: Slug
    node: str
    path: str | None
    parent: Slug | None
    kind: Kind
    state: Literal["waiting", "spam", "rejected"]
    posted: datetime
    author: Writer
    email: str
    body_html: str
    source: str
    reasons: list[str] = Field(description="Why it waits.")


class Queue(Shape):
    """A page of the queue, what came first before what came later."""

    items: list[Pending]
    next: str | None


class Seen(Shape):
    """A comment of the queue, as a moderator saw it."""

    id: Id
    rev: StrictInt = Field(ge=1, le=10**9 - 1)


class Decisions(Shape):
    """What to do with comments of the queue. `seen`: the state in which they were listed."""

    action: Literal["approve", "reject", "spam", "wait"]
    seen: Literal["waiting", "spam", "rejected"] = "waiting"
    items: list[Seen] = Field(min_length=1, max_length=MOST_DECIDED)


class Decision(Shape):
    """What came of one decision. `reason`: why nothing was decided."""

    id: Id
    done: bool
    reason: str | None


class Decided(Shape):
    """What came of each decision, in the order in which they were sent."""

    items: list[Decision]
