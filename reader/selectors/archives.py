"""Blog archives: the months in which a blog has posts, and the posts in a year or month."""

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
    """A month, and the number of live posts in it."""

    year: int
    month: int
    count: int

    @property
    def first_day(self) -> date:
        """Return the first day of the month as a date. Unlike a datetime, a date is the same in every time zone."""
        return date(self.year, self.month, 1)


def months(blog_id: ObjectId, moment: datetime, zone: tzinfo) -> tuple[Month, ...]:
    """Return the months in which the blog has live posts, newest first. `zone` is the time zone of the months.

    The query reads only index keys. The result is cached in memory until the site's `lists` version changes, or until
    the next scheduled change.
    """

    def read() -> tuple[tuple[Month, ...], datetime | None]:
        name = {"$dateToString": {"date": "$metadata.published", "format": "%Y-%m", "timezone": str(zone)}}
        pipeline: list[dict[str, Any]] = [
            {"$match": {**posts_of(blog_id), **live(moment)}},
            {"$group": {"_id": name, "count": {"$sum": 1}}},
            {"$sort": {"_id": -1}},
        ]
        groups = aggregate_with_hint(database()[NODES], pipeline, keys_of("by_section"))
        months = tuple(Month(int(group["_id"][:4]), int(group["_id"][5:]), group["count"]) for group in groups)
        return months, due.next_due(moment)

    return version_cache.get_or_set(("months", blog_id, str(zone)), moment, read)


def by_year(months: Iterable[Month]) -> list[tuple[int, list[Month]]]:
    """Return each year with its twelve months, in the order of `months`. Months without posts have a count of 0."""
    counts = {(month.year, month.month): month.count for month in months}
    years = dict.fromkeys(year for year, _month in counts)
    return [(year, [Month(year, number, counts.get((year, number), 0)) for number in range(1, 13)]) for year in years]


def posts_in(
    blog_id: ObjectId,
    year: int,
    month: int | None,
    moment: datetime,
    zone: tzinfo,
    *,
    size: int,
    cursor: str | None = None,
) -> Listing:
    """Return a blog's live posts in a year or month, newest first.

    Args:
        blog_id: The id of the blog.
        year: The year.
        month: The month from 1 to 12, or None for the whole year.
        moment: The time at which posts must be live.
        zone: The time zone in which the year or month begins and ends.
        size: The maximum number of posts.
        cursor: The cursor of a later page, or None for the first page.

    Raises:
        ValueError: The cursor is invalid.
    """
    begin = datetime(year, month or 1, 1, tzinfo=zone)
    following = datetime(year + 1, 1, 1, tzinfo=zone)
    end = datetime(year, month + 1, 1, tzinfo=zone) if month and month < 12 else following
    span = Span(begin.astimezone(UTC), end.astimezone(UTC) - timedelta(milliseconds=1))
    return listing(posts_of(blog_id), "by_section", moment, size, cursor, span=span)
