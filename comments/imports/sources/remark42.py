"""remark42: the backup, which contains one JSON document per line (https://remark42.com/docs/backup/backup/)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from marginalia.comments.imports.records import SourceComment, SourceState, TextFormat
from marginalia.comments.imports.sources import fields
from marginalia.comments.imports.sources.json_files import lines


def read(path: Path) -> Iterator[SourceComment]:
    """Yield the comments of a backup, which can be compressed with gzip. The first line contains only settings.

    Raises:
        BrokenSource: The file isn't a backup of remark42.
    """
    for number, values in lines(path):
        if "id" not in values or "locator" not in values:
            continue
        yield _comment(values, number)


def _comment(values: dict[str, Any], number: int) -> SourceComment:
    user = _object(values, "user")
    id = fields.text(values, "id")
    # `orig` is the Markdown that the author wrote. Imported comments don't have it.
    markdown = fields.text(values, "orig")
    votes = [vote for vote in _object(values, "votes").values() if isinstance(vote, bool)]
    return SourceComment(
        id=id,
        address=fields.text(_object(values, "locator"), "url"),
        posted=fields.time(values.get("time"), f"line {number}"),
        name=fields.text(user, "name"),
        text=markdown or fields.text(values, "text"),
        format=TextFormat.MARKDOWN if markdown else TextFormat.HTML,
        parent=fields.text(values, "pid"),
        state=SourceState.REMOVED if values.get("delete") else SourceState.PUBLIC,
        anchor=f"remark42__comment-{id}",
        likes=votes.count(True),
        dislikes=votes.count(False),
    )


def _object(values: dict[str, Any], name: str) -> dict[str, Any]:
    value = values.get(name)
    return value if isinstance(value, dict) else {}
