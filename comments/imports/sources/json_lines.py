"""JSON lines, the format for other systems (docs/how-to/import-comments.md)."""

from collections.abc import Iterator
from pathlib import Path

from marginalia.comments.imports.records import BrokenSource, SourceComment, SourceState, TextFormat
from marginalia.comments.imports.sources import fields
from marginalia.comments.imports.sources.json_files import lines

_REQUIRED = ("id", "url", "posted", "text")


def read(path: Path) -> Iterator[SourceComment]:
    """Yield the comments of a file.

    Raises:
        BrokenSource: A line isn't valid.
    """
    for number, values in lines(path):
        for name in _REQUIRED:
            if name not in values:
                raise BrokenSource(f"Line {number} has no “{name}”.")
        # Comments without an id would replace each other.
        if not fields.text(values, "id"):
            raise BrokenSource(f"Line {number} has an empty “id”.")
        try:
            yield SourceComment(
                id=fields.text(values, "id"),
                address=fields.text(values, "url"),
                posted=fields.time(values["posted"], f"line {number}"),
                name=fields.text(values, "name"),
                email=fields.text(values, "email"),
                website=fields.text(values, "website"),
                text=fields.text(values, "text"),
                format=TextFormat(values.get("format", "markdown")),
                parent=fields.text(values, "parent"),
                state=SourceState(values.get("state", "public")),
                anchor=fields.text(values, "anchor"),
                likes=fields.number(values, "likes"),
                dislikes=fields.number(values, "dislikes"),
            )
        except ValueError as error:
            raise BrokenSource(f"Line {number}: {error}.") from error
