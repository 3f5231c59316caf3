"""Writing stored documents of older versions of a type through, in the present shape, while editors save."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from pymongo.errors import WriteError

from mongo.connection import Document, database
from mongo.servers import first_clause
from nodes import content
from nodes.collections import TRASH, home_of, standing
from nodes.content import upgrading
from nodes.errors import NodeError, TooBusy
from nodes.services import derived
from nodes.services.checking import MALFORMED_RAISES
from nodes.services.editing import ATTEMPTS
from nodes.services.site import touch
from nodes.services.write import writable
from nodes.types import Expected

# Documents that one reply of the server brings.
BATCH = 200


@dataclass(frozen=True)
class Looked:
    """A document that was not of the present version of its type. `why`: what kept it from being upgraded, "" if it was."""

    id: ObjectId
    title: str
    why: str = ""


def outdated(type: str) -> dict[str, Any]:
    """Return the filter of the nodes of a type that are stored, or whose draft is, in another version than the present one."""
    present = content.get(type).schema_version
    # Where no version is stored, it is the first.
    other = {"$nin": [present, None] if present == upgrading.FIRST else [present]}
    draft = {"draft": {"$exists": True}, f"draft.metadata.{upgrading.VERSION}": other}
    return {"metadata.type": type, "$or": [{f"metadata.{upgrading.VERSION}": other}, draft]}


def count(type: str) -> int:
    """Return how many documents `upgrade` will look at."""
    return sum(database()[name].count_documents(_query(type, name)) for name in (home_of(type), TRASH))


def upgrade(type: str, *, dry_run: bool = False) -> Iterator[Looked]:
    """Store what there is of a type in its present shape, drafts and the trash too; yield each document.

    It is no edit: nonces and history stay, so that forms that are open go on. A document that is saved in between is read
    anew. What cannot be upgraded is left as it is. May be stopped and run again at any time. `dry_run`: write nothing.
    """
    home, left, is_changed = home_of(type), set[ObjectId](), False
    fields = {"metadata": 1, "draft": 1}
    try:
        # Twice: in the middle of going to or coming from the trash a node is seen in one of the looks.
        for collection in (home, TRASH) if dry_run else (home, TRASH, home):
            for stored in database()[collection].find(_query(type, collection), fields).batch_size(BATCH):
                if stored["_id"] in left:
                    continue
                try:
                    is_done = _update(stored, collection) is not None if dry_run else _write(stored, collection)
                except (NodeError, WriteError, *MALFORMED_RAISES) as error:
                    left.add(stored["_id"])
                    yield Looked(stored["_id"], _title(stored), _reason(error))
                    continue
                if is_done:
                    is_changed = True
                    yield Looked(stored["_id"], _title(stored))
    finally:
        if is_changed and not dry_run:
            touch()


def _query(type: str, collection: str) -> dict[str, Any]:
    return {**outdated(type), **standing(collection)}


def _write(stored: Document, collection: str) -> bool:
    """Upgrade one document; return False if that was done in between, or it is not here any more. Raises TooBusy."""
    for _attempt in range(ATTEMPTS):
        found = _update(stored, collection)
        if found is None:
            return False
        unchanged, update = found
        if database()[collection].update_one(unchanged, update).matched_count:
            return True
        again = database()[collection].find_one({"_id": stored["_id"]}, {"metadata": 1, "draft": 1})
        if again is None:
            return False
        stored = again
    raise TooBusy


def _update(stored: Document, collection: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the filter and the update that store a document in its present shape; None if it has it. Raises NodeError."""
    live = writable(stored["metadata"])
    unchanged = {**Expected.of(stored).as_filter(), **standing(collection)}
    changes: dict[str, Any] = {}
    gone: dict[str, str] = {}
    if live is not stored["metadata"]:
        changes |= _shape("metadata", live) | {"derived": derived.of(live)}
    if "draft" in stored:
        before = upgrading.draft_of(stored)
        draft = writable(before)
        if draft is not before:
            refs = {f"draft.{name}": found for name, found in derived.references({**live, **draft}).items()}
            changes |= _shape("draft.metadata", draft) | refs
            gone = {} if refs else {"draft.refs": ""}
            unchanged["draft.nonce"] = stored["draft"]["nonce"]
            unchanged[f"draft.metadata.{upgrading.VERSION}"] = before.get(upgrading.VERSION)
    return (unchanged, {"$set": changes, **({"$unset": gone} if gone else {})}) if changes else None


def _shape(path: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{path}.{name}": metadata[name] for name in ("detail", upgrading.VERSION)}


def _title(stored: Mapping[str, Any]) -> str:
    return str(stored.get("metadata", {}).get("title", ""))


def _reason(error: Exception) -> str:
    if isinstance(error, WriteError):
        return first_clause(error)
    if isinstance(error, NodeError):
        cause = error.__cause__.__cause__ if error.__cause__ else None
        return f"{error} ({type(cause).__name__}: {cause})" if cause else str(error)
    return f"{type(error).__name__}: {error}"
