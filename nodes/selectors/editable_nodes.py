"""Reading nodes for editors: whatever their state, with their drafts and what they were under earlier nonces."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

from bson import ObjectId
from django.core.exceptions import ValidationError

from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from marginalia.mongo.reading import read_document
from nodes import merging
from nodes.collections import NODES, REVISIONS
from nodes.content import declared_fields, get, upgrading, values
from nodes.models import Metadata, Node
from nodes.types import NEVER

# What a new page says.
_NOTHING = {
    "parent_id": None,
    "slug": "",
    "title": "",
    "summary": "",
    "author": None,
    "published": None,
    "expires": NEVER,
}


@dataclass(frozen=True)
class Version:
    """What a node says under one nonce: its fields by path, as a form shows them and a merge compares them."""

    nonce: ObjectId
    fields: Mapping[str, Any]
    tags: tuple[str, ...]
    saved_at: datetime
    saved_by: str = ""
    # Of a draft: the nonce of the live version that it was begun on.
    base_nonce: ObjectId | None = None
    # Of scheduled changes: from when on readers see them.
    due: datetime | None = None
    # The version of the node's type that the fields are in the shape of: the present one, wherever they can be upgraded.
    schema_version: int = upgrading.FIRST

    @classmethod
    def of(cls, metadata: Mapping[str, Any], saved_at: datetime, saved_by: str = "") -> Self:
        with suppress(upgrading.UpgradeFailed):
            metadata = upgrading.upgraded(metadata)
        fields = merging.flatten(metadata)
        tags = tuple(metadata.get("tags", ()))
        return cls(metadata["nonce"], fields, tags, saved_at, saved_by, schema_version=upgrading.version(metadata))


@dataclass(frozen=True)
class Editable:
    """A node as stored, and the draft beside it."""

    node: Node
    live: Version
    draft: Version | None = None

    @property
    def is_newer(self) -> bool:
        """Whether a newer release has stored it, or its draft: it is shown, and not written."""
        shapes = (self.live.schema_version, self.draft.schema_version if self.draft else upgrading.FIRST)
        return max(shapes) > get(self.node.metadata.type).schema_version

    def drafted(self) -> Node:
        """Return the node as it would be if its draft were published; as it is if there is none."""
        if self.draft is None:
            return self.node
        fields = {**self.live.fields, **self.draft.fields}
        # Where either cannot be upgraded, neither can both together.
        shapes = {self.live.schema_version, self.draft.schema_version} - {self.node.content_type.schema_version}
        shape = next(iter(shapes), self.node.content_type.schema_version)
        drafted = replace(self.draft, fields=fields, schema_version=shape)
        return _node(self.node.pk, self.node.metadata.type, drafted, self.node.metadata.created)


def _node(node_id: ObjectId, type: str, said: Version, created: datetime) -> Node:
    whole = {
        **merging.nested(said.fields),
        "nonce": said.nonce,
        "type": type,
        "created": created,
        "updated": said.saved_at,
        "tags": list(said.tags),
        upgrading.VERSION: said.schema_version,
    }
    return Node(pk=node_id, metadata=Metadata.from_document(whole))


def unsaved_node(
    type: str, mine: Mapping[str, Any], tags: tuple[str, ...], node_id: ObjectId, stored: Version | None
) -> Node:
    """Return the node as it would be if what a form says, `mine` by path, were saved now: over what is stored, if anything.

    What a field of its type does not take is as it was.
    """
    declared = declared_fields.declared(type)
    moment = now()
    fields = {
        **_NOTHING,
        **merging.flatten({"detail": declared_fields.defaults(type)}),
        **(stored.fields if stored else {}),
    }
    for path, value in mine.items():
        with suppress(ValidationError):
            fields[path] = values.cleaned(declared[path], value) if path in declared else value
    said = Version(ObjectId(), fields, tags, moment, schema_version=get(type).schema_version)
    return _node(node_id, type, said, moment)


def load(node_id: ObjectId) -> Editable | None:
    """Return a node with its draft; None if there is none."""
    document = database()[NODES].find_one({"_id": node_id}, {"metadata": 1, "draft": 1})
    return read_document(NODES, document, from_document)


def from_document(document: Mapping[str, Any]) -> Editable:
    """Return the Editable that a stored document stands for."""
    metadata = document["metadata"]
    draft = document.get("draft")
    live = Version.of(metadata, metadata["updated"])
    if draft is None:
        return Editable(Node.from_document(document), live)
    said = {"tags": metadata["tags"], **upgrading.draft_metadata(document), "nonce": draft["nonce"]}
    drafted = Version.of(said, draft["saved_at"], draft["saved_by"]["name"])
    return Editable(
        Node.from_document(document), live, replace(drafted, base_nonce=draft["base_nonce"], due=draft.get("due"))
    )


def load_version(node_id: ObjectId, nonce: ObjectId) -> Version | None:
    """Return what a node said under a nonce, from its revision; None if that is not known (any more)."""
    revision = database()[REVISIONS].find_one({"_id": nonce, "node_id": node_id})
    if revision is None:
        return None
    return Version.of({**revision["metadata"], "nonce": nonce}, revision["saved_at"], revision["saved_by"]["name"])
