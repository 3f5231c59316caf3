"""Read a section's nodes in manual order, with keyset pagination on a single index.

A node's `position` is a string that sorts between the positions of its neighbours. Nodes that were in the section
before it was sorted manually have no position. They come first, sorted by slug.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from bson import ObjectId

from marginalia.mongo.connection import Document, database
from marginalia.mongo.reading import read_with_hint
from nodes.collections import NODES, POSITION, keys_of
from nodes.content import registry
from nodes.models import Node
from nodes.models.dependencies import on_lists
from nodes.selectors.listing import LISTED, UNTAGGED, for_readers, live, readable_nodes, type_condition

INDEX = "by_position"
_SPOT = re.compile(r"([0-9a-f]*)\.(.+)", re.DOTALL)
_BACKWARDS = [(path, -direction) for path, direction in POSITION]


@dataclass(frozen=True)
class Spot:
    """The sort key of a node in a manually sorted section: its position, or "" if it has none, and its slug."""

    position: str
    slug: str

    def __str__(self) -> str:
        return f"{self.position}.{self.slug}"

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Return the spot of the node that `document` describes."""
        return cls(str(document.get("position") or ""), str(document["metadata"].get("slug")))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a spot from its string form.

        Raises:
            ValueError: The text isn't a valid spot.
        """
        if not (match := _SPOT.fullmatch(text)):
            raise ValueError(text)
        return cls(match[1], match[2])

    def after(self) -> dict[str, Any]:
        """Return the filter for the nodes after this spot."""
        later = [{"position": {"$gt": self.position}}, {"metadata.slug": {"$gt": self.slug}}]
        # Because of the condition on the slug, the server can exclude the node at this spot by reading only the index.
        beyond: dict[str, Any] = {"$or": later, "metadata.slug": {"$ne": self.slug}}
        return beyond | ({"position": {"$gte": self.position}} if self.position else {})

    def before(self) -> dict[str, Any]:
        """Return the filter for the nodes before this spot.

        If this spot has a position, the filter excludes nodes without a position.
        """
        if not self.position:
            return {"position": None, "metadata.slug": {"$lt": self.slug}}
        earlier = [{"position": {"$lt": self.position}}, {"metadata.slug": {"$lt": self.slug}}]
        return {"position": {"$lte": self.position}, "$or": earlier, "metadata.slug": {"$ne": self.slug}}


@on_lists
def page(section_id: ObjectId, moment: datetime, *, size: int, cursor: str = "") -> tuple[list[Node], str]:
    """Return up to `size` live nodes in a live section, and the cursor of the next page, or "" for the last page.

    Raises:
        ValueError: The cursor is invalid.
    """
    shown = {**live(moment), "metadata.type": type_condition((*registry.sections(), *registry.non_sections()))}
    return all_nodes(section_id, size=size, cursor=cursor, shown=shown, fields=for_readers(LISTED, moment))


def all_nodes(
    section_id: ObjectId | None,
    *,
    size: int,
    cursor: str = "",
    shown: Mapping[str, Any] | None = None,
    fields: Mapping[str, Any] = LISTED,
) -> tuple[list[Node], str]:
    """Return up to `size` nodes in a section, live or not, and the cursor of the next page, or "" for the last page.

    Args:
        section_id: The section, or None for the top level.
        size: The maximum number of nodes.
        cursor: The cursor of the page, or "" for the first page.
        shown: A filter that the nodes must match.
        fields: The projection.

    Raises:
        ValueError: The cursor is invalid.
    """
    beyond = Spot.parse(cursor).after() if cursor else {}
    documents = find_ordered(section_id, {**(shown or {}), **beyond}, fields, size + 1)
    nodes = list(readable_nodes(NODES, documents[:size]))
    return nodes, str(Spot.of(documents[size - 1])) if len(documents) > size else ""


def neighbours(node: Node, moment: datetime) -> tuple[Node | None, Node | None]:
    """Return the live pages or posts that come directly before and after `node` in its section."""
    stored = find_spot(node.metadata.parent_id, node.pk)
    if stored is None:
        return None, None
    wanted = {**live(moment), "metadata.type": type_condition(registry.non_sections())}
    fields = for_readers(UNTAGGED, moment)
    before = find_ordered(node.metadata.parent_id, wanted | stored.before(), fields, 1, backwards=True)
    if stored.position and not before:
        before = find_ordered(node.metadata.parent_id, wanted | {"position": None}, fields, 1, backwards=True)
    after = find_ordered(node.metadata.parent_id, wanted | stored.after(), fields, 1)
    previous, following = (next(readable_nodes(NODES, documents), None) for documents in (before, after))
    return previous, following


def sibling_ids(section_id: ObjectId, node_id: ObjectId) -> tuple[ObjectId | None, ObjectId | None]:
    """Return the ids of the nodes that come directly before and after a node in its section, live or not."""
    stored = find_spot(section_id, node_id)
    if stored is None:
        return None, None
    before = find_ordered(section_id, stored.before(), {"_id": 1}, 1, backwards=True)
    if stored.position and not before:
        before = find_ordered(section_id, {"position": None}, {"_id": 1}, 1, backwards=True)
    after = find_ordered(section_id, stored.after(), {"_id": 1}, 1)
    previous, following = (next((document["_id"] for document in documents), None) for documents in (before, after))
    return previous, following


def find_spot(section_id: ObjectId | None, node_id: ObjectId) -> Spot | None:
    """Return the spot of a node in a section, or None if the node isn't in this section."""
    wanted = {"_id": node_id, "metadata.parent_id": section_id}
    stored = database()[NODES].find_one(wanted, {"position": 1, "metadata.slug": 1})
    return Spot.of(stored) if stored else None


def find_ordered(
    section_id: ObjectId | None,
    wanted: Mapping[str, Any],
    fields: Mapping[str, Any],
    limit: int,
    *,
    backwards: bool = False,
) -> list[Document]:
    """Return up to `limit` documents in a section, in the section's order. If `backwards` is true, reverse the order.

    A limit of 0 means no limit.
    """
    nodes = database()[NODES]
    order = _BACKWARDS if backwards else list(POSITION)
    inside = {"metadata.parent_id": section_id, **wanted}
    read = {**fields, "position": 1}
    return list(
        read_with_hint(keys_of(INDEX), lambda hint: nodes.find(inside, read).sort(order).limit(limit).hint(hint))
    )
