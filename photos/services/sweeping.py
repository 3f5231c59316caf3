"""Clearing away what uploads left: those that stalled, contents that were replaced, bytes that nothing refers to.

Every step may be stopped and done again. A document is marked by compare-and-set before its bytes go, so that a writer who
wakes up stores nothing, and going back to a former content sees that its bytes are gone. Files are looked at many at a time;
every write names the sections, contents or files that it is about, so that it goes to their shards.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bson import ObjectId

from marginalia.mongo import jobs
from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, batched, database
from marginalia.mongo.reading import MALFORMED
from nodes.collections import (
    ASSET_CHUNKS,
    ASSET_FILES,
    RENDITION_CHUNKS,
    RENDITION_FILES,
    TRASH,
    node_filter,
)
from nodes.content import CONTENT, PHOTO
from photos.assets import contents, renditions
from photos.assets.framing import Cut
from photos.assets.limits import limits
from photos.assets.locks import stale

# Copies of photos that were made since are let be.
YOUNG = timedelta(hours=1)
# Files that one command asks about or clears away.
BATCH = 100
LEASE = "sweep_uploads"
LEASED = timedelta(minutes=10)
# Files with a place. A file without one is damaged: it stays, and doctor lists it.
_PLACED = {"metadata.parent_id": {"$type": "objectId"}, "metadata.slug": {"$type": "string"}}
SEEN = {"metadata.type": 1, "metadata.parent_id": 1, "metadata.slug": 1, "metadata.locked": 1, "metadata.content_id": 1}
# Stands for the content of a photo whose document doesn't say which it shows.
DAMAGED = ObjectId("0" * 24)


@dataclass
class Swept:
    """How many were cleared away. `noted`: contents found replaced, whose grace begins now."""

    stalled: int = 0
    unlocked: int = 0
    noted: int = 0
    superseded: int = 0
    orphans: int = 0
    renditions: int = 0


@contextmanager
def alone() -> Iterator[bool]:
    """Give whether no other sweep is under way: two at once harm nothing, and do the work twice."""
    with jobs.exclusively(LEASE, LEASED) as is_held:
        yield is_held


def sweep(*, dry_run: bool = False, moment: datetime | None = None) -> Swept:
    """Clear away all of it, and return how much; with `dry_run` only count. `moment`: the present time."""
    moment = moment or now()
    swept = sweep_stalled(dry_run=dry_run, moment=moment)
    replaced = database()[ASSET_FILES].find(
        {"metadata.type": CONTENT, "metadata.locked": None, **_PLACED}, _CONTENT_SEEN
    )
    for batch in batched(replaced, BATCH):
        shown = _shown_by([content["metadata"]["parent_id"] for content in batch])
        for content in batch:
            _end_content(content, shown.get(content["metadata"]["parent_id"]), moment, swept, dry_run)
    for photo in database()[ASSET_FILES].find(_own_content_replaced(moment), SEEN):
        _end_own_content(photo, moment, swept, dry_run)
    _end_renditions(moment, swept, dry_run)
    for files, chunks in ((ASSET_FILES, ASSET_CHUNKS), (RENDITION_FILES, RENDITION_CHUNKS)):
        for ids in batched(_distinct(chunks, "files_id"), BATCH):
            orphans = _orphans(files, ids)
            swept.orphans += len(orphans)
            if orphans and not dry_run:
                database()[chunks].delete_many({"files_id": {"$in": orphans}})
    return swept


def sweep_stalled(*, dry_run: bool = False, moment: datetime | None = None) -> Swept:
    """Clear away uploads that have stalled, and nothing else: quick, whatever the size of the site."""
    swept = Swept()
    stopped = stale(moment or now())
    for batch in batched(database()[ASSET_FILES].find(stopped, SEEN), BATCH):
        photos = [one for one in batch if _is_photo(one)]
        files = [one for one in batch if not _is_photo(one)]
        swept.unlocked += len(photos)
        swept.stalled += len(files)
        if photos and not dry_run:
            unlocked = {"$set": {"metadata.locked": None}}
            database()[ASSET_FILES].update_many({**_places(photos), **stopped}, unlocked)
        if files and not dry_run:
            _end_stalled(files, stopped)
    return swept


def _is_photo(document: Document) -> bool:
    """Return whether a document is a photo that stays, whose replacement stalled."""
    metadata = document["metadata"]
    return metadata.get("type") == PHOTO and metadata.get("content_id") is not None


def stalled_count(moment: datetime | None = None) -> int:
    """Return how many uploads have stalled, for those who look after the site."""
    return database()[ASSET_FILES].count_documents(stale(moment or now()))


def _end_stalled(stalled: list[Document], stopped: Document) -> None:
    """End uploads whose processes are dead: delete what has come of new files.

    Taking the lock is what stops a writer who wakes up: its own is in the filter of all that it does.
    """
    mine = now()
    files = database()[ASSET_FILES]
    seen = _places(stalled)
    files.update_many({**seen, **stopped}, {"$set": {"metadata.locked": mine, "metadata.doomed": mine}})
    marked = {**seen, "metadata.locked": mine, "metadata.doomed": mine}
    ids = [document["_id"] for document in files.find(marked, {"_id": 1})]
    database()[ASSET_CHUNKS].delete_many({"files_id": {"$in": ids}})
    files.delete_many({**marked, "_id": {"$in": ids}})


def _places(documents: list[Document]) -> Document:
    """Return the filter of some documents by what lies in the shard key first, so that only their shards are asked."""
    parents = {document["metadata"].get("parent_id") for document in documents}
    return {"_id": {"$in": [document["_id"] for document in documents]}, "metadata.parent_id": {"$in": list(parents)}}


_CONTENT_SEEN = SEEN | {"metadata.superseded": 1, "metadata.doomed": 1}


def _end_content(content: Document, shown: ObjectId | None, moment: datetime, swept: Swept, dry_run: bool) -> None:
    """Delete a whole content that its photo has not shown for as long as the grace lasts, or that has no photo.

    `shown`: the content that the photo shows, None if there is no photo, DAMAGED if it doesn't say: then all contents stay.
    """
    if shown == DAMAGED:
        return
    metadata = content["metadata"]
    files = database()[ASSET_FILES]
    photo_id = metadata["parent_id"]
    content_id = content["_id"]
    superseded: Any = metadata["superseded"] if isinstance(metadata.get("superseded"), datetime) else None
    selector = contents.selector(photo_id, content_id)
    if shown == content_id:
        if superseded and not dry_run:
            # Left by an editor who went back to it; it would cut its next grace short.
            files.update_one(selector, {"$unset": {"metadata.superseded": ""}})
        return
    if shown is not None and superseded is None and "doomed" not in metadata:
        swept.noted += 1
        if not dry_run:
            files.update_one({**selector, "metadata.superseded": None}, {"$set": {"metadata.superseded": moment}})
        return
    if shown is not None and "doomed" not in metadata and superseded > moment - _grace():
        return
    swept.superseded += 1
    if dry_run:
        return
    if "doomed" not in metadata:
        marked = files.update_one(
            {**selector, "metadata.locked": None, "metadata.superseded": superseded, "metadata.doomed": None},
            {"$set": {"metadata.doomed": now()}},
        )
        if not marked.matched_count:
            return
    if _shown_by([photo_id]).get(photo_id) == content_id:
        # An editor went back to it between our two looks.
        files.update_one(selector, {"$unset": {"metadata.doomed": "", "metadata.superseded": ""}})
        return
    contents.delete(photo_id, content_id)


def _own_content_replaced(moment: datetime) -> dict[str, Any]:
    """Return the filter of photos whose first content, in their own document, was replaced and is out of its grace."""
    return {
        "metadata.type": PHOTO,
        "metadata.superseded": {"$lt": moment - _grace()},
        **_PLACED,
        **node_filter(ASSET_FILES),
        "$expr": {"$ne": ["$metadata.content_id", "$_id"]},
        "$or": [{"metadata.doomed": None}, {"length": {"$gt": 0}}],
    }


def _end_own_content(photo: Document, moment: datetime, swept: Swept, dry_run: bool) -> None:
    """Delete the first content of a photo, whose document stays: mark and length in one update, which checks what is shown."""
    swept.superseded += 1
    if dry_run:
        return
    marked = database()[ASSET_FILES].update_one(
        {
            "_id": photo["_id"],
            **_place(photo["metadata"]),
            "metadata.content_id": {"$ne": photo["_id"]},
            "metadata.superseded": {"$lt": moment - _grace()},
        },
        {"$set": {"metadata.doomed": now(), "length": 0}},
    )
    if marked.matched_count:
        contents.delete_renditions(photo["_id"])
        database()[ASSET_CHUNKS].delete_many({"files_id": photo["_id"]})


def _end_renditions(moment: datetime, swept: Swept, dry_run: bool) -> None:
    """Delete copies whose makers died, and copies of what is not there any more or that no address names."""
    for stalled in database()[RENDITION_FILES].find(stale(moment), {"metadata.locked": 1}):
        swept.renditions += 1
        if not dry_run:
            renditions.discard(stalled)
    for sources in batched(_distinct(RENDITION_FILES, "metadata.source"), BATCH):
        copies = _unwanted(sources, moment)
        swept.renditions += len(copies)
        for batch in batched(copies if not dry_run else (), BATCH):
            ids = [copy["_id"] for copy in batch]
            of = {"$in": list({_source(copy) for copy in batch})}
            database()[RENDITION_CHUNKS].delete_many({"files_id": {"$in": ids}})
            database()[RENDITION_FILES].delete_many({"_id": {"$in": ids}, "metadata.source": of})


def _unwanted(sources: list[ObjectId], moment: datetime) -> list[Document]:
    """Return the copies, of some contents, of what is not there, and those that no address names any more: other sizes are
    made now, or another focal point is set.

    Young ones of what is there stay: who has just been told of them may be about to ask.
    """
    of = {"metadata.source": {"$in": sources}}
    made = list(database()[RENDITION_FILES].find(of, {"metadata": 1, "uploadDate": 1}))
    # Contents and points are read after the copies: one that was made for a newer point is not among them.
    there = _metadata(sources)
    photo_of: dict[Any, Any] = {
        id: one.get("parent_id") if one.get("type") == CONTENT else id for id, one in there.items()
    }
    photos = _metadata(list(set(photo_of.values())))
    return [
        copy
        for copy in made
        if _source(copy) not in there
        or not isinstance(copy.get("uploadDate"), datetime)
        or (not _is_young(copy, moment) and _is_unnamed(copy, photos.get(photo_of[_source(copy)])))
    ]


def _part(document: Document, name: str) -> Document:
    """Return a document in a document; nothing where it is none."""
    part = document.get(name)
    return part if isinstance(part, dict) else {}


def _source(copy: Document) -> Any:
    """Return the content that a copy was made of; None for one that does not say so."""
    return _part(copy, "metadata").get("source")


def _is_young(copy: Document, moment: datetime) -> bool:
    return bool(copy["uploadDate"] >= moment - YOUNG) or _part(copy, "metadata").get("locked") is not None


def _metadata(ids: list[ObjectId]) -> dict[ObjectId, Document]:
    fields = {"metadata.type": 1, "metadata.parent_id": 1, "metadata.detail.focal": 1}
    fields |= {"metadata.detail.crop": 1, "metadata.detail.rotation": 1}
    return {one["_id"]: _part(one, "metadata") for one in database()[ASSET_FILES].find({"_id": {"$in": ids}}, fields)}


def _is_unnamed(copy: Document, photo: Document | None) -> bool:
    if photo is None or photo.get("type") != PHOTO:
        return False
    spec = _part(copy, "metadata").get("spec")
    detail = _part(photo, "detail")
    try:
        focal = detail.get("focal")
        cut = Cut.of(detail.get("crop"), detail.get("rotation"))
        return not isinstance(spec, str) or renditions.parse(spec, tuple(focal) if focal else None, cut) is None
    except MALFORMED:
        # Nobody knows what a damaged photo shows.
        return False


def _orphans(files: str, ids: list[ObjectId]) -> list[ObjectId]:
    """Return those of some files, which have chunks, that have no document. Documents come before chunks, so these are
    no file's.

    A photo in the trash keeps its chunks. One whose own content was deleted has length 0: its chunks are what a stopped
    sweep left.
    """
    there: set[ObjectId] = set()
    # In the middle of going to or coming from the trash it is seen in one of the three looks.
    for place in (files, TRASH, files):
        there |= _standing(place, [one for one in ids if one not in there])
    return [one for one in ids if one not in there] + list(_standing(files, list(there), _EMPTIED))


# A photo whose own content was deleted.
_EMPTIED = {"metadata.type": PHOTO, "length": 0, "metadata.doomed": {"$type": "date"}}


def _distinct(collection: str, path: str) -> Iterator[ObjectId]:
    """Yield the values of the first field of an index, of whatever types: neither all in memory nor every entry read."""
    found = database()[collection].aggregate([{"$sort": {path: 1}}, {"$group": {"_id": f"${path}"}}], batchSize=10_000)
    return (one["_id"] for one in found)


def _standing(collection: str, ids: list[ObjectId], condition: Document | None = None) -> set[ObjectId]:
    """Return which of some documents are there."""
    if not ids:
        return set()
    return {one["_id"] for one in database()[collection].find({"_id": {"$in": ids}, **(condition or {})}, {"_id": 1})}


def _shown_by(ids: list[ObjectId]) -> dict[ObjectId, ObjectId]:
    """Return the contents that photos show, or would show out of the trash, by photo; DAMAGED for photos that don't say."""
    shown: dict[ObjectId, ObjectId] = {}
    for name in (ASSET_FILES, TRASH, ASSET_FILES):
        if missing := [one for one in ids if one not in shown]:
            for photo in database()[name].find({"_id": {"$in": missing}}, {"metadata.content_id": 1}):
                content_id = _part(photo, "metadata").get("content_id")
                shown[photo["_id"]] = content_id if isinstance(content_id, ObjectId) else DAMAGED
    return shown


def _place(metadata: Document) -> dict[str, Any]:
    return {"metadata.parent_id": metadata["parent_id"], "metadata.slug": metadata["slug"]}


def _grace() -> timedelta:
    return timedelta(hours=limits().grace_hours)
