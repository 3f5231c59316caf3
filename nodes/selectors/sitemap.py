"""What a sitemap lists: every live node, cut into pages whose addresses do not move."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from bson import ObjectId

from mongo.connection import database
from nodes import kept
from nodes.collections import NODES
from nodes.kinds import ENTRY, PAGE
from nodes.selectors.listing import EVER, OLDEST_FIRST, live
from nodes.tree import Tree

# The protocol allows 50,000 addresses a file; this many are made in a second or so.
SIZE = 10_000
TYPES = (PAGE, ENTRY)


@dataclass(frozen=True)
class Start:
    """Where a page begins: at a time of publishing and an id."""

    published: datetime
    id: ObjectId


@dataclass(frozen=True)
class Entry:
    """A line of a sitemap."""

    parent_id: ObjectId | None
    slug: str
    updated: datetime


def starts(sections: Tree, type: str, moment: datetime) -> tuple[Start, ...]:
    """Return where each page of the live nodes of a type begins, the oldest first.

    One pass over index keys, kept in process under the site's version until the next node appears or expires.
    """

    def read() -> tuple[tuple[Start, ...], datetime | None]:
        found: list[Start] = []
        due: datetime | None = None
        count = 0
        for key in _keys(sections, type, moment):
            published, expires = key["metadata"]["published"], key["metadata"]["expires"]
            change = published if published > moment else expires
            due = change if due is None else min(due, change)
            if published <= moment:
                if count % SIZE == 0:
                    found.append(Start(published, key["_id"]))
                count += 1
        section_due = sections.next_due(moment)
        return tuple(found), min((d for d in (due, section_due) if d), default=None)

    return kept.under_version(("sitemap", type), moment, read)


def _keys(sections: Tree, type: str, moment: datetime) -> Iterator[dict]:
    wanted = {
        "metadata.type": type,
        "metadata.published": {"$gt": EVER},
        "metadata.expires": {"$gt": moment},
        "metadata.parent_id": {"$in": sections.live_ids(moment)},
    }
    fields = {"metadata.published": 1, "metadata.expires": 1}
    return database()[NODES].find(wanted, fields).sort(OLDEST_FIRST).hint("by_type").batch_size(SIZE)


def entries(sections: Tree, type: str, number: int, moment: datetime) -> Iterator[Entry] | None:
    """Return the lines of page `number` (from 1) of a type; None if there is no such page."""
    pages = starts(sections, type, moment)
    if not 1 <= number <= len(pages):
        return None
    start = pages[number - 1]
    wanted = {
        "metadata.type": type,
        "metadata.parent_id": {"$in": sections.live_ids(moment)},
        **live(moment),
        "metadata.published": {"$gte": start.published, "$lte": moment},
        "$or": [
            {"metadata.published": {"$gt": start.published}},
            {"metadata.published": start.published, "_id": {"$gte": start.id}},
        ],
    }
    fields = {f"metadata.{name}": 1 for name in ("parent_id", "slug", "updated")}
    found = database()[NODES].find(wanted, fields).sort(OLDEST_FIRST).hint("by_type").limit(SIZE).batch_size(SIZE)
    return (Entry(d["metadata"]["parent_id"], d["metadata"]["slug"], d["metadata"]["updated"]) for d in found)
