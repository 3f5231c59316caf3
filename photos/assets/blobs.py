"""Files of any type: they are stored as they arrive, and their content determines their type.

Archives are never unpacked, and nothing in a file is executed or rendered.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import puremagic
from django.conf import settings

from photos.assets.errors import BadFile, empty, too_large
from photos.assets.writer import Writer

# The number of bytes from which the type is determined.
HEAD_SIZE = 4096
UNKNOWN, TEXT = "application/octet-stream", "text/plain"
# The types that browsers can show or play safely, by extension. A file gets such a type only if its content matches.
# Files of all other types are always downloaded. In particular, web pages, SVG and XML can contain scripts.
_SHOWN = {
    ".pdf": "application/pdf",
    ".txt": TEXT,
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".mp3": "audio/mpeg",
    ".m4a": "audio/mp4",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".flac": "audio/flac",
    ".wav": "audio/wav",
    ".mp4": "video/mp4",
    ".m4v": "video/mp4",
    ".webm": "video/webm",
    ".ogv": "video/ogg",
}
SHOWN_TYPES = frozenset(_SHOWN.values())


def detect_type(head: bytes, filename: str) -> str:
    """Return the media type of a file that begins with `head`.

    The extension only decides between types that the content matches. For example, all Office documents are ZIP files.
    """
    extension = PurePath(filename).suffix.lower()
    try:
        matches = puremagic.magic_string(head, filename=filename)
    except (puremagic.PureError, ValueError):
        matches = []
    shown = _SHOWN.get(extension, "")
    if shown and any(shown == match.mime_type or extension == match.extension for match in matches):
        return shown if shown != TEXT or _is_text(head) else UNKNOWN
    if known := next((match.mime_type for match in matches if match.mime_type and match.confidence >= _LEAST), ""):
        return str(known)
    return TEXT if _is_text(head) else UNKNOWN


# Matches with a lower confidence consist of only a few bytes, which often occur by chance.
_LEAST = 0.3


def _is_text(head: bytes) -> bool:
    """Return whether the bytes are UTF-8 text. The last character can be incomplete."""
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3 or error.reason != "unexpected end of data":
            return False
        text = head[: error.start].decode()
    return "\0" not in text


@dataclass(frozen=True)
class ReceivedFile:
    """The stored bytes of a file, before a file node uses them."""

    content_type: str
    sha256: str
    length: int

    def fields(self, filename: str) -> dict[str, Any]:
        """Return the fields that describe the file, keyed by path."""
        return {
            "detail.content_type": self.content_type,
            "detail.filename": filename,
            "detail.size": self.length,
            "detail.sha256": self.sha256,
        }


def inspect(pieces: Iterable[bytes], filename: str) -> ReceivedFile:
    """Return the properties of a file that is already stored."""
    head = bytearray()
    sha256 = hashlib.sha256()
    length = 0
    for piece in pieces:
        head += piece[: HEAD_SIZE - len(head)]
        sha256.update(piece)
        length += len(piece)
    return ReceivedFile(detect_type(bytes(head), filename), sha256.hexdigest(), length)


class IncomingFile:
    """A file that is being received and written to GridFS.

    If an exception occurs, the writer is aborted and nothing is left behind.
    """

    def __init__(self, writer: Writer, filename: str) -> None:
        self._writer = writer
        self._filename = filename
        self._head = bytearray()
        self._hash = hashlib.sha256()

    def feed(self, data: bytes) -> None:
        """Store the next bytes.

        Raises:
            BadFile: The file is too large.
            UploadLost: The sweeper deleted the upload because it had stalled, or another upload owns the lock.
        """
        if self._writer.length + len(data) > settings.FILES_MAX_BYTES:
            self.abort()
            raise too_large(BadFile, settings.FILES_MAX_BYTES)
        self._head += data[: HEAD_SIZE - len(self._head)]
        self._hash.update(data)
        self._writer.write(data)

    def end(self) -> ReceivedFile:
        """Store the last bytes, and return the properties of the file.

        Raises:
            BadFile: The file is empty.
            UploadLost: The sweeper deleted the upload because it had stalled, or another upload owns the lock.
        """
        if not self._writer.length:
            self.abort()
            raise empty(BadFile)
        self._writer.flush()
        content_type = detect_type(bytes(self._head), self._filename)
        return ReceivedFile(content_type, self._hash.hexdigest(), self._writer.length)

    def abort(self) -> None:
        """Delete everything that has been stored for an unfinished file."""
        self._writer.abort()
