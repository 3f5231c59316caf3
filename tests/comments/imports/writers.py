"""Write the same comments as exports of each system, in the forms that the systems document."""

import gzip
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from marginalia.comments.imports.records import SourceState

START = datetime(2019, 1, 2, 10, tzinfo=UTC)


@dataclass(frozen=True)
class Row:
    """A comment in an export. `id` and `parent` are numbers, which each system writes in its own form."""

    id: int
    page: str
    text: str
    parent: int | None = None
    state: SourceState = SourceState.PUBLIC
    posted: datetime = START
    name: str = "Ann"


def _iso(row: Row) -> str:
    return row.posted.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _cdata(text: str) -> str:
    return "<![CDATA[" + text.replace("]]>", "]]]]><![CDATA[>") + "]]>"


def disqus(path: Path, rows: Iterable[Row]) -> None:
    """Write the XML export of Disqus (https://help.disqus.com/en/articles/1717164-comments-export)."""
    rows = list(rows)
    threads = {page: number for number, page in enumerate(dict.fromkeys(row.page for row in rows), start=1)}
    with path.open("w", encoding="utf-8") as file:
        file.write(
            '<?xml version="1.0" encoding="utf-8"?>\n<disqus xmlns="http://disqus.com" '
            'xmlns:dsq="http://disqus.com/disqus-internals">\n'
        )
        for page, number in threads.items():
            file.write(f'<thread dsq:id="{number}"><id/><forum>x</forum><link>{escape(page)}</link></thread>\n')
        for row in rows:
            is_spam, is_removed = row.state is SourceState.SPAM, row.state is SourceState.REMOVED
            parent = "" if row.parent is None else f'<parent dsq:id="{row.parent}"/>'
            file.write(
                f'<post dsq:id="{row.id}"><id/><message>{_cdata(row.text)}</message><createdAt>{_iso(row)}</createdAt>'
                f"<isDeleted>{str(is_removed).lower()}</isDeleted><isSpam>{str(is_spam).lower()}</isSpam>"
                f"<author><name>{escape(row.name)}</name><username>x</username></author>"
                f'<thread dsq:id="{threads[row.page]}"/>{parent}</post>\n'
            )
        file.write("</disqus>\n")


ISSO = """
CREATE TABLE threads (id INTEGER PRIMARY KEY, uri VARCHAR(256) UNIQUE, title VARCHAR(256));
CREATE TABLE comments (
    tid REFERENCES threads(id), id INTEGER PRIMARY KEY, parent INTEGER, created FLOAT NOT NULL, modified FLOAT,
    mode INTEGER, remote_addr VARCHAR, text VARCHAR, author VARCHAR, email VARCHAR, website VARCHAR,
    likes INTEGER DEFAULT 0, dislikes INTEGER DEFAULT 0, voters BLOB NOT NULL, notification INTEGER DEFAULT 0);
"""


def isso(path: Path, rows: Iterable[Row]) -> None:
    """Write the database of Isso (https://isso-comments.de/docs/reference/server-config/)."""
    modes = {SourceState.PUBLIC: 1, SourceState.PENDING: 2, SourceState.REMOVED: 4}
    threads: dict[str, int] = {}
    with sqlite3.connect(path) as database:
        database.executescript(ISSO)
        for row in rows:
            thread = threads.setdefault(row.page, len(threads) + 1)
            values = (thread, row.id, row.parent, row.posted.timestamp(), modes[row.state], row.text, row.name)
            database.execute(
                "INSERT INTO comments VALUES (?, ?, ?, ?, NULL, ?, '127.0.0.0', ?, ?, '', '', 2, 1, '', 0)", values
            )
        database.executemany("INSERT INTO threads VALUES (?, ?, '')", ((id, page) for page, id in threads.items()))


def remark42(path: Path, rows: Iterable[Row]) -> None:
    """Write the backup of remark42 (https://remark42.com/docs/backup/backup/)."""

    def lines() -> Iterator[dict[str, Any]]:
        yield {"version": 1, "users": [], "posts": []}
        for row in rows:
            yield {
                "id": str(row.id),
                "pid": "" if row.parent is None else str(row.parent),
                "text": row.text,
                "user": {"name": row.name, "id": f"anonymous_{row.name}", "picture": "", "admin": False},
                "locator": {"site": "old", "url": row.page},
                "score": 1,
                "votes": {"a": True, "b": True, "c": False},
                "time": row.posted.isoformat(),
                **({"delete": True} if row.state is SourceState.REMOVED else {}),
            }

    with gzip.open(path, "wt", compresslevel=1) as file:
        file.writelines(json.dumps(line) + "\n" for line in lines())


