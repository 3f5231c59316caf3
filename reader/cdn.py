"""The headers that a CDN or reverse-proxy cache gets with a page, and purge requests to Varnish (docs/how-to/cdn.md)."""

from collections.abc import Collection
from datetime import datetime, timedelta
from urllib.request import ProxyHandler, Request, build_opener

from django.conf import settings
from django.http import HttpResponse

from marginalia.mongo.clock import now

# Maximum time that the CDN caches a page. It is short, because without a worker nothing purges changed pages.
MAX_AGE = timedelta(seconds=60)
# Seconds during which the CDN can serve an expired page while it fetches a new one.
STALE_WHILE_REVALIDATE = 10
# Maximum keys in one header, because headers have a maximum length. A page with more keys is not cached by the CDN, and a purge
# of more keys is split into several requests.
MAX_KEYS = 100
# Seconds to wait for Varnish.
TIMEOUT = 2.0


def set_headers(response: HttpResponse, keys: Collection[str], expires: datetime, disappears: datetime | None) -> None:
    """Set the headers of a page, or of a 304, that let the CDN cache it until `expires` and purge it by `keys`.

    If the site fails, the CDN can serve the page for another STALE_MINUTES, but not after `disappears`. At that time, something
    on the page is due to disappear. Responses that the CDN must not cache are left unchanged.
    """
    moment = now()
    lifetime = int((expires - moment).total_seconds())
    if response.status_code not in (200, 304) or lifetime < 1 or len(keys) > MAX_KEYS:
        return
    cache_control = f"public, max-age=0, s-maxage={lifetime}"
    if lifetime > 2 * STALE_WHILE_REVALIDATE:
        max_age = lifetime - STALE_WHILE_REVALIDATE
        stale_if_error = settings.STALE_MINUTES * 60
        if disappears:
            stale_if_error = min(stale_if_error, int((disappears - moment).total_seconds()) - max_age)
        cache_control = (
            f"public, max-age=0, s-maxage={max_age}, stale-while-revalidate={STALE_WHILE_REVALIDATE}, "
            f"stale-if-error={max(STALE_WHILE_REVALIDATE, stale_if_error)}"
        )
    response["Cache-Control"] = cache_control
    # CDNs use one of these two headers for the same purpose.
    response["Surrogate-Key"] = " ".join(keys)
    response["Cache-Tag"] = ",".join(keys)


def varnish(cache: str, keys: Collection[str]) -> None:
    """Purge the pages with any of these keys from Varnish (deploy/varnish.vcl). `cache` is its URL.

    Raises OSError or HTTPException if the purge failed.
    """
    sorted_keys = sorted(keys)
    for first in range(0, len(sorted_keys), MAX_KEYS):
        headers = {"Xkey-Purge": " ".join(sorted_keys[first : first + MAX_KEYS])}
        with _opener.open(Request(cache, headers=headers, method="PURGE"), timeout=TIMEOUT) as response:
            response.read()


# Without a proxy, also if the environment sets one.
_opener = build_opener(ProxyHandler({}))
