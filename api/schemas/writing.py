"""Shapes of request bodies that change nodes. The fields of the content type check the values in `detail`."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from django.core.exceptions import ValidationError
from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, StrictInt, create_model

from api.schemas.shapes import LIVE, Id, Shape, VersionName
from nodes import tags
from nodes.times import check_year

Tag = Annotated[str, Field(max_length=tags.LONGEST, examples=["spring"])]
TagList = Annotated[list[Tag], Field(max_length=tags.MOST)]
Detail = Annotated[
    dict[str, Any],
    Field(
        description="The fields of the type, by name: the shape `…Detail`.", examples=[{"text": "The *first* words."}]
    ),
]
_DATE = re.compile(r"\d{4}-\d\d-\d\d[Tt ]")


def _check_written(value: Any) -> Any:
    """Check the format of a time. pydantic would also accept numbers, as seconds.

    Raises:
        ValueError: If the time has another format.
    """
    if not isinstance(value, str) or not _DATE.match(value):
        raise ValueError("Include the time zone, such as 2026-05-01T09:00:00Z.")
    return value


def _to_stored(moment: datetime) -> datetime:
    """Return a time as MongoDB stores it, with millisecond precision.

    Raises:
        ValueError: If its year is out of range.
    """
    try:
        check_year(moment)
    except ValidationError as error:
        raise ValueError(*error.messages) from error
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


Moment = Annotated[AwareDatetime, BeforeValidator(_check_written), AfterValidator(_to_stored)]


class Signature(Shape):
    """The author of a node: the name that readers see, and the account, or null for none."""

    name: str = Field("", max_length=200)
    account: Id | None = None


class _NodeBody(Shape):
    slug: str | None = Field(None, max_length=200, description="The last part of the URL.")
    section: Id | None = Field(None, description="The section of the node; null for the top level.")
    summary: str | None = None
    tags: TagList | None = None
    published: Moment | None = Field(None, description="When the node becomes public. Needs the scope “publish”.")
    expires: Moment | None = Field(None, description="When the node stops being public. Needs the scope “publish”.")
    author: Signature | None = Field(None, description="Needs the scope “publish”.")
    detail: Detail | None = None


class NewNode(_NodeBody):
    """A new page, post or section.

    Without `slug`, it is derived from the title. Without `published`, the node is not public.
    """

    type: str = Field(max_length=50, examples=["blog-entry"])
    title: str = Field(min_length=1, max_length=300)


class NodeChange(_NodeBody):
    """Changes to a node, as a JSON Merge Patch.

    Fields that are missing don't change. null empties a field. A list is replaced as a whole.

    `tags` replaces all tags. To add or remove single tags, use the operation for tags, which needs no If-Match.
    """

    title: str | None = Field(None, max_length=300)


class At(Shape):
    """The time of a publication."""

    at: Moment


class Place(Shape):
    """The new place of a node. Fields that are missing don't change."""

    section: Id | None = Field(None, description="null for the top level.")
    slug: str = Field("", max_length=200)


class TagsChange(Shape):
    """Tags to add and to remove. “News” and “news” are the same tag."""

    add: TagList = []
    remove: TagList = []


class ChangeOptions(Shape):
    """Options of a change."""

    version: Annotated[VersionName, Field(description="`draft`: change the draft, which readers can't see.")] = LIVE
    merge: Annotated[
        bool,
        Field(description="Merge with later changes by other people, if there are no conflicts."),
    ] = False


class VersionOptions(Shape):
    """The version to which an operation applies."""

    version: Annotated[VersionName, Field(description="`draft`: the changes in the draft.")] = LIVE


class Choice(Shape):
    """A field that was changed on both sides.

    For a text, `yours` and `stored` contain everything that could be merged. They only differ in the conflicts.
    """

    field: str = Field(examples=["body.title"])
    base: Any
    yours: Any
    stored: Any


class Stale(Shape):
    """The problem for a change that is not based on the stored version. `etag` is for If-Match of the next attempt.

    `base`, `stored` and `yours` contain the fields of the request: before the changes, as stored, and as you sent them.
    To keep both changes, send `merged`. It does not contain `conflicts`, which you have to decide. None of these are
    returned if If-Match contains no version.
    """

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
    """A link in the menu or the footer.

    `target` is `node:ID`, a path on the site, or a URL. Without a label, the title of the target is used.
    """

    label: str
    target: str


Links = Annotated[list[SettingsLink], Field(max_length=20)]


class Settings(Shape):
    """The settings of the site, as administrators see them."""

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
    __doc__="Changes to the settings, as a JSON Merge Patch. null resets a setting to its default.",
    **{name: (Annotated[field.annotation, field] | None, None) for name, field in Settings.model_fields.items()},  # type: ignore[call-overload]
)
