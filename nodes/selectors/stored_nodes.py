"""Queries for the nodes that readers see. Only `listing.live` defines which ones these are.

Editors read through nodes.access.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import unquote, urlsplit

from bson import ObjectId
from bson.errors import InvalidId

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database
from marginalia.mongo.reading import read_document, read_with_hint
from nodes.collections import ASSET_FILES, NODES, REDIRECTS, home_of, keys_of
from nodes.content import NEWEST, PHOTOS, registry
from nodes.models import Node, Photo, tree, version_cache
from nodes.models.dependencies import note_node, note_texts, on_lists
from nodes.models.tree import HOME, Tree
from nodes.selectors import by_hand, due, slugs, stored_photos
from nodes.selectors.listing import (
    FIELDS,
    LISTED,
    UNTAGGED,
    WHOLE,
    Cursor,
    Listing,
    detail_projection,
    find_live,
    for_readers,
    is_public,
    listing,
    live,
    posts_of,
    readable_nodes,
    type_condition,
    with_properties,
)

# Maximum redirects to read to find the section of a URL.
MOST_LOOKS = 50
# Maximum pages of a folder that are listed at once.
PAGES_LISTED = 100
# Maximum pages to which the footer links.
MOST_AT_TOP = 12


def resolve(sections: Tree, path: str, moment: datetime) -> Node | Photo | None:
    """Return the live node or photo with a path such as "news/hello". Its URL may be another one by now.

    A node that has the path now comes first. If there is none, the search goes back, level by level, to the sections
    and nodes that had the URL before. A view that compares the node's URL with `path` needs at most one redirect.
    """
    *above, slug = [slugs.normalized(part) for part in path.split("/")]
    for section_id in _sections_at(sections, above, moment):
        node = _node_at(sections, section_id, slug, moment)
        if node and is_public(node, sections, moment):
            return node
        for moved in _moved_to(section_id, slug):
            if node := live_by_id(sections, moved, moment):
                return node
    return None


def live_by_id(sections: Tree, node_id: ObjectId | str, moment: datetime) -> Node | Photo | None:
    """Return the node or photo with this id if readers can see it, or None."""
    node = get(node_id, moment) or stored_photos.get(node_id)
    return node if node and is_public(node, sections, moment) else None


def front_page(sections: Tree, moment: datetime) -> Node | None:
    """Return the live page at the top level with the slug `home`, if it isn't a section, or None."""
    node = None if sections.child(None, HOME) else find(None, HOME, moment)
    return node if node and is_public(node, sections, moment) else None


def resolve_address(address: str) -> Node | Photo | None:
    """Return the public page or photo at a present or former path of this site, or None if there is none."""
    try:
        path = unquote(urlsplit(address).path).strip("/")
    except ValueError:
        return None
    sections = tree.current()
    moment = now()
    return resolve(sections, path, moment) if path else front_page(sections, moment)


def _sections_at(sections: Tree, path: Sequence[str], moment: datetime) -> Iterator[ObjectId | None]:
    """Yield the section with a path of slugs now, then the sections that had it before, without duplicates.

    None is the top level.
    """
    looks = 0
    pending: list[tuple[ObjectId | None, int, bool]] = [(None, 0, False)]
    seen: set[tuple[ObjectId | None, int]] = set()
    while pending and looks < MOST_LOOKS:
        parent_id, level, look_back = pending.pop()
        if level == len(path):
            yield parent_id
            continue
        if look_back:
            looks += 1
            moved = [section_id for section_id in _moved_to(parent_id, path[level]) if section_id in sections.sections]
            following = [(section_id, level + 1) for section_id in reversed(moved)]
        else:
            pending.append((parent_id, level, True))
            child = sections.child(parent_id, path[level])
            # A section that is not live yet doesn't replace the section that had its place before.
            following = [(child.id, level + 1)] if child and child.is_live(moment) else []
        pending += [(*place, False) for place in following if place not in seen]
        seen.update(following)


def _node_at(sections: Tree, parent_id: ObjectId | None, slug: str, moment: datetime) -> Node | Photo | None:
    if child := sections.child(parent_id, slug):
        return get(child.id, moment)
    if parent_id is not None and sections.sections[parent_id].content_type.lists == PHOTOS:
        return stored_photos.find(parent_id, slug)
    return find(parent_id, slug, moment)


