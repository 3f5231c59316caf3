"""The list of changes as it is stored: cms.changes, one document a change, numbered in order.

The last entry says where the relay goes on: `resume` in the change stream, `until` in what falls due by time. The next entry
has the number after it, and numbers are unique: who appends has seen the last entry, or fails. That is the fence between two
relays, and it needs no lock.

Readers get numbers of their own, `shown`, which count public entries only. Otherwise gaps would count saves of hidden pages.
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
    """What is appended. `key`: of the event or the moment that it tells of, which is told once; `resume`: the token to go on
    from, None where the history is lost; `until`: what was due till then is told; `is_public`: readers may know of it."""

    key: str
    kind: str
    id: str
    nonce: ObjectId | None
    is_public: bool
    resume: Document | None
    until: datetime


@dataclass(frozen=True)
class Last:
    """The end of the list, as an appender has seen it. `shown`: the number of the last public entry, as readers get it."""

    number: int
    shown: int
    resume: Document | None
    until: datetime
    at: datetime
    marked: datetime


class Overtaken(Exception):
    """Another relay has appended since."""


def last() -> Last | None:
    """Return the end of the list, None of one that has not begun."""
    found = database()[CHANGES].find_one(sort=[("_id", -1)])
    return _last(found) if found else None


def append(seen: Last | None, entries: Sequence[Entry], *, number: int = FIRST) -> Last:
    """Append entries behind the end that was seen, the first with `number` at least; return the end.

    Raises Overtaken if the list goes on behind what was seen: some of the entries may be stored by then, in their order.
    """
    moment = now()
    first = number
    shown = number - 1
    if seen:
        # What is older ends first, whatever the clocks of two machines say.
        moment = max(moment, seen.at, seen.marked)
        first = max(number, seen.number + 1)
        shown = max(shown, seen.shown)
    shown_numbers = accumulate((int(entry.is_public) for entry in entries), initial=shown)
    next(shown_numbers)
    documents = [
        {
            "_id": first + place,
            "shown": shown_number,
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
        for place, (entry, shown_number) in enumerate(zip(entries, shown_numbers, strict=True))
    ]
    try:
        database()[CHANGES].insert_many(documents)
    except BulkWriteError as error:
        if non_duplicate_errors(error):
            raise
        raise Overtaken from error
    return _last(documents[-1])


def mark(seen: Last, resume: Document, until: datetime) -> None:
    """Note at the last entry how far the relay has come with nothing to tell: the stream's history ends behind it, and so does
    the horizon, which never takes the last entry while a relay runs."""
    moment = max(now(), seen.marked)
    database()[CHANGES].update_one(
        {"_id": seen.number, "resume": seen.resume}, {"$set": {"resume": resume, "until": until, "marked": moment}}
    )


def told(keys: Sequence[str]) -> set[str]:
    """Return those of some keys that are in the list."""
    return {found["key"] for found in database()[CHANGES].find({"key": {"$in": list(keys)}}, {"key": 1})}


def ends(*, public_only: bool) -> tuple[int, int] | None:
    """Return the first and the last number of the list, None if it has not begun.

    The last entry carries the last number of readers too, even if all public entries have expired: then the first is after it.
    """
    final = next(iter(_read(0, -1, 1, public_only=False)), None)
    last = final.get("shown" if public_only else "_id") if final else None
    if last is None:
        return None
    first = next(iter(_read(0, 1, 1, public_only=public_only)), None)
    return first["number"] if first else last + 1, last


def since(number: int, most: int, *, public_only: bool) -> list[Document]:
    """Return what comes after a number, in order, each with its `number`: for readers, `shown` of public entries."""
    return _read(number, 1, most, public_only=public_only)


def _read(after: int, direction: int, most: int, *, public_only: bool) -> list[Document]:
    number = "shown" if public_only else "_id"
    query = {**({"public": True} if public_only else {}), number: {"$gt": after}}
    # A number that was told must never be another's, also after a primary was lost.
    entries = database()[CHANGES].with_options(read_concern=ReadConcern("majority"))
    found = entries.find(query, {"resume": 0, "until": 0}).sort(number, direction).limit(most)
    return [{**entry, "number": entry[number]} for entry in found]


def _last(stored: dict[str, Any]) -> Last:
    # An entry of an older release has no number for readers, so the list begins again after it.
    shown, resume = (stored["shown"], stored["resume"]) if "shown" in stored else (0, None)
    return Last(stored["_id"], shown, resume, stored["until"], stored["at"], stored["marked"])
