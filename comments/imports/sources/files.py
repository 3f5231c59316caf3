"""Open the file of an export."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from marginalia.comments.imports.records import BrokenSource


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
