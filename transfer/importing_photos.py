"""Import photos and files.

The documents of photos and files are imported in the same way as nodes (transfer/importing_nodes.py). Their bytes are streamed.

A photo with its first file, and each file that has replaced it, are separate files in GridFS. As during an upload, a
file is locked while it is being written. If an import is interrupted, the next import deletes the incomplete file and
writes a new file with the same id.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from bson import ObjectId
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pymongo.errors import DuplicateKeyError, WriteError

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database
from marginalia.mongo.reading import MALFORMED
from nodes.collections import ASSET_CHUNKS, ASSET_FILES, ASSETS, NODES, TRASH
from nodes.content import CONTENT, FILE, PHOTO, registry
from nodes.errors import InvalidField, NodeError
from nodes.services import derived, rules
from nodes.services.write import writable
from photos.assets import contents, images, reader
from photos.assets.blobs import SHOWN_TYPES, ReceivedFile, inspect
from photos.assets.cleaning import Cleaning
from photos.assets.errors import BadFile, DecoderBusy, too_large
from photos.assets.writer import ReceivedPhoto, Writer
from photos.services import copies
from photos.services.photos import Received, clean_filename, incoming
from transfer import exported
from transfer.importing_nodes import (
    ImportResult,
    Outcome,
    Refused,
    Unstored,
    check_fields,
    check_history,
    compare,
    describe,
    explain,
    skip,
)

# The fields of a photo that describe its current file.
_CONTENT_FIELDS = ("content_type", "resolution", "size", "sha256")
NOT_CLEAN = gettext_lazy("its file is not clean. Upload the file from the export instead")
_RAISED = (NodeError, DecoderBusy, DuplicateKeyError, WriteError, *MALFORMED)


def import_photo(
    record: Mapping[str, Any],
    pieces: Iterable[bytes],
    *,
    replace: bool = False,
    dry_run: bool = False,
    unstored: Unstored | None = None,
) -> ImportResult:
    """Store an exported photo, or an additional file of a photo.

    The gallery that contains the photo, or the photo that the file belongs to, must already be stored.

    Args:
        record: The exported photo or file.
        pieces: The bytes of the file.
        replace: Whether to replace an earlier version of the photo that is stored. If so, the photo's current file must
            already be stored.
        dry_run: Whether to only determine the result, without storing anything.
        unstored: Documents that a dry run treats as stored.
    """
    unstored = unstored or Unstored()
    try:
        stored = database()[ASSET_FILES].find_one({"_id": record["_id"]})
        result = _compare(record, None if stored is None or _is_unfinished(stored) else stored)
        if result.outcome in (Outcome.SAME, Outcome.SKIPPED):
            return result
        if record["metadata"]["type"] in registry.uploaded():
            check_fields(record)
        _check(record, unstored)
        if dry_run:
            if result.outcome is Outcome.NEWER:
                check_history(record, unstored)
            return result
        if result.outcome is Outcome.NEWER:
            if replace and stored:
                _replace(stored, record)
            return result
        if stored:
            _delete_unfinished(stored)
        _store(record, pieces)
        return result
    except _RAISED as error:
        return skip(record, explain(error))


def check_current_file(
    record: Mapping[str, Any],
    exported_files: Mapping[ObjectId, tuple[int, str]],
    read: Callable[[ObjectId], Iterable[bytes]],
) -> None:
    """Reject a photo whose current file can't be stored, because readers would see the photo without its file.

    An additional file, and a photo whose first file is its current file, aren't checked, because the record describes
    this file itself.

    Args:
        record: The exported photo or file.
        exported_files: The length and sha256 of each additional file in the export, keyed by id.
        read: A function that yields the bytes of an exported file.

    Raises:
        BadFile: This site doesn't accept the current file.
        Refused: The current file is neither stored nor exported, or it isn't clean.
    """
    current = _replaced_by(record)
    if current is None or contents.find(record["_id"], current):
        return
    if current not in exported_files:
        raise Refused(_("its file is not in the export"))
    length, sha256 = exported_files[current]
    if record["metadata"].get("type") == FILE:
        if length > settings.FILES_MAX_BYTES:
            raise too_large(BadFile, settings.FILES_MAX_BYTES)
    elif _cleaned(read(current)).sha256 != sha256:
        raise Refused(NOT_CLEAN)


def has_same_bytes(record: Mapping[str, Any]) -> bool:
    """Return whether the bytes of a photo or file are stored, and are the same as in the export.

    If a photo's first file was replaced, only return whether the current file is stored, because the first file may
    have been deleted.
    """
    if shown := _replaced_by(record):
        return contents.find(record["_id"], shown) is not None
    sha256 = hashlib.sha256()
    length = 0
    try:
        for piece in read_pieces(record["_id"]):
            sha256.update(piece)
            length += len(piece)
    except reader.MissingChunk:
        return False
    return length == record["length"] and (not length or sha256.hexdigest() == record["sha256"])


def read_pieces(file_id: ObjectId) -> Iterator[bytes]:
    """Yield the bytes of a stored photo or file.

    Raises:
        MissingChunk: The file is not stored, or is incomplete.
    """
    file = database()[ASSET_FILES].find_one({"_id": file_id}, contents.PROJECTION)
    if file is None:
        raise reader.MissingChunk(file_id)
    yield from reader.read_range(ASSETS, file_id, file["chunkSize"], 0, file["length"])


def _replaced_by(record: Mapping[str, Any]) -> ObjectId | None:
    """Return the id of the current file of a photo, or None if this is still the photo's first file."""
    shown = record["metadata"].get("content_id")
    return shown if isinstance(shown, ObjectId) and shown != record["_id"] else None


