"""The doctor's check for the API, which examines whether the list of changes is up to date."""

from collections.abc import Iterator
from datetime import timedelta

from api.changes import change_log
from api.collections import CHANGES
from marginalia.mongo.clock import now
from marginalia.mongo.doctor import WARNING, Examination, Finding, HotQuery, check

HOT_QUERIES = (
    HotQuery(
        "changes that readers can see",
        CHANGES,
        lambda entry: {
            "filter": {"public": True, "shown": {"$gt": entry["shown"]}},
            "sort": {"shown": 1},
            "limit": 200,
        },
    ),
)
# If the relay's progress is older than this, the relay is assumed to have stopped. A running relay records its progress
# every 15 seconds.
MAX_DELAY = timedelta(minutes=3)


@check
def changes_told(examination: Examination) -> Iterator[Finding]:
    """Report a problem if the list of changes was never started, or if it is behind MongoDB's change stream."""
    if not examination.declared(CHANGES):
        return
    fix = "Run manage.py work alongside the site, and check its log. Change streams need a replica set."
    last = change_log.last()
    if last is None or last.resume is None:
        message = "The list of changes isn't available, so mirrors that use the API get status 503."
        yield Finding(WARNING, "changes-not-told", CHANGES, message, fix)
    elif (delay := now() - last.marked) > MAX_DELAY:
        minutes = delay.total_seconds() / 60
        message = f"The list of changes is {minutes:,.0f} minutes behind, so mirrors that use the API are outdated."
        yield Finding(WARNING, "changes-behind", CHANGES, message, fix)
