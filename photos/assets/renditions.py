"""Resized copies of photos. The worker makes the usual copies after an upload, and requests make any missing copies.

Each copy is made only once. Only a few threads per process make copies or wait for them. For other requests, the site
sends the nearest existing copy. photos/assets/limits.py sets the sizes, and photos/addresses.py adds the copies' URLs
to pages.
"""

import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from bson import ObjectId
from PIL import features
from pymongo.errors import DuplicateKeyError

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database
from nodes.collections import RENDITION_CHUNKS, RENDITION_FILES, RENDITIONS
from nodes.errors import TooBusy
from photos.assets import images
from photos.assets.contents import PROJECTION, StoredFile
from photos.assets.framing import CENTRE, WHOLE, Cut, Focal, Size, scaled
from photos.assets.limits import limits
from photos.assets.locks import STALE_AFTER
from photos.assets.writer import Writer, new_id

# The formats of copies, keyed by extension: Pillow's name and the media type. Browsers load the first that they support.
FORMATS = {
    **({"avif": ("AVIF", "image/avif")} if features.check("avif") else {}),
    "webp": ("WEBP", "image/webp"),
    "jpg": ("JPEG", "image/jpeg"),
}
# The other formats that every client supports that asks for a format.
ALSO_SUPPORTED = {"avif": ("webp", "jpg"), "webp": ("jpg",), "jpg": ()}
# The formats of square copies. They are so small that AVIF would save little.
SQUARE_FORMATS = ("webp", "jpg")
PILLOW_NAMES = {
    "image/jpeg": "JPEG",
    "image/png": "PNG",
    "image/webp": "WEBP",
    "image/gif": "GIF",
    "image/avif": "AVIF",
}
_SPEC = re.compile(
    r"(?:w(?P<width>\d{1,5})|s(?P<square>\d{1,5})-\d{1,3}x\d{1,3})"
    r"(?P<cut>(?:-c\d{1,5}x\d{1,5}x\d{1,5}x\d{1,5})?(?:-r\d{2,3})?)\.(?P<extension>avif|webp|jpg)",
    re.ASCII,
)
# How many seconds to wait for another process that is making the same copy, and how many seconds to wait between
# queries.
TIMEOUT = 25
POLL_INTERVAL = 0.05
# Maximum number of threads per process that make copies or wait for them. The other threads are needed for pages.
MAX_MAKERS = 2
_maker_slots = threading.BoundedSemaphore(MAX_MAKERS)


@dataclass(frozen=True)
class Spec:
    """The specification of a copy. The copy is `width` pixels wide, and may be a square around a point.

    In URLs, it is written as "w640.webp" or "s160-50x33.jpg". It includes the crop and rotation, and the focal point
    relative to the visible part, so that a URL always returns the same image. For example,
    "w640-c1000x0x5000x10000-r90.webp" is rotated by 90°. The visible part starts at 10% of the width, and covers half
    the width and the full height of the image.
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
        """Return the spec for a square copy. `focal` is the photo's focal point in the whole image, or None."""
        across, down = cut.point(focal)
        return cls(width, extension, (round(across, 2), round(down, 2)), cut)

    @property
    def content_type(self) -> str:
        return FORMATS[self.extension][1]


def parse(text: str, focal: Focal | None, cut: Cut) -> Spec | None:
    """Return the spec in `text`, if the site makes this copy.

    Return None if the site doesn't make this copy for a photo with this `focal` and `cut`. The site makes only copies
    with the configured sizes, and with the photo's own focal point, crop and rotation. Requests therefore can't make
    the site store arbitrary copies.
    """
    spec = _parse_size(text, focal, cut)
    return spec if str(spec) == text else None


def current_spec(text: str, focal: Focal | None, cut: Cut) -> Spec | None:
    """Return the spec with the size in `text`, and with the photo's current focal point, crop and rotation.

    Return None if `text` is invalid or already has the current crop and rotation.
    """
    match = _SPEC.fullmatch(text)
    return _parse_size(text, focal, cut) if match and match["cut"] != str(cut) else None


def _parse_size(text: str, focal: Focal | None, cut: Cut) -> Spec | None:
    """Return the spec with the size and format in `text`, or None if the site doesn't make copies of this size."""
    allowed = limits()
    match = _SPEC.fullmatch(text)
    if match is None:
        return None
    width = match["width"]
    square = match["square"]
    extension = match["extension"]
    if width:
        is_known = int(width) in allowed.widths and extension in FORMATS
        return Spec(int(width), extension, cut=cut) if is_known else None
    is_known = int(square) in allowed.squares and extension in SQUARE_FORMATS
    return Spec.square(int(square), extension, focal, cut) if is_known else None


def widths(size: Size, extension: str) -> tuple[int, ...]:
    """Return the widths of an image's copies, in ascending order.

    `size` is the size of the image's visible part in pixels. Copies have the configured widths that are smaller than
    the image, and the next larger width. Copies that would exceed WebP's maximum size are omitted. If the largest AVIF
    copy would have too many pixels, there are no AVIF copies at all, because browsers load copies of only one format.
    """
    if extension not in FORMATS:
        return ()
    width, _height = size
    configured = sorted(limits().widths)
    smaller = [copy_width for copy_width in configured if copy_width < width]
    larger = [copy_width for copy_width in configured if copy_width >= width]
    copy_widths = [*smaller, *larger[:1]]
    if extension == "avif" and not images.can_encode_avif(scaled(size, copy_widths[-1])):
        return ()
    if extension == "webp":
        copy_widths = [
            copy_width for copy_width in copy_widths if max(scaled(size, copy_width)) <= images.MAX_WEBP_SIDE
        ]
    return tuple(copy_widths)


