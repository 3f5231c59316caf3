"""What readers get while the database is away says that it may be old: to programs by a header, to people by a line."""

import re
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.utils import translation

from cms.requests.errors import unavailable
from marginalia.mongo.engine import secondaries
from marginalia.mongo.servers import is_cut_off, knows_primary, knows_secondary
from reader.page_cache import kept
from reader.page_cache.keepable import key_of
from reader.page_cache.kept import cache

# RFC 7234, section 5.5.1. RFC 9111 has left it out, and nothing else says as much.
WARNING = '110 - "Response is Stale"'
# Where the line stands: after the link that skips to the content.
_TOP = re.compile(rb'<body[^>]*>(?:\s*<a class="skip-link".*?</a>)?', re.DOTALL)


def marked(response: HttpResponse) -> HttpResponse:
    """Mark a whole answer as stale, a page by a line at its top too; nothing may keep it or take it for the present one."""
    for name in ("ETag", "Last-Modified"):
        del response[name]
    response["Warning"] = WARNING
    response["Cache-Control"] = "no-store"
    if response.get("Content-Type", "").startswith("text/html"):
        with translation.override(response.get("Content-Language")):
            line = loader.render_to_string("errors/_stale.html").encode()
        response.content = _TOP.sub(lambda top: top[0] + line, response.content, count=1)
        response["Content-Length"] = str(len(response.content))
    return response


class StaleMiddleware:
    """Answer with what was kept last, or what secondaries have, marked as stale, while no server is known that takes writes;
    with what was kept also where one failed. Refuse at once if a process that starts has met no primary.

    Outside of the gate: who has a page to show waits for nothing, and leaves the gate to others.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not knows_primary():
            if page := _stale(request):
                return page
            if settings.READ_SECONDARIES and key_of(request) is not None and knows_secondary():
                with secondaries.reading():
                    response = self.get_response(request)
                return response if response.status_code == 503 else marked(response)
            if is_cut_off():
                return unavailable(request)
        response = self.get_response(request)
        return (response.status_code == 503 and _stale(request)) or response


def _stale(request: HttpRequest) -> HttpResponse | None:
    """Return the page that was kept, marked; None where there is none that may be shown."""
    key = key_of(request)
    entry = kept.find(key) if key is not None else None
    if entry is None or not entry.outlives(cache.frame):
        return None
    request.page_cache = "stale"
    return marked(entry.page(entry.content))
