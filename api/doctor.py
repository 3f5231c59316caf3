"""The doctor's check of the API: whether the list of changes is up to date."""

from collections.abc import Iterator
from datetime import timedelta

from api.changes import change_log
from api.collections import CHANGES
from marginalia.mongo.clock import now
from marginalia.mongo.doctor import WARNING, Examination, Finding, HotQuery, check

HOT_QUERIES = (
    HotQuery(
        "what changed, for readers",
        CHANGES,
        lambda entry: {
            "filter": {"public": True, "shown": {"$gt": entry["shown"]}},
            "sort": {"shown": 1},
            "limit": 200,
        },
    ),
)
# The relay records its progress every 15 seconds, so this delay means that it has stopped.
MAX_DELAY = timedelta(minutes=3)


@check
def changes_told(examination: Examination) -> Iterator[Finding]:
    """Report a list of changes that was never started, or that is behind MongoDB's change stream."""
    if not examination.declared(CHANGES):
        return
    fix = "Run manage.py work beside the site; its log says what keeps it from following (a standalone has no change streams)."
    last = change_log.last()
    if last is None or last.resume is None:
        message = "The list of changes has not begun: mirrors of the API are answered with 503."
        yield Finding(WARNING, "changes-not-told", CHANGES, message, fix)
    elif (delay := now() - last.marked) > MAX_DELAY:
        minutes = delay.total_seconds() / 60
        message = (
            f"The list of changes is {minutes:,.0f} minutes behind: mirrors of the API do not see what changed since."
        )
        yield Finding(WARNING, "changes-behind", CHANGES, message, fix)
