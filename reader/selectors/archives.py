"""Archives of a blog: which months have posts, and the posts of a year or month."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from marginalia.mongo.reading import aggregate_with_hint
from nodes.collections import NODES, keys_of
from nodes.models import version_cache
from nodes.selectors import due
from nodes.selectors.listing import Listing, Span, listing, live, posts_of


@dataclass(frozen=True)
class Month:
    """A month with live posts, and how many."""

    year: int
    month: int
    count: int

    @property
    def first_day(self) -> date:
        """What templates name it by: no moment, which is another day west of Greenwich."""
        return date(self.year, self.month, 1)


def months(blog_id: ObjectId, moment: datetime, zone: tzinfo) -> tuple[Month, ...]:
    """Return the months, as the clock in `zone` counts them, in which the blog has live posts; the newest first.

    One pass over index keys, kept in process under the site's version until anything on it is next due.
    """

    def read() -> tuple[tuple[Month, ...], datetime | None]:
        name = {"$dateToString": {"date": "$metadata.published", "format": "%Y-%m", "timezone": str(zone)}}
        pipeline: list[dict[str, Any]] = [
            {"$match": {**posts_of(blog_id), **live(moment)}},
            {"$group": {"_id": name, "count": {"$sum": 1}}},
            {"$sort": {"_id": -1}},
        ]
        groups = aggregate_with_hint(database()[NODES], pipeline, keys_of("by_section"))
        found = tuple(Month(int(g["_id"][:4]), int(g["_id"][5:]), g["count"]) for g in groups)
        return found, due.next_due(moment)

    return version_cache.get_or_set(("months", blog_id, str(zone)), moment, read)


def by_year(months: Iterable[Month]) -> list[tuple[int, list[Month]]]:
    """Return years, in the order in which their months come, each with all of its twelve from January on: some of nothing."""
    counts = {(month.year, month.month): month.count for month in months}
    years = dict.fromkeys(year for year, _month in counts)
    return [(year, [Month(year, number, counts.get((year, number), 0)) for number in range(1, 13)]) for year in years]


def entries_of(
    blog_id: ObjectId,
    year: int,
    month: int | None,
    moment: datetime,
    zone: tzinfo,
    *,
    size: int,
    cursor: str | None = None,
) -> Listing:
    """Return `size` live posts of one year, or month, by the clock in `zone`; newest first.

    Raises ValueError for a cursor that is none.
    """
    begin = datetime(year, month or 1, 1, tzinfo=zone)
    following = datetime(year + 1, 1, 1, tzinfo=zone)
    end = datetime(year, month + 1, 1, tzinfo=zone) if month and month < 12 else following
    span = Span(begin.astimezone(UTC), end.astimezone(UTC) - timedelta(milliseconds=1))
    return listing(posts_of(blog_id), "by_section", moment, size, cursor, span=span)
