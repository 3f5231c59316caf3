"""Small results, cached in process by the site's version `lists` until the next scheduled time.

So results are never outdated. Only if a writer dies before it renews the site's version, results can be outdated for up
to LONGEST.
"""

from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from bson import ObjectId

from marginalia.mongo.engine import secondaries
from marginalia.mongo.engine.read_tracking import tracked_reads
from nodes.models import dependencies, stored_site
from nodes.types import NEVER

T = TypeVar("T")

# Maximum cached results, such as neighbours of posts, tables of months and links of the footer. They need about 10 MB.
MOST = 5_000
# How long results, and the section tree, are cached for one version.
LONGEST = timedelta(seconds=60)

# Each entry has its end, the slots of tags that it depends on, the versions of these slots, and the result.
_Entries = dict[Hashable, tuple[datetime, frozenset[str], dict[str, ObjectId], Any]]
# A version and its entries. Threads replace both at once, so they are one value.
_cache: tuple[ObjectId | None, _Entries] = (None, {})


def clear() -> None:
    """Remove every cached result, as in a new process."""
    global _cache
    _cache = (None, {})


def get_or_set(key: Hashable, moment: datetime, work: Callable[[], tuple[T, datetime | None]]) -> T:
    """Return the result of `work`, cached until lists change, until the result changes by itself, or for LONGEST.

    A result isn't cached if it has already changed at `moment`, if `work` records dependencies beyond those of lists,
    or if it was read from secondaries. The version was read before the data that `work` reads.

    Args:
        key: The key of the result.
        moment: The current time.
        work: A function that returns (result, the time when it changes by itself or None).
    """
    global _cache
    versions = stored_site.current().versions
    if versions is None or secondaries.is_reading():
        with tracked_reads():
            return work()[0]
    version = versions.lists
    cached_version, entries = _cache
    if version != cached_version or len(entries) >= MOST:
        entries = {}
        _cache = version, entries
    if key in entries:
        end, slots, tag_versions, result = entries[key]
        if moment < end and tag_versions == versions.in_slots(slots):
            dependencies.note_slots(slots)
            return result
    with tracked_reads(), dependencies.recorded() as read:
        result, next_change = work()
    if read.texts or read.node:
        dependencies.note_texts()
        return result
    if (end := min(next_change or NEVER, moment + LONGEST)) > moment:
        entries[key] = end, read.slots, versions.in_slots(read.slots), result
    dependencies.note_slots(read.slots)
    return result
