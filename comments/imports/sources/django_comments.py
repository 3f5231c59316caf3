"""django-contrib-comments and django-comments-xtd: the tables in an SQL database of the project.

The tables are read with SQL, so the apps no longer have to be installed.
"""

from collections.abc import Iterator
from typing import Any

from django.db import DatabaseError, connections
from django.utils.connection import ConnectionDoesNotExist

from marginalia.comments.imports.records import BrokenSource, SourceComment, SourceState, TextFormat
from marginalia.comments.imports.sources import fields

_COLUMNS = """c.id, t.app_label, t.model, c.object_pk, c.user_name, c.user_email, c.user_url, c.comment,
    c.submit_date, c.is_public, c.is_removed"""
_FROM = "FROM django_comments c JOIN django_content_type t ON t.id = c.content_type_id"
_QUERY = f"SELECT {_COLUMNS}, 0 AS parent_id {_FROM} ORDER BY c.id"
_XTD_QUERY = f"""SELECT {_COLUMNS}, x.parent_id {_FROM}
    JOIN django_comments_xtd_xtdcomment x ON x.comment_ptr_id = c.id ORDER BY c.id"""
_BATCH = 1_000


def read(alias: str) -> Iterator[SourceComment]:
    """Yield the comments of django-contrib-comments in the database `alias`.

    Raises:
        BrokenSource: The tables can't be read.
    """
    return _read(alias, _QUERY)


def read_xtd(alias: str) -> Iterator[SourceComment]:
    """Yield the comments of django-comments-xtd in the database `alias`, with their threads.

    Raises:
        BrokenSource: The tables can't be read.
    """
    return _read(alias, _XTD_QUERY)


def _read(alias: str, query: str) -> Iterator[SourceComment]:
    try:
        if connections[alias].vendor == "mongodb":
            raise BrokenSource(f"The database “{alias}” isn't an SQL database. Name another one with --database.")
        with connections[alias].cursor() as cursor:
            cursor.execute(query)
            names = [column[0] for column in cursor.description]
            while rows := cursor.fetchmany(_BATCH):
                for row in rows:
                    yield _comment(dict(zip(names, row, strict=True)))
    except (DatabaseError, ConnectionDoesNotExist) as error:
        raise BrokenSource(f"The comments in the database “{alias}” can't be read: {error}") from error


def _comment(values: dict[str, Any]) -> SourceComment:
    id = values["id"]
    parent = values["parent_id"]
    return SourceComment(
        id=str(id),
        address=f"{values['app_label']}.{values['model']}:{values['object_pk']}",
        posted=fields.time(values["submit_date"], f"comment {id}"),
        name=fields.text(values, "user_name"),
        email=fields.text(values, "user_email"),
        website=fields.text(values, "user_url"),
        text=fields.text(values, "comment"),
        format=TextFormat.PLAIN,
        # A root comment of django-comments-xtd is its own parent.
        parent=str(parent) if parent and parent != id else "",
        state=SourceState.REMOVED
        if values["is_removed"]
        else SourceState.PUBLIC
        if values["is_public"]
        else SourceState.PENDING,
        anchor=f"c{id}",
    )
