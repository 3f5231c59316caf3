"""Queries for editors: nodes that aren't necessarily public, with their drafts and previous versions."""

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

# The fields of an empty new page.
_EMPTY = {
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
    """A version of a node, identified by its nonce. Fields are keyed by path, as in forms and merges."""

    nonce: ObjectId
    fields: Mapping[str, Any]
    tags: tuple[str, ...]
    saved_at: datetime
    saved_by: str = ""
    # For a draft, the nonce of the live version from which it was started.
    base_nonce: ObjectId | None = None
    # For scheduled changes, the time when they go live.
    due: datetime | None = None
    # The version of the content type. It is the current version unless the fields couldn't be upgraded.
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
    """A stored node and its draft."""

    node: Node
    live: Version
    draft: Version | None = None

    @property
    def is_newer(self) -> bool:
        """Whether the node or its draft was stored by a newer release. Such a node can be shown, but not saved."""
        versions = (self.live.schema_version, self.draft.schema_version if self.draft else upgrading.FIRST)
        return max(versions) > get(self.node.metadata.type).schema_version

    def drafted(self) -> Node:
        """Return the node as it would be if its draft were published, or the node itself if there is no draft."""
        if self.draft is None:
            return self.node
        fields = {**self.live.fields, **self.draft.fields}
        # If either the live version or the draft can't be upgraded, the combination of both can't be upgraded.
        current = self.node.content_type.schema_version
        outdated = {self.live.schema_version, self.draft.schema_version} - {current}
        drafted = replace(self.draft, fields=fields, schema_version=next(iter(outdated), current))
        return _node(self.node.pk, self.node.metadata.type, drafted, self.node.metadata.created)


def _node(node_id: ObjectId, type: str, version: Version, created: datetime) -> Node:
    metadata = {
        **merging.nested(version.fields),
        "nonce": version.nonce,
        "type": type,
        "created": created,
        "updated": version.saved_at,
        "tags": list(version.tags),
        upgrading.VERSION: version.schema_version,
    }
    node = Node(pk=node_id, metadata=Metadata.from_document(metadata))
    node.metadata.detail.node = node
    return node


def unsaved_node(
    type: str, mine: Mapping[str, Any], tags: tuple[str, ...], node_id: ObjectId, stored: Version | None
) -> Node:
    """Return the node that would result from saving the form fields `mine`, keyed by path, over the version `stored`.

    Fields with invalid values keep their stored values.
    """
    declared = declared_fields.declared(type)
    moment = now()
    fields = {
        **_EMPTY,
        **merging.flatten({"detail": declared_fields.defaults(type)}),
        **(stored.fields if stored else {}),
    }
    for path, value in mine.items():
        with suppress(ValidationError):
            fields[path] = values.cleaned(declared[path], value) if path in declared else value
    version = Version(ObjectId(), fields, tags, moment, schema_version=get(type).schema_version)
    return _node(node_id, type, version, moment)


def load(node_id: ObjectId) -> Editable | None:
    """Return a node with its draft, or None if the node doesn't exist."""
    document = database()[NODES].find_one({"_id": node_id}, {"metadata": 1, "draft": 1})
    return read_document(NODES, document, from_document)


def from_document(document: Mapping[str, Any]) -> Editable:
    """Return the Editable for a stored document."""
    metadata = document["metadata"]
    draft = document.get("draft")
    live = Version.of(metadata, metadata["updated"])
    if draft is None:
        return Editable(Node.from_document(document), live)
    draft_fields = {"tags": metadata["tags"], **upgrading.draft_metadata(document), "nonce": draft["nonce"]}
    drafted = Version.of(draft_fields, draft["saved_at"], draft["saved_by"]["name"])
    return Editable(
        Node.from_document(document), live, replace(drafted, base_nonce=draft["base_nonce"], due=draft.get("due"))
    )


def load_version(node_id: ObjectId, nonce: ObjectId) -> Version | None:
    """Read the version of a node with the nonce `nonce` from its revision.

    If there is no such revision, return None.
    """
    revision = database()[REVISIONS].find_one({"_id": nonce, "node_id": node_id})
    if revision is None:
        return None
    return Version.of({**revision["metadata"], "nonce": nonce}, revision["saved_at"], revision["saved_by"]["name"])
