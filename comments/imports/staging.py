"""A temporary SQLite database that groups the comments of an export by page, and sorts them. It needs little memory."""

import json
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from types import TracebackType

from marginalia.comments import targets
from marginalia.comments.imports.addresses import Addresses, foreign_url, pages, parse_name, path_of
from marginalia.comments.imports.records import SourceComment, SourceState, TextFormat
from marginalia.comments.types import Target

# `posted` is in milliseconds since 1970. `url` is empty unless the page is on another site.
_SCHEMA = """
CREATE TABLE comments (
    id TEXT PRIMARY KEY, address TEXT NOT NULL, parent TEXT NOT NULL, posted INTEGER NOT NULL, state TEXT NOT NULL,
    record TEXT NOT NULL, level INTEGER
) WITHOUT ROWID;
CREATE TABLE addresses (address TEXT PRIMARY KEY, target TEXT, url TEXT NOT NULL, path TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE pages (path TEXT PRIMARY KEY, target TEXT NOT NULL) WITHOUT ROWID;
"""
# How many comments are read and stored together.
BATCH = 250
# How many levels of replies are sorted. Deeper replies are attached to a comment on this level.
_MAX_LEVELS = 5_000
# The fields that a record contains. The others are columns.
_FIELDS = [field.name for field in fields(SourceComment) if field.name not in ("parent", "posted")]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Staging:
    """The comments of one export."""

    def __enter__(self) -> "Staging":
        self._file = tempfile.NamedTemporaryFile(prefix="comments-", suffix=".sqlite")  # noqa: SIM115 - see __exit__
        self._db = sqlite3.connect(self._file.name)
        self._db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _SCHEMA)
        return self

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._db.close()
        self._file.close()

    def fill(self, comments: Iterable[SourceComment], addresses: Addresses) -> None:
        """Store the comments, and find their pages. If an id occurs several times, the last comment counts."""
        self._db.executemany(
            "INSERT OR REPLACE INTO comments VALUES (?, ?, ?, ?, ?, ?, NULL)",
            ((c.id, c.address, c.parent, _milliseconds(c.posted), c.state.value, _record(c)) for c in comments),
        )
        self._sort()
        self._find_pages(addresses)
        self._db.execute("CREATE INDEX by_address ON comments (address)")
        self._db.execute("CREATE INDEX by_target ON addresses (target)")
        self._db.commit()

    def _sort(self) -> None:
        """Set the level of each comment, and let replies be later than their parents.

        A comment without a parent in the same discussion is at level 0. So are comments whose parents form a circle.
        """
        self._db.execute("CREATE INDEX by_parent ON comments (parent)")
        self._db.execute("CREATE INDEX by_level ON comments (level)")
        self._db.execute(
            "UPDATE comments AS c SET level = 0, parent = '' WHERE NOT EXISTS "
            "(SELECT 1 FROM comments p WHERE p.id = c.parent AND p.address = c.address AND p.id != c.id)"
        )
        for level in range(_MAX_LEVELS):
            changed = self._db.execute(
                # The plus makes SQLite look for the parents first. There are fewer of them.
                "UPDATE comments AS c SET level = ?, posted = max(c.posted, p.posted + 1) FROM comments p "
                "WHERE p.id = c.parent AND p.level = ? AND +c.level IS NULL",
                (level + 1, level),
            )
            if not changed.rowcount:
                break
        self._db.execute("UPDATE comments SET level = 0, parent = '' WHERE level IS NULL")

    def _find_pages(self, addresses: Addresses) -> None:
        converted = {
            address: addresses.convert(address)
            for (address,) in self._db.execute("SELECT DISTINCT address FROM comments")
        }
        names = {address: target for address, new in converted.items() if (target := parse_name(new))}
        known = targets.existing(names.values())
        urls = {address: url for address, new in converted.items() if (url := foreign_url(new))}
        foreign = targets.at_urls(urls.values())
        for address, new in converted.items():
            url = urls.get(address, "")
            target = foreign.get(url) if url else names.get(address)
            if not url and target not in known:
                target = None
            row = (address, target and str(target), url if target else "", path_of(new))
            self._db.execute("INSERT INTO addresses VALUES (?, ?, ?, ?)", row)
        if self.unmatched():
            self._db.executemany(
                "INSERT OR REPLACE INTO pages VALUES (?, ?)", ((path, str(target)) for path, target in pages())
            )
            self._db.execute(
                "UPDATE addresses SET target = (SELECT target FROM pages WHERE pages.path = addresses.path) "
                "WHERE target IS NULL"
            )

    def states(self) -> Counter[str]:
        """Return the number of comments by state."""
        return Counter(dict(self._db.execute("SELECT state, count(*) FROM comments GROUP BY state")))

    def unmatched(self) -> list[tuple[str, int]]:
        """Return each address that leads to no page, with its number of comments, most comments first."""
        return self._db.execute(
            "SELECT address, count(*) AS n FROM comments JOIN addresses USING (address) WHERE target IS NULL "
            "GROUP BY address ORDER BY n DESC, address"
        ).fetchall()

    def foreign_pages(self) -> tuple[int, int, str]:
        """Return the number of comments on pages of other sites, the number of these pages, and the URL of one."""
        query = "SELECT count(*), count(DISTINCT url), max(url) FROM comments JOIN addresses USING (address) WHERE url != ''"
        comments, pages, url = self._db.execute(query).fetchone()
        return comments, pages, url or ""

    def foreign_urls(self, wanted: Iterable[Target]) -> list[str]:
        """Return the URLs of those targets that are pages on other sites."""
        query = "SELECT DISTINCT url FROM addresses WHERE target = ? AND url != ''"
        return [url for target in wanted for (url,) in self._db.execute(query, (str(target),))]

    def groups(self) -> Iterator[list[Target]]:
        """Yield the targets of all discussions. Those with few comments are grouped, up to a batch of comments."""
        query = (
            "SELECT target, count(*) FROM comments JOIN addresses USING (address) WHERE target IS NOT NULL "
            "GROUP BY target ORDER BY target"
        )
        group: list[Target] = []
        size = 0
        for name, count in self._db.execute(query).fetchall():
            if group and size + count > BATCH:
                yield group
                group, size = [], 0
            group.append(Target.parse(name))
            size += count
        if group:
            yield group

    def batches(self, target: Target) -> Iterator[list[SourceComment]]:
        """Yield the comments of a discussion in batches, by time, each reply after its parent."""
        rows = self._db.execute(
            "SELECT record, parent, posted FROM comments JOIN addresses USING (address) WHERE target = ? "
            "ORDER BY posted, level, id",
            (str(target),),
        )
        while batch := rows.fetchmany(BATCH):
            yield [_comment(*row) for row in batch]


def _record(comment: SourceComment) -> str:
    return json.dumps({name: getattr(comment, name) for name in _FIELDS})


def _comment(record: str, parent: str, posted: int) -> SourceComment:
    values = json.loads(record)
    values |= {"state": SourceState(values["state"]), "format": TextFormat(values["format"])}
    return SourceComment(**values, parent=parent, posted=_EPOCH + timedelta(milliseconds=posted))


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)
