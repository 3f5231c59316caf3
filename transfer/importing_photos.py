"""Photos that come from an export: their documents as nodes come (transfer/importing_nodes.py), their bytes in a stream.

A photo and each picture that it showed before is a file of its own, locked while it is written, as an upload is. What an
import that was stopped left of one is cleared away by the next, which has the same id for it.
"""

import hashlib
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from bson import ObjectId
from pymongo.errors import DuplicateKeyError, WriteError

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database
from marginalia.mongo.reading import MALFORMED
from nodes.collections import ASSET_CHUNKS, ASSET_FILES, ASSETS, NODES, TRASH
from nodes.content import CONTENT, PHOTO
from nodes.errors import InvalidField, NodeError
from nodes.services import derived
from nodes.services.write import check_place, check_ready, writable
from photos.assets import contents, images, reader
from photos.assets.cleaning import Cleaning
from photos.assets.errors import DecoderBusy
from photos.assets.writer import IncomingPhoto, ReceivedPhoto, Writer
from photos.services import copies
from photos.services.photos import clean_filename
from transfer import exported
from transfer.importing_nodes import (
    Arrival,
    Coming,
    Outcome,
    Refused,
    about,
    check_fields,
    check_past,
    compared,
    left,
    reason,
)

# What a photo says of the picture that it shows.
_OF_PICTURE = ("content_type", "resolution", "size", "sha256")
_RAISED = (NodeError, DecoderBusy, DuplicateKeyError, WriteError, *MALFORMED)


def photo(
    record: Mapping[str, Any],
    pieces: Iterable[bytes],
    *,
    replace: bool = False,
    dry_run: bool = False,
    coming: Coming | None = None,
) -> Arrival:
    """Store a photo or a content of an export, whose gallery, or photo, is here, with its bytes.

    A photo that is here in an earlier version is written over only to `replace` it: when what it is to show is stored. With
    `dry_run` it is only said what would come of it, if what is `coming` were stored.
    """
    coming = coming or Coming()
    try:
        stored = database()[ASSET_FILES].find_one({"_id": record["_id"]})
        arrival = _compared(record, None if stored is None or _is_unfinished(stored) else stored)
        if arrival.outcome in (Outcome.SAME, Outcome.LEFT):
            return arrival
        if record["metadata"]["type"] == PHOTO:
            check_fields(record)
        _check(record, coming)
        if dry_run:
            if arrival.outcome is Outcome.NEWER:
                check_past(record, coming)
            return arrival
        if arrival.outcome is Outcome.NEWER:
            if replace and stored:
                _replace(stored, record)
            return arrival
        if stored:
            _clear(stored)
        _store(record, pieces)
        return arrival
    except _RAISED as error:
        return left(record, reason(error))


def shows_any(record: Mapping[str, Any], come: Container[ObjectId]) -> bool:
    """Return whether the picture that a photo shows is among those that `come` with it, or here; of a content nothing is
    asked."""
    shown = _replaced_by(record)
    return shown is None or shown in come or contents.find(record["_id"], shown) is not None


def is_whole(record: Mapping[str, Any]) -> bool:
    """Return whether the bytes of a photo or content are here, and are those of the export. Of a photo that shows a later
    picture, whose first one may be swept: whether that is here."""
    if shown := _replaced_by(record):
        return contents.find(record["_id"], shown) is not None
    sha256 = hashlib.sha256()
    length = 0
    try:
        for piece in pieces(record["_id"]):
            sha256.update(piece)
            length += len(piece)
    except reader.MissingChunk:
        return False
    return length == record["length"] and (not length or sha256.hexdigest() == record["sha256"])


def pieces(file_id: ObjectId) -> Iterator[bytes]:
    """Yield the bytes of a stored photo or content. Raises Missing."""
    found = database()[ASSET_FILES].find_one({"_id": file_id}, contents.PROJECTION)
    if found is None:
        raise reader.MissingChunk(file_id)
    yield from reader.read_range(ASSETS, file_id, found["chunkSize"], 0, found["length"])


