"""Find the times of scheduled changes: when nodes appear, change or expire, and when discussions close."""

from datetime import UTC, datetime, timedelta
from typing import Any

from marginalia.mongo.connection import database
from nodes.collections import ASSET_FILES, NODES
from nodes.content import registry
from nodes.models import dependencies, stored_site, version_cache
from nodes.types import NEVER


def next_due(moment: datetime) -> datetime | None:
    """Return the time of the next scheduled change after `moment`, or None if there isn't one.

    The result is cached in memory.
    """

    def work() -> tuple[datetime | None, datetime | None]:
        times = [_next("published", moment), next_end(moment)]
        if days := stored_site.current().settings.comments_close_after_days:
            open_for = timedelta(days=days)
            if published := _next("published", moment - open_for):
                times.append(published + open_for)
        due = min((time for time in times if time), default=None)
        return due, due

    return version_cache.get_or_set(("next_due", stored_site.current().version), moment, work)


def next_end(moment: datetime) -> datetime | None:
    """Return the next time after `moment` when a node expires or its scheduled changes go live, or None."""

    def work() -> tuple[datetime | None, datetime | None]:
        end = _next("expires", moment)
        return end, end

    return version_cache.get_or_set(("next_end", stored_site.current().version), moment, work)


def last_change(moment: datetime) -> datetime | None:
    """Return the time of the site's last change, saved or scheduled, rounded up to the next second.

    Return None if this second isn't over yet. Anyone who saw the site at the returned time has seen all changes.
    """
    versions = stored_site.current().versions
    dependencies.note_texts()

    def work() -> tuple[datetime, datetime | None]:
        times = [_last("published", moment), _last("expires", moment), versions.changed if versions else None]
        return max((time for time in times if time), default=_NEVER_CHANGED), next_due(moment)

    last = version_cache.get_or_set(("last_change", stored_site.current().version), moment, work)
    changed = last.replace(microsecond=0) + timedelta(seconds=1)
    return changed if changed <= moment else None


_NEVER_CHANGED = datetime(2000, 1, 1, tzinfo=UTC)


def _next(field: str, after: datetime) -> datetime | None:
    """Return the earliest `metadata.<field>` later than `after` in any node or photo, or None if there isn't one."""
    return min(_ends(field, {"$gt": after, "$lt": NEVER}, 1), default=None)


def _last(field: str, until: datetime) -> datetime | None:
    """Return the latest `metadata.<field>` not later than `until` in any node or photo, or None if there isn't one."""
    return max(_ends(field, {"$lte": until}, -1), default=None)


def _ends(field: str, span: dict[str, Any], direction: int) -> list[datetime]:
    """Return the values of `metadata.<field>` that come first within `span` in the given direction.

    There is one value for nodes and one for photos. For "expires", also return the earliest time at which scheduled
    changes go live.
    """

    def first(path: str, **more: Any) -> list[dict[str, Any]]:
        return [
            {"$match": {path: span, **more}},
            {"$sort": {path: direction}},
            {"$limit": 1},
            {"$project": {"at": f"${path}", "_id": 0}},
        ]

    # The server scans the `by_type` index once for each type, and merges the results.
    of_types = {"metadata.type": {"$in": list(registry.names())}} if field == "published" else {}
    stages = first(f"metadata.{field}", **of_types)
    pipeline: list[dict[str, Any]] = [*stages, {"$unionWith": {"coll": ASSET_FILES, "pipeline": stages}}]
    if field == "expires":
        pipeline.append({"$unionWith": {"coll": NODES, "pipeline": first("draft.due")}})
    return [document["at"] for document in database()[NODES].aggregate(pipeline)]
