"""What the doctor asks of the public pages: whether caches in front of the site hear of changes."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings

from marginalia.mongo.clock import now
from marginalia.mongo.doctor import ERROR, Examination, Finding, check
from reader import purging
from reader.collections import PURGES

# The worker stores every few seconds how much each cache was told.
BEHIND = timedelta(minutes=3)


@check
def caches_told(examination: Examination) -> Iterator[Finding]:
    """Each cache in front of the site hears which pages are old."""
    if not examination.declared(PURGES):
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
