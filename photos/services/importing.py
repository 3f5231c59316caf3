"""Functions for importing photos from local files.

They find and read files, and recognize photos that were already imported.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from bson import ObjectId

from marginalia.mongo.connection import database
from nodes.collections import ASSET_FILES, TRASH, node_filter
from photos.assets.cleaning import Cleaning

# The number of bytes to read at once, which is as many as one insert sends to the database.
PIECE = 2 * 1024 * 1024
EXTENSIONS = frozenset({".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".apng", ".webp", ".avif", ".gif"})
# Extensions of image formats that the site rejects. Commands list files with these extensions, so that operators know
# which files are missing and why.
REFUSED_EXTENSIONS = frozenset(
    {".heic", ".heif", ".hif", ".tif", ".tiff", ".bmp", ".dng", ".jxl", ".jp2", ".psd", ".svg", ".ico"}
)


def find_imported(gallery_id: ObjectId, path: Path) -> ObjectId | None:
    """Return the id of the photo in the gallery that has the same stored bytes as the file, or None if there is none.

    Photos in the trash are included, because an import must not bring back photos that an editor deleted.

    Raises:
        BadPicture: The file isn't a photo that the site accepts.
        OSError: The file can't be read.
    """
    cleaning = Cleaning(path.name)
    for piece in read_pieces(path):
        for _part in cleaning.feed(piece):
            continue
    for _part in cleaning.end():
        continue
    same_bytes = {
        "metadata.detail.sha256": cleaning.sha256,
        "metadata.parent_id": gallery_id,
        **node_filter(ASSET_FILES),
    }
    for name in (ASSET_FILES, TRASH):
        if document := database()[name].find_one(same_bytes, {"_id": 1}):
            photo_id: ObjectId = document["_id"]
            return photo_id
    return None


def existing(photos: Mapping[int, ObjectId]) -> dict[int, ObjectId]:
    """Return the entries of `photos` (ids keyed by number) for which a photo exists, including photos in the trash."""
    by_id = {"_id": {"$in": list(photos.values())}}
    queries = ((ASSET_FILES, by_id | node_filter(ASSET_FILES)), (TRASH, by_id))
    ids = {document["_id"] for name, query in queries for document in database()[name].find(query, {"_id": 1})}
    return {number: photo_id for number, photo_id in photos.items() if photo_id in ids}


def files(folder: Path) -> Iterator[Path]:
    """Yield the image files in `folder` and its subfolders, sorted by name. Hidden files are skipped.

    Files in formats that the site rejects are included.
    """
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            yield from files(path)
        elif path.suffix.lower() in EXTENSIONS | REFUSED_EXTENSIONS:
            yield path


def find_file(folder: Path, *names: str) -> Path | None:
    """Return the file at the path `names` below `folder`, or None if it can't be read.

    The names can be in any Unicode form, because macOS decomposes accented letters, whereas other systems compose them.
    """
    path = folder
    for name in names:
        try:
            exists = (path / name).exists()
        except (OSError, ValueError):
            # The name is invalid on this file system.
            return None
        if exists or name.isascii():
            path /= name
        elif match := _find_in_any_form(path, name):
            path = match
        else:
            return None
    try:
        return path if path.is_file() else None
    except (OSError, ValueError):
        return None


def _find_in_any_form(folder: Path, name: str) -> Path | None:
    try:
        stored_name = _names(folder, folder.stat().st_mtime_ns).get(unicodedata.normalize("NFC", name))
    except OSError:
        return None
    return folder / stored_name if stored_name else None


@lru_cache(maxsize=16)
def _names(folder: Path, _modified_ns: int) -> dict[str, str]:
    """Return the file names in a folder, keyed by their composed Unicode form (NFC). The result is cached.

    `_modified_ns` is the folder's modification time. Passing it ensures that the folder is read again after changes.
    """
    return {unicodedata.normalize("NFC", path.name): path.name for path in folder.iterdir()}


def read_pieces(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file.

    Raises:
        OSError: The file can't be read.
    """
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece
