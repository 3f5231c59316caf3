"""Queries for the nodes that readers can see. `listing.live` defines which nodes are public.

Code for editors uses nodes.access instead.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import unquote, urlsplit

from bson import ObjectId
from bson.errors import InvalidId

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database
from marginalia.mongo.reading import read_document, read_with_hint
from nodes.collections import ASSET_FILES, NODES, REDIRECTS, home_of, keys_of, node_filter
from nodes.content import NEWEST, PHOTOS, registry
from nodes.models import File, Node, Photo, tree, version_cache
from nodes.models.dependencies import note_node, note_texts, on_lists
from nodes.models.tree import HOME, Tree
from nodes.selectors import by_hand, due, slugs, stored_assets, stored_photos
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

# Maximum number of redirects to read when finding the section of a URL.
MOST_LOOKS = 50
# Maximum number of pages in a folder that are listed at once.
PAGES_LISTED = 100
# Maximum number of pages that the footer links to.
MOST_AT_TOP = 12


def resolve(sections: Tree, path: str, moment: datetime) -> Node | Photo | None:
    """Return the live node or photo that has, or used to have, a path such as "news/hello".

    A node that currently has the path takes precedence. Otherwise, the search looks level by level for the sections and
    nodes that used to have the path. Views can compare the result's URL with `path`, and need at most one redirect.
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


def live_by_id(sections: Tree, node_id: ObjectId | str, moment: datetime) -> Node | Photo | File | None:
    """Return the node, photo or file with this id if readers can see it, and None otherwise."""
    node = get(node_id, moment) or stored_assets.get(node_id)
    return node if node and is_public(node, sections, moment) else None


def front_page(sections: Tree, moment: datetime) -> Node | None:
    """Return the live page at the top level with the slug `home`, or None if there isn't one or it is a section."""
    node = None if sections.child(None, HOME) else find(None, HOME, moment)
    return node if node and is_public(node, sections, moment) else None


@on_lists
def live_at(sections: Tree, paths: Iterable[str], moment: datetime) -> dict[str, Node | Photo]:
    """Return the public nodes and photos that currently have these paths, without their text, keyed by path.

    Unlike `resolve`, the function ignores former paths, and needs two queries for any number of paths.
    """
    asked: dict[tuple[ObjectId | None, str], list[str]] = {}
    for path in paths:
        *above, slug = [slugs.normalized(part) for part in path.split("/")]
        section = sections.resolve("/".join(above))
        if section or not above:
            asked.setdefault((section.id if section else None, slug), []).append(path)
    found = (node for node in _at_places(sections, asked, moment) if is_public(node, sections, moment))
    return {path: node for node in found for path in asked[node.metadata.parent_id, node.metadata.slug]}


def _at_places(
    sections: Tree, places: Iterable[tuple[ObjectId | None, str]], moment: datetime
) -> Iterator[Node | Photo]:
    """Yield the nodes and photos with these sections and slugs."""
    by_section: dict[ObjectId | None, list[str]] = {}
    for section_id, slug in places:
        by_section.setdefault(section_id, []).append(slug)
    galleries = {s for s in by_section if s and sections.sections[s].content_type.lists == PHOTOS}
    for home, section_ids in ((NODES, by_section), (ASSET_FILES, galleries)):
        if not section_ids:
            continue
        at = [{"metadata.parent_id": s, "metadata.slug": {"$in": by_section[s]}} for s in section_ids]
        documents = database()[home].find({"$or": at, **node_filter(home)}, for_readers(FIELDS[home], moment))
        yield from readable_nodes(home, documents)


# The paths of photos in the library, and of files. They contain the id.
_ASSET_PATH = re.compile("media/([0-9a-f]{24})|media/file/([0-9a-f]{24})/[^/]+")


def resolve_address(address: str) -> Node | Photo | File | None:
    """Return the public page, photo or file that has, or used to have, the URL `address`, or None."""
    try:
        path = unquote(urlsplit(address).path).strip("/")
    except ValueError:
        return None
    sections = tree.current()
    moment = now()
    if asset := _ASSET_PATH.fullmatch(path):
        return live_by_id(sections, asset[1] or asset[2], moment)
    return resolve(sections, path, moment) if path else front_page(sections, moment)