def usual_specs(size: Sequence[int], focal: Focal | None, cut: Cut) -> list[Spec]:
    """Return the specs of all copies that pages use. `size` is the size of the whole image in pixels."""
    shown_size = cut.size(size)
    return [
        *(Spec(width, extension, cut=cut) for extension in FORMATS for width in widths(shown_size, extension)),
        *(Spec.square(width, extension, focal, cut) for width in limits().squares for extension in SQUARE_FORMATS),
    ]


def get_or_make(source: StoredFile, content_type: str, spec: Spec) -> StoredFile:
    """Return the copy. If it doesn't exist, one process makes it, and other processes wait.

    Raises:
        BadPicture: The source can't be read.
        MissingChunk: The sweeper has deleted the source.
        TooBusy: Another process is taking too long, or MAX_MAKERS threads of this process are busy.
    """
    document = _find_copy(source, spec)
    if document is not None and document["metadata"]["locked"] is None:
        return StoredFile.from_document(RENDITIONS, document)
    if not _maker_slots.acquire(blocking=False):
        raise TooBusy
    try:
        return _make_or_wait(source, content_type, spec)
    finally:
        _maker_slots.release()


def find_nearest(source: StoredFile, spec: Spec) -> tuple[StoredFile, Spec] | None:
    """Return the existing copy with the same aspect ratio and the nearest size, or None. Larger copies are preferred.

    The copy has a format that the client supports, because it asked for this format or a newer one.
    """
    extensions = (spec.extension, *ALSO_SUPPORTED[spec.extension])
    copies = database()[RENDITION_FILES].find(
        {"metadata.source": source.id, "metadata.locked": None}, {**PROJECTION, "metadata.spec": 1}
    )
    best: tuple[tuple[bool, int, bool], Document, Spec] | None = None
    for document in copies:
        text = document["metadata"]["spec"]
        size = _parse_size(text, None, WHOLE)
        other = replace(spec, width=size.width, extension=size.extension) if size else None
        # The copy must have the same aspect ratio, focal point, crop and rotation.
        if other is None or str(other) != text or other.extension not in extensions:
            continue
        rank = other.width < spec.width, abs(other.width - spec.width), other.extension != spec.extension
        if best is None or rank < best[0]:
            best = rank, document, other
    return (StoredFile.from_document(RENDITIONS, best[1]), best[2]) if best else None


def _find_copy(source: StoredFile, spec: Spec) -> Document | None:
    return database()[RENDITION_FILES].find_one(_place(source.id, spec), {**PROJECTION, "metadata.locked": 1})


def _make_or_wait(source: StoredFile, content_type: str, spec: Spec) -> StoredFile:
    waiting = threading.Event()
    deadline = time.monotonic() + TIMEOUT
    while True:
        document = _find_copy(source, spec)
        if document is not None and document["metadata"]["locked"] is None:
            return StoredFile.from_document(RENDITIONS, document)
        if document is not None and now() - document["metadata"]["locked"] > STALE_AFTER:
            discard(document)
        elif document is None:
            copy = _make(source, content_type, spec)
            if copy:
                return copy
        if time.monotonic() > deadline:
            raise TooBusy
        waiting.wait(POLL_INTERVAL)


def _make(source: StoredFile, content_type: str, spec: Spec) -> StoredFile | None:
    """Make the copy. Return None if another process is already making it."""
    metadata: dict[str, Any] = {"source": source.id, "spec": str(spec), "content_type": spec.content_type}
    try:
        writer = Writer(RENDITIONS, new_id(), str(spec), metadata, place=_place(source.id, spec))
    except DuplicateKeyError:
        return None
    is_finished = False
    try:
        writer.write(_resize(source, content_type, spec))
        is_finished = writer.finish()
    finally:
        if not is_finished:
            writer.abort()
    document = database()[RENDITION_FILES].find_one({"_id": writer.id, **_place(source.id, spec)}, PROJECTION)
    return StoredFile.from_document(RENDITIONS, document) if document else None


def _resize(source: StoredFile, content_type: str, spec: Spec) -> bytes:
    with source.open() as file:
        return images.resize(
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
    """Delete an unfinished copy left behind by a process that died while making it.

    The function first acquires the copy's lock, so that the process can't store anything if it resumes.
    """
    files = database()[RENDITION_FILES]
    own_lock = now()
    unchanged = {"_id": stalled["_id"], "metadata.locked": stalled["metadata"]["locked"]}
    if files.update_one(unchanged, {"$set": {"metadata.locked": own_lock}}).matched_count:
        database()[RENDITION_CHUNKS].delete_many({"files_id": stalled["_id"]})
        files.delete_one({**unchanged, "metadata.locked": own_lock})


def _place(source_id: ObjectId, spec: Spec) -> dict[str, Any]:
    return {"metadata.source": source_id, "metadata.spec": str(spec)}
