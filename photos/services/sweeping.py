"""The sweeper, which deletes files that are no longer needed: stalled uploads, replaced files, and orphan chunks.

Every step can be interrupted and repeated. A document is marked with a compare-and-set operation before its bytes are
deleted. A writer that resumes therefore can't store anything, and an earlier file can't be restored while its bytes are
being deleted. Files are read in batches. Filters include the first field of the shard key, so that each write is sent
only to the shards that it affects.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bson import ObjectId

from marginalia.mongo import leases
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
from nodes.content import CONTENT, PHOTO, registry
from photos.assets import contents, renditions
from photos.assets.framing import Cut
from photos.assets.limits import limits
from photos.assets.locks import stale_filter

# Copies that are younger than this are kept even if they aren't needed.
MIN_AGE = timedelta(hours=1)
# The number of files that one MongoDB command reads or deletes.
BATCH = 100
LEASE = "sweep_uploads"
LEASE_TIME = timedelta(minutes=10)
# A filter for files that have a section (null for the library) and a slug. Other files are damaged. The sweeper keeps
# them, and the doctor reports them.
_PLACED = {"metadata.parent_id": {"$type": ["objectId", "null"]}, "metadata.slug": {"$type": "string"}}
PROJECTION = {
    "metadata.type": 1,
    "metadata.parent_id": 1,
    "metadata.slug": 1,
    "metadata.locked": 1,
    "metadata.content_id": 1,
}
# The value that is used instead of a file's id if the photo's document is damaged and doesn't contain the id.
DAMAGED = ObjectId("0" * 24)


@dataclass
class Swept:
    """The result of a sweep: how many files of each kind were deleted.

    `unlocked` is the number of locks that were released, and `noted` is the number of replaced files whose grace period
    starts in this sweep.
    """

    stalled: int = 0
    unlocked: int = 0
    noted: int = 0
    superseded: int = 0
    orphans: int = 0
    renditions: int = 0


@contextmanager
def exclusively() -> Iterator[bool]:
    """Yield whether this is the only sweep. Two concurrent sweeps are safe, but do the same work twice."""
    with leases.exclusively(LEASE, LEASE_TIME) as is_held:
        yield is_held


def sweep(*, dry_run: bool = False, moment: datetime | None = None) -> Swept:
    """Delete everything that uploads left behind. Return the number of deleted files.

    Args:
        dry_run: Whether to count the files without deleting them.
        moment: The time to treat as the current time. The default is now.
    """
    moment = moment or now()
    swept = sweep_stalled(dry_run=dry_run, moment=moment)
    replaced = database()[ASSET_FILES].find(
        {"metadata.type": CONTENT, "metadata.locked": None, **_PLACED}, _CONTENT_PROJECTION
    )
    for batch in batched(replaced, BATCH):
        shown = _shown_contents([content["metadata"]["parent_id"] for content in batch])
        for content in batch:
            _sweep_content(content, shown.get(content["metadata"]["parent_id"]), moment, swept, dry_run)
    for photo in database()[ASSET_FILES].find(_own_content_replaced(moment), PROJECTION):
        _sweep_own_content(photo, moment, swept, dry_run)
    _sweep_renditions(moment, swept, dry_run)
    for files, chunks in ((ASSET_FILES, ASSET_CHUNKS), (RENDITION_FILES, RENDITION_CHUNKS)):
        for ids in batched(_distinct(chunks, "files_id"), BATCH):
            orphans = _orphans(files, ids)
            swept.orphans += len(orphans)
            if orphans and not dry_run:
                database()[chunks].delete_many({"files_id": {"$in": orphans}})
    return swept


def sweep_stalled(*, dry_run: bool = False, moment: datetime | None = None) -> Swept:
    """Delete only stalled uploads, which is fast on sites of any size. The arguments are the same as for `sweep`."""
    swept = Swept()
    stalled = stale_filter(moment or now())
    for batch in batched(database()[ASSET_FILES].find(stalled, PROJECTION), BATCH):
        photos = [document for document in batch if _is_photo(document)]
        files = [document for document in batch if not _is_photo(document)]
        swept.unlocked += len(photos)
        swept.stalled += len(files)
        if photos and not dry_run:
            unlocked = {"$set": {"metadata.locked": None}}
            database()[ASSET_FILES].update_many({**_targeted_filter(photos), **stalled}, unlocked)
        if files and not dry_run:
            _delete_stalled(files, stalled)
    return swept


def _is_photo(document: Document) -> bool:
    """Return whether a locked document is a complete photo whose replacement has stalled.

    The sweeper only releases the lock of such a photo.
    """
    metadata = document["metadata"]
    return metadata.get("type") in registry.uploaded() and metadata.get("content_id") is not None


def count_stalled(moment: datetime | None = None) -> int:
    """Return the number of uploads that had stalled at `moment` (by default, now)."""
    return database()[ASSET_FILES].count_documents(stale_filter(moment or now()))


def _delete_stalled(documents: list[Document], stalled: Document) -> None:
    """Delete new files whose upload process died. `stalled` is the filter with which the files were found.

    The sweeper first takes over the locks on these files. If a writer resumes after that, it can't change anything,
    because all its filters contain its own lock.
    """
    own_lock = now()
    files = database()[ASSET_FILES]
    targeted = _targeted_filter(documents)
    files.update_many({**targeted, **stalled}, {"$set": {"metadata.locked": own_lock, "metadata.doomed": own_lock}})
    marked = {**targeted, "metadata.locked": own_lock, "metadata.doomed": own_lock}
    ids = [document["_id"] for document in files.find(marked, {"_id": 1})]
    database()[ASSET_CHUNKS].delete_many({"files_id": {"$in": ids}})
    files.delete_many({**marked, "_id": {"$in": ids}})


def _targeted_filter(documents: list[Document]) -> Document:
    """Return a filter for these documents.

    It includes the first field of the shard key, so each command is sent only to the documents' shards.
    """
    parents = {document["metadata"].get("parent_id") for document in documents}
    return {"_id": {"$in": [document["_id"] for document in documents]}, "metadata.parent_id": {"$in": list(parents)}}


_CONTENT_PROJECTION = PROJECTION | {"metadata.superseded": 1, "metadata.doomed": 1}


def _sweep_content(content: Document, shown: ObjectId | None, moment: datetime, swept: Swept, dry_run: bool) -> None:
    """Delete a complete file if it has no photo, or if its photo stopped showing it longer ago than the grace period.

    `shown` is the id of the file that the photo uses, or None if there is no photo. If it is DAMAGED, the photo is
    damaged, and its files are kept.
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
            # An editor has restored this file. The old time is removed, because it would shorten the file's next grace
            # period.
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
    if _shown_contents([photo_id]).get(photo_id) == content_id:
        # An editor restored the file between the two queries, so undo the deletion mark.
        files.update_one(selector, {"$unset": {"metadata.doomed": "", "metadata.superseded": ""}})
        return
    contents.delete(photo_id, content_id)