def _sections_at(sections: Tree, path: Sequence[str], moment: datetime) -> Iterator[ObjectId | None]:
    """Yield the section that currently has this path, then the sections that used to have it, without duplicates.

    None stands for the top level.
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
            # If the section at a URL isn't live yet, the URL still leads to the section that had it before.
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
    """Return the ids of the nodes that used to have this section and slug, most recent first."""
    redirect = database()[REDIRECTS].find_one({"_id": {"parent_id": parent_id, "slug": slug}})
    return read_document(REDIRECTS, redirect, lambda r: [r["node_id"], *r.get("earlier", ())]) or []


@on_lists
def find(parent_id: ObjectId | None, slug: str, moment: datetime | None = None) -> Node | None:
    """Return the node with the given section and slug, live or not, or None. For `moment`, see `get`."""
    place = {"metadata.parent_id": parent_id, "metadata.slug": slug}
    return _whole(database()[NODES].find_one(place, for_readers(WHOLE, moment) if moment else WHOLE))


@on_lists
def get(node_id: ObjectId | str, moment: datetime | None = None) -> Node | None:
    """Return a node by id, live or not. If it doesn't exist or the id is invalid, return None.

    If `moment` is given, apply the scheduled changes that are due at that time.
    """
    try:
        key = ObjectId(node_id)
    except (InvalidId, TypeError):
        return None
    return _whole(database()[NODES].find_one({"_id": key}, for_readers(WHOLE, moment) if moment else WHOLE))


def _whole(document: Document | None) -> Node | None:
    """Return the node for a document that was read with its text, and record that the response depends on the node."""
    if document is None:
        return None
    node = read_document(NODES, document, Node.from_document)
    if node:
        note_node(document)
    return node


@on_lists
def live_by_ids(sections: Tree, node_ids: Sequence[ObjectId], moment: datetime) -> list[Node]:
    """Return the public nodes with these ids, without their text, in any order."""
    documents = database()[NODES].find(
        {"_id": {"$in": list(node_ids)}, **live(moment)},
        for_readers(UNTAGGED | detail_projection(registry.types(), ["metadata.detail.comments"]), moment),
    )
    return [node for node in readable_nodes(NODES, documents) if is_public(node, sections, moment)]


@on_lists
def whole_by_ids(node_ids: Sequence[ObjectId], moment: datetime, *, as_stored: bool = False) -> list[Node]:
    """Return the live nodes with these ids, including their text, in any order.

    Callers must check that the nodes' sections are live. If `as_stored` is true, also return nodes that aren't live,
    and don't apply due scheduled changes.
    """
    if not node_ids:
        return []
    note_texts()
    wanted = {"_id": {"$in": list(node_ids)}, **({} if as_stored else live(moment))}
    documents = database()[NODES].find(wanted, WHOLE if as_stored else for_readers(WHOLE, moment))
    return list(readable_nodes(NODES, documents))


def nodes_of_type(sections: Tree, type: str, moment: datetime, *, size: int, cursor: str | None = None) -> Listing:
    """Return up to `size` live nodes or photos of a type, newest first.

    Raises:
        ValueError: The cursor is invalid.
    """
    base = {"metadata.type": type, "metadata.parent_id": {"$in": sections.live_ids(moment)}}
    return listing(base, "by_type", moment, size, cursor, collections=(home_of(type),))


def entries(
    blog_id: ObjectId, moment: datetime, *, size: int, cursor: str | None = None, whole: bool = False
) -> Listing:
    """Return up to `size` live posts of all types in a live blog, newest first. If `whole` is true, include their text.

    Raises:
        ValueError: The cursor is invalid.
    """
    return listing(posts_of(blog_id), "by_section", moment, size, cursor, whole=whole)


def newest_entries(
    sections: Tree, moment: datetime, *, size: int, cursor: str | None = None, whole: bool = False
) -> Listing:
    """Return up to `size` live posts from all blogs, newest first. If `whole` is true, include their text.

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
    """Return up to `size` live nodes and photos with the tag, newest first. If `whole` is true, include their text.

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
    """Return up to `size` live photos, newest first, whose files have all `properties`, such as camera, lens and year.

    Raises:
        ValueError: The cursor is invalid.
    """
    base = with_properties(properties) | {"metadata.parent_id": {"$in": sections.live_ids(moment)}}
    return listing(base, "by_exif", moment, size, cursor, collections=(ASSET_FILES,))


def photos_of(
    gallery_id: ObjectId, moment: datetime, *, size: int, cursor: str | None = None, whole: bool = False
) -> Listing:
    """Return up to `size` live photos in a live gallery, newest first.

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
    """Return up to `limit` live pages in a live folder or at the top level, sorted by slug, after the slug `after`."""
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
    """Return the older and the newer live neighbour of a live post in its section, or of a photo in its gallery.

    If the section is sorted manually, return the previous and the next node in this order instead. The result is cached
    in memory.
    """
    home = home_of(node.metadata.type)
    types = (node.metadata.type,) if node.content_type.is_file else registry.dated()
    # In a preview, the node's date can differ from the stored date, so the node is excluded by id.
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

    # The key contains the date, because the node can have a different date in a preview.
    return version_cache.get_or_set(("neighbours", node.pk, node.metadata.published), moment, read)


def links_at_top(moment: datetime) -> list[tuple[str, str]]:
    """Return the titles and slugs of the first live pages at the top level, sorted by slug. Cache the result."""

    def read() -> tuple[list[tuple[str, str]], datetime | None]:
        pages = pages_of(None, moment, limit=MOST_AT_TOP + 1, fields=UNTAGGED)
        links = [(page.metadata.title, page.metadata.slug) for page in pages if page.metadata.slug != HOME]
        return links[:MOST_AT_TOP], due.next_due(moment)

    return version_cache.get_or_set("links_at_top", moment, read)
