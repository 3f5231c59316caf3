"""Small answers kept in process under the site's `lists`, until the next due time: never older than what they show.

Of a change whose writer died before it gave the site a new version they are older, for LONGEST at most.
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

# Answers kept at once: neighbours of posts, tables of months, links of the footer. Some 10 MB.
MOST = 5_000
# How long anything is kept under one version, the section tree too.
LONGEST = timedelta(seconds=60)

# Until when it holds, the slots of tags that it depends on with their versions, and the answer.
_Answers = dict[Hashable, tuple[datetime, frozenset[str], dict[str, ObjectId], Any]]
# A version and what was answered under it: one value, since threads swap it.
_kept: tuple[ObjectId | None, _Answers] = (None, {})


def clear() -> None:
    """Forget every answer, as a new process would have none."""
    global _kept
    _kept = (None, {})


def get_or_set(key: Hashable, moment: datetime, work: Callable[[], tuple[T, datetime | None]]) -> T:
    """Return what `work` answers, asked again only after a change that lists read, when the answer is due, or after LONGEST.

    `work` returns (answer, when it changes by itself or None); what changes at `moment` already is not kept. The version was
    read before the data that `work` reads. What notes that it reads more than lists do is not kept, nor is what secondaries
    answer.
    """
    global _kept
    versions = stored_site.current().versions
    if versions is None or secondaries.is_reading():
        with tracked_reads():
            return work()[0]
    version = versions.lists
    kept_under, answers = _kept
    if version != kept_under or len(answers) >= MOST:
        answers = {}
        _kept = version, answers
    if key in answers:
        due, slots, of_tags, answer = answers[key]
        if moment < due and of_tags == versions.in_slots(slots):
            dependencies.note_slots(slots)
            return answer
    with tracked_reads(), dependencies.recorded() as read:
        answer, changes = work()
    if read.texts or read.node:
        dependencies.note_texts()
        return answer
    if (until := min(changes or NEVER, moment + LONGEST)) > moment:
        answers[key] = until, read.slots, versions.in_slots(read.slots), answer
    dependencies.note_slots(read.slots)
    return answer
