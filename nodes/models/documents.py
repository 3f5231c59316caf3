"""Models for nodes and photos. `metadata` contains the common fields, and `metadata.detail` contains the type's fields.

The admin uses these models with the ORM. Selectors build the same objects from raw documents. Only services write to
the database.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import PurePath
from typing import Any, Self

from bson import ObjectId
from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django_mongodb_backend.fields import ArrayField, EmbeddedModelField, ObjectIdField

from marginalia.mongo.models import KeyedEmbeddedModel, ReadOnlyModel, ReadOnlyQuerySet
from marginalia.mongo.reading import Malformed
from nodes import content, languages, links
from nodes.content import FILE, PHOTO, Content, Missing, registry, routes, upgrading, values
from nodes.models import tree
from nodes.models.validation import REQUIRED_FIELDS, check_metadata

# The fields by which lists filter and sort. Their values come from the live version, even if scheduled changes are due.
_AS_LIVE = frozenset({"published", "expires"})


def as_shown(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a document as readers see it, including its scheduled changes if they are due.

    The document must have been read with the projection from `listing.for_readers`. Only fields in this projection are
    changed.
    """
    if "due" not in document:
        return document
    live = document["metadata"]
    draft = document["due"]
    changed = {**draft["metadata"], "nonce": draft["nonce"], "updated": draft["due"]}
    shown = {name: value for name, value in changed.items() if name in live and name not in _AS_LIVE}
    metadata = {**live, **shown, upgrading.VERSION: draft["metadata"].get(upgrading.VERSION)}
    derived = {**derived_of(document), **draft["derived"]}
    rest = {name: value for name, value in document.items() if name != "due"}
    return {**rest, "metadata": metadata, "derived": derived}


