"""Shapes of request bodies that change nodes. The fields of the content type check the values in `detail`."""

import re
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, Union

from django.core.exceptions import ValidationError
from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, StrictBool, StrictInt, create_model

from api.schemas.shapes import LIVE, Id, Shape, VersionName, detail_shape, shape_name
from nodes import tags
from nodes.content import Content, registry
from nodes.times import check_year

Tag = Annotated[str, Field(max_length=tags.LONGEST, examples=["spring"])]
TagList = Annotated[list[Tag], Field(max_length=tags.MOST)]
Detail = Annotated[
    dict[str, Any],
    Field(
        description="The type's fields by name, as in the schema `…Detail`.", examples=[{"text": "The *first* words."}]
    ),
]
_DATE = re.compile(r"\d{4}-\d\d-\d\d[Tt ]")


def _check_written(value: Any) -> Any:
    """Check the format of a time, because pydantic would also accept a number of seconds.

    Raises:
        ValueError: The time has a different format.
    """
    if not isinstance(value, str) or not _DATE.match(value):
        raise ValueError("Include the time zone, such as 2026-05-01T09:00:00Z.")
    return value


def _to_stored(moment: datetime) -> datetime:
    """Return a time with millisecond precision, as MongoDB stores it.

    Raises:
        ValueError: The year is out of range.
    """
    try:
        check_year(moment)
    except ValidationError as error:
        raise ValueError(*error.messages) from error
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


Moment = Annotated[AwareDatetime, BeforeValidator(_check_written), AfterValidator(_to_stored)]


class Signature(Shape):
    """A node's author: the name that readers see, and the account, or null if there is no account."""

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

    If you don't send `slug`, the slug is derived from the title. If you don't send `published`, the node is not public.
    """

    type: str = Field(max_length=50, examples=["blog-entry"])
    title: str = Field(min_length=1, max_length=300)


@cache
def _make_new_node_shapes(types: tuple[type[Content], ...]) -> tuple[type[NewNode], ...]:
    return tuple(
        create_model(
            f"New{shape_name(content_type)}Node",
            __base__=NewNode,
            __doc__=f"A new node of the type “{content_type.type_name}”.",
            type=(Literal[content_type.type_name], ...),  # type: ignore[arg-type]
            detail=(detail_shape(content_type) | None, Field(None, description="The fields of the type.")),
        )
        for content_type in types
        if not content_type.is_file
    )


def any_new_node() -> Any:
    """Return the union of the shapes for new nodes, one per installed type, with `type` as the discriminator.

    The union is only for the OpenAPI document. Requests are validated with NewNode and with the type's form fields,
    whose messages name the field that is invalid.
    """
    return Annotated[Union[_make_new_node_shapes(registry.types())], Field(discriminator="type")]  # noqa: UP007


class NodeChange(_NodeBody):
    """Changes to a node, as a JSON Merge Patch.

    Fields that you leave out don't change. Send null to empty a field. A list is replaced as a whole.

    `tags` replaces all tags. To add or remove individual tags, use the operation “Add and remove tags”, which doesn't
    need If-Match.
    """

    title: str | None = Field(None, max_length=300)


class At(Shape):
    """The time at which the node will be published."""

    at: Moment


class Place(Shape):
    """A node's new section and slug. Fields that you leave out don't change."""

    section: Id | None = Field(None, description="The new section; null for the top level.")
    slug: str = Field("", max_length=200)


class TagsChange(Shape):
    """Tags to add and tags to remove. “News” and “news” are the same tag."""

    add: TagList = []
    remove: TagList = []


class ChangeOptions(Shape):
    """Options for a change."""

    version: Annotated[VersionName, Field(description="`draft` changes the draft, which readers can't see.")] = LIVE
    merge: Annotated[
        bool,
        Field(description="If other people have changed the node since, merge the changes unless they conflict."),
    ] = False


class VersionOptions(Shape):
    """The version to which an operation applies."""

    version: Annotated[
        VersionName, Field(description="With `draft`, the operation applies to the draft's changes.")
    ] = LIVE


class TextChunk(Shape):
    """A part of a merged text.

    It contains either `merged`, or a conflict between `yours` and `stored`. `gap` contains the empty lines that follow.
    """

    merged: str | None = None
    base: str | None = None
    yours: str | None = None
    stored: str | None = None
    gap: str


class Choice(Shape):
    """A field that both you and someone else have changed.

    For a text field, both `yours` and `stored` contain all changes that could be merged, and differ only where the
    changes conflict. `chunks` contains the same text in parts, so that you can resolve each conflict separately.
    """

    field: str = Field(examples=["body.title"])
    base: Any
    yours: Any
    stored: Any
    chunks: list[TextChunk] | None = None


class Stale(Shape):
    """The problem that is returned if a change is based on an outdated version.

    When you try again, send `etag` in If-Match. For the fields in your request, `base` contains the values that your
    change was based on, `stored` the current values, and `yours` the values that you sent.

    To keep both sets of changes, send `merged`. It doesn't contain the fields in `conflicts`, which you have to resolve
    yourself. If your If-Match header contains no version, the response contains none of these members.
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
    """A link in the site's menu or footer.

    `target` is `node:ID`, a path on the site, or a URL. If the label is empty, the target's title is used.
    """

    label: str
    target: str


Links = Annotated[list[SettingsLink], Field(max_length=20)]


class Settings(Shape):
    """The site's settings, as administrators see them."""

    name: str
    tagline: str
    language: str
    time_zone: str
    posts_per_page: StrictInt
    comment_policy: str
    comments_trust_after: StrictInt
    comments_close_after_days: StrictInt
    comment_likes: StrictBool
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
