"""What the doctor asks of pages and photos: hot queries, uploads that stopped, bytes that nothing refers to."""

from collections.abc import Iterator, Mapping
from typing import Any

from bson import ObjectId

from mongo.clock import now
from mongo.connection import Document
from mongo.doctor import ADVICE, ERROR, WARNING, Examination, Finding, HotQuery, check
from mongo.sharding.targeting import Broadcast
from nodes.collections import (
    ASSET_CHUNKS,
    ASSET_FILES,
    DATED,
    NODES,
    POSITION,
    REFERRING,
    RENDITION_CHUNKS,
    RENDITION_FILES,
    REVISIONS,
    SITE,
    TRASH,
    WORKING_COPIES,
)
from nodes.content import PHOTO, BlogEntry, registry
from nodes.content.upgrading import FIRST, VERSION
from nodes.models.site import SITE_ID
from nodes.photos import damage
from nodes.photos.assets.locks import stale
from nodes.selectors import picking, references, working_copies
from nodes.selectors.listing import NEWEST_FIRST, live

_SORT = dict(NEWEST_FIRST)
_PLACED = {"metadata.slug": {"$type": "string"}}
_PHOTOS = {**_PLACED, "metadata.type": PHOTO, "metadata.content_id": {"$type": "objectId"}}
# Chunks looked at in a large bucket.
CHUNKS = 2_000
# Files whose bytes are read.
FILES = 100
NAMED = 3


def _place(document: Mapping[str, Any]) -> dict[str, Any]:
    metadata = document["metadata"]
    return {"metadata.parent_id": metadata["parent_id"], "metadata.slug": metadata["slug"]}


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
        lambda node: {
            "filter": {
                "metadata.type": BlogEntry.type_name,
                "metadata.parent_id": {"$in": [node["metadata"]["parent_id"]]},
                **live(now()),
            },
            "sort": _SORT,
            "limit": 10,
        },
        example={"metadata.type": BlogEntry.type_name},
    ),
    HotQuery(
        "what an author wrote",
        NODES,
        lambda node: {
            "filter": {
                "metadata.author.name": (node["metadata"]["author"] or {}).get("name"),
                "metadata.type": BlogEntry.type_name,
                "metadata.parent_id": {"$in": [node["metadata"]["parent_id"]]},
                **live(now()),
            },
            "sort": _SORT,
            "limit": 10,
        },
        example={"metadata.type": BlogEntry.type_name, "metadata.author.name": {"$type": "string"}},
    ),
    HotQuery(
        "what carries a tag",
        NODES,
        lambda node: {
            "filter": {
                "metadata.tags": next(iter(node["metadata"]["tags"]), "none"),
                "metadata.parent_id": {"$in": [node["metadata"]["parent_id"]]},
                **live(now()),
            },
            "sort": _SORT,
            "limit": 10,
        },
        example={"metadata.type": BlogEntry.type_name},
    ),
    HotQuery(
        "the section tree",
        NODES,
        lambda node: {"filter": {"metadata.type": {"$nin": list(registry.leaves())}}},
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
            "filter": references.using(node["derived"]["refs"][-1:]),
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
        lambda node: {"filter": picking.titled(node["metadata"]["title"]), "limit": picking.OFFERED},
        example={"derived.title_words": {"$exists": True, "$ne": []}},
        broadcast_because="Editors choose by title what a text links to, wherever it stands.",
    ),
    HotQuery(
        "what an editor has not saved",
        WORKING_COPIES,
        lambda copy: {
            "filter": working_copies.of_form(copy["_id"]["user"], copy["type"], copy["node_id"]),
            "sort": {"updated": -1},
            "limit": working_copies.OFFERED,
        },
        example={"type": {"$exists": True}},
    ),
    HotQuery(
        "all that an editor has not saved",
        WORKING_COPIES,
        lambda copy: {
            "filter": working_copies.of_editor(copy["_id"]["user"]),
            "sort": {"updated": -1},
            "limit": working_copies.OFFERED,
        },
        example={"type": {"$exists": True}},
    ),
    HotQuery("a photo by its address", ASSET_FILES, lambda photo: {"filter": _place(photo)}, example=_PHOTOS),
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
        "A photo's address names its id alone, so that texts outlive a move, and is kept by browsers for ever; its lock is "
        "held by id, so that a rename does not lose it.",
    ),
    Broadcast(ASSET_FILES, ("metadata.type",), "The library of the admin lists the photos of every gallery."),
    Broadcast(ASSET_FILES, ("metadata.detail.sha256",), "The same picture may lie in any gallery."),
    Broadcast(
        ASSET_FILES, ("metadata.detail.exif",), "Which cameras, lenses and years there are is asked over all galleries."
    ),
    Broadcast(
        ASSET_FILES,
        ("metadata.locked",),
        "Uploads that stopped are looked for in every gallery; only those are locked.",
    ),
    Broadcast(ASSET_FILES, ("derived.title_words",), "Editors choose photos of any gallery by title."),
    Broadcast(
        ASSET_FILES, (), "Which tags and authors photos have, for the library's filter and the pages of authors."
    ),
)


@check
def stalled_uploads(examination: Examination) -> Iterator[Finding]:
    """Uploads, replacements and copies whose process died."""
    for name in _declared(examination, ASSET_FILES, RENDITION_FILES):
        for found in examination.db[name].find(stale(now()), {"filename": 1}).limit(NAMED):
            message = f"The upload of {found.get('filename')} ({found['_id']}) has stopped."
            yield Finding(WARNING, "stalled-upload", name, message, "manage.py sweep_uploads")


