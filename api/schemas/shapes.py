"""Shapes: the pydantic models of request and response bodies.

The shapes of nodes are generated from the installed content types.

All declared fields of a type appear in the OpenAPI document automatically. Unknown names are rejected, including names
with `$` or dots.
"""

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Literal, Union
from uuid import UUID

from django.db import models
from django_mongodb_backend.fields import ArrayField, EmbeddedModelArrayField, EmbeddedModelField, ObjectIdField
from pydantic import BaseModel, ConfigDict, Field, create_model

from api.schemas.computed import computed_fields
from nodes.content import Content, declared_fields, registry, values


class Shape(BaseModel):
    """Base class for all shapes."""

    model_config = ConfigDict(extra="forbid")


Id = Annotated[str, Field(pattern="^[0-9a-f]{24}$", examples=["6565f1e2a3b4c5d6e7f80910"])]

# The JSON type of each kind of Django field. The first match applies.
_JSON_TYPES: tuple[tuple[type[models.Field], Any], ...] = (
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
    """The author's name, as shown with a node.

    `path` is the path of the author's page, or null if the name can't be used in a URL.
    """

    name: str
    path: str | None


class Draft(Shape):
    """The draft of a live node, which readers can't see. `due` is the time when the draft will be published."""

    nonce: Id
    base_nonce: Id
    saved_at: datetime
    saved_by: str
    due: datetime | None


class File(Shape):
    """A photo's file, as readers can download it.

    `width` and `height` are the dimensions in pixels, after cropping and rotation. `copies` contains the URLs of JPEG
    copies, keyed by width. `camera` contains camera data from the file.
    """

    content_type: str
    width: int
    height: int
    url: str
    copies: dict[str, str]
    camera: dict[str, str | int | float]


class Download(Shape):
    """The bytes of a file, as readers can download them. `size` is in bytes."""

    content_type: str
    size: int
    url: str


class Node(Shape):
    """A page, a post, a section, a photo or a file.

    If you don't send `fields`, all fields are returned, with the following exceptions. Lists don't contain `detail` and
    `computed`, unless you request them. Only types with computed fields have `computed`, and you can't change them.
    `body_html` is returned only if you request it, and `draft` only if there is a draft that you can see. Only photos
    and files have a `file`.
    """

    id: Id
    type: str
    nonce: Id = Field(description="Changes with every save. Compared with If-Match.")
    path: str = Field("", examples=["/essays/on-lists"], description="The URL path on the site.")
    url: str = ""
    section: Id | None = Field(None, description="The section of the node; null at the top level.")
    slug: str = ""
    title: str = ""
    summary: str = ""
    excerpt: str = Field("", description="The beginning of the text.")
    language: str = Field("", examples=["de"], description="The chosen language, or the language of the text.")
    author: Byline | None = None
    tags: list[str] = []
    created: datetime | None = None
    updated: datetime | None = None
    published: datetime | None = None
    expires: datetime | None = Field(None, description="When the node stops being public; null for never.")
    minutes: int = Field(0, description="Reading time in minutes.")
    picture: Id | None = Field(None, description="The photo that represents the node in lists.")
    body_html: str = Field("", description="The text as HTML. Only with `include=body_html`.")
    draft: Draft | None = None
    file: File | Download | None = None


class Page(Shape):
    """A page of a list. `next` is the cursor for the next page, or null if this is the last page."""

    items: list[Node]
    next: str | None


LIVE, DRAFT = "live", "draft"
# The type of a parameter that selects a node's live version or its draft.
VersionName = Annotated[str, Field(pattern=f"^({LIVE}|{DRAFT})$")]

DETAIL, BODY, COMPUTED = "detail", "body_html", "computed"
# Names that `fields` and `include` accept.
FIELDS = frozenset({*Node.model_fields, DETAIL, COMPUTED})
INCLUDED = frozenset({DETAIL, BODY, COMPUTED})


def _names_field(names: frozenset[str], example: str, description: str, max_length: int) -> Any:
    """Return a pydantic field for comma-separated names.

    The field's pattern serves only as documentation. presenting.parse_names checks the names, and its error message
    lists the unknown names.
    """
    name = f"({'|'.join(sorted(names))})?"
    pattern: dict[str, Any] = {"pattern": f"^ *{name} *(, *{name} *)*$"}
    return Field(max_length=max_length, examples=[example], description=description, json_schema_extra=pattern)


Fields = Annotated[str, _names_field(FIELDS, "id,title,path", "The fields to return, separated by commas.", 500)]
Include = Annotated[
    str, _names_field(INCLUDED, "detail,body_html", "Additional fields to return, separated by commas.", 100)
]


def editable_fields(type: str) -> dict[str, models.Field]:
    """Return the type's fields that editors can fill in, keyed by name. The API returns the same fields."""
    declared = declared_fields.declared(type).values()
    return {field.name: field for field in declared if field.editable}


def shape_name(content_type: type[Content]) -> str:
    """Return the prefix of the names of a type's shapes: "blog-entry" becomes "BlogEntry".

    Clients can see these names, so they are derived from the type's public name.
    """
    return "".join(word[:1].upper() + word[1:] for word in content_type.type_name.split("-"))


@cache
def detail_shape(content_type: type[Content]) -> Any:
    """Return the shape of a type's fields, such as BlogEntryDetail."""
    return create_model(
        f"{shape_name(content_type)}Detail",
        __base__=Shape,
        __doc__=f"The fields of the type “{content_type.type_name}”.",
        **{field: _property(model) for field, model in editable_fields(content_type.type_name).items()},  # type: ignore[call-overload]
    )


@cache
def computed_shape(content_type: type[Content]) -> Any:
    """Return the shape of a type's computed fields, such as RecipeComputed."""
    return create_model(
        f"{shape_name(content_type)}Computed",
        __base__=Shape,
        __doc__=f"The computed fields of the type “{content_type.type_name}”.",
        **{
            field.name: (field.kind, Field(description=field.description or None))
            for field in computed_fields(content_type)
        },  # type: ignore[call-overload]
    )


@cache
def _make_node_shapes(types: tuple[type[Content], ...]) -> dict[str, type[Node]]:
    shapes: dict[str, type[Node]] = {}
    for content_type in types:
        computed: dict[str, Any] = {}
        if computed_fields(content_type):
            computed[COMPUTED] = (computed_shape(content_type) | None, None)
        shapes[content_type.type_name] = create_model(
            f"{shape_name(content_type)}Node",
            __base__=Node,
            __doc__=f"A node of the type “{content_type.type_name}”.",
            type=(Literal[content_type.type_name], ...),  # type: ignore[arg-type]
            detail=(detail_shape(content_type) | None, None),
            **computed,
        )
    return shapes


def node_shapes() -> dict[str, type[Node]]:
    """Return the node shapes of all installed types, keyed by type name."""
    return _make_node_shapes(registry.types())


def any_node() -> Any:
    """Return the union of all node shapes, with `type` as the discriminator."""
    return Annotated[Union[tuple(node_shapes().values())], Field(discriminator="type")]  # noqa: UP007


def _property(field: models.Field) -> tuple[Any, Any]:
    kind = _kind(field)
    info = Field(None, description=str(field.help_text) or str(field.verbose_name))
    return (kind | None if field.null else kind, info)


def _kind(field: models.Field) -> Any:
    if isinstance(field, EmbeddedModelArrayField):
        return list[_part(field.embedded_model)]  # type: ignore[misc]
    if isinstance(field, EmbeddedModelField):
        return _part(field.embedded_model)
    if isinstance(field, ArrayField):
        return list[_kind(field.base_field)]  # type: ignore[misc]
    return next((kind for model, kind in _JSON_TYPES if isinstance(field, model)), Any)


@cache
def _part(model: Any) -> type[Shape]:
    fields = {field.name: _property(field) for field in values.stored_fields(model)}
    return create_model(model.__name__, __base__=Shape, __doc__=f"A part: {model.__name__}.", **fields)  # type: ignore[call-overload]
