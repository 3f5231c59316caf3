"""Read files with one JSON document per line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from marginalia.comments.imports.records import BrokenSource
from marginalia.comments.imports.sources.files import opened

# Maximum length of a line in bytes. Comments are much shorter.
MAX_LINE = 10_000_000


def lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line that isn't empty. The file can be compressed with gzip.

    Raises:
        BrokenSource: A line isn't a JSON object, or the file can't be read.
    """
    with opened(path) as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise BrokenSource(f"Line {number} is too long.")
            if line.strip():
                yield number, _parse(line, number)


def _parse(line: bytes, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise BrokenSource(f"Line {number} isn't valid JSON: {error}.") from error
    if not isinstance(value, dict):
        raise BrokenSource(f"Line {number} isn't a JSON object.")
    return value
