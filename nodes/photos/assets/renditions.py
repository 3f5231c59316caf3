"""Copies of photos in other sizes: the worker makes the usual ones after the upload, a request what is not made yet.

Each is made once. Only a few threads of a process make copies or wait for one; other requests get the nearest that there is.
"""

import re
import threading
import time
from dataclasses import dataclass
from typing import Any, Self

from bson import ObjectId
from pymongo.errors import DuplicateKeyError

from mongo.clock import now
from mongo.connection import Document, database
from nodes.collections import RENDITION_CHUNKS, RENDITION_FILES, RENDITIONS
from nodes.errors import TooBusy
from nodes.photos.assets import images
from nodes.photos.assets.contents import FILE, Stored
from nodes.photos.assets.limits import Limits, limits
from nodes.photos.assets.locks import STALE
from nodes.photos.assets.writer import Writer

FORMATS = {"webp": ("WEBP", "image/webp"), "jpg": ("JPEG", "image/jpeg")}
PILLOW_NAMES = {
    "image/jpeg": "JPEG",
    "image/png": "PNG",
    "image/webp": "WEBP",
    "image/gif": "GIF",
    "image/avif": "AVIF",
}
_SPEC = re.compile(r"(?:w(\d{1,5})|s(\d{1,5})-(\d{1,3})x(\d{1,3}))\.(webp|jpg)", re.ASCII)
# Seconds to wait for another process that makes the copy, and between looks.
PATIENCE, LOOK = 25, 0.05
# Threads of a process that make a copy or wait for one: pages need the others.
AT_ONCE = 2
_turns = threading.BoundedSemaphore(AT_ONCE)
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

    No request can make us store others: the sizes are a list, and a square has the photo's own point.
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


def widths(size: tuple[int, int], extension: str) -> tuple[int, ...]:
    """Return the widths that are worth making of a picture of this size (pixels, as seen): those below its own, and the
    first above; for WebP only as far as that format reaches."""
    across, down = size
    made = sorted(limits().widths)
    offered = [*(width for width in made if width < across), *[width for width in made if width >= across][:1]]
    if extension == "webp":
        offered = [width for width in offered if max(scaled(size, width)) <= images.LONGEST_WEBP]
    return tuple(offered)


def scaled(size: tuple[int, int], width: int) -> tuple[int, int]:
    """Return the size (pixels) of a copy `width` wide: never larger than the picture is."""
    across, down = size
    factor = min(width / across, 1)
    return max(round(across * factor), 1), max(round(down * factor), 1)


def usual(size: tuple[int, int], focal: Focal | None) -> list[Spec]:
    """Return the copies that pages show of a picture of this size (pixels, as seen) with this focal point."""
    return [
        *(Spec(width, extension) for extension in FORMATS for width in widths(size, extension)),
        *(Spec.square(width, extension, focal) for width in limits().squares for extension in FORMATS),
    ]


def get(source: Stored, content_type: str, spec: Spec) -> Stored:
    """Return the copy, made now if there is none. One process makes it, the others wait for that.

    Raises BadPicture (the source cannot be read), reader.Missing (it was swept), TooBusy (the maker takes long, or AT_ONCE
    threads of this process wait already).
    """
    found = _stored_copy(source, spec)
    if found is not None and found["metadata"]["locked"] is None:
        return Stored.of(RENDITIONS, found)
    if not _turns.acquire(blocking=False):
        raise TooBusy
    try:
        return _wait(source, content_type, spec)
    finally:
        _turns.release()


def nearest(source: Stored, spec: Spec) -> tuple[Stored, Spec] | None:
    """Return the copy of the same shape that is nearest in size, rather larger than smaller, and what it is; None if none
    is made. Never a WebP for a JPEG: it may be asked for because nothing else can be shown."""
    made = database()[RENDITION_FILES].find(
        {"metadata.source": source.id, "metadata.locked": None}, {**FILE, "metadata.spec": 1}
    )
    best: tuple[tuple[bool, int, bool], Document, Spec] | None = None
    for document in made:
        other = parse(document["metadata"]["spec"], spec.focal)
        if other is None or other.focal != spec.focal or other.extension not in (spec.extension, "jpg"):
            continue
        rank = other.width < spec.width, abs(other.width - spec.width), other.extension != spec.extension
        if best is None or rank < best[0]:
            best = rank, document, other
    return (Stored.of(RENDITIONS, best[1]), best[2]) if best else None


def _stored_copy(source: Stored, spec: Spec) -> Document | None:
    return database()[RENDITION_FILES].find_one(_place(source.id, spec), {**FILE, "metadata.locked": 1})


def _wait(source: Stored, content_type: str, spec: Spec) -> Stored:
    waiting, deadline = threading.Event(), time.monotonic() + PATIENCE
    while True:
        found = _stored_copy(source, spec)
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
    """Make the copy; None if another maker has begun to."""
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
