"""Open the file of an export."""

import codecs
import gzip
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from marginalia.comments.imports.records import BrokenSource

_OTHER_ENCODING = re.compile(rb"<\?xml[^>]*encoding=[\"'](?!utf-?8)", re.IGNORECASE)
# Characters that XML doesn't allow.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


# Maximum size in bytes of an element below the root. Comments are much shorter.
MAX_ELEMENT = 2_000_000


class RepairedXml:
    """An XML file without the bytes and characters that make XML parsers stop. They occur in comments.

    Attributes:
        unfinished: The number of bytes read since the reader last set it to 0, which it does after each element below
            the root. So a hostile file can't use up the memory.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.unfinished = 0
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_other: bool | None = None

    def read(self, size: int = -1) -> bytes:
        """Return about `size` bytes, or b"" at the end of the file.

        Raises:
            BrokenSource: An element is too long.
        """
        while data := self._file.read(size):
            self.unfinished += len(data)
            if self.unfinished > MAX_ELEMENT:
                raise BrokenSource("An XML element is too long.")
            if self._is_other is None:
                self._is_other = _OTHER_ENCODING.match(data) is not None
            if self._is_other:
                return data
            # If the bytes are only a part of a character, read on.
            if text := _FORBIDDEN.sub("", self._decoder.decode(data)):
                return text.encode()
        return b""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading. If it is compressed with gzip, yield its uncompressed content.

    Raises:
        BrokenSource: The file can't be read, also if this is noticed in the block.
    """
    try:
        with path.open("rb") as file:
            is_compressed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if is_compressed else path.open("rb") as file:
            yield cast(BinaryIO, file)
    except (OSError, EOFError, zlib.error) as error:
        raise BrokenSource(f"The file can't be read: {error}.") from error
