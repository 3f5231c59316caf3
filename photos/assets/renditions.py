"""Copies of photos in other sizes: the worker makes the usual ones after the upload, a request what is not made yet.

Each is made once. Only a few threads of a process make copies or wait for one; other requests get the nearest that there is.
The sizes are set in photos/assets/limits.py, and photos/addresses.py writes their URLs into pages.
"""

import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from bson import ObjectId
from pymongo.errors import DuplicateKeyError

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database
from nodes.collections import RENDITION_CHUNKS, RENDITION_FILES, RENDITIONS
from nodes.errors import TooBusy
from photos.assets import images
from photos.assets.contents import FILE, Stored
from photos.assets.framing import CENTRE, WHOLE, Cut, Focal, Size, scaled
from photos.assets.limits import limits
from photos.assets.locks import STALE
from photos.assets.writer import Writer, new_id

FORMATS = {"webp": ("WEBP", "image/webp"), "jpg": ("JPEG", "image/jpeg")}
PILLOW_NAMES = {
    "image/jpeg": "JPEG",
    "image/png": "PNG",
    "image/webp": "WEBP",
    "image/gif": "GIF",
    "image/avif": "AVIF",
}
_SPEC = re.compile(
    r"(?:w(?P<width>\d{1,5})|s(?P<square>\d{1,5})-\d{1,3}x\d{1,3})"
    r"(?P<cut>(?:-c\d{1,5}x\d{1,5}x\d{1,5}x\d{1,5})?(?:-r\d{2,3})?)\.(?P<extension>webp|jpg)",
    re.ASCII,
)
# Seconds to wait for another process that makes the copy, and between looks.
PATIENCE = 25
LOOK = 0.05
# Threads of a process that make a copy or wait for one: pages need the others.
AT_ONCE = 2
_turns = threading.BoundedSemaphore(AT_ONCE)


@dataclass(frozen=True)
class Spec:
    """Which copy: as wide as `width`, or cut square around a point; "w640.webp", "s160-50x33.jpg" in addresses.

    The point, in what is shown, and the cut are in the address, so that an address always shows the same:
    "w640-c1000x0x5000x10000-r90.webp" is the part from a tenth of the width on, half as wide and as high as the whole, turned.
    """

    width: int
    extension: str
    focal: Focal | None = None
    cut: Cut = WHOLE

    def __str__(self) -> str:
        if self.focal is None:
            return f"w{self.width}{self.cut}.{self.extension}"
        point = f"{round(self.focal[0] * 100)}x{round(self.focal[1] * 100)}"
        return f"s{self.width}-{point}{self.cut}.{self.extension}"

    @classmethod
    def square(cls, width: int, extension: str, focal: Focal | None, cut: Cut) -> Self:
        """Return the spec of a square of a photo with this focal point, or none, in the whole picture."""
        across, down = cut.point(focal)
        return cls(width, extension, (round(across, 2), round(down, 2)), cut)

    @property
    def content_type(self) -> str:
        return FORMATS[self.extension][1]


def parse(text: str, focal: Focal | None, cut: Cut) -> Spec | None:
    """Return the spec that `text` spells if the site makes such copies of a photo with this focal point and cut, else None.

    No request can make us store others: the sizes are a list, and a copy has the photo's own point and cut.
    """
    spec = _sized(text, focal, cut)
    return spec if str(spec) == text else None


def present(text: str, focal: Focal | None, cut: Cut) -> Spec | None:
    """Return the spec of a photo with this focal point and cut that shows what a spec with another cut showed in its size.

    None for what is no such spec, and for one with the photo's own cut.
    """
    match = _SPEC.fullmatch(text)
    return _sized(text, focal, cut) if match and match["cut"] != str(cut) else None


def _sized(text: str, focal: Focal | None, cut: Cut) -> Spec | None:
    """Return the spec in the size and format that `text` says, None if the site makes no such copies."""
    allowed = limits()
    match = _SPEC.fullmatch(text)
    if match is None:
        return None
    width = match["width"]
    square = match["square"]
    extension = match["extension"]
    if width:
        return Spec(int(width), extension, cut=cut) if int(width) in allowed.widths else None
    return Spec.square(int(square), extension, focal, cut) if int(square) in allowed.squares else None


def widths(size: Size, extension: str) -> tuple[int, ...]:
    """Return the widths that are worth making of a picture of this size (pixels, as seen): those below its own, and the
    first above; for WebP only as far as that format reaches."""
    across, down = size
    made = sorted(limits().widths)
    offered = [*(width for width in made if width < across), *[width for width in made if width >= across][:1]]
    if extension == "webp":
        offered = [width for width in offered if max(scaled(size, width)) <= images.LONGEST_WEBP]
    return tuple(offered)


def usual(size: Sequence[int], focal: Focal | None, cut: Cut) -> list[Spec]:
    """Return the copies that pages show of a picture of this size (pixels, of the whole) with this focal point and cut."""
    shown = cut.size(size)
    return [
        *(Spec(width, extension, cut=cut) for extension in FORMATS for width in widths(shown, extension)),
        *(Spec.square(width, extension, focal, cut) for width in limits().squares for extension in FORMATS),
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
        text = document["metadata"]["spec"]
        sized = _sized(text, None, WHOLE)
        other = replace(spec, width=sized.width, extension=sized.extension) if sized else None
        # Of the same shape, point and cut.
        if other is None or str(other) != text or other.extension not in (spec.extension, "jpg"):
            continue
        rank = other.width < spec.width, abs(other.width - spec.width), other.extension != spec.extension
        if best is None or rank < best[0]:
            best = rank, document, other
    return (Stored.of(RENDITIONS, best[1]), best[2]) if best else None


def _stored_copy(source: Stored, spec: Spec) -> Document | None:
    return database()[RENDITION_FILES].find_one(_place(source.id, spec), {**FILE, "metadata.locked": 1})


def _wait(source: Stored, content_type: str, spec: Spec) -> Stored:
    waiting = threading.Event()
    deadline = time.monotonic() + PATIENCE
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
        writer = Writer(RENDITIONS, new_id(), str(spec), metadata, place=_place(source.id, spec))
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
            cut=spec.cut,
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
