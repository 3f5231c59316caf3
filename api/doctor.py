"""What the doctor asks of the API: whether mirrors are told of changes."""

from collections.abc import Iterator
from datetime import timedelta

from api.changes import stored
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
# The relay notes every quarter of a minute how far it has come.
BEHIND = timedelta(minutes=3)


@check
def changes_told(examination: Examination) -> Iterator[Finding]:
    """The list of changes has begun, and goes on: a worker follows the change stream of MongoDB."""
    if not examination.declared(CHANGES):
        return
    fix = "Run manage.py work beside the site; its log says what keeps it from following (a standalone has no change streams)."
    last = stored.last()
    if last is None or last.resume is None:
        message = "The list of changes has not begun: mirrors of the API are answered with 503."
        yield Finding(WARNING, "changes-not-told", CHANGES, message, fix)
    elif (behind := now() - last.marked) > BEHIND:
        minutes = behind.total_seconds() / 60
        message = (
            f"The list of changes is {minutes:,.0f} minutes behind: mirrors of the API do not see what changed since."
        )
        yield Finding(WARNING, "changes-behind", CHANGES, message, fix)
