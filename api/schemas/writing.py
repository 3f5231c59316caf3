"""What is sent to change nodes: shapes of bodies. What a content type declares is checked by its own fields."""

import re
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BeforeValidator, Field, StrictInt, create_model

from api.schemas.shapes import LIVE, Id, Shape, VersionName
from nodes import tags

Tag = Annotated[str, Field(max_length=tags.LONGEST, examples=["spring"])]
TagList = Annotated[list[Tag], Field(max_length=tags.MOST)]
Detail = Annotated[
    dict[str, Any],
    Field(
        description="The fields of the type, by name: the shape `…Detail`.", examples=[{"text": "The *first* words."}]
    ),
]
_DATE = re.compile(r"\d{4}-\d\d-\d\d[Tt ]")


def _written(value: Any) -> Any:
    """Return a time as it is written: what counts seconds, pydantic would take for one too. Raises ValueError."""
    if not isinstance(value, str) or not _DATE.match(value):
        raise ValueError("Write a time with its zone, such as 2026-05-01T09:00:00Z.")
    return value


Moment = Annotated[AwareDatetime, BeforeValidator(_written)]


class Signature(Shape):
    """Who signs: the name that readers see, and the account that it belongs to, null for none."""

    name: str = Field("", max_length=200)
    account: Id | None = None


class _Said(Shape):
    slug: str | None = Field(None, max_length=200, description="The last part of the address.")
    section: Id | None = Field(None, description="Where it stands; null for the top level.")
    summary: str | None = None
    tags: TagList | None = None
    published: Moment | None = Field(None, description="From when on readers see it. With the scope “publish”.")
    expires: Moment | None = Field(None, description="Until when. With the scope “publish”.")
    author: Signature | None = Field(None, description="With the scope “publish”.")
    detail: Detail | None = None


class NewNode(_Said):
    """A page, a post or a section to be made. Without `slug` one is made from the title; without `published` it is a draft."""

    type: str = Field(max_length=50, examples=["blog-entry"])
    title: str = Field(min_length=1, max_length=300)


class NodeChange(_Said):
    """What is to be different, as a JSON Merge Patch: what is not named stays, null takes away, a list is replaced as a whole.

    `tags` are then these and no others; to add or take away single ones there is an operation that needs no If-Match."""

    title: str | None = Field(None, max_length=300)


class At(Shape):
    """When it is to be."""

    at: Moment


class Place(Shape):
    """Where a node is to stand. What is not named stays."""

    section: Id | None = Field(None, description="null for the top level.")
    slug: str = Field("", max_length=200)


class TagsChange(Shape):
    """Tags to add and to remove. “News” and “news” are one."""

    add: TagList = []
    remove: TagList = []


class Writing(Shape):
    """How a change is made."""

    version: Annotated[VersionName, Field(description="`draft`: of the draft, which readers do not see.")] = LIVE
    merge: Annotated[
        bool,
        Field(description="Whether to take over by itself what others saved since, where nothing is left to decide."),
    ] = False


class Version(Shape):
    """Of which version something is done."""

    version: Annotated[VersionName, Field(description="`draft`: its changes.")] = LIVE


class Choice(Shape):
    """A field that was changed on both sides. Of a text, `yours` and `stored` have whatever merges, and differ only where it
    does not."""

    field: str = Field(examples=["body.title"])
    base: Any
    yours: Any
    stored: Any


class Stale(Shape):
    """The problem of a change that was made on another version than is stored. `etag`: for If-Match of the next attempt.

    `base`, `stored` and `yours` have the fields that were sent, as they were before, as they are and as they were to be.
    `merged`: what to send to have both, without what `conflicts` leaves to decide. None of these where If-Match names
    no version at all."""

    type: str
    title: str
    status: Literal[412]
    detail: str
    etag: str | None = None
    base: NodeChange | None = None
    stored: NodeChange | None = None
    yours: NodeChange | None = None
    merged: NodeChange | None = None
    conflicts: list[Choice] | None = None


class SettingsLink(Shape):
    """A link of menu or footer. `target`: `node:ID`, a path of the site or an address elsewhere. Without a label: its title."""

    label: str
    target: str


Links = Annotated[list[SettingsLink], Field(max_length=20)]


class Settings(Shape):
    """The settings of the site, as administrators set them."""

    name: str
    tagline: str
    language: str
    time_zone: str
    posts_per_page: StrictInt
    comment_policy: str
    comments_close_after_days: StrictInt
    share_picture: Id | None
    theme: str
    logo: Id | None
    logo_dark: Id | None
    accent: str
    fonts: str
    home: str
    menu: Links
    footer: str
    footer_links: Links
    social: Links


SettingsChange: type[Shape] = create_model(
    "SettingsChange",
    __base__=Shape,
    __doc__="What is to be different, as a JSON Merge Patch: null puts back what a setting was to begin with.",
    **{name: (Annotated[field.annotation, field] | None, None) for name, field in Settings.model_fields.items()},  # type: ignore[call-overload]
)
