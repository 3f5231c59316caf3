"""The list of changes as it is stored in cms.changes: one document per change, with consecutive numbers.

The last entry stores where the relay continues: `resume` in the change stream, `until` in scheduled changes. The next
entry gets the number after it, and numbers are unique. A relay that has not seen the last entry therefore fails to
append. So two relays need no lock.

Readers get numbers of their own, `shown`, which count only public entries. Otherwise gaps would count saves of hidden
pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any

from bson import ObjectId
from pymongo.errors import BulkWriteError
from pymongo.read_concern import ReadConcern

from api.collections import CHANGES
from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database, non_duplicate_errors

NODE = "node"
PHOTO = "photo"
SUBTREE = "subtree"
SETTINGS = "settings"
COMMENTS = "comments"
RESET = "reset"
KINDS = (NODE, PHOTO, SUBTREE, SETTINGS, COMMENTS, RESET)
FIRST = 1


@dataclass(frozen=True)
class Entry:
    """An entry to append.

    `key`: identifies the event or moment, so that it is appended only once. `resume`: the token to continue from; None
    if the history is lost. `until`: scheduled changes until then have been appended. `is_public`: readers can see the
    entry.
    """

    key: str
    kind: str
    id: str
    nonce: ObjectId | None
    is_public: bool
    resume: Document | None
    until: datetime


@dataclass(frozen=True)
class LastEntry:
    """The last entry, as a relay has seen it. `shown`: the number that readers have for the last public entry."""

    number: int
    shown: int
    resume: Document | None
    until: datetime
    at: datetime
    marked: datetime


class Overtaken(Exception):
    """Another relay has appended since."""


def last() -> LastEntry | None:
    """Return the last entry, None if the list is empty."""
    document = database()[CHANGES].find_one(sort=[("_id", -1)])
    return _last_entry(document) if document else None


def append(seen: LastEntry | None, entries: Sequence[Entry], *, number: int = FIRST) -> LastEntry:
    """Append entries after `seen`, the first with the number `number` or higher. Return the new last entry.

    Raises Overtaken if the list continues after `seen`. In this case a first part of the entries may have been stored.
    """
    moment = now()
    first = number
    shown = number - 1
    if seen:
        # Times never decrease, even if the clocks of two machines differ, so the oldest entries expire first.
        moment = max(moment, seen.at, seen.marked)
        first = max(number, seen.number + 1)
        shown = max(shown, seen.shown)
    public_numbers = accumulate((int(entry.is_public) for entry in entries), initial=shown)
    next(public_numbers)
    documents = [
        {
            "_id": first + index,
            "shown": public_number,
            "key": entry.key,
            "resume": entry.resume,
            "until": entry.until,
            "kind": entry.kind,
            "id": entry.id,
            "nonce": entry.nonce,
            "public": entry.is_public,
            "at": moment,
            "marked": moment,
        }
        for index, (entry, public_number) in enumerate(zip(entries, public_numbers, strict=True))
    ]
    try:
        database()[CHANGES].insert_many(documents)
    except BulkWriteError as error:
        if non_duplicate_errors(error):
            raise
        raise Overtaken from error
    return _last_entry(documents[-1])


def mark(seen: LastEntry, resume: Document, until: datetime) -> None:
    """Store the relay's progress at the last entry, when there was nothing to append.

    Without this, the history of the change stream would end behind the stored token, and the last entry would expire
    while a relay runs.
    """
    moment = max(now(), seen.marked)
    database()[CHANGES].update_one(
        {"_id": seen.number, "resume": seen.resume}, {"$set": {"resume": resume, "until": until, "marked": moment}}
    )


def existing_keys(keys: Sequence[str]) -> set[str]:
    """Return which of some keys the list already has."""
    return {entry["key"] for entry in database()[CHANGES].find({"key": {"$in": list(keys)}}, {"key": 1})}


def bounds(*, public_only: bool) -> tuple[int, int] | None:
    """Return the first and the last number of the list, None if it is empty.

    The last entry stores the last number of readers too. If all public entries have expired, the first number is the
    one after it.
    """
    newest = next(iter(_read(0, -1, 1, public_only=False)), None)
    last = newest.get("shown" if public_only else "_id") if newest else None
    if last is None:
        return None
    first = next(iter(_read(0, 1, 1, public_only=public_only)), None)
    return first["number"] if first else last + 1, last


def entries_after(number: int, limit: int, *, public_only: bool) -> list[Document]:
    """Return entries after `number`, in order, `limit` at most.

    Each has a `number`. For readers (`public_only`), this is its number among the public entries.
    """
    return _read(number, 1, limit, public_only=public_only)


def _read(after: int, direction: int, limit: int, *, public_only: bool) -> list[Document]:
    number = "shown" if public_only else "_id"
    query = {**({"public": True} if public_only else {}), number: {"$gt": after}}
    # A number that a client has seen must never belong to another entry, not even after the loss of a primary.
    entries = database()[CHANGES].with_options(read_concern=ReadConcern("majority"))
    documents = entries.find(query, {"resume": 0, "until": 0}).sort(number, direction).limit(limit)
    return [{**entry, "number": entry[number]} for entry in documents]


def _last_entry(stored: dict[str, Any]) -> LastEntry:
    # An entry of an older release has no number for readers, so the list starts again after it.
    shown, resume = (stored["shown"], stored["resume"]) if "shown" in stored else (0, None)
    return LastEntry(stored["_id"], shown, resume, stored["until"], stored["at"], stored["marked"])
