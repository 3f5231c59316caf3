"""Cache headers for CDNs and reverse-proxy caches, and purge requests to Varnish (docs/how-to/cdn.md)."""

from collections.abc import Collection
from datetime import datetime, timedelta
from urllib.request import ProxyHandler, Request, build_opener

from django.conf import settings
from django.http import HttpResponse

from marginalia.mongo.clock import now

# Maximum time for which the CDN caches a page. The time is short, because pages aren't purged if no worker is running.
MAX_AGE = timedelta(seconds=60)
# How long the CDN can serve an expired page while it fetches the new page, in seconds.
STALE_WHILE_REVALIDATE = 10
# Maximum number of keys in one header. The length of headers is limited, so the CDN doesn't cache pages with more keys,
# and purges of more keys are split into several requests.
MAX_KEYS = 100
# How long to wait for Varnish, in seconds.
TIMEOUT = 2.0


def set_headers(response: HttpResponse, keys: Collection[str], expires: datetime, disappears: datetime | None) -> None:
    """Set the headers that let the CDN cache a page or a 304 response until `expires` and purge it by `keys`.

    A response that the CDN must not cache is left unchanged. If the site fails, the CDN can serve the page for another
    STALE_MINUTES, but not after `disappears`.

    Args:
        response: The response to change.
        keys: The page's purge keys.
        expires: The time after which the CDN must request the page again.
        disappears: The next scheduled time at which something on the page disappears or changes, or None.
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
    # These two headers have the same purpose. Each CDN uses one of them.
    response["Surrogate-Key"] = " ".join(keys)
    response["Cache-Tag"] = ",".join(keys)


def varnish(cache: str, keys: Collection[str]) -> None:
    """Purge the pages with any of these keys from Varnish (deploy/varnish.vcl).

    Args:
        cache: The URL of the cache.
        keys: The purge keys. If there are many keys, they are split into several requests.

    Raises:
        OSError: The cache can't be reached, or rejected the purge.
        HTTPException: The cache's response is malformed.
    """
    sorted_keys = sorted(keys)
    for first in range(0, len(sorted_keys), MAX_KEYS):
        headers = {"Xkey-Purge": " ".join(sorted_keys[first : first + MAX_KEYS])}
        with _opener.open(Request(cache, headers=headers, method="PURGE"), timeout=TIMEOUT) as response:
            response.read()


# Purges don't use a proxy, even if the environment configures one.
_opener = build_opener(ProxyHandler({}))
