"""The most frequent queries for pages and photos (checked by the doctor), and the queries that use all shards."""

from collections.abc import Mapping
from typing import Any

from marginalia.mongo.clock import now
from marginalia.mongo.doctor import HotQuery
from marginalia.mongo.sharding.targeting import Broadcast
from nodes.collections import (
    ASSET_CHUNKS,
    ASSET_FILES,
    BY_ID,
    DATED,
    NODES,
    POSITION,
    REFERRING,
    RENDITION_FILES,
    WORKING_COPIES,
    gallery_filters,
)
from nodes.content import PHOTO, BlogEntry, registry
from nodes.search import index
from nodes.selectors import picking, references, working_copies
from nodes.selectors.listing import NEWEST_FIRST, live

_SORT = dict(NEWEST_FIRST)
_PLACED = {"metadata.slug": {"$type": "string"}}
_PHOTOS = {**_PLACED, "metadata.type": PHOTO, "metadata.content_id": {"$type": "objectId"}}


def _place(document: Mapping[str, Any]) -> dict[str, Any]:
    metadata = document["metadata"]
    return {"metadata.parent_id": metadata["parent_id"], "metadata.slug": metadata["slug"]}


def _newest(node: Mapping[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the query for the newest nodes that match `wanted` and are in the same section as `node`."""
    placed = {"metadata.parent_id": {"$in": [node["metadata"]["parent_id"]]}, **live(now())}
    return {"filter": {**wanted, **placed}, "sort": _SORT, "limit": 10}


HOT_QUERIES = (
    HotQuery(
        "a page by its URL",
        NODES,
        lambda node: {"filter": _place(node)},
        example=_PLACED,
    ),
    HotQuery(
        "the newest posts of a section",
        NODES,
        lambda node: {
            "filter": {
                "metadata.parent_id": node["metadata"]["parent_id"],
                "metadata.type": BlogEntry.type_name,
                **live(now()),
            },
            "sort": _SORT,
            "limit": 10,
        },
        example={"metadata.type": BlogEntry.type_name},
    ),
    HotQuery(
        "a manually ordered section",
        NODES,
        lambda node: {
            "filter": {
                "metadata.parent_id": node["metadata"]["parent_id"],
                "position": {"$gte": node["position"]},
                **live(now()),
            },
            "sort": dict(POSITION),
            "limit": 10,
        },
        example={"position": {"$type": "string"}},
    ),
    HotQuery(
        "the newest posts of the site",
        NODES,
        lambda node: _newest(node, {"metadata.type": BlogEntry.type_name}),
        example={"metadata.type": BlogEntry.type_name},
    ),
    HotQuery(
        "the posts of an author",
        NODES,
        lambda node: _newest(
            node,
            {
                "metadata.author.name": (node["metadata"]["author"] or {}).get("name"),
                "metadata.type": BlogEntry.type_name,
            },
        ),
        example={"metadata.type": BlogEntry.type_name, "metadata.author.name": {"$type": "string"}},
    ),
    HotQuery(
        "pages with a tag",
        NODES,
        lambda node: _newest(node, {"metadata.tags": next(iter(node["metadata"]["tags"]), "none")}),
        example={"metadata.type": BlogEntry.type_name},
    ),
    HotQuery(
        "the section tree",
        NODES,
        lambda node: {"filter": {"metadata.type": {"$nin": list(registry.non_sections())}}},
        broadcast_because="Sections are few, may be anywhere, and are read once per version of the site.",
    ),
    HotQuery(
        "pages with a facet",
        NODES,
        lambda node: {
            "filter": {
                "derived.facets": node["derived"]["facets"][0],
                "metadata.parent_id": node["metadata"]["parent_id"],
                **live(now()),
            },
            "sort": _SORT,
            "limit": 10,
        },
        example={"derived.facets": {"$exists": True}},
    ),
    HotQuery(
        "upcoming pages of a section",
        NODES,
        lambda node: {
            "filter": {
                "derived.date": {"$gte": node["derived"]["date"]},
                "metadata.parent_id": node["metadata"]["parent_id"],
                **live(now()),
            },
            "sort": {"derived.date": 1, "_id": 1},
            "limit": 10,
        },
        example=DATED,
    ),
    HotQuery(
        "uses of a node, a photo or an insert",
        NODES,
        lambda node: {
            "filter": references.uses_filter(node["derived"]["refs"][-1:]),
            "sort": dict(references.LATEST_FIRST),
            "limit": references.LISTED_USES,
        },
        example=REFERRING,
        broadcast_because="Pages in any section can refer to the node.",
    ),
    HotQuery(
        "pages with references",
        NODES,
        lambda _node: {"filter": {**REFERRING, **live(now())}, "sort": _SORT, "limit": references.LOOKED_AT_ONCE},
        example=REFERRING,
        broadcast_because="Editors check the whole site for broken links.",
    ),
    HotQuery(
        "pages by the start of a word in the title",
        NODES,
        lambda node: {"filter": picking.title_filter(node["metadata"]["title"]), "limit": picking.OFFERED},
        example={"derived.title_words": {"$exists": True, "$ne": []}},
        broadcast_because="Editors choose link targets in any section by title.",
    ),
    HotQuery(
        "pages by a word in their text",
        NODES,
        lambda node: {"filter": {index.PATH: {"$in": node["derived"]["terms"][-1:]}}, "limit": index.MOST},
        example={"derived.terms": {"$exists": True, "$ne": []}},
        broadcast_because="Searches find pages in all sections.",
    ),
    HotQuery(
        "working copies of a page",
        WORKING_COPIES,
        lambda copy: {
            "filter": working_copies.form_filter(copy["_id"]["user"], copy["type"], copy["node_id"]),
            "sort": {"updated": -1},
            "limit": working_copies.OFFERED,
        },
        example={"type": {"$exists": True}},
    ),
    HotQuery(
        "all working copies of an editor",
        WORKING_COPIES,
        lambda copy: {
            "filter": working_copies.user_filter(copy["_id"]["user"]),
            "sort": {"updated": -1},
            "limit": working_copies.OFFERED,
        },
        example={"type": {"$exists": True}},
    ),
    HotQuery(
        "the other editors of a page",
        WORKING_COPIES,
        lambda copy: {
            "filter": working_copies.presence_filter(copy["node_id"], copy["_id"]["user"]),
            "sort": {"updated": -1},
            "limit": working_copies.MOST_PRESENT,
        },
        example={"type": {"$exists": True}},
    ),
    HotQuery("a photo by its URL", ASSET_FILES, lambda photo: {"filter": _place(photo)}, example=_PHOTOS),
    HotQuery(
        "a photo file by its URL",
        ASSET_FILES,
        lambda photo: {
            "filter": {"_id": photo["_id"], **gallery_filters(photo["metadata"]["parent_id"])[0]},
            "hint": BY_ID,
        },
        example=_PHOTOS,
    ),
    HotQuery(
        "the photos of a gallery",
        ASSET_FILES,
        lambda photo: {
            "filter": {
                "metadata.parent_id": photo["metadata"]["parent_id"],
                "metadata.type": PHOTO,
                **live(now()),
            },
            "sort": _SORT,
            "limit": 10,
        },
        example=_PHOTOS,
    ),
    HotQuery(
        "the bytes of a photo",
        ASSET_CHUNKS,
        lambda chunk: {
            "filter": {"files_id": chunk["files_id"], "n": {"$gte": chunk["n"]}},
            "sort": {"files_id": 1, "n": 1},
            "limit": 2,
        },
    ),
    HotQuery(
        "a copy of a photo",
        RENDITION_FILES,
        lambda copy: {
            "filter": {"metadata.source": copy["metadata"]["source"], "metadata.spec": copy["metadata"]["spec"]}
        },
        example={"metadata.spec": {"$type": "string"}},
    ),
)


# Queries that are deliberately sent to all shards. They use an index. docs/internals/operations.md lists them.
BROADCASTS = (
    Broadcast(
        NODES,
        ("_id",),
        "Admin URLs, search results and permalinks contain only the id, so that they survive a move.",
    ),
    Broadcast(
        NODES,
        ("metadata.type",),
        "The section tree is read again after site-wide changes. The admin lists pages by type across the whole site.",
    ),
    Broadcast(
        NODES,
        ("metadata.tags",),
        "The admin lists pages by tag across the whole site.",
    ),
    Broadcast(NODES, ("metadata.author._id",), "The admin lists an author's pages in all sections."),
    Broadcast(NODES, ("metadata.published",), "The admin lists public and scheduled pages across the whole site."),
    Broadcast(
        NODES, ("metadata.expires",), "The time of the next scheduled change is read again after site-wide changes."
    ),
    Broadcast(NODES, ("metadata.updated",), "The admin lists the most recent changes across the whole site."),
    Broadcast(NODES, ("draft.saved_at",), "The admin lists open drafts across the whole site."),
    Broadcast(
        NODES, ("draft.due",), "The admin lists scheduled changes in all sections, and the worker publishes them."
    ),
    Broadcast(NODES, ("comments.author.id",), "An author's embedded comments can be in any post."),
    Broadcast(NODES, ("derived.refs", "draft.refs"), "Pages in any section can refer to a node, a photo or an insert."),
    Broadcast(NODES, ("derived.title_words",), "Editors choose link targets in any section by title."),
    Broadcast(NODES, ("derived.terms",), "Searches find pages in all sections."),
    Broadcast(
        NODES,
        (),
        "The admin lists, counts and searches all pages, and lists all tags and authors.",
    ),
    Broadcast(
        ASSET_FILES,
        ("_id",),
        "Pages, settings, the API and locks refer to photos by id, so that the references survive a move.",
    ),
    Broadcast(ASSET_FILES, ("metadata.type",), "The photo library lists the photos in all galleries."),
    Broadcast(ASSET_FILES, ("metadata.detail.sha256",), "The same file can be in any gallery."),
    Broadcast(
        ASSET_FILES, ("metadata.detail.exif",), "The photo library lists cameras, lenses and years in all galleries."
    ),
    Broadcast(
        ASSET_FILES,
        ("metadata.content_id",),
        "The most recently changed photo shows whether the lists of cameras, lenses and years are outdated.",
    ),
    Broadcast(
        ASSET_FILES,
        ("metadata.locked",),
        "The sweeper finds interrupted uploads in all galleries.",
    ),
    Broadcast(ASSET_FILES, ("derived.title_words",), "Editors choose photos in any gallery by title."),
    Broadcast(ASSET_FILES, ("derived.terms",), "Searches find photos in all galleries."),
    Broadcast(
        ASSET_FILES, ("metadata.author._id",), "The gallery of an editor's last photo is suggested for new photos."
    ),
    Broadcast(ASSET_FILES, (), "Filters and author pages list the tags and authors of photos in all galleries."),
)
