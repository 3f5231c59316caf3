"""The cache headers that a page has for a CDN or reverse-proxy cache, and purge requests to Varnish (docs/how-to/cdn.md)."""

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
# Maximum keys in one header, because the length of headers is limited. A CDN doesn't cache a page with more keys, and
# a purge of more keys is split into several requests.
MAX_KEYS = 100
# Seconds to wait for Varnish.
TIMEOUT = 2.0


def set_headers(response: HttpResponse, keys: Collection[str], expires: datetime, disappears: datetime | None) -> None:
    """Set the headers with which the CDN caches a page or a 304 until `expires`, and purges it by `keys`.

    Responses that the CDN must not cache are left unchanged. If the site fails, the CDN can serve the page for another
    STALE_MINUTES, but not after `disappears`.

    Args:
        response: The response to change.
        keys: The purge keys of the page.
        expires: The time after which the CDN must ask the site again.
        disappears: The time at which something on the page is due to disappear, or None.
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
    """Purge the pages with any of these keys from Varnish (deploy/varnish.vcl).

    Args:
        cache: The URL of the cache.
        keys: The purge keys. They are split into several requests if there are many.

    Raises:
        OSError: The cache cannot be reached, or refused the purge.
        HTTPException: The response of the cache is malformed.
    """
    sorted_keys = sorted(keys)
    for first in range(0, len(sorted_keys), MAX_KEYS):
        headers = {"Xkey-Purge": " ".join(sorted_keys[first : first + MAX_KEYS])}
        with _opener.open(Request(cache, headers=headers, method="PURGE"), timeout=TIMEOUT) as response:
            response.read()


# Purges are sent without a proxy, even if the environment sets one.
_opener = build_opener(ProxyHandler({}))
