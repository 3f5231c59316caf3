"""What the doctor asks of the API: whether changes are told, to mirrors and to caches in front of the site."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings

from api.changes import purging, stored
from api.collections import CHANGES, PURGES
from marginalia.mongo.clock import now
from marginalia.mongo.doctor import ERROR, WARNING, Examination, Finding, HotQuery, check

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
    if CHANGES not in {collection.name for collection in examination.collections}:
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


@check
def caches_told(examination: Examination) -> Iterator[Finding]:
    """Each cache in front of the site hears which pages are old."""
    if PURGES not in {collection.name for collection in examination.collections}:
        return
    for cache in settings.CDN_PURGE_URLS:
        heard = purging.heard(cache)
        if heard is None or now() - heard > BEHIND:
            since = f"since {heard:%Y-%m-%d %H:%M} UTC" if heard else "ever"
            message = (
                f"This cache has not heard {since} which pages to drop: readers see them for a minute after a change."
            )
            fix = "Run manage.py work beside the site; its log says what the cache answers."
            yield Finding(ERROR, "cache-not-told", cache, message, fix)
