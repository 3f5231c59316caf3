"""Clearing away what uploads left: those that stalled, contents that were replaced, bytes that nothing refers to.

Every step may be stopped and done again. A document is marked by compare-and-set before its bytes go, so that a writer who
wakes up stores nothing, and going back to a former content sees that it is too late.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bson import ObjectId

from mongo.connection import Document, database, now
from nodes.assets import contents, renditions
from nodes.assets.limits import limits
from nodes.assets.locks import STALE
from nodes.collections import (
    ASSET_CHUNKS,
    ASSET_FILES,
    RENDITION_CHUNKS,
    RENDITION_FILES,
    TRASH,
)
from nodes.kinds import CONTENT, PHOTO

# Copies of photos that were made since are let be.
YOUNG = timedelta(hours=1)
SEEN = {"metadata.type": 1, "metadata.parent_id": 1, "metadata.slug": 1, "metadata.locked": 1, "metadata.content_id": 1}


@dataclass
class Swept:
    """How many were cleared away. `noted`: contents found replaced, whose grace begins now."""

    stalled: int = 0
    unlocked: int = 0
    noted: int = 0
    superseded: int = 0
    orphans: int = 0
    renditions: int = 0


def sweep(*, dry_run: bool = False, moment: datetime | None = None) -> Swept:
    """Clear away all of it, and return how much; with `dry_run` only count. `moment`: the present time."""
    moment = moment or now()
    swept = sweep_stalled(dry_run=dry_run, moment=moment)
    for content in database()[ASSET_FILES].find({"metadata.type": CONTENT, "metadata.locked": None}, _CONTENT_SEEN):
        _end_content(content, moment, swept, dry_run)
    for photo in database()[ASSET_FILES].find(_own_content_replaced(moment), SEEN):
        _end_own_content(photo, moment, swept, dry_run)
    _end_renditions(moment, swept, dry_run)
    for files, chunks in ((ASSET_FILES, ASSET_CHUNKS), (RENDITION_FILES, RENDITION_CHUNKS)):
        for files_id in _orphans(files, chunks):
            swept.orphans += 1
            if not dry_run:
                database()[chunks].delete_many({"files_id": files_id})
    return swept


def sweep_stalled(*, dry_run: bool = False, moment: datetime | None = None) -> Swept:
    """Clear away uploads that have stalled, and nothing else: quick, whatever the size of the site."""
    swept = Swept()
    for stalled in database()[ASSET_FILES].find(_stale(moment or now()), SEEN):
        _end_stalled(stalled, swept, dry_run)
    return swept


def stalled_count(moment: datetime | None = None) -> int:
    """Return how many uploads have stalled, for those who look after the site."""
    return database()[ASSET_FILES].count_documents(_stale(moment or now()))


def _stale(moment: datetime) -> dict[str, Any]:
    # $type: the index holds locked documents only.
    return {"metadata.locked": {"$lt": moment - STALE, "$type": "date"}}


def _end_stalled(stalled: Document, swept: Swept, dry_run: bool) -> None:
    """End an upload whose process is dead: release the photo that was to be replaced, delete what has come of a new file."""
    metadata, files = stalled["metadata"], database()[ASSET_FILES]
    seen = {"_id": stalled["_id"], **_place(metadata), "metadata.locked": metadata["locked"]}
    if metadata["type"] == PHOTO and metadata["content_id"] is not None:
        swept.unlocked += 1
        if not dry_run:
            files.update_one(seen, {"$set": {"metadata.locked": None}})
        return
    swept.stalled += 1
    if dry_run:
        return
    # Taking the lock is what stops a writer who wakes up: its own is in the filter of all that it does.
    mine = now()
    marked = files.update_one(seen, {"$set": {"metadata.locked": mine, "metadata.doomed": mine}})
    if marked.matched_count:
        database()[ASSET_CHUNKS].delete_many({"files_id": stalled["_id"]})
        files.delete_one({**seen, "metadata.locked": mine})


_CONTENT_SEEN = SEEN | {"metadata.superseded": 1, "metadata.doomed": 1}


def _end_content(content: Document, moment: datetime, swept: Swept, dry_run: bool) -> None:
    """Delete a whole content that its photo has not shown for as long as the grace lasts, or that has no photo."""
    metadata, files = content["metadata"], database()[ASSET_FILES]
    photo_id, content_id = metadata["parent_id"], content["_id"]
    shown, superseded = _shown_by(photo_id), metadata.get("superseded")
    selector = contents.selector(photo_id, content_id)
    if shown == content_id:
        if superseded and not dry_run:
            # Left by whoever went back to it, and would cut its next grace short.
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
    if _shown_by(photo_id) == content_id:
        # Somebody went back to it between our two looks.
        files.update_one(selector, {"$unset": {"metadata.doomed": "", "metadata.superseded": ""}})
        return
    contents.delete(photo_id, content_id)


def _own_content_replaced(moment: datetime) -> dict[str, Any]:
    """Return the filter of photos whose first content, in their own document, was replaced and is out of its grace."""
    return {
        "metadata.type": PHOTO,
        "metadata.superseded": {"$lt": moment - _grace()},
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
    """Delete copies that nobody finished, and copies of what is not there any more."""
    for stalled in database()[RENDITION_FILES].find(_stale(moment), {"metadata.locked": 1}):
        swept.renditions += 1
        if not dry_run:
            renditions.discard(stalled)
    for source in _distinct(RENDITION_FILES, "metadata.source"):
        if not _stands(source, ASSET_FILES):
            made = database()[RENDITION_FILES].count_documents({"metadata.source": source}) if dry_run else None
            swept.renditions += contents.delete_renditions(source) if made is None else made
            continue
        for unasked in _unasked_for(source, moment):
            swept.renditions += 1
            if not dry_run:
                contents.delete_rendition(source, unasked)


def _unasked_for(source: ObjectId, moment: datetime) -> list[Document]:
    """Return the copies of a content that no address names any more: other sizes are made now, or another focal point is set.

    Young ones stay: who has just been told of them may be about to ask.
    """
    old = {"metadata.source": source, "uploadDate": {"$lt": moment - YOUNG}, "metadata.locked": None}
    made = list(database()[RENDITION_FILES].find(old, {"metadata.spec": 1}))
    # The point is read after the copies: one that was made for a newer point is not among them.
    content = database()[ASSET_FILES].find_one({"_id": source}, {"metadata.type": 1, "metadata.parent_id": 1}) or {}
    photo_id = content["metadata"]["parent_id"] if content.get("metadata", {}).get("type") == CONTENT else source
    photo = database()[ASSET_FILES].find_one({"_id": photo_id, "metadata.type": PHOTO}, {"metadata.detail.focal": 1})
    if photo is None:
        return []
    focal = photo["metadata"]["detail"].get("focal")
    point = tuple(focal) if focal else None
    return [copy for copy in made if renditions.parse(copy["metadata"]["spec"], point) is None]


def _orphans(files: str, chunks: str) -> Iterator[ObjectId]:
    """Yield the ids of files that have chunks and no document. Documents come before chunks, so these are nobody's.

    A photo in the trash keeps its chunks. One whose own content was deleted has length 0: its chunks are what a stopped
    sweep left.
    """
    for files_id in _distinct(chunks, "files_id"):
        # In the middle of going to or coming from the trash it is seen in one of the three looks.
        places = (files, TRASH, files)
        if not any(_stands(files_id, place) for place in places) or _stands(files_id, files, _EMPTIED):
            yield files_id


# A photo whose own content was deleted.
_EMPTIED = {"metadata.type": PHOTO, "length": 0, "metadata.doomed": {"$type": "date"}}


def _distinct(collection: str, path: str) -> Iterator[ObjectId]:
    """Yield the values of the first field of an index, one seek for each: neither all in memory nor every entry read."""
    last: ObjectId | None = None
    while True:
        beyond = {path: {"$gt": last}} if last is not None else {}
        found = database()[collection].find_one(beyond, {path: 1, "_id": 0}, sort=[(path, 1)])
        if found is None:
            return
        value: Any = found
        for name in path.split("."):
            value = value[name]
        last = value
        yield value


def _stands(file_id: ObjectId, collection: str, condition: Document | None = None) -> bool:
    return database()[collection].find_one({"_id": file_id, **(condition or {})}, {"_id": 1}) is not None


def _shown_by(photo_id: ObjectId) -> ObjectId | None:
    """Return the content that a photo shows, or would show out of the trash; None if there is no photo."""
    for name in (ASSET_FILES, TRASH, ASSET_FILES):
        if photo := database()[name].find_one({"_id": photo_id}, {"metadata.content_id": 1}):
            shown: ObjectId = photo["metadata"]["content_id"]
            return shown
    return None


def _place(metadata: Document) -> dict[str, Any]:
    return {"metadata.parent_id": metadata["parent_id"], "metadata.slug": metadata["slug"]}


def _grace() -> timedelta:
    return timedelta(hours=limits().grace_hours)
