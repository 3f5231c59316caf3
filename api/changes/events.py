"""What an event of the change stream tells: which node, photo or discussion changed, and how far that goes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from bson import ObjectId

from api.changes.stored import COMMENTS, NODE, RESET, SETTINGS
from marginalia.comments.types import Target
from marginalia.mongo.connection import Document
from nodes.collections import NODES, SITE, TRASH, home_of
from reader.change_stream import DISCUSSIONS, ENDING_OPERATIONS

_UPKEEP = frozenset({"metadata.locked", "metadata.superseded", "metadata.doomed"})
# With these a section takes along all that stands in it; the first three take a node from readers.
_SEEN_BY = frozenset({"metadata.parent_id", "metadata.published", "metadata.expires"})
_PLACED_BY = _SEEN_BY | {"metadata.slug"}


@dataclass(frozen=True)
class Change:
    """A change before it is looked at who may know of it. `home`: the collection of a node or photo, "" of what is neither.

    `is_placed`: where it stands, or who sees it, has changed; `is_draft`: only the draft beside it has; `left`: nonces of
    versions that may have taken it from readers (None: one that is not known); `trashed`: what went to the trash.
    """

    token: Document
    kind: str
    id: Any
    home: str = ""
    nonce: ObjectId | None = None
    is_placed: bool = False
    is_draft: bool = False
    left: tuple[ObjectId | None, ...] = ()
    trashed: Document | None = None


def changes(events: Iterable[Document]) -> list[Change]:
    """Return what events tell, in their order: what changes several times stands once, where it did so last."""
    found: dict[tuple[str, str], Change] = {}
    for change in filter(None, map(_change, events)):
        key = change.kind, str(change.id)
        before = found.pop(key, None)
        found[key] = _both(before, change) if before else change
    return list(found.values())


def ends_unversioned(events: Iterable[Document]) -> bool:
    """Return whether something changed after which the site got no new version: until then a page that is kept may show what
    was before."""
    behind = 0
    for event in events:
        if event["ns"].get("coll") == SITE and "texts" in event["fields"]:
            # That of one save of a text tells nothing of another change.
            behind = 0 if "lists" in event["fields"] else max(behind - 1, 0)
        elif (change := _change(event)) and change.kind in (NODE, SETTINGS):
            # Pages show nothing of a draft, and hold until the next one that is scheduled is due.
            behind += not change.is_draft or "due" in event
    return behind > 0


def _change(event: Document) -> Change | None:
    token = event["_id"]
    operation = event["operationType"]
    if operation in ENDING_OPERATIONS:
        return Change(token, RESET, "")
    key = event["documentKey"]["_id"]
    collection = event["ns"]["coll"]
    fields = event["fields"]
    if collection == SITE:
        is_told = operation != "update" or any(name.startswith("settings") for name in fields)
        return Change(token, SETTINGS, key) if is_told else None
    if collection == DISCUSSIONS:
        return Change(token, COMMENTS, str(Target.of_id(key))) if operation != "update" or "version" in fields else None
    return _of_node(token, operation, collection, key, event)


def _of_node(token: Document, operation: str, collection: str, key: ObjectId, event: Document) -> Change | None:
    nonce = event.get("nonce")
    metadata = event.get("metadata") or {}
    if collection == TRASH:
        if operation != "insert":
            return None
        trashed = {"_id": key, "metadata": metadata}
        return Change(token, NODE, key, home_of(metadata["type"]), is_placed=True, trashed=trashed)
    if operation != "update":
        # A version that replaces another may have taken it from readers.
        left = (nonce,) if operation == "replace" else ()
        return Change(token, NODE, key, collection, nonce, is_placed=True, left=left)
    fields = {name for name in event["fields"] if _is_told(collection, name)}
    if not fields:
        return None
    return Change(
        token,
        NODE,
        key,
        collection,
        nonce,
        is_placed=bool(_PLACED_BY & fields),
        is_draft=all(name.partition(".")[0] == "draft" for name in fields),
        left=(nonce,) if _SEEN_BY & fields else (),
    )


def _is_told(collection: str, field: str) -> bool:
    """Return whether a field is one that the API answers: of nodes all but embedded comments and which draft was discarded, of
    photos the metadata, but for what their upkeep notes there."""
    if collection == NODES:
        return field.partition(".")[0] not in ("comments", "comments_epoch", "discarded")
    return field.startswith("metadata.") and field not in _UPKEEP


def _both(before: Change, after: Change) -> Change:
    return replace(
        after,
        home=after.home or before.home,
        is_placed=before.is_placed or after.is_placed,
        is_draft=before.is_draft and after.is_draft,
        left=before.left + after.left,
        trashed=after.trashed or before.trashed,
    )
