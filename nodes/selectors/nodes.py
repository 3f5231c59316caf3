"""Reading nodes. What readers may see is spelled once, in `live`; editors read through nodes.access."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bson import ObjectId
from bson.errors import InvalidId

from mongo.connection import database
from nodes.collections import NODES, REDIRECTS
from nodes.kinds import ENTRY, PAGE
from nodes.models import Node
from nodes.tree import HOME, Section, Tree

# Never the draft, never embedded comments.
WHOLE = {"metadata": 1}
# Of lists: everything but the text.
LISTED = {
    f"metadata.{name}": 1
    for name in (
        "nonce", "type", "parent_id", "slug", "title",
        "created", "updated", "published", "expires", "author", "tags", "summary",
    )
}  # fmt: skip
NEWEST_FIRST = [("metadata.published", -1), ("_id", -1)]
OLDEST_FIRST = [("metadata.published", 1), ("_id", 1)]


def live(moment: datetime) -> dict[str, Any]:
    """Return the filter of what is public at `moment` by itself. Its section must be live too: see Tree.live_ids."""
    return {"metadata.published": {"$lte": moment}, "metadata.expires": {"$gt": moment}}


@dataclass(frozen=True)
class Found:
    """What an address leads to: a node (a section too), or another address to answer 301 with."""

    node: Node | None = None
    redirect: str | None = None


@dataclass(frozen=True)
class Listing:
    """A page of a list, newest first. `older` and `newer` are cursors of the pages beside it, None where there is none."""

    nodes: tuple[Node, ...]
    older: str | None = None
    newer: str | None = None


def resolve(sections: Tree, path: str, moment: datetime) -> Found:
    """Find the live node at a path such as "news/hello", or where it has moved to.

    Sections are found in the tree. A level that finds nothing looks in the redirects and goes on with the node found there; at
    the end one redirect leads to the present address, so that there are no chains.
    """
    parts = [part for part in path.split("/") if part] or [HOME]
    section: Section | None = None
    moved = False
    for depth, slug in enumerate(parts):
        is_last = depth == len(parts) - 1
        parent_id = section.id if section else None
        child = sections.child(parent_id, slug)
        if child is None:
            if is_last and (node := find(parent_id, slug)):
                return _found(sections, node, moved, moment)
            target = _moved_to(parent_id, slug)
            if target is None:
                return Found()
            moved = True
            child = sections.sections.get(target)
            if child is None:
                node = get(target) if is_last else None
                return _found(sections, node, moved, moment) if node else Found()
        section = child
    node = get(section.id) if section else None
    return _found(sections, node, moved, moment) if node else Found()


def _found(sections: Tree, node: Node, moved: bool, moment: datetime) -> Found:
    if not node.is_live(moment) or not sections.is_live(node.metadata.parent_id, moment):
        return Found()
    if moved:
        return Found(redirect=sections.url(node.metadata.parent_id, node.metadata.slug))
    return Found(node)


def _moved_to(parent_id: ObjectId | None, slug: str) -> ObjectId | None:
    redirect = database()[REDIRECTS].find_one({"_id": {"parent_id": parent_id, "slug": slug}})
    return redirect["node_id"] if redirect else None


def find(parent_id: ObjectId | None, slug: str) -> Node | None:
    """Return the node at a place, live or not; None if there is none."""
    document = database()[NODES].find_one({"metadata.parent_id": parent_id, "metadata.slug": slug}, WHOLE)
    return Node.from_document(document) if document else None


def get(node_id: ObjectId | str) -> Node | None:
    """Return a node by id, live or not; None if there is none, also for an id that is none."""
    try:
        key = ObjectId(node_id)
    except (InvalidId, TypeError):
        return None
    document = database()[NODES].find_one({"_id": key}, WHOLE)
    return Node.from_document(document) if document else None


def entries(
    blog_id: ObjectId, moment: datetime, *, size: int, cursor: str | None = None, whole: bool = False
) -> Listing:
    """Return `size` live posts of a (live) blog, newest first, with their texts if `whole`.

    Raises ValueError for a cursor that is none.
    """
    return _listing({"metadata.parent_id": blog_id, "metadata.type": ENTRY}, moment, size, cursor, whole)


def newest_entries(sections: Tree, moment: datetime, *, size: int, cursor: str | None = None) -> Listing:
    """Return `size` live posts of all blogs, newest first."""
    return _listing(
        {"metadata.type": ENTRY, "metadata.parent_id": {"$in": sections.live_ids(moment)}}, moment, size, cursor
    )


def tagged(sections: Tree, tag: str, moment: datetime, *, size: int, cursor: str | None = None) -> Listing:
    """Return `size` live nodes that carry the tag, newest first."""
    return _listing(
        {"metadata.tags": tag, "metadata.parent_id": {"$in": sections.live_ids(moment)}}, moment, size, cursor
    )


def pages_of(section_id: ObjectId | None, moment: datetime) -> list[Node]:
    """Return the live pages that stand in a (live) folder or at the top level, by title."""
    found = database()[NODES].find({"metadata.parent_id": section_id, "metadata.type": PAGE, **live(moment)}, LISTED)
    return sorted((Node.from_document(d) for d in found), key=lambda node: (node.metadata.title.casefold(), node.pk))


def neighbours(node: Node, moment: datetime) -> tuple[Node | None, Node | None]:
    """Return the live posts before and after a post in its section."""
    base = {"metadata.parent_id": node.metadata.parent_id, "metadata.type": node.metadata.type}
    edge = node.metadata.published, node.pk
    older = _listing_documents(base, moment, 1, edge, newer=False)
    newer = _listing_documents(base, moment, 1, edge, newer=True)
    return (
        Node.from_document(older[0]) if older else None,
        Node.from_document(newer[0]) if newer else None,
    )


def _listing(base: Mapping[str, Any], moment: datetime, size: int, cursor: str | None, whole: bool = False) -> Listing:
    """Read one page and know whether there are more on either side, by keyset: the cost does not grow with the page.

    A cursor is "<" or ">" (older or newer than), the time in milliseconds, ".", the id.
    """
    going_newer, edge = _parse(cursor) if cursor else (False, None)
    documents = _listing_documents(base, moment, size + 1, edge, newer=going_newer, fields=WHOLE if whole else LISTED)
    more = len(documents) > size
    documents = documents[:size]
    if going_newer:
        documents.reverse()
    nodes = tuple(Node.from_document(document) for document in documents)
    if not nodes:
        return Listing(())
    has_older, has_newer = (True, more) if going_newer else (more, edge is not None)
    return Listing(nodes, _cursor("<", nodes[-1]) if has_older else None, _cursor(">", nodes[0]) if has_newer else None)


def _listing_documents(
    base: Mapping[str, Any],
    moment: datetime,
    limit: int,
    edge: tuple[datetime, ObjectId] | None,
    *,
    newer: bool,
    fields: Mapping[str, Any] = LISTED,
) -> list[Mapping[str, Any]]:
    condition = {**base, **live(moment)}
    if edge is not None:
        time, last_id = edge
        compare, at_most = ("$gt", moment) if newer else ("$lt", time)
        condition["metadata.published"] = {"$gte": time, "$lte": at_most} if newer else {"$lte": at_most}
        condition["$or"] = [
            {"metadata.published": {compare: time}},
            {"metadata.published": time, "_id": {compare: last_id}},
        ]
    found = database()[NODES].find(condition, fields).sort(OLDEST_FIRST if newer else NEWEST_FIRST).limit(limit)
    return list(found)


def _cursor(side: str, node: Node) -> str:
    return f"{side}{round(node.metadata.published.timestamp() * 1000)}.{node.pk}"


def _parse(cursor: str) -> tuple[bool, tuple[datetime, ObjectId]]:
    side, (time, dot, last_id) = cursor[:1], cursor[1:].partition(".")
    if side not in ("<", ">") or not dot or not time.isdecimal() or len(time) > 14:
        raise ValueError(cursor)
    try:
        edge = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(time)), ObjectId(last_id)
    except (InvalidId, OverflowError) as error:
        raise ValueError(cursor) from error
    return side == ">", edge
