"""Shapes: what is sent and answered, as pydantic models. Those of nodes are made from the content types that are installed.

Whatever a type declares is in the schema, without code. Names that no shape has are refused, `$` and dotted ones among them.
"""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal, Union
from uuid import UUID

from django.db import models
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField, ObjectIdField
from pydantic import BaseModel, ConfigDict, Field, create_model

from nodes.content import Content, declared_fields, registry, values


class Shape(BaseModel):
    """Base of all shapes."""

    model_config = ConfigDict(extra="forbid")


Id = Annotated[str, Field(pattern="^[0-9a-f]{24}$", examples=["6565f1e2a3b4c5d6e7f80910"])]

# How values of fields stand in JSON, the first that fits.
_VALUES: tuple[tuple[type[models.Field], Any], ...] = (
    (ObjectIdField, Id),
    (models.BooleanField, bool),
    (models.IntegerField, int),
    (models.FloatField, float),
    (models.DecimalField, Annotated[Decimal, Field(examples=["2.50"])]),
    (models.DateTimeField, datetime),
    (models.DateField, date),
    (models.TimeField, time),
    (models.DurationField, timedelta),
    (models.UUIDField, UUID),
    (models.CharField, str),
    (models.TextField, str),
)


class Byline(Shape):
    """The name that a node is signed with. `path`: of the page with all that is, null for a name that makes no address."""

    name: str
    path: str | None


class Draft(Shape):
    """What stands beside a live node and readers do not see. `due`: when they will."""

    nonce: Id
    base_nonce: Id
    saved_at: datetime
    saved_by: str
    due: datetime | None


class File(Shape):
    """A photo's file, as readers may have it. `width`, `height`: in pixels, of what is shown. `copies`: JPEG, by width.
    `camera`: what the camera wrote into it."""

    content_type: str
    width: int
    height: int
    url: str
    copies: dict[str, str]
    camera: dict[str, str | int | float]


class Node(Shape):
    """A page, a post, a section or a photo. Without `fields`, all of these are there but `detail` in lists, `body_html` where
    it was not asked for, `draft` where there is none that you may see, and `file` of what is no photo."""

    id: Id
    type: str
    nonce: Id = Field(description="Changes with every save; If-Match compares it.")
    path: str = Field("", examples=["/essays/on-lists"], description="The address on the site, without the host.")
    url: str = ""
    section: Id | None = Field(None, description="The section that it stands in; null at the top level.")
    slug: str = ""
    title: str = ""
    summary: str = ""
    excerpt: str = Field("", description="The beginning of the text.")
    author: Byline | None = None
    tags: list[str] = []
    created: datetime | None = None
    updated: datetime | None = None
    published: datetime | None = None
    expires: datetime | None = Field(None, description="When readers see it no more; null for never.")
    minutes: int = Field(0, description="How long reading takes.")
    picture: Id | None = Field(None, description="The photo that lists show of it.")
    body_html: str = Field("", description="The text as readers get it. With `include=body_html`.")
    draft: Draft | None = None
    file: File | None = None


class Page(Shape):
    """A page of a list. `next`: the cursor of what follows, null at the end."""

    items: list[Node]
    next: str | None


LIVE, DRAFT = "live", "draft"
# Which version of a node is meant.
VersionName = Annotated[str, Field(pattern=f"^({LIVE}|{DRAFT})$")]

DETAIL, BODY = "detail", "body_html"
# Names that `fields` and `include` may name.
FIELDS = frozenset({*Node.model_fields, DETAIL})
INCLUDED = frozenset({DETAIL, BODY})


def _listed(names: frozenset[str], example: str, description: str, most: int) -> Any:
    """Return a field of names by commas. Which of them there are not is told by name (presenting.asked)."""
    name = f"({'|'.join(sorted(names))})?"
    pattern: dict[str, Any] = {"pattern": f"^ *{name} *(, *{name} *)*$"}
    return Field(max_length=most, examples=[example], description=description, json_schema_extra=pattern)


Fields = Annotated[str, _listed(FIELDS, "id,title,path", "The names to answer, by commas.", 500)]
Include = Annotated[str, _listed(INCLUDED, "detail,body_html", "What to answer besides, by commas.", 100)]


def shown_fields(type: str) -> dict[str, models.Field]:
    """Return the fields of a type that readers get, by name: all that editors fill in."""
    declared = declared_fields.declared(type).values()
    return {field.name: field for field in declared if field.editable}


@cache
def _nodes(types: tuple[type[Content], ...]) -> dict[str, type[Node]]:
    made: dict[str, type[Node]] = {}
    for content_type in types:
        # Clients know these names, so they follow the type's public name: "blog-entry" gives BlogEntryNode.
        name = "".join(word[:1].upper() + word[1:] for word in content_type.type_name.split("-"))
        detail = create_model(
            f"{name}Detail",
            __base__=Shape,
            __doc__=f"The fields of the type “{content_type.type_name}”.",
            **{field: _property(model) for field, model in shown_fields(content_type.type_name).items()},  # type: ignore[call-overload]
        )
        made[content_type.type_name] = create_model(
            f"{name}Node",
            __base__=Node,
            __doc__=f"A node of the type “{content_type.type_name}”.",
            type=(Literal[content_type.type_name], ...),  # type: ignore[arg-type]
            detail=(detail | None, None),
        )
    return made


def nodes() -> dict[str, type[Node]]:
    """Return the shapes of nodes of the installed types, by the name of the type."""
    return _nodes(registry.types())


def any_node() -> Any:
    """Return what a node of any type looks like, told apart by `type`."""
    return Annotated[Union[tuple(nodes().values())], Field(discriminator="type")]  # noqa: UP007


def _property(field: models.Field) -> tuple[Any, Any]:
    kind = _kind(field)
    described = Field(None, description=str(field.help_text) or str(field.verbose_name))
    return (kind | None if field.null else kind, described)


def _kind(field: models.Field) -> Any:
    if isinstance(field, EmbeddedModelArrayField):
        return list[_part(field.embedded_model)]  # type: ignore[misc]
    if isinstance(field, EmbeddedModelField):
        return _part(field.embedded_model)
    if isinstance(field, ArrayField):
        return list[_kind(field.base_field)]  # type: ignore[misc]
    return next((kind for model, kind in _VALUES if isinstance(field, model)), Any)


@cache
def _part(model: Any) -> type[Shape]:
    found = {field.name: _property(field) for field in values.stored_fields(model)}
    return create_model(model.__name__, __base__=Shape, __doc__=f"A part: {model.__name__}.", **found)  # type: ignore[call-overload]
