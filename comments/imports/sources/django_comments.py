"""django-contrib-comments and django-comments-xtd: the tables in an SQL database of the project.

The tables are read with SQL, so the apps no longer have to be installed.
"""

import re
from collections.abc import Iterator
from typing import Any

from django.contrib.auth import get_user_model
from django.db import DatabaseError, connections, router
from django.utils.connection import ConnectionDoesNotExist

from marginalia.comments.imports.records import BrokenSource, SourceComment, SourceState, TextFormat
from marginalia.comments.imports.sources import fields

_COLUMNS = """c.id, t.app_label, t.model, c.object_pk, c.user_id, c.user_name, c.user_email, c.user_url, c.comment,
    c.submit_date, c.is_public, c.is_removed"""
_FROM = "FROM django_comments c JOIN django_content_type t ON t.id = c.content_type_id"
_FLAGS = "(SELECT count(*) FROM django_comment_flags f WHERE f.comment_id = c.id AND f.flag = 'I {0} it')"
_QUERY = f"SELECT {_COLUMNS}, 0 AS parent_id, 0 AS likes, 0 AS dislikes {_FROM} ORDER BY c.id"
_XTD_QUERY = f"""SELECT {_COLUMNS}, x.parent_id, {_FLAGS.format("liked")} AS likes,
    {_FLAGS.format("disliked")} AS dislikes {_FROM}
    JOIN django_comments_xtd_xtdcomment x ON x.comment_ptr_id = c.id ORDER BY c.id"""
_BATCH = 1_000
# django-comments-xtd renders comments that begin with this line as Markdown.
_MARKDOWN = re.compile(r"#!markdown\s*\n")


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
            has_accounts = router.db_for_read(get_user_model()) == alias
            while rows := cursor.fetchmany(_BATCH):
                for row in rows:
                    yield _comment(dict(zip(names, row, strict=True)), has_accounts=has_accounts)
    except (DatabaseError, ConnectionDoesNotExist) as error:
        raise BrokenSource(f"The comments in the database “{alias}” can't be read: {error}") from error


def _comment(values: dict[str, Any], *, has_accounts: bool) -> SourceComment:
    id = values["id"]
    parent = values["parent_id"]
    text = fields.text(values, "comment")
    markdown = _MARKDOWN.match(text)
    return SourceComment(
        id=str(id),
        address=f"{values['app_label']}.{values['model']}:{values['object_pk']}",
        posted=fields.time(values["submit_date"], f"comment {id}"),
        name=fields.text(values, "user_name"),
        email=fields.text(values, "user_email"),
        website=fields.text(values, "user_url"),
        text=text[markdown.end() :] if markdown else text,
        format=TextFormat.MARKDOWN if markdown else TextFormat.PLAIN,
        # A root comment of django-comments-xtd is its own parent.
        parent=str(parent) if parent and parent != id else "",
        state=SourceState.REMOVED
        if values["is_removed"]
        else SourceState.PUBLIC
        if values["is_public"]
        else SourceState.PENDING,
        anchor=f"c{id}",
        likes=fields.number(values, "likes"),
        dislikes=fields.number(values, "dislikes"),
        account=fields.text(values, "user_id") if has_accounts else "",
    )
