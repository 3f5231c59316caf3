"""Doctor checks for the public pages."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings

from marginalia.mongo.clock import now
from marginalia.mongo.doctor import ERROR, Examination, Finding, check
from reader import purging
from reader.collections import PURGES

# The worker stores the position of each cache every few seconds. If a stored position is older than this, the cache
# isn't receiving purges.
MAX_DELAY = timedelta(minutes=3)


@check
def caches_told(examination: Examination) -> Iterator[Finding]:
    """Report CDNs and reverse-proxy caches that aren't receiving purges."""
    if not examination.declared(PURGES):
        return
    for cache in settings.CDN_PURGE_URLS:
        notified = purging.last_notified(cache)
        if notified is None or now() - notified > MAX_DELAY:
            since = f"since {notified:%Y-%m-%d %H:%M} UTC" if notified else "ever"
            message = (
                f"This cache has not received purges {since}. Readers can see outdated pages for a "
                "minute after a change."
            )
            fix = "Run manage.py work alongside the site, and check its log for the cache's responses."
            yield Finding(ERROR, "cache-not-told", cache, message, fix)
