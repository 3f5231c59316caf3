"""List a section's pages by their date field. Upcoming pages are listed soonest first, and past pages latest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bson import ObjectId
from django.db import models
from django.utils import timezone

from marginalia.mongo.connection import Document, database
from marginalia.mongo.reading import read_with_hint
from nodes.collections import NODES, keys_of
from nodes.content import declared_fields, facets, registry
from nodes.models.dependencies import on_lists
from nodes.selectors.listing import (
    BEGINNING,
    LISTED,
    Cursor,
    Listing,
    detail_projection,
    for_readers,
    live,
    readable_nodes,
)
from nodes.types import NEVER

# Cursors in the list of past pages begin with this prefix. The prefix by itself is the cursor of the list's first page.
PAST = "past"


@dataclass(frozen=True)
class DateListing(Listing):
    """One page of a list: upcoming pages, or past pages if `is_past` is true.

    `older` is the cursor for earlier dates, and `newer` is the cursor for later dates.
    """

    is_past: bool = False


@on_lists
def by_date(
    section_id: ObjectId,
    section_type: str,
    wanted: Sequence[tuple[str, str, str]],
    moment: datetime,
    *,
    size: int,
    cursor: str | None = None,
) -> DateListing:
    """Return the live pages that have a date, from a live section. Text fields of these pages aren't read.

    Args:
        section_id: The id of the section.
        section_type: The content type of the section.
        wanted: Facet values, as (type, facet name, value) triples. Pages must have all of these values.
        moment: The time at which pages must be live.
        size: The maximum number of pages.
        cursor: The cursor of another page of results, or None for the first.

    Raises:
        ValueError: The cursor is invalid.
    """
    types = registry.listed_by_own_date(section_type)
    is_past = bool(cursor) and str(cursor).startswith(PAST)
    position = str(cursor or "").removeprefix(PAST if is_past else "")
    edge = Cursor.parse(position, times=1) if position else None
    ascending = edge.newer if edge else not is_past
    documents = _find(section_id, types, wanted, moment, size + 1, edge, is_past, ascending)
    has_more = len(documents) > size
    documents = documents[:size]
    if ascending is is_past:
        documents.reverse()
    if not documents:
        return DateListing((), is_past=is_past)
    # If there is a cursor, the reader came from another page of the list, so there are nodes in that page's direction.
    has_earlier, has_later = (edge is not None, has_more) if ascending else (has_more, edge is not None)
    first, last = (documents[-1], documents[0]) if is_past else (documents[0], documents[-1])
    nodes = readable_nodes(NODES, documents)
    return DateListing(
        tuple(node for node in nodes if node.content_type.is_installed),
        _cursor(first, is_past, newer=False) if has_earlier else None,
        _cursor(last, is_past, newer=True) if has_later else None,
        is_past,
    )


def start_of_today(moment: datetime, types: Sequence[Any]) -> datetime:
    """Return the start of the day that contains `moment`, in the current time zone.

    Dates from this time on count as upcoming.
    """
    midnight = timezone.localtime(moment).replace(hour=0, minute=0, second=0, microsecond=0)
    fields = [type._meta.get_field(type.date_field) for type in types]
    # Dates without a time are stored as midnight UTC, which can be earlier than midnight in the current time zone.
    if any(not isinstance(field, models.DateTimeField) for field in fields):
        return min(midnight, midnight.replace(tzinfo=UTC))
    return midnight


def _find(
    section_id: ObjectId,
    types: Sequence[Any],
    wanted: Sequence[tuple[str, str, str]],
    moment: datetime,
    limit: int,
    edge: Cursor | None,
    is_past: bool,
    ascending: bool,
) -> list[Document]:
    today = start_of_today(moment, types)
    since, until = (BEGINNING, today) if is_past else (today, NEVER)
    condition: dict[str, Any] = {"metadata.parent_id": section_id, "derived.date": {"$gte": since, "$lt": until}}
    if edge is not None:
        (date,) = edge.times
        condition["derived.date"] = (
            {"$gte": max(since, date), "$lt": until} if ascending else {"$gte": since, "$lte": date}
        )
        condition["$or"] = edge.beyond(("derived.date",))
        if date >= until:
            return []
    keys = sorted({facets.format_facet(*facet) for facet in wanted})
    if keys:
        condition["derived.facets"] = keys[0] if len(keys) == 1 else {"$all": keys}
    direction = 1 if ascending else -1
    fields = for_readers({**LISTED, "derived.date": 1, **_details(types)}, moment)
    nodes = database()[NODES]
    order = [("derived.date", direction), ("_id", direction)]
    return list(
        read_with_hint(
            keys_of("facet_by_date" if keys else "by_date"),
            lambda hint: nodes.find({**condition, **live(moment)}, fields).sort(order).limit(limit).hint(hint),
        )
    )


def _details(types: Sequence[Any]) -> dict[str, int]:
    """Return the projection for the fields of `types` that lists need: all fields except text fields."""
    fields = {path: field for type in types for path, field in declared_fields.own_fields(type.type_name)}
    return detail_projection(
        types, [f"metadata.{path}" for path, field in fields.items() if not isinstance(field, models.TextField)]
    )


def _cursor(document: Document, is_past: bool, *, newer: bool) -> str:
    # The cursor contains the stored sort key instead of the page's date. The date can differ from the key if scheduled
    # changes are due but haven't been published yet. The date can also be missing, if the running code can't read it.
    return f"{PAST if is_past else ''}{Cursor(newer, (document['derived']['date'],), document['_id'])}"
