"""When the site next changes by itself, and when it last changed: something appears, changes as scheduled, expires,
or its discussion closes."""

from datetime import UTC, datetime, timedelta
from typing import Any

from marginalia.mongo.connection import database
from nodes.collections import ASSET_FILES, NODES
from nodes.content import registry
from nodes.models import dependencies, stored_site, version_cache
from nodes.types import NEVER


def next_due(moment: datetime) -> datetime | None:
    """Return the next such time after `moment`, or None. Asked once after each change of the site."""

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
    """Return the next time after `moment` at which something expires or changes as scheduled, or None."""

    def work() -> tuple[datetime | None, datetime | None]:
        end = _next("expires", moment)
        return end, end

    return version_cache.get_or_set(("next_end", stored_site.current().version), moment, work)


def last_change(moment: datetime) -> datetime | None:
    """Return the second before which the site last changed, by a save or by itself; None if that is still passing.

    Whole seconds, rounded up: who asks after it has seen all that happened until then.
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
    """Return the earliest `metadata.<field>` after a time, of nodes and photos; None if there is none."""
    return min(_ends(field, {"$gt": after, "$lt": NEVER}, 1), default=None)


def _last(field: str, until: datetime) -> datetime | None:
    """Return the latest `metadata.<field>` up to a time, of nodes and photos; None if there is none."""
    return max(_ends(field, {"$lte": until}, -1), default=None)


def _ends(field: str, span: dict[str, Any], direction: int) -> list[datetime]:
    """Return the first `metadata.<field>` within a span, in this direction, of nodes and of photos; beside what expires when
    scheduled changes appear."""

    def first(path: str, **more: Any) -> list[dict[str, Any]]:
        return [
            {"$match": {path: span, **more}},
            {"$sort": {path: direction}},
            {"$limit": 1},
            {"$project": {"at": f"${path}", "_id": 0}},
        ]

    # by_type, one scan a type, merged.
    of_types = {"metadata.type": {"$in": list(registry.names())}} if field == "published" else {}
    one = first(f"metadata.{field}", **of_types)
    every: list[dict[str, Any]] = [*one, {"$unionWith": {"coll": ASSET_FILES, "pipeline": one}}]
    if field == "expires":
        every.append({"$unionWith": {"coll": NODES, "pipeline": first("draft.due")}})
    return [found["at"] for found in database()[NODES].aggregate(every)]
