"""Create nodes for tests, with the same services that editors use."""

from datetime import UTC, datetime
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from nodes.services import editing
from nodes.types import NO_TAGS, Actor, TagChange

PAST = datetime(2020, 1, 1, tzinfo=UTC)
EDITOR = Actor(None, "Ann")


def node(
    type: str = "basic-page",
    slug: str = "page",
    *,
    parent: ObjectId | None = None,
    title: str | None = None,
    text: str = "",
    published: datetime | None = PAST,
    tags: tuple[str, ...] = (),
    **fields: Any,
) -> ObjectId:
    """Create a node and return its id. By default, the node was published long ago."""
    return editing.create(
        EDITOR,
        type=type,
        parent_id=parent,
        slug=slug,
        title=title or slug.title(),
        fields={"published": published, "detail.text": text, **fields},
        tags=tags,
    ).id


def stored(node_id: ObjectId) -> dict[str, Any]:
    """Return a node's stored metadata."""
    document = database()["cms.nodes"].find_one({"_id": node_id})
    assert document, f"No node has the id {node_id}."
    return document["metadata"]


def nonce(node_id: ObjectId) -> ObjectId:
    """Return the nonce of a node's stored version. A form that has just been opened contains the same nonce."""
    return stored(node_id)["nonce"]


def save(node_id: ObjectId, seen: ObjectId, /, actor: Actor = EDITOR, tags: TagChange = NO_TAGS, **changes: Any) -> Any:
    """Save fields in the same way as a form that was rendered with the nonce `seen`.

    In field names, "__" stands for a dot.
    """
    fields = {name.replace("__", "."): value for name, value in changes.items()}
    return editing.save(actor, node_id, seen, fields, tags)