def _replaced_by(record: Mapping[str, Any]) -> ObjectId | None:
    """Return the later picture that a photo shows in place of its first; None if it shows that, or is no photo."""
    shown = record["metadata"].get("content_id")
    return shown if isinstance(shown, ObjectId) and shown != record["_id"] else None


def _unswept(photo: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a photo without what becomes of its first picture when it shows a later one: that is swept in time."""
    if _replaced_by(photo) is None:
        return photo
    metadata = {name: value for name, value in photo["metadata"].items() if name not in ("superseded", "doomed")}
    return {name: value for name, value in photo.items() if name != "length"} | {"metadata": metadata}


def _is_unfinished(stored: Mapping[str, Any]) -> bool:
    """Return whether a file is an upload that is under way, or was stopped."""
    metadata = stored["metadata"]
    if metadata.get("type") == CONTENT:
        return metadata.get("locked") is not None
    return metadata.get("content_id") is None


def _compared(record: Mapping[str, Any], stored: Mapping[str, Any] | None) -> Arrival:
    if record["metadata"]["type"] != CONTENT:
        return compared(_unswept(record), stored and _unswept(stored), ASSET_FILES)
    if stored is None:
        return Arrival(Outcome.NEW, about(record))
    said = {name: value for name, value in record.items() if name != "sha256"}
    is_same = exported.as_exported(stored) == said
    return Arrival(Outcome.SAME, about(record)) if is_same else left(record, "it is another here")


def _check(record: Mapping[str, Any], coming: Coming) -> None:
    """Raise NodeError for what no editor could have uploaded here."""
    metadata = record["metadata"]
    id = record["_id"]
    if unknown := set(record) - {"_id", "metadata", "filename", "length", "uploadDate", "history", "sha256"}:
        raise Refused(f"it has a field {min(unknown)!r}")
    if not isinstance(id, ObjectId) or metadata["type"] not in (PHOTO, CONTENT):
        raise Refused("it is no photo")
    if any(database()[home].find_one({"_id": id}, {"_id": 1}) for home in (NODES, TRASH)):
        raise Refused("a page here has its id")
    if clean_filename(record["filename"]) != record["filename"]:
        raise Refused("its file has a name that none can have")
    if metadata["type"] == CONTENT:
        place = {"type": CONTENT, **contents.place_filter(metadata["parent_id"], id)}
        if metadata != {name.removeprefix("metadata."): value for name, value in place.items()}:
            raise Refused("it is no picture of a photo")
        photo_id = metadata["parent_id"]
        photos = database()[ASSET_FILES]
        if photo_id not in coming.types and photos.find_one({"_id": photo_id}, {"_id": 1}) is None:
            raise Refused("its photo is not here")
        return
    check_place(metadata["parent_id"], PHOTO, coming.types)
    check_ready(writable(metadata))
    if not isinstance(metadata["content_id"], ObjectId) or (metadata["content_id"] == id and not record["sha256"]):
        raise Refused("it shows nothing")


def _clear(stored: Mapping[str, Any]) -> None:
    """Clear away what an import that was stopped left of a file. One that is under way loses its lock, and says so."""
    files = database()[ASSET_FILES]
    mine = now()
    seen = {"_id": stored["_id"], **_place(stored["metadata"])}
    taken = {"$set": {"metadata.locked": mine, "metadata.doomed": mine}}
    if files.update_one({**seen, "metadata.locked": stored["metadata"]["locked"]}, taken).matched_count:
        database()[ASSET_CHUNKS].delete_many({"files_id": stored["_id"]})
        files.delete_one({**seen, "metadata.locked": mine})


def _store(record: Mapping[str, Any], pieces: Iterable[bytes]) -> None:
    """Write a file that is not here. Raises BadPicture, DecoderBusy, UploadLost, Refused, DuplicateKeyError."""
    metadata = dict(record["metadata"])
    is_photo = record["metadata"]["type"] == PHOTO
    changes: Document = {"uploadDate": record["uploadDate"]}
    if is_photo:
        changes |= {"metadata.content_id": metadata["content_id"], "derived": derived.derive(writable(metadata))}
        metadata["content_id"] = None
    writer = Writer(ASSETS, record["_id"], record["filename"], metadata, place=_place(metadata))
    if not record["sha256"]:
        # A first picture that was replaced long ago: its photo's document is all that is left of it.
        writer.finish(changes)
        return
    coming = IncomingPhoto(writer, record["filename"])
    try:
        for piece in pieces:
            coming.feed(piece)
        _check_received(record, coming.end())
        writer.finish(changes)
    finally:
        coming.abort()
    if is_photo and record["metadata"]["content_id"] == record["_id"]:
        copies.enqueue(record["_id"], record["_id"])


def _check_received(record: Mapping[str, Any], received: ReceivedPhoto) -> None:
    """Raise Refused for bytes that are not those of the picture which the document tells of."""
    if received.sha256 != record["sha256"]:
        raise Refused("an upload here would leave something of its file out: upload that, it is in the export")
    photo_id = record["metadata"]["parent_id"] if record["metadata"]["type"] == CONTENT else record["_id"]
    found = database()[ASSET_FILES].find_one({"_id": photo_id}, {"metadata": 1}) or record
    shown = record if photo_id == record["_id"] else found
    if shown["metadata"].get("content_id") == record["_id"]:
        _check_detail(shown["metadata"]["detail"], received)


def _check_detail(detail: Mapping[str, Any], received: ReceivedPhoto) -> None:
    """Raise InvalidField for what is said of a picture, and is not what was read from it."""
    properties = received.properties
    read = properties.content_type, list(properties.size), received.length, received.sha256
    for name, value in zip(_OF_PICTURE, read, strict=True):
        if detail[name] != value:
            raise InvalidField(f"detail.{name}", "its file is another picture")


def _received(photo_id: ObjectId, content_id: ObjectId) -> ReceivedPhoto:
    """Return what a stored content is, read anew. Raises Refused if it is not here, BadPicture, DecoderBusy."""
    if (stored := contents.find(photo_id, content_id)) is None:
        raise Refused("the picture that it shows is not here")
    cleaning = Cleaning("")
    for piece in pieces(content_id):
        deque(cleaning.feed(piece), maxlen=0)
    deque(cleaning.end(), maxlen=0)
    assert cleaning.format
    with stored.open() as file:
        picture = images.inspect(file, cleaning.format, cleaning.facts, cleaning.limits)
    return ReceivedPhoto(picture, cleaning.sha256, stored.length)


def _replace(stored: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Write a photo over the earlier version that is stored. Raises Refused if it was changed in between."""
    check_past(record)
    before = stored["metadata"]
    after = record["metadata"]
    shown = [(one["content_id"], [one["detail"].get(name) for name in _OF_PICTURE]) for one in (before, after)]
    if shown[0] != shown[1]:
        _check_detail(after["detail"], _received(record["_id"], after["content_id"]))
    gone = {f"metadata.{name}": "" for name in before.keys() - after.keys() - {"locked", "doomed"}}
    update: Document = {
        "$set": {
            **{f"metadata.{name}": value for name, value in after.items()},
            "derived": derived.derive(writable(after)),
        }
    }
    if gone:
        update["$unset"] = gone
    unchanged = {"_id": record["_id"], **_place(before), "metadata.locked": None}
    unchanged |= {f"metadata.{name}": before.get(name) for name in ("nonce", "content_id", "tags", "doomed")}
    if not database()[ASSET_FILES].update_one(unchanged, update).matched_count:
        raise Refused("it was changed here since")


def _place(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {"metadata.parent_id": metadata["parent_id"], "metadata.slug": metadata["slug"]}
