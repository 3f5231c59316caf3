"""What a sitemap lists: every live node, cut into pages whose addresses do not move."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from marginalia.mongo.reading import aggregate_with_hint, read_documents, read_with_hint
from nodes.collections import ASSET_FILES, NODES, home_of, keys_of
from nodes.content import registry
from nodes.models import as_shown, version_cache
from nodes.models.dependencies import note_texts, on_lists
from nodes.models.tree import Tree
from nodes.models.validation import check_metadata
from nodes.selectors import due
from nodes.selectors.listing import BEGINNING, OLDEST_FIRST, TIMES, Cursor, for_readers, live

# The protocol allows 50,000 addresses a file; so many are made in the time of any other page.
SIZE = 2_000


@dataclass(frozen=True)
class Entry:
    """A line of a sitemap."""

    parent_id: ObjectId | None
    slug: str
    updated: datetime


def starts(sections: Tree, type: str, moment: datetime) -> tuple[Cursor, ...]:
    """Return where each page of the live nodes of a type begins, the oldest first.

    One pass over index keys, kept in process under the site's version until anything on it is next due.
    """

    def read() -> tuple[tuple[Cursor, ...], datetime | None]:
        stored = database()[home_of(type)]
        wanted = _public(sections, type, moment)
        # A damaged one can't begin a page.
        wanted["metadata.created"] = {"$type": "date"}
        keys = read_with_hint(
            keys_of("by_type"),
            lambda hint: stored.find(wanted, dict.fromkeys(TIMES, 1)).sort(OLDEST_FIRST).hint(hint).batch_size(SIZE),
        )
        # The first of every SIZE: index keys alone are read, and most of them only passed over.
        first = islice(keys, 0, None, SIZE)
        found = ((key["metadata"], key["_id"]) for key in first)
        return tuple(Cursor(True, (one["published"], one["created"]), id) for one, id in found), due.next_due(moment)

    return version_cache.get_or_set(("sitemap", type), moment, read)


def _public(sections: Tree, type: str, moment: datetime) -> dict[str, Any]:
    return {"metadata.type": type, "metadata.parent_id": {"$in": sections.live_ids(moment)}, **live(moment)}


def newest(sections: Tree, moment: datetime) -> dict[ObjectId, datetime]:
    """Return when the newest live node of each live section was published, by the section's id; none for one that is empty.

    Passes over index keys alone, and is kept in process under the site's version until anything is next due.
    """

    def read() -> tuple[dict[ObjectId, datetime], datetime | None]:
        # None, the top level, would have the server look into documents.
        ids = [section_id for section_id in sections.live_ids(moment) if section_id is not None]
        found: dict[ObjectId, datetime] = {}
        for name in (NODES, ASSET_FILES):
            types = (type for type in registry.non_sections() if home_of(type) == name)
            wanted = {"metadata.parent_id": {"$in": ids}, "metadata.type": {"$in": list(types)}, **live(moment)}
            newest = {"_id": "$metadata.parent_id", "at": {"$max": "$metadata.published"}}
            pipeline = [{"$match": wanted}, {"$group": newest}]
            grouped = aggregate_with_hint(database()[name], pipeline, keys_of("by_section", name))
            found |= {group["_id"]: group["at"] for group in grouped}
        return found, due.next_due(moment)

    return version_cache.get_or_set("newest of sections", moment, read)


@on_lists
def entries(sections: Tree, type: str, number: int, moment: datetime) -> Iterator[Entry] | None:
    """Return the lines of page `number` (from 1) of a type; None if there is no such page."""
    pages = starts(sections, type, moment)
    if not 1 <= number <= len(pages):
        return None
    note_texts()
    start = pages[number - 1]
    wanted = {**_public(sections, type, moment), "$or": start.beyond(TIMES, (BEGINNING, moment), itself=True)}
    del wanted["metadata.published"]
    fields = for_readers({f"metadata.{name}": 1 for name in ("parent_id", "slug", "updated")}, moment)
    stored = database()[home_of(type)]
    found = read_with_hint(
        keys_of("by_type"),
        lambda hint: stored.find(wanted, fields).sort(OLDEST_FIRST).hint(hint).limit(SIZE).batch_size(SIZE),
    )
    return read_documents(home_of(type), found, _entry)


def _entry(document: Mapping[str, Any]) -> Entry:
    said = as_shown(document)["metadata"]
    check_metadata(said, ("parent_id", "slug", "updated"))
    return Entry(said["parent_id"], said["slug"], said["updated"])