def commento(path: Path, rows: Iterable[Row]) -> None:
    """Write the JSON export of Commento (https://docs.commento.io/)."""
    states = {SourceState.PENDING: "unapproved", SourceState.SPAM: "flagged"}
    comments = [
        {
            "commentHex": str(row.id),
            "domain": "",
            "url": row.page,
            "commenterHex": row.name,
            "markdown": "",
            "html": row.text,
            "parentHex": "root" if row.parent is None else str(row.parent),
            "score": 1,
            "state": states.get(row.state, "approved"),
            "creationDate": _iso(row),
            "deleted": row.state is SourceState.REMOVED,
        }
        for row in rows
    ]
    names = dict.fromkeys(str(comment["commenterHex"]) for comment in comments)
    commenters = [{"commenterHex": name, "email": "undefined", "name": name, "link": "undefined"} for name in names]
    path.write_text(json.dumps({"version": 1, "comments": comments, "commenters": commenters}))


def comentario(path: Path, rows: Iterable[Row]) -> None:
    """Write the JSON export of Comentario (https://docs.comentario.app/en/kb/comentario-data-format/)."""
    rows = list(rows)
    pages = {page: f"p{number}" for number, page in enumerate(dict.fromkeys(row.page for row in rows))}
    comments = [
        {
            "id": str(row.id),
            "parentId": None if row.parent is None else str(row.parent),
            "pageId": pages[row.page],
            "html": row.text,
            "markdown": "",
            "score": 1,
            "isApproved": row.state is SourceState.PUBLIC,
            "isPending": row.state is SourceState.PENDING,
            "isDeleted": row.state is SourceState.REMOVED,
            "createdTime": row.posted.isoformat(),
            "authorName": row.name,
        }
        for row in rows
    ]
    listed = [{"id": id, "path": page} for page, id in pages.items()]
    path.write_text(json.dumps({"version": 3, "pages": listed, "comments": comments, "commenters": []}))


def json_lines(path: Path, rows: Iterable[Row]) -> None:
    """Write JSON lines, the format of the guide."""

    def line(row: Row) -> dict[str, Any]:
        return {
            "id": row.id,
            "url": row.page,
            "parent": row.parent,
            "posted": row.posted.isoformat(),
            "name": row.name,
            "text": row.text,
            "format": "html",
            "state": row.state,
            "likes": 2,
        }

    with path.open("w") as file:
        file.writelines(json.dumps(line(row)) + "\n" for row in rows)


DJANGO_COMMENTS = """
CREATE TABLE django_content_type (id INTEGER PRIMARY KEY, app_label TEXT, model TEXT);
CREATE TABLE django_comments (
    id INTEGER PRIMARY KEY, object_pk TEXT, user_name TEXT, user_email TEXT, user_url TEXT, comment TEXT,
    submit_date TEXT, ip_address TEXT, is_public BOOL, is_removed BOOL, content_type_id INTEGER, site_id INTEGER,
    user_id INTEGER);
CREATE TABLE django_comment_flags (
    id INTEGER PRIMARY KEY, flag TEXT, flag_date TEXT, comment_id INTEGER, user_id INTEGER);
CREATE INDEX flags_of_comment ON django_comment_flags (comment_id);
CREATE TABLE django_comments_xtd_xtdcomment (
    comment_ptr_id INTEGER PRIMARY KEY, thread_id INTEGER, parent_id INTEGER, level INTEGER);
"""


def tables(path: Path, rows: Iterable[Row]) -> None:
    """Write the tables of django-contrib-comments and django-comments-xtd. The page of a row is "app.model:pk"."""
    types: dict[str, int] = {}
    with sqlite3.connect(path) as database:
        database.executescript(DJANGO_COMMENTS)
        for row in rows:
            label, _colon, pk = row.page.partition(":")
            type = types.setdefault(label, len(types) + 1)
            posted = row.posted.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
            is_public = row.state is not SourceState.PENDING
            is_removed = row.state is SourceState.REMOVED
            database.execute(
                "INSERT INTO django_comments VALUES (?, ?, ?, '', '', ?, ?, '', ?, ?, ?, 1, NULL)",
                (row.id, pk, row.name, row.text, posted, is_public, is_removed, type),
            )
            parent = row.id if row.parent is None else row.parent
            database.execute("INSERT INTO django_comments_xtd_xtdcomment VALUES (?, 0, ?, 0)", (row.id, parent))
            database.executemany(
                "INSERT INTO django_comment_flags VALUES (NULL, ?, '', ?, ?)",
                [("I liked it", row.id, 1), ("I liked it", row.id, 2), ("I disliked it", row.id, 3)],
            )
        database.executemany(
            "INSERT INTO django_content_type VALUES (?, ?, ?)",
            ((id, *label.split(".")) for label, id in types.items()),
        )


WRITERS: dict[str, Callable[[Path, Iterable[Row]], None]] = {
    "comentario": comentario,
    "commento": commento,
    "disqus": disqus,
    "django-comments": tables,
    "django-comments-xtd": tables,
    "isso": isso,
    "json-lines": json_lines,
    "remark42": remark42,
}
# The states that each system has, in addition to public and removed.
STATES = {
    "comentario": {SourceState.PENDING},
    "commento": {SourceState.PENDING, SourceState.SPAM},
    "disqus": {SourceState.SPAM},
    "django-comments": {SourceState.PENDING},
    "django-comments-xtd": {SourceState.PENDING},
    "isso": {SourceState.PENDING},
    "json-lines": {SourceState.PENDING, SourceState.SPAM},
    "remark42": set(),
}
