"""Upgrade stored documents to the current version of their type, and refresh their derived data.

Editors can keep saving while this code runs.
"""

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from pymongo.errors import WriteError

from marginalia.mongo.connection import Document, database
from marginalia.mongo.reading import MALFORMED
from marginalia.mongo.servers import first_clause
from nodes.collections import TRASH, home_of, node_filter
from nodes.content import upgrading
from nodes.errors import NodeError
from nodes.search import words
from nodes.services import derived, vocabulary
from nodes.services.retrying import retry_compare_and_set
from nodes.services.site import invalidate
from nodes.services.write import writable
from nodes.types import Expected

# Number of documents that each batch of the cursor contains.
BATCH = 200


class Outcome(enum.Enum):
    """The outcome of upgrading a document, or the expected outcome in a dry run."""

    UPGRADED = enum.auto()  # The document was stored with an older version of its type.
    REFRESHED = enum.auto()  # Only the document's derived data was outdated.
    CURRENT = enum.auto()  # The document was up to date, or it no longer exists.
    LEFT = enum.auto()  # The document can't be upgraded.


@dataclass(frozen=True)
class UpgradeResult:
    """The result of upgrading a document. If the document can't be upgraded, `why` is the reason."""

    id: ObjectId
    title: str
    outcome: Outcome
    why: str = ""


# The filter and the update for upgrading a document, and the outcome.
Change = tuple[dict[str, Any], dict[str, Any], Outcome]


def count(type: str) -> int:
    """Return the number of documents of a type, including those in the trash. `upgrade` checks all of them."""
    return sum(database()[name].count_documents(_query(type, name)) for name in (home_of(type), TRASH))


def upgrade(type: str, *, dry_run: bool = False) -> Iterator[UpgradeResult]:
    """Upgrade all documents of a type, including drafts and the trash, and yield a result for each document.

    An upgrade isn't an edit: nonces and the history don't change, so open forms can still be saved. If an editor saves
    a document before its upgrade is written, the document is read again. Documents that can't be upgraded aren't
    changed. The upgrade can be interrupted and repeated at any time, and skips documents that are up to date. If
    `dry_run` is true, nothing is written.
    """
    home = home_of(type)
    left = set[ObjectId]()
    is_changed = False
    fields = {"metadata": 1, "draft": 1, "derived": 1}
    try:
        # The trash is read before and after the other collection, so that nodes that move between them are found.
        for collection in (TRASH, home) if dry_run else (TRASH, home, TRASH):
            for stored in database()[collection].find(_query(type, collection), fields).batch_size(BATCH):
                if stored["_id"] in left:
                    continue
                try:
                    outcome = _outcome(stored) if dry_run else _write(stored, collection)
                except (NodeError, WriteError, *MALFORMED) as error:
                    left.add(stored["_id"])
                    yield UpgradeResult(stored["_id"], _title(stored), Outcome.LEFT, _reason(error))
                    continue
                is_changed = is_changed or outcome is not Outcome.CURRENT
                yield UpgradeResult(stored["_id"], _title(stored), outcome)
    finally:
        if is_changed and not dry_run:
            invalidate()


def _query(type: str, collection: str) -> dict[str, Any]:
    return {"metadata.type": type, **node_filter(collection)}


def _write(stored: Document, collection: str) -> Outcome:
    """Upgrade a document and return the outcome, which is CURRENT if the document is gone.

    This function can raise TooBusy.
    """

    def attempt() -> Outcome | None:
        nonlocal stored
        change = _change(stored)
        if change is None:
            return Outcome.CURRENT
        unchanged, update, outcome = change
        if derived_data := update.get("$set", {}).get("derived"):
            vocabulary.learn(stored["metadata"], derived_data["language"], words.split(derived_data["text"]))
        if database()[collection].update_one({**unchanged, **node_filter(collection)}, update).matched_count:
            return outcome
        again = database()[collection].find_one({"_id": stored["_id"]}, {"metadata": 1, "draft": 1, "derived": 1})
        if again is None:
            return Outcome.CURRENT
        stored = again
        return None

    return retry_compare_and_set(attempt)


def _outcome(stored: Document) -> Outcome:
    change = _change(stored)
    return change[2] if change else Outcome.CURRENT


def _change(stored: Document) -> Change | None:
    """Return the change that upgrades a document, or None if it is up to date. This function can raise NodeError."""
    live = writable(stored["metadata"])
    unchanged = Expected.of(stored).as_filter()
    derived_data = derived.derive(live)
    is_older = live is not stored["metadata"]
    changes: dict[str, Any] = {}
    gone: dict[str, str] = {}
    if is_older:
        changes |= _shape("metadata", live)
    if is_older or stored.get("derived") != derived_data:
        changes["derived"] = derived_data
        # Derived data depends on tags, but changing tags doesn't change the nonce, so the filter must contain the tags.
        unchanged["metadata.tags"] = live["tags"]
    if "draft" in stored:
        before = upgrading.draft_metadata(stored)
        draft = writable(before)
        refs = derived.references({**live, **draft}).get("refs")
        if draft is not before:
            is_older = True
            changes |= _shape("draft.metadata", draft)
        if refs != stored["draft"].get("refs"):
            changes |= {"draft.refs": refs} if refs else {}
            gone = {} if refs else {"draft.refs": ""}
        if "due" in stored["draft"] and stored["draft"]["derived"] != (
            shown := derived.derive_for_readers({**live, **draft})
        ):
            changes["draft.derived"] = shown
        unchanged["draft.due"] = stored["draft"].get("due")
        unchanged["draft.nonce"] = stored["draft"]["nonce"]
        unchanged[f"draft.metadata.{upgrading.VERSION}"] = before.get(upgrading.VERSION)
    if not changes and not gone:
        return None
    update = {operator: fields for operator, fields in (("$set", changes), ("$unset", gone)) if fields}
    return unchanged, update, Outcome.UPGRADED if is_older else Outcome.REFRESHED


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
