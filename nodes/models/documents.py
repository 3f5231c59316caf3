"""What editors write, as documents in one shape: `metadata` with what every node has, `metadata.detail` with the rest.

The ORM reads these models, for the admin; selectors build the same objects from raw documents; only services write.
"""

from collections.abc import Collection, Mapping
from datetime import date, datetime
from typing import Any, Self

from bson import ObjectId
from django.db import models
from django.utils.translation import gettext_lazy as _
from django_mongodb_backend.fields import ArrayField, EmbeddedModelField, ObjectIdField
from django_mongodb_backend.models import EmbeddedModel

from marginalia.mongo.models import ReadOnlyModel
from marginalia.mongo.reading import Malformed
from nodes import content, links
from nodes.content import Content, Missing, registry, upgrading
from nodes.models import tree
from nodes.models.validation import REQUIRED_FIELDS, check_metadata

# What readers are not given of a draft whose time has come: lists are filtered and sorted by what stands beside it.
_AS_LIVE = frozenset({"published", "expires"})


def as_shown(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a document, read with the projection `listing.for_readers`, as readers see it: with what its scheduled changes say
    where these are due. Only what was read is taken."""
    if "due" not in document:
        return document
    live = document["metadata"]
    draft = document["due"]
    said = {**draft["metadata"], "nonce": draft["nonce"], "updated": draft["due"]}
    taken = {name: value for name, value in said.items() if name in live and name not in _AS_LIVE}
    metadata = {**live, **taken, upgrading.VERSION: draft["metadata"].get(upgrading.VERSION)}
    derived = {**derived_of(document), **draft["derived"]}
    rest = {name: value for name, value in document.items() if name != "due"}
    return {**rest, "metadata": metadata, "derived": derived}


def derived_of(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is stored beside a node for lists and search: nothing of one that lacks it."""
    derived = document.get("derived")
    return derived if isinstance(derived, Mapping) else {}


def _are_numbers(values: Any, size: int) -> bool:
    return isinstance(values, list) and len(values) == size and all(isinstance(one, int | float) for one in values)


class DocumentPart(EmbeddedModel):
    """An embedded model that can be built from a stored document, or from the part of one that a projection left."""

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
    """Who wrote it: the account's id, if there is one, and the name that readers see."""

    id = ObjectIdField(db_column="_id", primary_key=True)
    name = models.CharField(max_length=200)

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """Return the path of the page with what this author wrote; "" for a name that makes no address."""
        return links.author(self.name or "")


class DetailField(models.Field):
    """What a node has by its type: the object that the class of the sibling `type` makes of it."""

    def db_type(self, connection: Any) -> str:
        return "object"


class MetadataField(EmbeddedModelField):
    """Metadata, whose detail is an object of the node's type."""

    def to_python(self, value: Any) -> Any:
        metadata = super().to_python(value)
        if isinstance(value, Mapping):
            metadata.detail = upgrading.read(value)
        return metadata


class CommonMetadata(DocumentPart):
    """What every node has, whatever its type."""

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
    # The version of the type that the detail was stored by; None is the first.
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
    """The metadata of everything that is text."""


class PhotoMetadata(CommonMetadata):
    """The metadata of a photo: the same, and which of its contents is shown, and since when an upload writes to it."""

    locked = models.DateTimeField(null=True)
    content_id = ObjectIdField(null=True)


class BaseNode(ReadOnlyModel):
    """What stands in a section under a slug: the code of nodes serves photos too."""

    # The beginning of the text, and the id of the picture that an editor chose, where a selector read them.
    excerpt = ""
    picture_id: ObjectId | None = None
    # Whether it stands first in its section, where a list was read that says so.
    is_pinned = False
    # In how many minutes its text is read; 0 where that is not known.
    minutes = 0
    # The photo that lists show of it, if photos.pictures.attach has set it.
    picture: "Photo | None" = None

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.metadata.title

    @classmethod
    def from_document(cls, document: Mapping[str, Any], fields: Collection[str] = REQUIRED_FIELDS) -> Self:
        """Return the node that a raw document (with aware datetimes) stands for, as readers see it if it was read for them.

        `fields`: those that it must have, for a projection with fewer. Raises Malformed, or another of
        marginalia.mongo.reading.MALFORMED, for a damaged one.
        """
        check_metadata(document.get("metadata"), fields)
        document = as_shown(document)
        metadata = cls._meta.get_field("metadata").embedded_model.from_document(document["metadata"])
        node = cls(pk=document["_id"], metadata=metadata)
        derived = derived_of(document)
        node.excerpt, node.picture_id = derived.get("excerpt", ""), derived.get("picture")
        node.minutes = derived.get("minutes") or 0
        if not isinstance(node.excerpt, str) or not isinstance(node.minutes, int):
            raise Malformed("derived has values of another type")
        node._state.adding = False
        node._state.db = "default"
        return node

    @property
    def content_type(self) -> type[Content]:
        """The class of the node's type; Missing if no installed app declares it, or what was read cannot be upgraded to it."""
        return Missing if isinstance(self.metadata.detail, Missing) else content.get(self.metadata.type)

    @property
    def type_label(self) -> str:
        """What the node's type is called."""
        return registry.label(self.metadata.type)

    @property
    def parent_id(self) -> ObjectId | None:
        return self.metadata.parent_id

    @property
    def blurb(self) -> str:
        """What lists and previews say of the node: its summary or the beginning of its text."""
        return self.metadata.summary or self.excerpt

    @property
    def share_title(self) -> str:
        """The title that search engines and link previews show: its own for them, or the node's. Of a node that is whole."""
        return getattr(self.metadata.detail, "seo_title", "") or self.metadata.title

    @property
    def share_description(self) -> str:
        """What search engines and link previews say of the node: words of its own for them, or the blurb."""
        return getattr(self.metadata.detail, "seo_description", "") or self.blurb

    @property
    def date(self) -> date | None:
        """The date that its type lists it by, where that names one (`date_field`)."""
        named = self.content_type.date_field
        return getattr(self.metadata.detail, named) if named else None

    def is_live(self, moment: datetime) -> bool:
        """Return whether the node by itself is public at `moment`; whether its sections are is the tree's to say."""
        published = self.metadata.published
        return published is not None and published <= moment < self.metadata.expires

    def get_absolute_url(self) -> str:
        """Return the node's path under its present sections, without the host."""
        return tree.current().url(self.metadata.parent_id, self.metadata.slug)


class Node(BaseNode):
    """A page, a blog post or a section, stored in cms.nodes."""

    metadata = MetadataField(Metadata)

    class Meta:
        db_table = "cms.nodes"
        verbose_name = _("page or post")
        verbose_name_plural = _("pages and posts")
        permissions = [("publish_node", "Can publish pages and posts")]


class Photo(BaseNode):
    """A photo: a file in GridFS that is a node besides. Contents that are no photos stand in the same collection."""

    metadata = MetadataField(PhotoMetadata)

    class Meta:
        managed = False
        db_table = "cms.assets.files"
        verbose_name = _("photo")
        verbose_name_plural = _("photos")

    @classmethod
    def from_document(cls, document: Mapping[str, Any], fields: Collection[str] = REQUIRED_FIELDS) -> Self:
        """Return the photo that a raw document stands for. A size and a valid cut are needed for copies. Raises Malformed."""
        photo = super().from_document(document, fields)
        detail = photo.metadata.detail
        if fields == REQUIRED_FIELDS and not (detail and _are_numbers(detail.resolution, 2)):
            raise Malformed("detail.resolution is missing or has another type")
        if detail and not all(_are_numbers(part, size) for part, size in ((detail.focal, 2), (detail.crop, 4)) if part):
            raise Malformed("detail.focal or detail.crop has another type")
        return photo

    @property
    def filename(self) -> str:
        return self.metadata.detail.filename

    @property
    def is_uploading(self) -> bool:
        """Whether an upload has begun to write to it, and not ended."""
        return self.metadata.locked is not None


class SiteSettings(Node):
    """The site's settings, for the admin's index and for the right to change them; they are kept by nodes.services.site."""

    class Meta:
        proxy = True
        default_permissions = ("change",)
        verbose_name = _("site settings")
        verbose_name_plural = _("site settings")
