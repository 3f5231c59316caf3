"""The change feed as stored in cms.changes: one document per change, with consecutive numbers.

The last entry stores the relay's position: `resume` for the change stream, and `until` for scheduled changes.

A relay gives a new entry the number after the last entry that it has read. Because numbers are unique, a relay that
hasn't read the newest entry can't append anything. Several relays can therefore run without a lock.

Readers see different numbers (`shown`), which count only the public entries. If readers saw the actual numbers, gaps
would reveal how often hidden pages are saved.
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

    Attributes:
        key: The id of the event or scheduled change. A unique index on it prevents a second entry for the change.
        is_public: Whether readers can see the entry.
        resume: The change stream's resume token, or None if the relay has to start a new list after this entry.
        until: The time up to which scheduled changes have been appended.
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
    """The last entry, as read by a relay.

    Attributes:
        number: The entry's number.
        shown: The number that readers see for the last public entry.
    """

    number: int
    shown: int
    resume: Document | None
    until: datetime
    at: datetime
    marked: datetime


class Overtaken(Exception):
    """Another relay has appended an entry after the last entry that this relay has read."""


def last() -> LastEntry | None:
    """Return the last entry, or None if the list is empty."""
    document = database()[CHANGES].find_one(sort=[("_id", -1)])
    return _last_entry(document) if document else None


def append(seen: LastEntry | None, entries: Sequence[Entry], *, number: int = FIRST) -> LastEntry:
    """Append entries after `seen`. Return the new last entry.

    Args:
        seen: The last entry that the relay has read, or None to start a list.
        entries: The entries to append.
        number: The lowest number that the first new entry can have.

    Raises:
        Overtaken: Another relay has appended entries after `seen`. Some of `entries` may have been stored.
    """
    moment = now()
    first = number
    shown = number - 1
    if seen:
        # The times of the entries never decrease, even if the clocks of two machines differ, so the oldest entries
        # expire first.
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
    """Store the relay's progress in the last entry when there is nothing to append.

    Without this update, the last entry would expire even though a relay is running, and MongoDB would eventually
    discard the history that the relay needs to resume.
    """
    moment = max(now(), seen.marked)
    database()[CHANGES].update_one(
        {"_id": seen.number, "resume": seen.resume}, {"$set": {"resume": resume, "until": until, "marked": moment}}
    )


def existing_keys(keys: Sequence[str]) -> set[str]:
    """Return the `keys` that the list already contains."""
    return {entry["key"] for entry in database()[CHANGES].find({"key": {"$in": list(keys)}}, {"key": 1})}


def bounds(*, public_only: bool) -> tuple[int, int] | None:
    """Return the numbers of the first and last entries, or None if the list is empty.

    If `public_only` is true, only public entries count, and the numbers are those that readers see (`shown`). Each
    entry stores the `shown` of the latest public entry, so the last number is known even after all public entries have
    expired. In this case, the first number is last + 1.
    """
    newest = next(iter(_read(0, -1, 1, public_only=False)), None)
    last = newest.get("shown" if public_only else "_id") if newest else None
    if last is None:
        return None
    first = next(iter(_read(0, 1, 1, public_only=public_only)), None)
    return first["number"] if first else last + 1, last


def entries_after(number: int, limit: int, *, public_only: bool) -> list[Document]:
    """Return up to `limit` entries after `number`, in order.

    Each entry has a `number`. If `public_only` is true, this is the number that readers see.
    """
    return _read(number, 1, limit, public_only=public_only)


def _read(after: int, direction: int, limit: int, *, public_only: bool) -> list[Document]:
    number = "shown" if public_only else "_id"
    query = {**({"public": True} if public_only else {}), number: {"$gt": after}}
    # Once a client has seen a number, no other entry must ever get this number, even if the primary fails. This
    # requires the majority read concern.
    entries = database()[CHANGES].with_options(read_concern=ReadConcern("majority"))
    documents = entries.find(query, {"resume": 0, "until": 0}).sort(number, direction).limit(limit)
    return [{**entry, "number": entry[number]} for entry in documents]


def _last_entry(stored: dict[str, Any]) -> LastEntry:
    # Entries from older releases have no `shown` number. Leave out the resume token of such an entry, so that the relay
    # starts a new list.
    shown, resume = (stored["shown"], stored["resume"]) if "shown" in stored else (0, None)
    return LastEntry(stored["_id"], shown, resume, stored["until"], stored["at"], stored["marked"])
