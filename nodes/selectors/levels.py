"""The levels of the page tree in the admin: the nodes directly in a section, and how many nodes sections contain."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from nodes.collections import ASSET_FILES, NODES, node_filter
from nodes.content import FILE, NEWEST, PHOTO, UPCOMING
from nodes.models import Node, tree
from nodes.selectors import by_hand, lists
from nodes.selectors.lists import COUNTED, Filters

# Maximum number of nodes per page of a level.
SIZE = 50


@dataclass(frozen=True)
class Contents:
    """The numbers of nodes, photos and files directly in a section. COUNTED + 1 means more than COUNTED."""

    nodes: int = 0
    photos: int = 0
    files: int = 0


def level(section_id: ObjectId | None, moment: datetime, *, cursor: str = "") -> tuple[list[Node], str]:
    """Return a page of the nodes directly in a section or at the top level, and the cursor of the next page.

    The nodes aren't necessarily live. In sections that are listed by date, the node that was changed last comes first.
    In other sections, the order is the manual order, or the slug. The cursor of the last page is "".

    Raises:
        ValueError: The cursor is invalid.
    """
    section = tree.current().sections.get(section_id) if section_id else None
    if section and section.content_type.lists in (NEWEST, UPCOMING):
        page = lists.page(Filters(section=section_id), moment, cursor=cursor, size=SIZE)
        return [row.node for row in page.rows if isinstance(row.node, Node)], page.older
    return by_hand.all_nodes(section_id, size=SIZE, cursor=cursor)


def count_contents(section_ids: Iterable[ObjectId]) -> dict[ObjectId, Contents]:
    """Return the numbers of nodes, photos and files directly in each section, with a single command."""
    ids = list(section_ids)
    if not ids:
        return {}
    count = [{"$limit": COUNTED + 1}, {"$count": "n"}]
    lookups: list[dict[str, Any]] = [
        {
            "$lookup": {
                "from": collection,
                "localField": "_id",
                "foreignField": "metadata.parent_id",
                "pipeline": [{"$match": only}, *count],
                "as": name,
            }
        }
        for name, collection, only in (
            ("nodes", NODES, node_filter(NODES)),
            ("photos", ASSET_FILES, node_filter(ASSET_FILES) | {"metadata.type": PHOTO}),
            ("files", ASSET_FILES, node_filter(ASSET_FILES) | {"metadata.type": FILE}),
        )
    ]
    stages: list[dict[str, Any]] = [{"$match": {"_id": {"$in": ids}}}, {"$project": {"_id": 1}}, *lookups]
    return {
        document["_id"]: Contents(*(sum(part["n"] for part in document[name]) for name in ("nodes", "photos", "files")))
        for document in database()[NODES].aggregate(stages)
    }
