"""Stale pages: cached pages that are shown while the database is unavailable, with a header and a visible note."""

import re
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.utils import translation

from cms.requests.errors import unavailable
from marginalia.mongo.engine import secondaries
from marginalia.mongo.servers import is_cut_off, knows_primary, knows_secondary
from reader.page_cache import storage
from reader.page_cache.cacheable import cache_key
from reader.page_cache.storage import cache

# The header for stale pages (RFC 7234, section 5.5.1). RFC 9111 removed this header without a replacement.
WARNING_HEADER = '110 - "Response is Stale"'
# The note is inserted after the body's start tag and the skip link.
_BODY_START = re.compile(rb'<body[^>]*>(?:\s*<a class="skip-link".*?</a>)?', re.DOTALL)


def mark_stale(response: HttpResponse) -> HttpResponse:
    """Mark a response as stale and forbid caching. HTML pages get a note at the top."""
    for name in ("ETag", "Last-Modified"):
        del response[name]
    response["Warning"] = WARNING_HEADER
    response["Cache-Control"] = "no-store"
    if response.get("Content-Type", "").startswith("text/html"):
        with translation.override(response.get("Content-Language")):
            line = loader.render_to_string("errors/_stale.html").encode()
        response.content = _BODY_START.sub(lambda match: match[0] + line, response.content, count=1)
        response["Content-Length"] = str(len(response.content))
    return response


class StaleMiddleware:
    """Middleware that returns a stale page while no primary is known, or if a request fails with status 503.

    While there is no primary, a page comes from the cache. If READ_SECONDARIES is on, the page can also be read from a
    secondary. If a new process has never reached a primary, the middleware rejects the request immediately.

    This middleware comes before the gate, so requests for cached pages neither wait nor count toward the gate's limit.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not knows_primary():
            if page := _stale_page(request):
                return page
            if settings.READ_SECONDARIES and cache_key(request) is not None and knows_secondary():
                with secondaries.reading():
                    response = self.get_response(request)
                return response if response.status_code == 503 else mark_stale(response)
            if is_cut_off():
                return unavailable(request)
        response = self.get_response(request)
        return (response.status_code == 503 and _stale_page(request)) or response


def _stale_page(request: HttpRequest) -> HttpResponse | None:
    """Return the cached page for a request, marked as stale, or None if there is no page that can be shown."""
    key = cache_key(request)
    entry = storage.find(key) if key is not None else None
    if entry is None or not entry.can_be_served_stale(cache.site_version):
        return None
    request.page_cache = "stale"
    return mark_stale(entry.full_response(entry.content))
