"""The most frequent queries of pages and photos, which the doctor explains, and queries that go to all shards on purpose."""

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
from nodes.selectors import picking, references, working_copies
from nodes.selectors.listing import NEWEST_FIRST, live

_SORT = dict(NEWEST_FIRST)
_PLACED = {"metadata.slug": {"$type": "string"}}
_PHOTOS = {**_PLACED, "metadata.type": PHOTO, "metadata.content_id": {"$type": "objectId"}}


def _place(document: Mapping[str, Any]) -> dict[str, Any]:
    metadata = document["metadata"]
    return {"metadata.parent_id": metadata["parent_id"], "metadata.slug": metadata["slug"]}


def _newest(node: Mapping[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the query for the newest nodes that match `wanted`, in the section of `node`."""
    placed = {"metadata.parent_id": {"$in": [node["metadata"]["parent_id"]]}, **live(now())}
    return {"filter": {**wanted, **placed}, "sort": _SORT, "limit": 10}


HOT_QUERIES = (
    HotQuery(
        "a page by its address",
        NODES,
        lambda node: {"filter": _place(node)},
        example=_PLACED,
    ),
    HotQuery(
        "the newest of a section",
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
        "a section as editors arranged it",
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
        "the newest of the site",
        NODES,
        lambda node: _newest(node, {"metadata.type": BlogEntry.type_name}),
        example={"metadata.type": BlogEntry.type_name},
    ),
    HotQuery(
        "what an author wrote",
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
        "what carries a tag",
        NODES,
        lambda node: _newest(node, {"metadata.tags": next(iter(node["metadata"]["tags"]), "none")}),
        example={"metadata.type": BlogEntry.type_name},
    ),
    HotQuery(
        "the section tree",
        NODES,
        lambda node: {"filter": {"metadata.type": {"$nin": list(registry.non_sections())}}},
        broadcast_because="Sections are few, lie anywhere, and are read once for each version of the site.",
    ),
    HotQuery(
        "what has a facet",
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
        "what is upcoming in a section",
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
        "what uses a node, a photo or an insert",
        NODES,
        lambda node: {
            "filter": references.uses_filter(node["derived"]["refs"][-1:]),
            "sort": dict(references.LATEST_FIRST),
            "limit": references.LISTED_USES,
        },
        example=REFERRING,
        broadcast_because="What uses it stands in any section.",
    ),
    HotQuery(
        "what refers to anything",
        NODES,
        lambda _node: {"filter": {**REFERRING, **live(now())}, "sort": _SORT, "limit": references.LOOKED_AT_ONCE},
        example=REFERRING,
        broadcast_because="Editors look through the whole site for links that lead nowhere.",
    ),
    HotQuery(
        "what has a word in its title that begins so",
        NODES,
        lambda node: {"filter": picking.title_filter(node["metadata"]["title"]), "limit": picking.OFFERED},
        example={"derived.title_words": {"$exists": True, "$ne": []}},
        broadcast_because="Editors choose by title what a text links to, wherever it stands.",
    ),
    HotQuery(
        "what an editor has not saved",
        WORKING_COPIES,
        lambda copy: {
            "filter": working_copies.form_filter(copy["_id"]["user"], copy["type"], copy["node_id"]),
            "sort": {"updated": -1},
            "limit": working_copies.OFFERED,
        },
        example={"type": {"$exists": True}},
    ),
    HotQuery(
        "all that an editor has not saved",
        WORKING_COPIES,
        lambda copy: {
            "filter": working_copies.user_filter(copy["_id"]["user"]),
            "sort": {"updated": -1},
            "limit": working_copies.OFFERED,
        },
        example={"type": {"$exists": True}},
    ),
    HotQuery("a photo by its address", ASSET_FILES, lambda photo: {"filter": _place(photo)}, example=_PHOTOS),
    HotQuery(
        "a picture by its address",
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


# What asks every shard by intent; docs/how-to/scale-out.md has the same list. All of it goes along an index on each shard.
BROADCASTS = (
    Broadcast(
        NODES,
        ("_id",),
        "Editors' addresses, search results and permalinks name the id alone, so that they outlive a move; the write that "
        "follows names the place that was read.",
    ),
    Broadcast(
        NODES,
        ("metadata.type",),
        "The section tree is read once for each version of the site; the admin lists one kind over the whole site.",
    ),
    Broadcast(
        NODES, ("metadata.tags",), "The admin lists a tag over the whole site; readers' lists name the live sections."
    ),
    Broadcast(NODES, ("metadata.author._id",), "The admin lists what one author wrote, in whatever section."),
    Broadcast(NODES, ("metadata.published",), "The admin lists what is public, or to be, over the whole site."),
    Broadcast(
        NODES, ("metadata.expires",), "When the site next changes by itself is asked once for each version of it."
    ),
    Broadcast(NODES, ("metadata.updated",), "The admin lists what was changed last, over the whole site."),
    Broadcast(NODES, ("draft.saved_at",), "The admin lists open drafts over the whole site."),
    Broadcast(
        NODES, ("draft.due",), "Changes that are scheduled, of any section, are listed, and published by the worker."
    ),
    Broadcast(NODES, ("comments.author.id",), "Embedded comments of one author lie in any post."),
    Broadcast(NODES, ("derived.refs", "draft.refs"), "What uses a node, a photo or an insert stands in any section."),
    Broadcast(NODES, ("derived.title_words",), "Editors choose by title what a text links to, wherever it stands."),
    Broadcast(
        NODES,
        (),
        "The admin's list of everything, how much that is, which tags and authors there are, and its full-text search.",
    ),
    Broadcast(
        ASSET_FILES,
        ("_id",),
        "Texts, settings and the API name a photo by its id alone, so that they outlive a move; what they name is kept with "
        "the page. So does a photo's lock, and a picture's address from before its photo was moved has only the id left.",
    ),
    Broadcast(ASSET_FILES, ("metadata.type",), "The library of the admin lists the photos of every gallery."),
    Broadcast(ASSET_FILES, ("metadata.detail.sha256",), "The same picture may lie in any gallery."),
    Broadcast(
        ASSET_FILES, ("metadata.detail.exif",), "Which cameras, lenses and years there are is asked over all galleries."
    ),
    Broadcast(
        ASSET_FILES,
        ("metadata.content_id",),
        "Which photo was changed last, of any gallery, says whether to ask for these.",
    ),
    Broadcast(
        ASSET_FILES,
        ("metadata.locked",),
        "Uploads that stopped are looked for in every gallery; only those are locked.",
    ),
    Broadcast(ASSET_FILES, ("derived.title_words",), "Editors choose photos of any gallery by title."),
    Broadcast(
        ASSET_FILES, ("metadata.author._id",), "New photos of an editor are offered the gallery of the last one."
    ),
    Broadcast(
        ASSET_FILES, (), "Which tags and authors photos have, for the library's filter and the pages of authors."
    ),
)