def derived_of(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a stored node's derived data for lists and search, or {} if the node has none."""
    derived = document.get("derived")
    return derived if isinstance(derived, Mapping) else {}


def _are_numbers(values: Any, size: int) -> bool:
    return isinstance(values, list) and len(values) == size and all(isinstance(value, int | float) for value in values)


class DocumentPart(KeyedEmbeddedModel):
    """Base class for embedded models that can be built from a stored document, even if a projection excluded fields."""

    class Meta:
        abstract = True

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        values = {}
        for field in cls._meta.fields:
            value = document.get(field.column)
            if value is not None and isinstance(field, EmbeddedModelField):
                value = field.embedded_model.from_document(value)
            values[field.attname] = value
        return cls(**values)


class Byline(DocumentPart):
    """The author of a node: the id of the account, if there is one, and the name that readers see."""

    id = ObjectIdField(db_column="_id", primary_key=True)
    name = models.CharField(max_length=200)

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """Return the URL path of this author's page, or "" if the name can't be converted to a slug."""
        return links.author(self.name or "")


class DetailField(models.Field):
    """A field for the detail of a node. Its value is an instance of the content type given by the `type` field."""

    def db_type(self, connection: Any) -> str:
        return "object"


class MetadataField(EmbeddedModelField):
    """A field for embedded metadata in which `detail` is an instance of the node's content type."""

    def to_python(self, value: Any) -> Any:
        metadata = super().to_python(value)
        if isinstance(value, Mapping):
            metadata.detail = upgrading.read(value)
        return metadata


class CommonMetadata(DocumentPart):
    """Base class for metadata, with the fields that every node has."""

    nonce = ObjectIdField()
    type = models.CharField(max_length=50)
    parent_id = ObjectIdField(null=True)
    slug = models.CharField(max_length=200)
    title = models.CharField(max_length=300)
    created = models.DateTimeField()
    updated = models.DateTimeField()
    published = models.DateTimeField(null=True)
    expires = models.DateTimeField()
    author = EmbeddedModelField(Byline, null=True)
    tags = ArrayField(models.CharField(max_length=100), default=list)
    summary = models.TextField(blank=True)
    # The version of the content type with which the detail was stored. None means the first version.
    schema_version = models.PositiveSmallIntegerField(null=True)
    detail = DetailField(null=True)

    class Meta:
        abstract = True

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        metadata = super().from_document(document)
        metadata.detail = upgrading.read(document)  # type: ignore[assignment]
        return metadata


class Metadata(CommonMetadata):
    """The metadata of a page, post or section."""


class PhotoMetadata(CommonMetadata):
    """The metadata of a photo or file.

    `content_id` is the id of the current bytes. `locked` is the time when the current upload last renewed its
    lock.
    """

    locked = models.DateTimeField(null=True)
    content_id = ObjectIdField(null=True)


@contextmanager
def _naming_content_queries() -> Iterator[None]:
    """Replace Django's error about an unknown field, if a content type declares this field.

    The new error suggests the query of the content type, which can filter and sort by the field.
    """
    try:
        yield
    except (FieldError, FieldDoesNotExist) as error:
        for name in re.findall(r"'(\w+)'", str(error)):
            for type in registry.types():
                if any(field.name == name for field in values.stored_fields(type)):
                    own = type.__name__
                    raise FieldError(
                        f"“{name}” is a field of the content type {own}. Use {own}.live.filter(…) for public pages, or "
                        f"{own}.visible_to(user).filter(…)."
                    ) from error
        raise


class NodeQuerySet(ReadOnlyQuerySet):
    """A read-only queryset for nodes or photos. It can't filter or sort by the fields that content types declare."""

    def filter(self, *args: Any, **kwargs: Any) -> Self:
        with _naming_content_queries():
            return super().filter(*args, **kwargs)

    def exclude(self, *args: Any, **kwargs: Any) -> Self:
        with _naming_content_queries():
            return super().exclude(*args, **kwargs)

    def order_by(self, *names: Any) -> Self:
        with _naming_content_queries():
            return super().order_by(*names)


class BaseNode(ReadOnlyModel):
    """Base class for nodes and photos. Both have a section and a slug, and share most of their code."""

    # The beginning of the text, the code of the language, and the id of the featured photo. They are set only if a
    # selector read them.
    excerpt = ""
    language = ""
    picture_id: ObjectId | None = None
    # Whether the node is pinned to the top of its section. Lists with pinned posts set this attribute.
    is_pinned = False
    # The reading time in minutes, or 0 if it is unknown.
    minutes = 0
    # The photo that lists show for the node. photos.pictures.read sets this attribute.
    picture: "Photo | None" = None

    objects = NodeQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.metadata.title

    @classmethod
    def from_document(cls, document: Mapping[str, Any], fields: Collection[str] = REQUIRED_FIELDS) -> Self:
        """Return the node for a raw document, including its scheduled changes if they are due.

        Args:
            document: The raw document, with timezone-aware datetimes.
            fields: The fields that the document must have. If a smaller projection was read, pass fewer fields.

        Raises:
            Malformed: The document is damaged. The other exceptions in marginalia.mongo.reading.MALFORMED can also be
                raised.
        """
        check_metadata(document.get("metadata"), fields)
        document = as_shown(document)
        metadata = cls._meta.get_field("metadata").embedded_model.from_document(document["metadata"])
        node = cls(pk=document["_id"], metadata=metadata)
        if metadata.detail is not None:
            metadata.detail.node = node
        derived = derived_of(document)
        node.excerpt, node.picture_id = derived.get("excerpt", ""), derived.get("picture")
        node.minutes = derived.get("minutes") or 0
        node.language = languages.known(getattr(metadata.detail, "language", "")) or derived.get("language", "")
        if not all(isinstance(text, str) for text in (node.excerpt, node.language)) or not isinstance(
            node.minutes, int
        ):
            raise Malformed("derived has values of another type")
        node._state.adding = False
        node._state.db = "default"
        return node

    @property
    def content_type(self) -> type[Content]:
        """The class of the node's type, or Missing if the type isn't installed or the document can't be upgraded."""
        return Missing if isinstance(self.metadata.detail, Missing) else content.get(self.metadata.type)

    @property
    def type_label(self) -> str:
        """The label of the node's type."""
        return registry.label(self.metadata.type)

    @property
    def parent_id(self) -> ObjectId | None:
        return self.metadata.parent_id

    @property
    def blurb(self) -> str:
        """The short text for lists and previews: the node's summary, or the beginning of its body text."""
        return self.metadata.summary or self.excerpt

    @property
    def share_title(self) -> str:
        """The title for search engines and link previews: the SEO title, or the node's title.

        The node must have been read with its detail.
        """
        return getattr(self.metadata.detail, "seo_title", "") or self.metadata.title

    @property
    def share_description(self) -> str:
        """The description for search engines and link previews: the SEO description, or the blurb."""
        return getattr(self.metadata.detail, "seo_description", "") or self.blurb

    @property
    def date(self) -> date | None:
        """The value of the type's `date_field`, by which lists are sorted, or None if the type has no date field."""
        field = self.content_type.date_field
        return getattr(self.metadata.detail, field) if field else None

    def is_live(self, moment: datetime) -> bool:
        """Return whether the node is public at `moment`, without checking its sections (see Tree.is_live)."""
        published = self.metadata.published
        return published is not None and published <= moment < self.metadata.expires

    def get_absolute_url(self) -> str:
        """Return the node's URL path in its current section, without the host."""
        return tree.current().url(self.metadata.parent_id, self.metadata.slug)

    def get_route_url(self, name: str, *args: Any, **kwargs: Any) -> str:
        """Return the URL path of the route `name` of the node's type, with these values.

        Raises:
            NoReverseMatch: The type has no such route.
        """
        rest = routes.reverse(self.content_type.declared_routes, name, *args, **kwargs)
        return tree.Tree.url_below(self.get_absolute_url(), rest)


class Node(BaseNode):
    """A page, blog post or section, stored in cms.nodes."""

    metadata = MetadataField(Metadata)

    class Meta:
        db_table = "cms.nodes"
        verbose_name = _("page or post")
        verbose_name_plural = _("pages and posts")
        permissions = [("publish_node", "Can publish pages and posts")]


class Photo(BaseNode):
    """A photo, which is both a node and a file in GridFS.

    The collection also contains files that photos no longer show, and files that are being uploaded.
    """

    metadata = MetadataField(PhotoMetadata)

    class Meta:
        managed = False
        db_table = "cms.assets.files"
        verbose_name = _("photo")
        verbose_name_plural = _("photos")

    @classmethod
    def from_document(cls, document: Mapping[str, Any], fields: Collection[str] = REQUIRED_FIELDS) -> Self:
        """Return the photo for a raw document.

        Raises:
            Malformed: The resolution is missing, or a value that resized copies depend on is invalid.
        """
        photo = super().from_document(document, fields)
        detail = photo.metadata.detail
        if fields == REQUIRED_FIELDS and not (detail and _are_numbers(detail.resolution, 2)):
            raise Malformed("detail.resolution is missing or has another type")
        if detail and not all(_are_numbers(part, size) for part, size in ((detail.focal, 2), (detail.crop, 4)) if part):
            raise Malformed("detail.focal or detail.crop has another type")
        return photo

    def get_absolute_url(self) -> str:
        """Return the photo's URL path. Photos in the library, without a gallery, have a URL with their id."""
        return super().get_absolute_url() if self.parent_id else reverse("photo", args=[self.pk])

    @property
    def filename(self) -> str:
        return self.metadata.detail.filename

    @property
    def is_uploading(self) -> bool:
        """Whether a file for the photo is being uploaded."""
        return self.metadata.locked is not None


class File(BaseNode):
    """A file that readers download or play. It is stored in the same way as a photo."""

    metadata = MetadataField(PhotoMetadata)

    class Meta:
        managed = False
        db_table = "cms.assets.files"
        # The permissions for photos also apply to files.
        default_permissions = ()
        verbose_name = _("file")
        verbose_name_plural = _("files")

    def get_absolute_url(self) -> str:
        """Return the URL path of the file's bytes. It still works after the file has been replaced or moved."""
        return reverse("file", args=[self.pk, self.filename])

    @property
    def filename(self) -> str:
        return self.metadata.detail.filename

    @property
    def kind(self) -> str:
        """The kind of file that readers see, such as "PDF", or "" if the file name has no extension."""
        return PurePath(self.filename).suffix[1:].upper()

    @property
    def is_uploading(self) -> bool:
        """Whether a new version of the file is being uploaded."""
        return self.metadata.locked is not None


_MODELS: dict[str, type[Node] | type[Photo] | type[File]] = {PHOTO: Photo, FILE: File}


def node_from_document(document: Mapping[str, Any], fields: Collection[str] = REQUIRED_FIELDS) -> "Node | Photo | File":
    """Return the node, photo or file for a raw document. See `BaseNode.from_document`.

    Raises:
        Malformed: The document is damaged.
    """
    metadata = document.get("metadata")
    type = metadata.get("type") if isinstance(metadata, Mapping) else None
    return _MODELS.get(str(type), Node).from_document(document, fields)


class SiteSettings(Node):
    """A proxy model that provides the admin entry for the site settings, and the permission to change them.

    nodes.services.site stores the settings.
    """

    class Meta:
        proxy = True
        default_permissions = ("change",)
        verbose_name = _("site settings")
        verbose_name_plural = _("site settings")
