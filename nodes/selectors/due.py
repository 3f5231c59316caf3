"""When the site next changes by itself: something appears, expires, or its discussion closes."""

from datetime import datetime, timedelta
from typing import Any

from mongo.connection import database
from nodes import kept
from nodes.collections import ASSET_FILES, NODES
from nodes.kinds import KINDS
from nodes.selectors import site
from nodes.types import NEVER


def next_due(moment: datetime) -> datetime | None:
    """Return the next such time after `moment`, or None. Asked once for each version of the site."""

    def work() -> tuple[datetime | None, datetime | None]:
        times = [_first("published", moment), _first("expires", moment)]
        if days := site.current().settings.comments_close_after_days:
            open_for = timedelta(days=days)
            if published := _first("published", moment - open_for):
                times.append(published + open_for)
        due = min((time for time in times if time), default=None)
        return due, due

    return kept.under_version("next_due", moment, work)


def _first(field: str, after: datetime) -> datetime | None:
    """Return the earliest `metadata.<field>` after a time, of nodes and photos; None if there is none."""
    path = f"metadata.{field}"
    query: dict[str, Any] = {path: {"$gt": after}}
    if field == "published":
        query["metadata.type"] = {"$in": list(KINDS)}  # by_type, one scan a type, merged
    else:
        query[path]["$lt"] = NEVER
    one: list[dict[str, Any]] = [
        {"$match": query},
        {"$sort": {path: 1}},
        {"$limit": 1},
        {"$project": {path: 1, "_id": 0}},
    ]
    both = [*one, {"$unionWith": {"coll": ASSET_FILES, "pipeline": one}}]
    return min((found["metadata"][field] for found in database()[NODES].aggregate(both)), default=None)
