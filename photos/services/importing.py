"""Photos from files on this machine, each once: what import_photos and import_wordpress call."""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from nodes.collections import ASSET_FILES, TRASH, node_filter
from nodes.types import Actor
from photos.assets.cleaning import Cleaning
from photos.services.photos import Upload

# Read at once: as much as goes to the database in one insert.
PIECE = 2 * 1024 * 1024
ENDINGS = frozenset({".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".apng", ".webp", ".avif", ".gif"})
# Pictures that are refused. Commands list them, so that operators learn which files are missing, and why.
REFUSED = frozenset({".heic", ".heif", ".hif", ".tif", ".tiff", ".bmp", ".dng", ".jxl", ".jp2", ".psd", ".svg", ".ico"})


@dataclass(frozen=True)
class Imported:
    """A photo that a file has become, now or by an earlier import."""

    id: ObjectId
    was_there: bool


def import_photo(
    actor: Actor,
    gallery_id: ObjectId,
    path: Path,
    *,
    title: str = "",
    fields: Mapping[str, Any] | None = None,
    tags: tuple[str, ...] = (),
) -> Imported:
    """Upload a file into a gallery unless the gallery has a photo with its bytes (as they would be stored).

    `fields` by path: "detail.alt", "summary", "published", "created"… Raises BadPicture, NotReady, InvalidPlace; OSError where
    the file cannot be read.
    """
    if found := there(gallery_id, path):
        return Imported(found, was_there=True)
    return Imported(upload(actor, gallery_id, path, title=title, fields=fields, tags=tags), was_there=False)


def upload(
    actor: Actor,
    gallery_id: ObjectId,
    path: Path,
    *,
    title: str = "",
    fields: Mapping[str, Any] | None = None,
    tags: tuple[str, ...] = (),
) -> ObjectId:
    """Upload a file into a gallery, also where the gallery has its bytes already, and return the photo's id.

    Raises what `import_photo` does.
    """
    coming = Upload(actor, gallery_id, path.name, title=title, fields=fields, tags=tags)
    try:
        for piece in _pieces(path):
            coming.feed(piece)
        return coming.finish().id
    finally:
        # Of what was not finished, whatever stopped it, nothing stays.
        coming.abort()


def there(gallery_id: ObjectId, path: Path) -> ObjectId | None:
    """Return the photo of the gallery that has the file's bytes already; None if there is none.

    One in the trash counts: an editor threw it away, and no import brings it back. Raises BadPicture, OSError.
    """
    cleaning = Cleaning(path.name)
    for piece in _pieces(path):
        for _part in cleaning.feed(piece):
            continue
    for _part in cleaning.end():
        continue
    same = {"metadata.detail.sha256": cleaning.sha256, "metadata.parent_id": gallery_id, **node_filter(ASSET_FILES)}
    for name in (ASSET_FILES, TRASH):
        if found := database()[name].find_one(same, {"_id": 1}):
            photo_id: ObjectId = found["_id"]
            return photo_id
    return None


def existing(photos: Mapping[int, ObjectId]) -> dict[int, ObjectId]:
    """Return those of some photos, by whatever number, that exist, the trash included."""
    wanted = {"_id": {"$in": list(photos.values())}}
    homes = ((ASSET_FILES, wanted | node_filter(ASSET_FILES)), (TRASH, wanted))
    found = {document["_id"] for name, those in homes for document in database()[name].find(those, {"_id": 1})}
    return {number: photo_id for number, photo_id in photos.items() if photo_id in found}


def files(folder: Path) -> Iterator[Path]:
    """Yield the files in and below a folder whose names end as pictures' do, by name; hidden ones are left out.

    Among them are pictures in formats that the site refuses.
    """
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            yield from files(path)
        elif path.suffix.lower() in ENDINGS | REFUSED:
            yield path


def find_file(folder: Path, *names: str) -> Path | None:
    """Return the file at the end of some names below a folder, in whatever Unicode form the disk spells them.

    macOS decomposes accented letters and others compose them. None if there is none that can be read.
    """
    path = folder
    for name in names:
        try:
            there = (path / name).exists()
        except (OSError, ValueError):
            # No file system has such a name.
            return None
        if there or name.isascii():
            path /= name
        elif spelled := _in_any_form(path, name):
            path = spelled
        else:
            return None
    try:
        return path if path.is_file() else None
    except (OSError, ValueError):
        return None


def _in_any_form(folder: Path, name: str) -> Path | None:
    try:
        spelled = _names(folder, folder.stat().st_mtime_ns).get(unicodedata.normalize("NFC", name))
    except OSError:
        return None
    return folder / spelled if spelled else None


@lru_cache(maxsize=16)
def _names(folder: Path, _changed: int) -> dict[str, str]:
    """Return the names in a folder, as it is since a change, by their composed form."""
    return {unicodedata.normalize("NFC", path.name): path.name for path in folder.iterdir()}


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece
