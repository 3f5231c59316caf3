"""Cache small results in memory until the site document's `lists` version changes or a scheduled change is due.

Results are never outdated, with one exception: if a writer crashes before it updates the version, results can be
outdated for up to LONGEST.
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

# Maximum number of cached results, such as the neighbours of a post, a list of months or the footer links. They need
# about 10 MB.
MOST = 5_000
# The longest time for which results and the section tree are cached.
LONGEST = timedelta(seconds=60)

# Each entry consists of its expiry, the tag slots that it depends on, the versions of these slots, and the result.
_Entries = dict[Hashable, tuple[datetime, frozenset[str], dict[str, ObjectId], Any]]
# A version and its entries. They are stored as a single value, so that a thread always replaces both at once.
_cache: tuple[ObjectId | None, _Entries] = (None, {})


def clear() -> None:
    """Remove all cached results, as if the process had just started."""
    global _cache
    _cache = (None, {})


def get_or_set(key: Hashable, moment: datetime, work: Callable[[], tuple[T, datetime | None]]) -> T:
    """Return the result of `work`. Cache it until the `lists` version changes or a scheduled change is due.

    No result is cached for longer than LONGEST. A result isn't cached if it is already outdated at `moment`, if `work`
    records dependencies other than lists and tags, or if it was read from secondaries. The version is read before the
    data that `work` reads.

    Args:
        key: The key of the result.
        moment: The current time.
        work: A function that returns the result, and either the time of its next scheduled change or None.
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