def _without_first_picture(photo: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a photo, without the fields of its first file if this file was replaced.

    These fields must not be compared, because a cleanup changes them.
    """
    if _replaced_by(photo) is None:
        return photo
    metadata = {name: value for name, value in photo["metadata"].items() if name not in ("superseded", "doomed")}
    return {name: value for name, value in photo.items() if name != "length"} | {"metadata": metadata}


def _is_unfinished(stored: Mapping[str, Any]) -> bool:
    """Return whether a file isn't completely stored, because an upload is still running or was interrupted."""
    metadata = stored["metadata"]
    if metadata.get("type") == CONTENT:
        return metadata.get("locked") is not None
    return metadata.get("content_id") is None


def _compare(record: Mapping[str, Any], stored: Mapping[str, Any] | None) -> ImportResult:
    if record["metadata"]["type"] != CONTENT:
        return compare(_without_first_picture(record), stored and _without_first_picture(stored), ASSET_FILES)
    if stored is None:
        return ImportResult(Outcome.NEW, describe(record))
    exported_fields = {name: value for name, value in record.items() if name != "sha256"}
    is_same = exported.as_exported(stored) == exported_fields
    return ImportResult(Outcome.SAME, describe(record)) if is_same else skip(record, _("it is a different one here"))


def _check(record: Mapping[str, Any], unstored: Unstored) -> None:
    """Reject a photo or file that no editor could have uploaded to this site.

    Raises:
        NodeError: The document breaks a rule.
    """
    metadata = record["metadata"]
    id = record["_id"]
    if unknown := set(record) - {"_id", "metadata", "filename", "length", "uploadDate", "history", "sha256"}:
        raise Refused(_("it has the unknown field %(name)s") % {"name": repr(min(unknown))})
    if not isinstance(id, ObjectId) or metadata["type"] not in (*registry.uploaded(), CONTENT):
        raise Refused(_("it is not a photo or file"))
    if any(database()[home].find_one({"_id": id}, {"_id": 1}) for home in (NODES, TRASH)):
        raise Refused(_("a page here has the same id"))
    if clean_filename(record["filename"]) != record["filename"]:
        raise Refused(_("its file name is invalid"))
    if metadata["type"] == CONTENT:
        place = {"type": CONTENT, **contents.place_filter(metadata["parent_id"], id)}
        if metadata != {name.removeprefix("metadata."): value for name, value in place.items()}:
            raise Refused(_("it is not the file of a photo"))
        photo_id = metadata["parent_id"]
        photos = database()[ASSET_FILES]
        if photo_id not in unstored.types and photos.find_one({"_id": photo_id}, {"_id": 1}) is None:
            raise Refused(_("its photo doesn't exist here"))
        return
    rules.check_place(metadata["parent_id"], metadata["type"], unstored.types)
    if not isinstance(metadata["content_id"], ObjectId) or (metadata["content_id"] == id and not record["sha256"]):
        raise Refused(_("it has no file"))


def _delete_unfinished(stored: Mapping[str, Any]) -> None:
    """Delete an incomplete file, which was left behind by an interrupted import.

    If another process is still writing the file, that process loses its lock and can't complete the file.
    """
    files = database()[ASSET_FILES]
    lock = now()
    file_filter = {"_id": stored["_id"], **_place(stored["metadata"])}
    take_lock = {"$set": {"metadata.locked": lock, "metadata.doomed": lock}}
    if files.update_one({**file_filter, "metadata.locked": stored["metadata"]["locked"]}, take_lock).matched_count:
        database()[ASSET_CHUNKS].delete_many({"files_id": stored["_id"]})
        files.delete_one({**file_filter, "metadata.locked": lock})


def _store(record: Mapping[str, Any], pieces: Iterable[bytes]) -> None:
    """Store a file that is not stored yet.

    Raises:
        BadPicture: The bytes are not an accepted photo.
        DecoderBusy: Too many other photos are being decoded.
        UploadLost: Another process has deleted the incomplete file.
        Refused: The bytes don't match the document.
        DuplicateKeyError: The id or the path is already used.
    """
    metadata = dict(record["metadata"])
    type = _type_of(record)
    is_content = record["metadata"]["type"] == CONTENT
    changes: Document = {"uploadDate": record["uploadDate"]}
    if not is_content:
        changes |= {
            "metadata.content_id": metadata["content_id"],
            "derived": derived.derive_to_store(writable(metadata)),
        }
        metadata["content_id"] = None
    writer = Writer(ASSETS, record["_id"], record["filename"], metadata, place=_place(metadata))
    if not record["sha256"]:
        # The photo's first file has been replaced and deleted, so store only the document of the photo.
        writer.finish(changes)
        return
    received = incoming(type, writer, record["filename"])
    try:
        for piece in pieces:
            received.feed(piece)
        _check_received(record, received.end())
        writer.finish(changes)
    finally:
        received.abort()
    if type == PHOTO and not is_content and record["metadata"]["content_id"] == record["_id"]:
        copies.enqueue(record["_id"], record["_id"])


def _type_of(record: Mapping[str, Any]) -> str:
    """Return PHOTO or FILE: the type of a record or, for additional bytes, of the photo or file that they belong to."""
    type: str = record["metadata"]["type"]
    if type != CONTENT:
        return type
    owner = database()[ASSET_FILES].find_one({"_id": record["metadata"]["parent_id"]}, {"metadata.type": 1})
    return FILE if owner and owner["metadata"]["type"] == FILE else PHOTO


def _check_received(record: Mapping[str, Any], received: Received) -> None:
    """Reject bytes that don't match the document.

    If they are the current file of a photo, also check the fields of the photo that describe this file.

    Raises:
        Refused: The bytes don't match.
        InvalidField: A field of the photo doesn't match.
    """
    if received.sha256 != record["sha256"]:
        raise Refused(NOT_CLEAN)
    photo_id = record["metadata"]["parent_id"] if record["metadata"]["type"] == CONTENT else record["_id"]
    stored = database()[ASSET_FILES].find_one({"_id": photo_id}, {"metadata": 1}) or record
    photo = record if photo_id == record["_id"] else stored
    if photo["metadata"].get("content_id") == record["_id"]:
        _check_detail(photo["metadata"]["detail"], received)


def _check_detail(detail: Mapping[str, Any], received: Received) -> None:
    """Reject a photo if a field that describes its current file is wrong.

    Raises:
        InvalidField: The field doesn't match.
    """
    actual = received.fields("")
    if isinstance(received, ReceivedFile) and detail["content_type"] not in SHOWN_TYPES:
        # The type only determines whether browsers show the file. Other releases can detect more types.
        del actual["detail.content_type"]
    for name in _CONTENT_FIELDS:
        path = f"detail.{name}"
        if path in actual and detail.get(name) != actual[path]:
            raise InvalidField(path, "its file is a different one")


def _read_content(record: Mapping[str, Any], content_id: ObjectId) -> Received:
    """Read the stored bytes of a photo or file, and return their properties.

    Raises:
        Refused: The file is not stored.
        BadPicture: The bytes are not an accepted photo.
        DecoderBusy: Too many other photos are being decoded.
    """
    if (stored := contents.find(record["_id"], content_id)) is None:
        raise Refused(_("its file doesn't exist here"))
    if record["metadata"]["type"] == FILE:
        return inspect(read_pieces(content_id), record["metadata"]["detail"]["filename"])
    cleaning = _cleaned(read_pieces(content_id))
    assert cleaning.format
    with stored.open() as file:
        picture = images.inspect(file, cleaning.format, cleaning.facts, cleaning.limits)
    return ReceivedPhoto(picture, cleaning.sha256, stored.length)


def _cleaned(pieces: Iterable[bytes]) -> Cleaning:
    """Clean the bytes of a photo without storing them, and return their properties.

    Raises:
        BadPicture: The bytes are not an accepted photo.
    """
    cleaning = Cleaning("")
    for piece in pieces:
        deque(cleaning.feed(piece), maxlen=0)
    deque(cleaning.end(), maxlen=0)
    return cleaning


def _replace(stored: Mapping[str, Any], record: Mapping[str, Any]) -> None:
    """Replace the earlier version of a photo that is stored on this site.

    Raises:
        Refused: The photo has changed since it was read.
    """
    check_history(record)
    before = stored["metadata"]
    after = record["metadata"]
    pictures = [
        (metadata["content_id"], [metadata["detail"].get(name) for name in _CONTENT_FIELDS])
        for metadata in (before, after)
    ]
    if pictures[0] != pictures[1]:
        _check_detail(after["detail"], _read_content(record, after["content_id"]))
    removed = {f"metadata.{name}": "" for name in before.keys() - after.keys() - {"locked", "doomed"}}
    update: Document = {
        "$set": {
            **{f"metadata.{name}": value for name, value in after.items()},
            "derived": derived.derive_to_store(writable(after)),
        }
    }
    if removed:
        update["$unset"] = removed
    unchanged = {"_id": record["_id"], **_place(before), "metadata.locked": None}
    unchanged |= {f"metadata.{name}": before.get(name) for name in ("nonce", "content_id", "tags", "doomed")}
    if not database()[ASSET_FILES].update_one(unchanged, update).matched_count:
        raise Refused(_("it has been changed here"))


def _place(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {"metadata.parent_id": metadata["parent_id"], "metadata.slug": metadata["slug"]}
