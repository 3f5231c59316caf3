"""Commento and Comentario: the JSON exports of versions 1 (both) and 3 (Comentario)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from marginalia.comments.imports.records import BrokenSource, SourceComment, SourceState, TextFormat
from marginalia.comments.imports.sources import fields
from marginalia.comments.imports.sources.files import opened

# Maximum size in bytes. The file is a single JSON document, which must fit into memory.
MAX_SIZE = 200_000_000


def read(path: Path) -> Iterator[SourceComment]:
    """Yield the comments of an export, which can be compressed with gzip.

    Raises:
        BrokenSource: The file isn't an export of Commento or Comentario.
    """
    export = _load(path)
    comments = _list(export, "comments")
    is_new = any("parentId" in comment or "pageId" in comment for comment in comments)
    convert = _comentario if is_new else _commento
    yield from convert(export, comments)


def _commento(export: dict[str, Any], comments: list[dict[str, Any]]) -> Iterator[SourceComment]:
    people = {fields.text(person, "commenterHex"): person for person in _list(export, "commenters")}
    for values in comments:
        id = fields.text(values, "commentHex")
        person = people.get(fields.text(values, "commenterHex"), {})
        domain, path = fields.text(values, "domain"), fields.text(values, "path") or fields.text(values, "url")
        markdown = fields.text(values, "markdown")
        yield SourceComment(
            id=id,
            address=f"https://{domain}/{path.lstrip('/')}" if domain and "://" not in path else path,
            posted=fields.time(values.get("creationDate"), f"comment {id}"),
            name=fields.text(person, "name"),
            email=_email(fields.text(person, "email")),
            website=fields.text(person, "link"),
            text=markdown or fields.text(values, "html"),
            format=TextFormat.MARKDOWN if markdown else TextFormat.HTML,
            parent=fields.text(values, "parentHex").removeprefix("root"),
            state=_state(values),
            anchor=f"commento-{id}",
            likes=max(0, fields.number(values, "score")),
            dislikes=max(0, -fields.number(values, "score")),
        )


def _state(values: dict[str, Any]) -> SourceState:
    if values.get("deleted"):
        return SourceState.REMOVED
    states = {"approved": SourceState.PUBLIC, "flagged": SourceState.SPAM}
    return states.get(fields.text(values, "state"), SourceState.PENDING)


def _comentario(export: dict[str, Any], comments: list[dict[str, Any]]) -> Iterator[SourceComment]:
    people = {fields.text(person, "id"): person for person in _list(export, "commenters")}
    pages = {fields.text(page, "id"): fields.text(page, "path") for page in _list(export, "pages")}
    for values in comments:
        id = fields.text(values, "id")
        person = people.get(fields.text(values, "userCreated"), {})
        markdown = fields.text(values, "markdown")
        page_id = fields.text(values, "pageId")
        is_public, is_pending = values.get("isApproved"), values.get("isPending")
        yield SourceComment(
            id=id,
            address=pages.get(page_id, page_id),
            posted=fields.time(values.get("createdTime"), f"comment {id}"),
            name=fields.text(values, "authorName") or fields.text(person, "name"),
            email=fields.text(person, "email"),
            website=fields.text(person, "websiteUrl"),
            text=markdown or fields.text(values, "html"),
            format=TextFormat.MARKDOWN if markdown else TextFormat.HTML,
            parent=fields.text(values, "parentId"),
            state=SourceState.REMOVED
            if values.get("isDeleted")
            else SourceState.PUBLIC
            if is_public and not is_pending
            else SourceState.PENDING
            if is_pending
            else SourceState.SPAM,
            anchor=f"comentario-{id}",
            likes=max(0, fields.number(values, "score")),
            dislikes=max(0, -fields.number(values, "score")),
        )


def _email(email: str) -> str:
    # Commento stores this instead of an address for people without an account.
    return "" if email in ("undefined", "anonymous") else email


def _load(path: Path) -> dict[str, Any]:
    with opened(path) as file:
        data = file.read(MAX_SIZE + 1)
    if len(data) > MAX_SIZE:
        raise BrokenSource("The file is too large.")
    try:
        export = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise BrokenSource(f"The file isn't valid JSON: {error}.") from error
    if not isinstance(export, dict) or "comments" not in export:
        raise BrokenSource("The file isn't an export of Commento or Comentario.")
    return export


def _list(export: dict[str, Any], name: str) -> list[dict[str, Any]]:
    value = export.get(name) or []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BrokenSource(f"“{name}” isn't a list of objects.")
    return value
