"""The entries of the sitemap. It contains all live nodes, divided into pages with stable URLs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from marginalia.mongo.reading import aggregate_with_hint, read_documents, read_with_hint
from nodes.collections import ASSET_FILES, NODES, home_of, keys_of, listed_filter
from nodes.content import registry
from nodes.models import as_shown, version_cache
from nodes.models.dependencies import note_texts, on_lists
from nodes.models.tree import Tree
from nodes.models.validation import check_metadata
from nodes.selectors import due
from nodes.selectors.listing import BEGINNING, OLDEST_FIRST, TIMES, Cursor, for_readers, live, public_filter

# Number of entries per page. The protocol allows 50,000. A page with 2,000 entries loads as fast as the site's other
# pages.
PAGE_SIZE = 2_000


@dataclass(frozen=True)
class Entry:
    """A node in the sitemap, with the time of its last change."""

    parent_id: ObjectId | None
    slug: str
    updated: datetime


def page_starts(sections: Tree, type: str, moment: datetime) -> tuple[Cursor, ...]:
    """Return the start of each sitemap page that lists the live nodes of a type, oldest nodes first.

    The query reads only index keys. The result is cached in memory until the site's `lists` version changes, or until
    the next scheduled change.
    """

    def read() -> tuple[tuple[Cursor, ...], datetime | None]:
        collection = database()[home_of(type)]
        query = _public(sections, type, moment)
        # A damaged document without a date can't be the start of a page.
        query["metadata.created"] = {"$type": "date"}
        keys = read_with_hint(
            keys_of("by_type"),
            lambda hint: (
                collection.find(query, dict.fromkeys(TIMES, 1)).sort(OLDEST_FIRST).hint(hint).batch_size(PAGE_SIZE)
            ),
        )
        # A new page starts at every PAGE_SIZE-th key. The other keys are read and skipped.
        cursors = tuple(
            Cursor(True, (key["metadata"]["published"], key["metadata"]["created"]), key["_id"])
            for key in islice(keys, 0, None, PAGE_SIZE)
        )
        return cursors, due.next_due(moment)

    return version_cache.get_or_set(("sitemap", type), moment, read)


def _public(sections: Tree, type: str, moment: datetime) -> dict[str, Any]:
    return {"metadata.type": type, **public_filter(sections, moment), **listed_filter(home_of(type))}


def newest_by_section(sections: Tree, moment: datetime) -> dict[ObjectId, datetime]:
    """Return the publication time of the newest live node in each live section, keyed by section id.

    Empty sections are omitted. The query reads only index keys. The result is cached in memory until the site's `lists`
    version changes, or until the next scheduled change.
    """

    def read() -> tuple[dict[ObjectId, datetime], datetime | None]:
        # Leave out the top level (None), because the server would have to read documents to match None.
        ids = [section_id for section_id in sections.live_ids(moment) if section_id is not None]
        newest: dict[ObjectId, datetime] = {}
        for name in (NODES, ASSET_FILES):
            types = (type for type in registry.non_sections() if home_of(type) == name)
            query = {"metadata.parent_id": {"$in": ids}, "metadata.type": {"$in": list(types)}, **live(moment)}
            by_section = {"_id": "$metadata.parent_id", "at": {"$max": "$metadata.published"}}
            pipeline = [{"$match": query}, {"$group": by_section}]
            groups = aggregate_with_hint(database()[name], pipeline, keys_of("by_section", name))
            newest |= {group["_id"]: group["at"] for group in groups}
        return newest, due.next_due(moment)

    return version_cache.get_or_set("newest of sections", moment, read)


@on_lists
def entries(sections: Tree, type: str, number: int, moment: datetime) -> Iterator[Entry] | None:
    """Return the entries on page `number` (starting at 1) of the nodes of a type, or None if the page doesn't exist."""
    starts = page_starts(sections, type, moment)
    if not 1 <= number <= len(starts):
        return None
    note_texts()
    start = starts[number - 1]
    query = {**_public(sections, type, moment), "$or": start.beyond(TIMES, (BEGINNING, moment), itself=True)}
    del query["metadata.published"]
    fields = for_readers({f"metadata.{name}": 1 for name in ("parent_id", "slug", "updated")}, moment)
    collection = database()[home_of(type)]
    documents = read_with_hint(
        keys_of("by_type"),
        lambda hint: (
            collection.find(query, fields).sort(OLDEST_FIRST).hint(hint).limit(PAGE_SIZE).batch_size(PAGE_SIZE)
        ),
    )
    return read_documents(home_of(type), documents, _entry)


def _entry(document: Mapping[str, Any]) -> Entry:
    metadata = as_shown(document)["metadata"]
    check_metadata(metadata, ("parent_id", "slug", "updated"))
    return Entry(metadata["parent_id"], metadata["slug"], metadata["updated"])
