"""Isso: the SQLite database (https://isso-comments.de)."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from marginalia.comments.imports.records import BrokenSource, SourceComment, SourceState, TextFormat
from marginalia.comments.imports.sources import fields

# The values of the column `mode`.
_STATES = {1: SourceState.PUBLIC, 2: SourceState.PENDING, 4: SourceState.REMOVED}
_QUERY = """
SELECT c.id, t.uri, c.parent, c.created, c.mode, c.text, c.author, c.email, c.website, c.likes, c.dislikes
FROM comments c JOIN threads t ON t.id = c.tid ORDER BY c.id
"""


def read(path: Path) -> Iterator[SourceComment]:
    """Yield the comments of a database.

    Raises:
        BrokenSource: The file isn't a database of Isso.
    """
    try:
        if not path.is_file():
            raise BrokenSource("The file doesn't exist.")
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            # Text that isn't UTF-8 is kept as far as possible.
            database.text_factory = lambda data: data.decode("utf-8", "replace")
            for row in database.execute(_QUERY):
                values = dict(row)
                yield SourceComment(
                    id=str(values["id"]),
                    address=fields.text(values, "uri"),
                    posted=fields.time(values["created"], f"comment {values['id']}"),
                    name=fields.text(values, "author"),
                    email=fields.text(values, "email"),
                    website=fields.text(values, "website"),
                    text=fields.text(values, "text"),
                    format=TextFormat.MARKDOWN,
                    parent=fields.text(values, "parent"),
                    state=_STATES.get(values["mode"], SourceState.PENDING),
                    anchor=f"isso-{values['id']}",
                    likes=fields.number(values, "likes"),
                    dislikes=fields.number(values, "dislikes"),
                )
    except sqlite3.Error as error:
        raise BrokenSource(f"The file isn't a database of Isso: {error}.") from error