@on_lists
def _moved_to(parent_id: ObjectId | None, slug: str) -> list[ObjectId]:
    """Return the ids of the nodes that left a place, last first."""
    redirect = database()[REDIRECTS].find_one({"_id": {"parent_id": parent_id, "slug": slug}})
    return read_document(REDIRECTS, redirect, lambda r: [r["node_id"], *r.get("earlier", ())]) or []


@on_lists
def find(parent_id: ObjectId | None, slug: str, moment: datetime | None = None) -> Node | None:
    """Return the node at a place, live or not, or None. For `moment`, see `get`."""
    place = {"metadata.parent_id": parent_id, "metadata.slug": slug}
    return _whole(database()[NODES].find_one(place, for_readers(WHOLE, moment) if moment else WHOLE))


@on_lists
def get(node_id: ObjectId | str, moment: datetime | None = None) -> Node | None:
    """Return a node by id, live or not, or None, also if the id is invalid.

    With `moment`, scheduled changes that are due then are included, as readers see them.
    """
    try:
        key = ObjectId(node_id)
    except (InvalidId, TypeError):
        return None
    return _whole(database()[NODES].find_one({"_id": key}, for_readers(WHOLE, moment) if moment else WHOLE))


def _whole(document: Document | None) -> Node | None:
    """Return the node of a document that was read with its text, and record that the response depends on it."""
    if document is None:
        return None
    node = read_document(NODES, document, Node.from_document)
    if node:
        note_node(document)
    return node


@on_lists
def live_by_ids(sections: Tree, node_ids: Sequence[ObjectId], moment: datetime) -> list[Node]:
    """Return the nodes with these ids that readers can see, without their texts, in any order."""
    documents = database()[NODES].find(
        {"_id": {"$in": list(node_ids)}, **live(moment)},
        for_readers(UNTAGGED | detail_projection(registry.types(), ["metadata.detail.comments"]), moment),
    )
    return [node for node in readable_nodes(NODES, documents) if is_public(node, sections, moment)]


@on_lists
def whole_by_ids(node_ids: Sequence[ObjectId], moment: datetime, *, as_stored: bool = False) -> list[Node]:
    """Return live nodes with their texts, in any order. The caller has checked that their sections are public.

    With `as_stored`, return nodes in any state, without the scheduled changes that are due.
    """
    if not node_ids:
        return []
    note_texts()
    wanted = {"_id": {"$in": list(node_ids)}, **({} if as_stored else live(moment))}
    documents = database()[NODES].find(wanted, WHOLE if as_stored else for_readers(WHOLE, moment))
    return list(readable_nodes(NODES, documents))


def nodes_of_type(sections: Tree, type: str, moment: datetime, *, size: int, cursor: str | None = None) -> Listing:
    """Return `size` live nodes, or photos, of a type, newest first.

    Raises:
        ValueError: The cursor is invalid.
    """
    base = {"metadata.type": type, "metadata.parent_id": {"$in": sections.live_ids(moment)}}
    return listing(base, "by_type", moment, size, cursor, collections=(home_of(type),))


def entries(
    blog_id: ObjectId, moment: datetime, *, size: int, cursor: str | None = None, whole: bool = False
) -> Listing:
    """Return `size` live posts, of all types, of a (live) blog, newest first, with their texts if `whole`.

    Raises:
        ValueError: The cursor is invalid.
    """
    return listing(posts_of(blog_id), "by_section", moment, size, cursor, whole=whole)


def newest_entries(
    sections: Tree, moment: datetime, *, size: int, cursor: str | None = None, whole: bool = False
) -> Listing:
    """Return `size` live posts of all blogs, newest first.

    Raises:
        ValueError: The cursor is invalid.
    """
    known = sections.sections
    blogs = [i for i in sections.live_ids(moment) if i is not None and known[i].content_type.lists == NEWEST]
    base = {"metadata.type": type_condition(registry.dated()), "metadata.parent_id": {"$in": blogs}}
    return listing(base, "by_type", moment, size, cursor, whole=whole)


