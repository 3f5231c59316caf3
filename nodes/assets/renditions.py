"""Copies of photos in other sizes: made when first asked for, once, whoever else asks meanwhile."""

import re
import threading
import time
from dataclasses import dataclass
from typing import Any, Self

from bson import ObjectId
from pymongo.errors import DuplicateKeyError

from mongo.connection import Document, database, now
from nodes.assets import images
from nodes.assets.contents import FILE, Stored
from nodes.assets.limits import Limits, limits
from nodes.assets.locks import STALE
from nodes.assets.writer import Writer
from nodes.collections import RENDITION_CHUNKS, RENDITION_FILES, RENDITIONS
from nodes.errors import TooBusy

FORMATS = {"webp": ("WEBP", "image/webp"), "jpg": ("JPEG", "image/jpeg")}
PILLOW_NAMES = {"image/jpeg": "JPEG", "image/png": "PNG", "image/webp": "WEBP", "image/gif": "GIF"}
_SPEC = re.compile(r"(?:w(\d{1,5})|s(\d{1,5})-(\d{1,3})x(\d{1,3}))\.(webp|jpg)", re.ASCII)
# Seconds to wait for somebody else who is making the copy, and between looks.
PATIENCE, LOOK = 25, 0.05
Focal = tuple[float, float]
CENTRE: Focal = (0.5, 0.5)


@dataclass(frozen=True)
class Spec:
    """Which copy: as wide as `width`, or cut square around a point; "w640.webp", "s160-50x33.jpg" in addresses.

    The point is in the address, so that an address always shows the same.
    """

    width: int
    extension: str
    focal: Focal | None = None

    def __str__(self) -> str:
        if self.focal is None:
            return f"w{self.width}.{self.extension}"
        return f"s{self.width}-{round(self.focal[0] * 100)}x{round(self.focal[1] * 100)}.{self.extension}"

    @classmethod
    def square(cls, width: int, extension: str, focal: Focal | None) -> Self:
        """Return the spec of a square of a photo with this focal point, or none."""
        across, down = focal or CENTRE
        return cls(width, extension, (round(across, 2), round(down, 2)))

    @property
    def content_type(self) -> str:
        return FORMATS[self.extension][1]


def parse(text: str, focal: Focal | None, allowed: Limits | None = None) -> Spec | None:
    """Return the spec that `text` spells if the site makes such copies of a photo with this focal point, else None.

    Nobody can make us store others: the sizes are a list, and a square has the photo's own point.
    """
    allowed = allowed or limits()
    match = _SPEC.fullmatch(text)
    if match is None:
        return None
    width, square, _across, _down, extension = match.groups()
    if width:
        spec = Spec(int(width), extension) if int(width) in allowed.widths else None
    else:
        spec = Spec.square(int(square), extension, focal) if int(square) in allowed.squares else None
    return spec if str(spec) == text else None


def get(source: Stored, content_type: str, spec: Spec) -> Stored:
    """Return the copy, made now if there is none. One process makes it, the others wait for that.

    Raises BadPicture (the source cannot be read), TooBusy (whoever makes it takes long), reader.Missing (swept meanwhile).
    """
    waiting, deadline = threading.Event(), time.monotonic() + PATIENCE
    while True:
        found = database()[RENDITION_FILES].find_one(_place(source.id, spec), {**FILE, "metadata.locked": 1})
        if found is not None and found["metadata"]["locked"] is None:
            return Stored.of(RENDITIONS, found)
        if found is not None and now() - found["metadata"]["locked"] > STALE:
            discard(found)
        elif found is None:
            made = _make(source, content_type, spec)
            if made:
                return made
        if time.monotonic() > deadline:
            raise TooBusy
        waiting.wait(LOOK)


def _make(source: Stored, content_type: str, spec: Spec) -> Stored | None:
    """Make the copy; None if somebody else has begun to."""
    metadata: dict[str, Any] = {"source": source.id, "spec": str(spec), "content_type": spec.content_type}
    try:
        writer = Writer(RENDITIONS, ObjectId(), str(spec), metadata, place=_place(source.id, spec))
    except DuplicateKeyError:
        return None
    done = False
    try:
        writer.write(_resized(source, content_type, spec))
        done = writer.finish()
    finally:
        if not done:
            writer.abort()
    found = database()[RENDITION_FILES].find_one({"_id": writer.id, **_place(source.id, spec)}, FILE)
    return Stored.of(RENDITIONS, found) if found else None


def _resized(source: Stored, content_type: str, spec: Spec) -> bytes:
    with source.open() as file:
        return images.resized(
            file,
            PILLOW_NAMES[content_type],
            limits(),
            width=spec.width,
            height=spec.width if spec.focal else None,
            focal=spec.focal or CENTRE,
            to=FORMATS[spec.extension][0],
        )


def discard(stalled: Document) -> None:
    """Delete a copy whose maker died. Its lock is taken first, so that a maker who wakes up stores nothing."""
    files = database()[RENDITION_FILES]
    mine = now()
    seen = {"_id": stalled["_id"], "metadata.locked": stalled["metadata"]["locked"]}
    if files.update_one(seen, {"$set": {"metadata.locked": mine}}).matched_count:
        database()[RENDITION_CHUNKS].delete_many({"files_id": stalled["_id"]})
        files.delete_one({**seen, "metadata.locked": mine})


def _place(source_id: ObjectId, spec: Spec) -> dict[str, Any]:
    return {"metadata.source": source_id, "metadata.spec": str(spec)}