def _own_content_replaced(moment: datetime) -> dict[str, Any]:
    """Return a filter for photos whose original file was replaced longer ago than the grace period."""
    return {
        "metadata.type": {"$in": list(registry.uploaded())},
        "metadata.superseded": {"$lt": moment - _grace()},
        **_PLACED,
        **node_filter(ASSET_FILES),
        "$expr": {"$ne": ["$metadata.content_id", "$_id"]},
        "$or": [{"metadata.doomed": None}, {"length": {"$gt": 0}}],
    }


def _sweep_own_content(photo: Document, moment: datetime, swept: Swept, dry_run: bool) -> None:
    """Delete a photo's original file, but keep its document, which is the photo's own document.

    A single update sets the deletion mark and the length. Its filter ensures that the photo uses a different file.
    """
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


def _sweep_renditions(moment: datetime, swept: Swept, dry_run: bool) -> None:
    """Delete copies that a process left unfinished, copies of missing files, and copies that no URL refers to."""
    for stalled in database()[RENDITION_FILES].find(stale_filter(moment), {"metadata.locked": 1}):
        swept.renditions += 1
        if not dry_run:
            renditions.discard(stalled)
    for sources in batched(_distinct(RENDITION_FILES, "metadata.source"), BATCH):
        copies = _unwanted(sources, moment)
        swept.renditions += len(copies)
        for batch in batched(copies if not dry_run else (), BATCH):
            ids = [copy["_id"] for copy in batch]
            batch_sources = {"$in": list({_source(copy) for copy in batch})}
            database()[RENDITION_CHUNKS].delete_many({"files_id": {"$in": ids}})
            database()[RENDITION_FILES].delete_many({"_id": {"$in": ids}, "metadata.source": batch_sources})


def _unwanted(sources: list[ObjectId], moment: datetime) -> list[Document]:
    """Return the copies of `sources` that are no longer needed.

    A copy isn't needed if its source file is missing, or if no URL contains the copy's spec any longer. Specs change if
    the configured sizes, or the photo's focal point, crop or rotation change. Recent copies of existing files are kept
    anyway, because clients may be about to request them.
    """
    query = {"metadata.source": {"$in": sources}}
    copies = list(database()[RENDITION_FILES].find(query, {"metadata": 1, "uploadDate": 1}))
    # The files and focal points are read after the copies, so `copies` can't contain a copy that was made for a newer
    # focal point.
    existing = _metadata(sources)
    photo_ids: dict[Any, Any] = {
        id: metadata.get("parent_id") if metadata.get("type") == CONTENT else id for id, metadata in existing.items()
    }
    photos = _metadata(list(set(photo_ids.values())))
    return [
        copy
        for copy in copies
        if _source(copy) not in existing
        or not isinstance(copy.get("uploadDate"), datetime)
        or (not _is_young(copy, moment) and _has_no_url(copy, photos.get(photo_ids[_source(copy)])))
    ]


def _subdocument(document: Document, name: str) -> Document:
    """Return a field that is a document, or {} if the field is missing or has a different type."""
    value = document.get(name)
    return value if isinstance(value, dict) else {}


def _source(copy: Document) -> Any:
    """Return the id of the file from which a copy was made, or None if the copy's document doesn't contain the id."""
    return _subdocument(copy, "metadata").get("source")


def _is_young(copy: Document, moment: datetime) -> bool:
    return bool(copy["uploadDate"] >= moment - MIN_AGE) or _subdocument(copy, "metadata").get("locked") is not None


def _metadata(ids: list[ObjectId]) -> dict[ObjectId, Document]:
    fields = {"metadata.type": 1, "metadata.parent_id": 1, "metadata.detail.focal": 1}
    fields |= {"metadata.detail.crop": 1, "metadata.detail.rotation": 1}
    documents = database()[ASSET_FILES].find({"_id": {"$in": ids}}, fields)
    return {document["_id"]: _subdocument(document, "metadata") for document in documents}


def _has_no_url(copy: Document, photo: Document | None) -> bool:
    if photo is None or photo.get("type") != PHOTO:
        return False
    spec = _subdocument(copy, "metadata").get("spec")
    detail = _subdocument(photo, "detail")
    try:
        focal = detail.get("focal")
        cut = Cut.of(detail.get("crop"), detail.get("rotation"))
        return not isinstance(spec, str) or renditions.parse(spec, tuple(focal) if focal else None, cut) is None
    except MALFORMED:
        # The photo is damaged, so its crop and rotation are unknown. Keep the copy.
        return False


def _orphans(files: str, ids: list[ObjectId]) -> list[ObjectId]:
    """Return the file ids for which there are chunks but no document. `ids` contains the ids of files that have chunks.

    A document is always inserted before its chunks, so these chunks don't belong to any file. Photos in the trash keep
    their chunks. If a photo's original file was deleted, its document has length 0, and any chunks were left behind by
    an interrupted sweep.
    """
    existing: set[ObjectId] = set()
    # If a file is moved to or from the trash during the sweep, one of the three queries finds it.
    for collection in (files, TRASH, files):
        existing |= _existing(collection, [id for id in ids if id not in existing])
    return [id for id in ids if id not in existing] + list(_existing(files, list(existing), _EMPTIED))


# A filter for photos whose original file was deleted.
_EMPTIED = {"metadata.content_id": {"$type": "objectId"}, "length": 0, "metadata.doomed": {"$type": "date"}}


def _distinct(collection: str, path: str) -> Iterator[ObjectId]:
    """Yield the distinct values, of any type, of the first field of an index.

    The values are never all in memory at once, and the server doesn't read every index entry.
    """
    groups = database()[collection].aggregate([{"$sort": {path: 1}}, {"$group": {"_id": f"${path}"}}], batchSize=10_000)
    return (group["_id"] for group in groups)


def _existing(collection: str, ids: list[ObjectId], condition: Document | None = None) -> set[ObjectId]:
    """Return the subset of `ids` for which the collection contains a document that matches `condition`."""
    if not ids:
        return set()
    documents = database()[collection].find({"_id": {"$in": ids}, **(condition or {})}, {"_id": 1})
    return {document["_id"] for document in documents}


def _shown_contents(ids: list[ObjectId]) -> dict[ObjectId, ObjectId]:
    """Return the id of the file that each photo uses, keyed by photo id. Photos in the trash are included.

    The id is DAMAGED if the photo is damaged.
    """
    shown: dict[ObjectId, ObjectId] = {}
    for name in (ASSET_FILES, TRASH, ASSET_FILES):
        if missing := [id for id in ids if id not in shown]:
            for photo in database()[name].find({"_id": {"$in": missing}}, {"metadata.content_id": 1}):
                content_id = _subdocument(photo, "metadata").get("content_id")
                shown[photo["_id"]] = content_id if isinstance(content_id, ObjectId) else DAMAGED
    return shown


def _place(metadata: Document) -> dict[str, Any]:
    return {"metadata.parent_id": metadata["parent_id"], "metadata.slug": metadata["slug"]}


def _grace() -> timedelta:
    return timedelta(hours=limits().grace_hours)