def tagged(
    sections: Tree, tag: str, moment: datetime, *, size: int, cursor: str | None = None, whole: bool = False
) -> Listing:
    """Return `size` live nodes and photos with the tag, newest first.

    Raises:
        ValueError: The cursor is invalid.
    """
    base = {"metadata.tags": tag, "metadata.parent_id": {"$in": sections.live_ids(moment)}}
    return listing(base, "by_tag", moment, size, cursor, whole=whole, collections=(NODES, ASSET_FILES))


def photos_with(
    sections: Tree,
    properties: Sequence[tuple[str, Any]],
    moment: datetime,
    *,
    size: int,
    cursor: str | None = None,
) -> Listing:
    """Return `size` live photos, newest first, whose files have all these `properties`, such as camera, lens and year.

    Raises:
        ValueError: The cursor is invalid.
    """
    base = with_properties(properties) | {"metadata.parent_id": {"$in": sections.live_ids(moment)}}
    return listing(base, "by_exif", moment, size, cursor, collections=(ASSET_FILES,))


def photos_of(
    gallery_id: ObjectId, moment: datetime, *, size: int, cursor: str | None = None, whole: bool = False
) -> Listing:
    """Return `size` live photos of a (live) gallery, newest first.

    Raises:
        ValueError: The cursor is invalid.
    """
    base = {"metadata.parent_id": gallery_id}
    return listing(base, "by_section", moment, size, cursor, whole=whole, collections=(ASSET_FILES,))


def has_children(section_id: ObjectId) -> bool:
    """Return whether a section contains any node, live or not."""
    return database()[NODES].find_one({"metadata.parent_id": section_id}, {"_id": 1}) is not None


@on_lists
def pages_of(
    section_id: ObjectId | None,
    moment: datetime,
    *,
    after: str = "",
    limit: int = PAGES_LISTED,
    fields: Mapping[str, Any] = LISTED,
) -> list[Node]:
    """Return up to `limit` live pages of a (live) folder or the top level, sorted by slug, after the slug `after`."""
    wanted = {
        "metadata.parent_id": section_id,
        "metadata.type": type_condition(registry.pages()),
        "metadata.slug": {"$gt": after},
        **live(moment),
    }
    nodes = database()[NODES]
    read = for_readers(fields, moment)
    documents = read_with_hint(
        keys_of("by_name"),
        lambda hint: nodes.find(wanted, read).sort("metadata.slug", 1).limit(limit).hint(hint),
    )
    return list(readable_nodes(NODES, documents))


def neighbours(node: Node | Photo, moment: datetime) -> tuple[Node | Photo | None, Node | Photo | None]:
    """Return the live neighbours of a live post in its section, or of a photo in its gallery: the older and the newer one.

    If editors arrange the section by hand, return those before and after it in this order. The result is cached in
    process.
    """
    home = home_of(node.metadata.type)
    types = (node.metadata.type,) if node.content_type.is_file else registry.dated()
    # A preview shows the node with another date than the stored one.
    others = {"$ne": node.pk}
    base = {"_id": others, "metadata.parent_id": node.metadata.parent_id, "metadata.type": type_condition(types)}

    def read() -> tuple[tuple[Node | Photo | None, Node | Photo | None], datetime | None]:
        if tree.current().is_by_hand(node.metadata.parent_id):
            return by_hand.neighbours(node, moment), due.next_due(moment)
        edges = (Cursor.of(node, newer=newer) for newer in (False, True))
        fields = UNTAGGED if home == NODES else FIELDS[home]
        sides = (find_live(base, "by_section", moment, 1, edge, fields, collection=home) for edge in edges)
        older, newer = (next(readable_nodes(home, documents), None) for documents in sides)
        return (older, newer), due.next_due(moment)

    # The key contains the date, because a preview shows the node with another date.
    return version_cache.get_or_set(("neighbours", node.pk, node.metadata.published), moment, read)


def links_at_top(moment: datetime) -> list[tuple[str, str]]:
    """Return (title, slug) of the first live pages at the top level, sorted by slug. The result is cached in process."""

    def read() -> tuple[list[tuple[str, str]], datetime | None]:
        pages = pages_of(None, moment, limit=MOST_AT_TOP + 1, fields=UNTAGGED)
        links = [(page.metadata.title, page.metadata.slug) for page in pages if page.metadata.slug != HOME]
        return links[:MOST_AT_TOP], due.next_due(moment)

    return version_cache.get_or_set("links_at_top", moment, read)
