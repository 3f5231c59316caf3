"""What editors write, as documents in one shape: `metadata` with what every node has, `metadata.detail` with the rest.

The ORM reads these models, for the admin; selectors build the same objects from raw documents; only services write.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self

from bson import ObjectId
from django.db import models
from django.utils.translation import gettext_lazy as _
from django_mongodb_backend.fields import ArrayField, EmbeddedModelField, ObjectIdField
from django_mongodb_backend.models import EmbeddedModel

from mongo.models import ReadOnlyModel
from nodes.kinds import KINDS, Kind

MARKDOWN, HTML = "markdown", "html"


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


class Author(DocumentPart):
    """Who wrote it: the account's id, if there is one, and the name that readers see."""

    id = ObjectIdField(db_column="_id", primary_key=True)
    name = models.CharField(max_length=200)

    def __str__(self) -> str:
        return self.name


class Text(DocumentPart):
    """The detail of everything that is read as text; sections may carry one too."""

    text = models.TextField(blank=True)
    format = models.CharField(max_length=20, default=MARKDOWN, choices=[(MARKDOWN, "Markdown"), (HTML, "HTML")])
    comments = models.CharField(max_length=20, blank=True)


class Metadata(DocumentPart):
    """What every node has, whatever its type."""

    nonce = ObjectIdField()
    type = models.CharField(max_length=20, choices=[(kind.name, kind.label) for kind in KINDS.values()])
    parent_id = ObjectIdField(null=True)
    slug = models.CharField(max_length=200)
    title = models.CharField(max_length=300)
    created = models.DateTimeField()
    updated = models.DateTimeField()
    published = models.DateTimeField(null=True)
    expires = models.DateTimeField()
    author = EmbeddedModelField(Author, null=True)
    tags = ArrayField(models.CharField(max_length=100), default=list)
    summary = models.TextField(blank=True)
    detail = EmbeddedModelField(Text, null=True)


class Node(ReadOnlyModel):
    """A page, a blog post or a section, stored in cms.nodes."""

    metadata = EmbeddedModelField(Metadata)
    # The beginning of the text, where a selector read it.
    excerpt = ""

    class Meta:
        db_table = "cms.nodes"
        verbose_name = _("page or post")
        verbose_name_plural = _("pages and posts")
        permissions = [("publish_node", "Can publish pages and posts")]

    def __str__(self) -> str:
        return self.metadata.title

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the node that a raw document (with aware datetimes) stands for."""
        node = cls(pk=document["_id"], metadata=Metadata.from_document(document["metadata"]))
        node.excerpt = document.get("derived", {}).get("excerpt", "")
        node._state.adding = False
        node._state.db = "default"
        return node

    @property
    def kind(self) -> Kind:
        return KINDS[self.metadata.type]

    @property
    def parent_id(self) -> ObjectId | None:
        return self.metadata.parent_id

    @property
    def blurb(self) -> str:
        """What lists and previews say of the node: its summary or the beginning of its text."""
        return self.metadata.summary or self.excerpt

    def is_live(self, moment: datetime) -> bool:
        """Return whether the node by itself is public at `moment`; whether its sections are is the tree's to say."""
        published = self.metadata.published
        return published is not None and published <= moment < self.metadata.expires

    def get_absolute_url(self) -> str:
        """Return the node's path under its present sections, without the host."""
        from nodes import tree

        return tree.current().url(self.metadata.parent_id, self.metadata.slug)