@check
def site_document(examination: Examination) -> Iterator[Finding]:
    """The one document with the site's settings and versions is there as soon as there is a page."""
    for nodes in _declared(examination, NODES):
        db = examination.db
        if db[nodes].find_one({}, {"_id": 1}) and not db[SITE].find_one({"_id": SITE_ID}, {"_id": 1}):
            message = "There are pages, and the site's settings and versions are gone: it shows its defaults."
            yield Finding(
                ERROR, "site-gone", SITE, message, f"Restore {SITE} from a backup, or save the settings anew."
            )


@check
def histories(examination: Examination) -> Iterator[Finding]:
    """Pages have the revision of what they are; a random sample is looked at of many."""
    for nodes in _declared(examination, NODES):
        looked: list[Document] = [*examination.part_of(nodes), {"$project": {"metadata.nonce": 1}}]
        found = examination.db[nodes].aggregate(looked)
        nonces = {one["_id"]: one.get("metadata", {}).get("nonce") for one in found}
        query = {"node_id": {"$in": list(nonces)}, "_id": {"$in": list(nonces.values())}}
        there = {found["_id"] for found in examination.db[REVISIONS].find(query, {"_id": 1})}
        if missing := [node_id for node_id, nonce in nonces.items() if nonce not in there]:
            some = ", ".join(map(str, missing[:NAMED]))
            message = f"{len(missing)} of {len(nonces)} pages lack the revision of what they are: {some}."
            fix = f"Restore {REVISIONS} from a backup; without it edits of these pages merge by whole fields."
            yield Finding(WARNING, "history-gone", REVISIONS, message, fix)


@check
def missing_types(examination: Examination) -> Iterator[Finding]:
    """Nodes are of types that an installed app declares; others are kept, and readers do not see them."""
    for name in _declared(examination, NODES):
        known = registry.names()
        # Of the index alone, one entry a type.
        if unknown := sorted(str(type) for type in examination.db[name].distinct("metadata.type") if type not in known):
            message = f"No installed app declares the type of some nodes: {', '.join(unknown[:NAMED])}."
            yield Finding(
                WARNING, "type-not-installed", name, message, "Install the app again, or move them to the trash."
            )


@check
def versions(examination: Examination) -> Iterator[Finding]:
    """Nodes and drafts are stored in the present version of their types; a random sample is looked at of many."""
    for name in _declared(examination, NODES, ASSET_FILES):
        said = {"$ifNull": [f"$metadata.{VERSION}", FIRST]}
        drafted = {"$cond": [{"$gt": ["$draft", None]}, {"$ifNull": [f"$draft.metadata.{VERSION}", FIRST]}, said]}
        looked: list[Document] = [
            *examination.part_of(name),
            {"$project": {"type": "$metadata.type", "version": [said, drafted]}},
            {"$unwind": "$version"},
            {"$group": {"_id": {"type": "$type", "version": "$version"}}},
        ]
        found = [(one["_id"].get("type"), one["_id"]["version"]) for one in examination.db[name].aggregate(looked)]
        present = {type: registry.get(type).schema_version for type in registry.names()}
        if older := sorted({type for type, version in found if type in present and version < present[type]}):
            message = (
                f"Older versions of these types are stored, and brought up at each read: {', '.join(older[:NAMED])}."
            )
            yield Finding(ADVICE, "type-outdated", name, message, f"manage.py upgrade_nodes {' '.join(older)}")
        if newer := sorted({type for type, version in found if type in present and version > present[type]}):
            message = (
                f"A newer release has stored nodes of these types, which this one does not write: {', '.join(newer)}."
            )
            yield Finding(WARNING, "type-newer", name, message, "Run the newer release in every process.")


@check
def orphan_chunks(examination: Examination) -> Iterator[Finding]:
    """Chunks of files that are not there: of all, or of a random sample where there are many."""
    for files, chunks in ((ASSET_FILES, ASSET_CHUNKS), (RENDITION_FILES, RENDITION_CHUNKS)):
        if not _declared(examination, files):
            continue
        grouped: list[Document] = [*examination.part_of(chunks, CHUNKS), {"$group": {"_id": "$files_id"}}]
        ids = {found["_id"] for found in examination.db[chunks].aggregate(grouped)}
        # What goes to the trash, or comes from it in between, is seen in one of three looks.
        for name in (files, TRASH, files):
            ids -= _standing(examination, name, ids)
        if ids:
            some = ", ".join(str(files_id) for files_id in sorted(ids, key=str)[:NAMED])
            message = f"There are chunks of {len(ids)} files that are not there: {some}."
            yield Finding(WARNING, "orphan-chunk", chunks, message, "manage.py sweep_uploads")


@check
def photo_files(examination: Examination) -> Iterator[Finding]:
    """Photos and copies have the bytes that they say; a random sample is read of many."""
    for name in _declared(examination, ASSET_FILES, RENDITION_FILES):
        looked: list[Document] = [{"$sample": {"size": FILES}}, {"$project": damage.FIELDS}]
        documents = examination.db[name].aggregate(looked)
        bad = list(damage.damaged(examination.db, documents, damage.CHUNKS_OF[name]))
        if bad:
            some = "; ".join(f"{document['_id']} {why}" for document, why in bad[:NAMED])
            message = f"{len(bad)} files cannot be shown as they are: {some}."
            fix = "manage.py check_nodes --files lists all; --fix drops damaged copies, photos come from a backup."
            yield Finding(ERROR, "photo-damaged", name, message, fix)


def _standing(examination: Examination, name: str, ids: set[ObjectId]) -> set[ObjectId]:
    return {found["_id"] for found in examination.db[name].find({"_id": {"$in": list(ids)}}, {"_id": 1})}


def _declared(examination: Examination, *names: str) -> list[str]:
    return [collection.name for collection in examination.collections if collection.name in names]
