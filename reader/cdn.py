"""A cache in front of the site: what it is told of a page, and how Varnish is told to drop it (docs/how-to/cdn.md)."""

from collections.abc import Collection
from datetime import datetime, timedelta
from urllib.request import ProxyHandler, Request, build_opener

from django.conf import settings
from django.http import HttpResponse

from marginalia.mongo.clock import now

# How long a page may stay there: without a worker no one tells of changes.
LONGEST = timedelta(seconds=60)
# Seconds in which a page that has ended is shown while it is made anew.
WHILE_RENEWED = 10
# Headers have a length: a page with more keys is kept by no cache in front, and of more keys a cache hears in several requests.
MOST_KEYS = 100
# How long Varnish may take to answer.
SECONDS = 2.0


def mark(response: HttpResponse, keys: Collection[str], until: datetime, ends: datetime | None) -> None:
    """Say of a page, or of a 304, how long a cache in front may keep it, and under which keys it drops it sooner.

    Until `until`, and while the site is out of order for STALE_MINUTES more; never beyond `ends`, when something is
    due to vanish.
    """
    moment = now()
    left = int((until - moment).total_seconds())
    if response.status_code not in (200, 304) or left < 1 or len(keys) > MOST_KEYS:
        return
    kept = f"public, max-age=0, s-maxage={left}"
    if left > 2 * WHILE_RENEWED:
        shown = left - WHILE_RENEWED
        while_broken = settings.STALE_MINUTES * 60
        if ends:
            while_broken = min(while_broken, int((ends - moment).total_seconds()) - shown)
        kept = (
            f"public, max-age=0, s-maxage={shown}, stale-while-revalidate={WHILE_RENEWED}, "
            f"stale-if-error={max(WHILE_RENEWED, while_broken)}"
        )
    response["Cache-Control"] = kept
    # The two names that caches know the same by.
    response["Surrogate-Key"] = " ".join(keys)
    response["Cache-Tag"] = ",".join(keys)


def varnish(cache: str, keys: Collection[str]) -> None:
    """Have Varnish drop the pages that have one of these keys (deploy/varnish.vcl). Raises OSError or HTTPException where it
    did not."""
    named = sorted(keys)
    for first in range(0, len(named), MOST_KEYS):
        told = {"Xkey-Purge": " ".join(named[first : first + MOST_KEYS])}
        with _direct.open(Request(cache, headers=told, method="PURGE"), timeout=SECONDS) as answer:
            answer.read()


_direct = build_opener(ProxyHandler({}))
