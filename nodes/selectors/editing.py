"""Reading nodes for editors: whatever their state, with their drafts and what they were under earlier nonces."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

from bson import ObjectId

from mongo.connection import database
from nodes import merging
from nodes.collections import NODES, REVISIONS
from nodes.content import get, upgrading
from nodes.models import Metadata, Node


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
        fields, tags = merging.as_stored(metadata), tuple(metadata.get("tags", ()))
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
        whole = {
            **merging.nested(fields),
            "nonce": self.draft.nonce,
            "type": self.node.metadata.type,
            "created": self.node.metadata.created,
            "updated": self.draft.saved_at,
            "tags": list(self.draft.tags),
            upgrading.VERSION: next(iter(shapes), self.node.content_type.schema_version),
        }
        return Node(pk=self.node.pk, metadata=Metadata.from_document(whole))


def load(node_id: ObjectId) -> Editable | None:
    """Return a node with its draft; None if there is none."""
    document = database()[NODES].find_one({"_id": node_id}, {"metadata": 1, "draft": 1})
    return editable(document) if document else None


def editable(document: Mapping[str, Any]) -> Editable:
    """Return the Editable that a stored document stands for."""
    metadata, draft = document["metadata"], document.get("draft")
    live = Version.of(metadata, metadata["updated"])
    if draft is None:
        return Editable(Node.from_document(document), live)
    said = {"tags": metadata["tags"], **upgrading.draft_of(document), "nonce": draft["nonce"]}
    drafted = Version.of(said, draft["saved_at"], draft["saved_by"]["name"])
    return Editable(
        Node.from_document(document), live, replace(drafted, base_nonce=draft["base_nonce"], due=draft.get("due"))
    )


def version(node_id: ObjectId, nonce: ObjectId) -> Version | None:
    """Return what a node said under a nonce, from its revision; None if that is not known (any more)."""
    revision = database()[REVISIONS].find_one({"_id": nonce, "node_id": node_id})
    if revision is None:
        return None
    return Version.of({**revision["metadata"], "nonce": nonce}, revision["saved_at"], revision["saved_by"]["name"])
