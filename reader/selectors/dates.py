"""What a section lists by a date of its pages' own: what is to come, the soonest first, and what is past, the latest first."""

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

# Begins the cursors of what is past; by itself the first page of it.
PAST = "past"


@dataclass(frozen=True)
class ByDate(Listing):
    """A page of what is to come, or past. `older` and `newer` are cursors of what was before and will be after it."""

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
) -> ByDate:
    """Return `size` live pages of a (live) section that name a date, with their fields but for long texts.

    `wanted`: (type, name of a facet, value) of all that they have. Raises ValueError for a cursor that is none.
    """
    types = registry.listed_by_own_date(section_type)
    is_past = bool(cursor) and str(cursor).startswith(PAST)
    place = str(cursor or "").removeprefix(PAST if is_past else "")
    edge = Cursor.parse(place, times=1) if place else None
    going_later = edge.newer if edge else not is_past
    found = _beyond(section_id, types, wanted, moment, size + 1, edge, is_past, going_later)
    more = len(found) > size
    documents = found[:size]
    if going_later is is_past:
        documents.reverse()
    if not documents:
        return ByDate((), is_past=is_past)
    # Beside a page that was come to from one side there is what lies on that side.
    earlier, later = (edge is not None, more) if going_later else (more, edge is not None)
    first, last = (documents[-1], documents[0]) if is_past else (documents[0], documents[-1])
    nodes = readable_nodes(NODES, documents)
    return ByDate(
        tuple(node for node in nodes if node.content_type.is_installed),
        _cursor(first, is_past, newer=False) if earlier else None,
        _cursor(last, is_past, newer=True) if later else None,
        is_past,
    )


def today(moment: datetime, types: Sequence[Any]) -> datetime:
    """Return when the day of `moment` began, for those who read: what begins later that day, or earlier, is not past."""
    day = timezone.localtime(moment).replace(hour=0, minute=0, second=0, microsecond=0)
    fields = [type._meta.get_field(type.date_field) for type in types]
    # Of days alone, midnight of no zone is stored.
    if any(not isinstance(field, models.DateTimeField) for field in fields):
        return min(day, day.replace(tzinfo=UTC))
    return day


def _beyond(
    section_id: ObjectId,
    types: Sequence[Any],
    wanted: Sequence[tuple[str, str, str]],
    moment: datetime,
    limit: int,
    edge: Cursor | None,
    is_past: bool,
    going_later: bool,
) -> list[Document]:
    turn = today(moment, types)
    since, until = (BEGINNING, turn) if is_past else (turn, NEVER)
    condition: dict[str, Any] = {"metadata.parent_id": section_id, "derived.date": {"$gte": since, "$lt": until}}
    if edge is not None:
        (date,) = edge.times
        condition["derived.date"] = (
            {"$gte": max(since, date), "$lt": until} if going_later else {"$gte": since, "$lte": date}
        )
        condition["$or"] = edge.beyond(("derived.date",))
        if date >= until:
            return []
    keys = sorted({facets.format_facet(*one) for one in wanted})
    if keys:
        condition["derived.facets"] = keys[0] if len(keys) == 1 else {"$all": keys}
    way = 1 if going_later else -1
    fields = for_readers({**LISTED, "derived.date": 1, **_details(types)}, moment)
    nodes = database()[NODES]
    order = [("derived.date", way), ("_id", way)]
    return list(
        read_with_hint(
            keys_of("facet_by_date" if keys else "by_date"),
            lambda hint: nodes.find({**condition, **live(moment)}, fields).sort(order).limit(limit).hint(hint),
        )
    )


def _details(types: Sequence[Any]) -> dict[str, int]:
    """Return what lists read of the fields of some types: all but long texts."""
    fields = {path: field for type in types for path, field in declared_fields.own_fields(type.type_name)}
    return detail_projection(
        types, [f"metadata.{path}" for path, field in fields.items() if not isinstance(field, models.TextField)]
    )


def _cursor(document: Document, is_past: bool, *, newer: bool) -> str:
    # As it is sorted by: what a page says may be a change that is not written yet, or not be read by this version of its type.
    return f"{PAST if is_past else ''}{Cursor(newer, (document['derived']['date'],), document['_id'])}"
