"""What stands in a section whose editors arrange it, in their order: along one index, by keyset.

A node's `position` is a text that sorts between those of its neighbours. What has none yet, because the section listed in
another way before, comes first, by its slug.
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
    """Where a node stands in its section: its position, "" without one, and its slug."""

    position: str
    slug: str

    def __str__(self) -> str:
        return f"{self.position}.{self.slug}"

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Return where a stored node stands."""
        return cls(str(document.get("position") or ""), str(document["metadata"].get("slug")))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the spot that `text` spells; ValueError if it spells none."""
        if not (found := _SPOT.fullmatch(text)):
            raise ValueError(text)
        return cls(found[1], found[2])

    def after(self) -> dict[str, Any]:
        """Return the filter of what stands after it."""
        later = [{"position": {"$gt": self.position}}, {"metadata.slug": {"$gt": self.slug}}]
        # The slug tells it apart in the index alone, so that the node itself is not read.
        beyond: dict[str, Any] = {"$or": later, "metadata.slug": {"$ne": self.slug}}
        return beyond | ({"position": {"$gte": self.position}} if self.position else {})

    def before(self) -> dict[str, Any]:
        """Return the filter of what stands before it, of one with a position without what has none."""
        if not self.position:
            return {"position": None, "metadata.slug": {"$lt": self.slug}}
        earlier = [{"position": {"$lt": self.position}}, {"metadata.slug": {"$lt": self.slug}}]
        return {"position": {"$lte": self.position}, "$or": earlier, "metadata.slug": {"$ne": self.slug}}


@on_lists
def page(section_id: ObjectId, moment: datetime, *, size: int, cursor: str = "") -> tuple[list[Node], str]:
    """Return `size` live pages, posts and sections of a (live) section, and the cursor of those that follow, "" for none.

    Raises ValueError for a cursor that is none.
    """
    shown = {**live(moment), "metadata.type": type_condition((*registry.sections(), *registry.non_sections()))}
    return all_nodes(section_id, size=size, cursor=cursor, shown=shown, fields=for_readers(LISTED, moment))


def all_nodes(
    section_id: ObjectId,
    *,
    size: int,
    cursor: str = "",
    shown: Mapping[str, Any] | None = None,
    fields: Mapping[str, Any] = LISTED,
) -> tuple[list[Node], str]:
    """Return `size` nodes of a section in whatever state, or those to be `shown`, and the cursor of those that follow.

    Raises ValueError for a cursor that is none.
    """
    beyond = Spot.parse(cursor).after() if cursor else {}
    found = find_ordered(section_id, {**(shown or {}), **beyond}, fields, size + 1)
    nodes = list(readable_nodes(NODES, found[:size]))
    return nodes, str(Spot.of(found[size - 1])) if len(found) > size else ""


def neighbours(node: Node, moment: datetime) -> tuple[Node | None, Node | None]:
    """Return the live pages or posts before and after one in its section."""
    stored = find_spot(node.metadata.parent_id, node.pk)
    if stored is None:
        return None, None
    wanted = {**live(moment), "metadata.type": type_condition(registry.non_sections())}
    fields = for_readers(UNTAGGED, moment)
    before = find_ordered(node.metadata.parent_id, wanted | stored.before(), fields, 1, backwards=True)
    if stored.position and not before:
        before = find_ordered(node.metadata.parent_id, wanted | {"position": None}, fields, 1, backwards=True)
    after = find_ordered(node.metadata.parent_id, wanted | stored.after(), fields, 1)
    first, last = (next(readable_nodes(NODES, found), None) for found in (before, after))
    return first, last


def find_spot(section_id: ObjectId | None, node_id: ObjectId) -> Spot | None:
    """Return where a node stands in a section; None if it does not stand in it (any more)."""
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
    """Return up to `limit` documents of what stands in a section, in its order, or from the end; 0 for all."""
    nodes = database()[NODES]
    order = _BACKWARDS if backwards else list(POSITION)
    inside = {"metadata.parent_id": section_id, **wanted}
    read = {**fields, "position": 1}
    return list(
        read_with_hint(keys_of(INDEX), lambda hint: nodes.find(inside, read).sort(order).limit(limit).hint(hint))
    )
