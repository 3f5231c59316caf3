"""The pydantic models of request and response bodies. Unknown names are rejected."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt


class Shape(BaseModel):
    """Base class for all shapes."""

    model_config = ConfigDict(extra="forbid")


# These values are part of the APIs, so they are listed explicitly. If you add a value in marginalia.comments.types, add
# it here, too.
Kind = Literal["comment", "pingback", "trackback"]
Order = Literal["oldest", "newest", "threaded"]
PENDING = "pending"
# Maximum text length that the APIs parse. The site's own limit is lower, and the form enforces it.
MAX_LENGTH = 200_000
# Maximum number of values of added form fields, and their maximum length. The site's own limit is lower.
MAX_EXTRA = 100
ExtraText = Annotated[str, Field(max_length=MAX_LENGTH)]
ExtraValue = ExtraText | StrictInt | StrictFloat | StrictBool | Annotated[list[ExtraText], Field(max_length=MAX_EXTRA)]

Slug = Annotated[
    str,
    Field(
        max_length=600,
        pattern="^[a-z2-7]{16}(/[a-z2-7]{16})*$",
        examples=["mfzwizltoq2gk3tu"],
        description="The id of a comment in its discussion: the parent's slug, a slash, and one more part.",
    ),
]


class Writer(Shape):
    """The author of a comment.

    `is_author` is true if the account also wrote the page. `is_moderator` is true if the account was a moderator when
    it wrote the comment.
    """

    name: str
    url: str
    is_author: bool
    is_moderator: bool


class Comment(Shape):
    """A comment. A removed comment has no author and no text."""

    slug: Slug
    parent: Slug | None = Field(description="The comment that this comment replies to.")
    depth: int = Field(description="0 for a comment that is not a reply.")
    kind: Kind
    state: Literal["public", "removed", "pending"]
    rev: int = Field(description="Increases by one with every change. Compared with If-Match.")
    posted: datetime
    edited: datetime | None
    author: Writer | None
    body_html: str = Field(description="The text as sanitized HTML.")
    url: str = Field(description="The permalink.")
    likes: int = Field(description="How many readers like the comment.")
    extra: dict[str, Any] = Field(description="The values of the fields that the site's own comment form has added.")


class Discussion(Shape):
    """A discussion. `order` is the default order of its pages.

    `open` is true if the discussion currently accepts comments. `likes` is true if readers can like comments.
    """

    count: int
    open: bool
    likes: bool
    order: Order


class NewComment(Shape):
    """A comment to post. Only visitors need `name` and `email`.

    For accounts, the API uses the name and email address of the account.
    """

    text: str = Field(max_length=MAX_LENGTH, examples=["Where was this taken?"])
    parent: Slug | None = Field(None, description="The comment that this comment replies to.")
    name: str = Field("", max_length=MAX_LENGTH)
    email: str = Field("", max_length=MAX_LENGTH, description="Never shown to readers.")
    notify: StrictBool = Field(False, description="Send an email when someone replies.")
    extra: dict[str, ExtraValue] = Field(
        {}, max_length=MAX_EXTRA, description="Values for the fields that the site's own comment form has added."
    )


class NewText(Shape):
    """The new text of a comment."""

    text: str = Field(max_length=MAX_LENGTH)


class OfferedComment(Comment):
    """A comment, with what the sender of the request can do with it. `source` is given to those who can edit it."""

    __qualname__ = "Comment"  # the name in the OpenAPI document

    answers: Slug | Literal[""] = Field(
        description="The comment that this comment replies to. Differs from `parent` in deep threads."
    )
    can_reply: bool
    can_edit: bool
    can_delete: bool
    source: str = Field(description="The text as typed.")
    liked: bool


class OfferedDiscussion(Discussion):
    """A discussion. `order` is the default order of its pages.

    `open` is true if the discussion currently accepts comments, and `members_only` if the sender must log in first.
    `likes` is true if readers can like comments.
    """

    __qualname__ = "Discussion"

    members_only: bool


class Comments(Shape):
    """A page of a discussion. `pending` contains the sender's own comments that are waiting for a moderator.

    `order` is the order of the comments on this page, which may differ from the requested order if the discussion is
    very long.
    """

    items: list[OfferedComment]
    pending: list[OfferedComment]
    next: str | None
    previous: str | None
    order: Order
    discussion: OfferedDiscussion


class Posted(Shape):
    """A new comment. Without cookies, send `own` in the header Comments-Own of later requests."""

    comment: OfferedComment
    own: str


class Liked(Shape):
    """The likes of a comment. Visitors send `guest` in the header Comments-Guest of later requests."""

    likes: int
    liked: bool
    guest: str


class Count(Shape):
    """The number of public comments on an object."""

    target: str = Field(examples=["shop.item:12"])
    count: int


class Counts(Shape):
    """The number of public comments on each object, in the order in which the objects were requested."""

    items: list[Count]
