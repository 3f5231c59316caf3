"""The middleware that serves pages from the cache, compares them with the database, and fills the cache."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.utils.timezone import localtime

from marginalia.comments.reading import versions
from marginalia.mongo.clock import now
from marginalia.mongo.engine import secondaries
from marginalia.mongo.engine.read_tracking import watch_reads
from marginalia.mongo.servers import outage_after
from nodes.models import dependencies, stored_site
from nodes.selectors import due
from reader import cdn, purging
from reader.page_cache import stamps, storage
from reader.page_cache.cacheable import cache_key, is_shareable, is_unbounded
from reader.page_cache.entries import MAX_AGE, Entry, compress, compute_etag, read_state
from reader.page_cache.storage import cache

# Time limit for the comparison with the database, in seconds. If the comparison takes longer, readers see the cached
# page, marked as stale.
COMPARISON_TIMEOUT = 2.0
# Time limit for rendering a page, in seconds. It applies if the cache contains a page that can be served as stale.
RENDERING_TIMEOUT = 5.0


class PageCacheMiddleware:
    """A middleware that serves pages that are current according to the stamps, and stores new pages.

    It runs outside the middleware that adds headers, because cached pages are stored with all of their headers. Other
    middleware therefore doesn't run for cached pages.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            key = cache_key(request)
        except DisallowedHost:  # ComparePageMiddleware raises it again, so that the error page has all headers
            key = None
        if key is None:
            return self.get_response(request)
        entry = storage.find(key)
        moment = now()
        if entry and entry.is_known_current(moment, request):
            entry.checked_at = moment
            # A process that has read no version yet could otherwise not serve the page if the database fails.
            cache.site_version = cache.site_version or entry.site_versions.site
            return _response(request, entry)
        response = self.get_response(request)
        new_entry: Entry | None = getattr(response, "new_entry", None)
        # Other middleware may have replaced or changed the response.
        if new_entry is None or not is_shareable(request, response):
            return response
        new_entry.set_headers(response)
        storage.put(key, new_entry)
        response = _response(request, new_entry)
        request.page_cache = "miss"
        return response


class ComparePageMiddleware:
    """A middleware that compares cached pages with the database, and serves them if they are current.

    It runs outside SiteMiddleware, so that serving a compared page needs only one command.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        key = None if secondaries.is_reading() else cache_key(request)
        if key is None:
            return self.get_response(request)
        # This comes before all reads, so that a change during a read makes the proof invalid.
        request.stamps = stamps.snapshot()
        entry = storage.find(key)
        if entry is None:
            return self.get_response(request)
        moment = now()
        with outage_after(COMPARISON_TIMEOUT):
            state = read_state(entry.nodes.own, entry.discussions)
        cache.site_version = state.site.versions.site if state.site.versions else None
        if not entry.is_current(state):
            # Another process may have rendered the page again since this process cached the entry.
            shared_entry = storage.shared.get(key)
            if shared_entry is None or not shared_entry.is_current(state):
                request.site = state.site  # This prevents SiteMiddleware from reading the site again.
                request.outdated_entry = entry if entry.is_current_except_discussions(state) else None
                with outage_after(RENDERING_TIMEOUT):
                    return self.get_response(request)
            entry = shared_entry
            cache.put(key, entry)
        entry.checked_at = moment
        entry.add_proof(request.stamps)
        return _response(request, entry)


class RecordPageMiddleware:
    """A middleware that records the data from which a page is rendered, so that the page can be cached.

    It runs inside SiteMiddleware, which has read the site's versions before anything else.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        key = cache_key(request)
        if request.method in ("GET", "HEAD"):
            request.page_cache = "unkeepable"
        if secondaries.is_reading():
            return self.get_response(request)
        site_versions = stored_site.current().versions
        cache.site_version = site_versions.site if site_versions else None
        if key is None:
            return self.get_response(request)
        outdated: Entry | None = getattr(request, "outdated_entry", None)
        if outdated and (renewed := outdated.with_current_discussion(request)):
            renewed.add_proof(request.stamps)
            storage.put(key, renewed)
            response = _response(request, renewed)
            request.page_cache = "renewed"
            return response
        # This is the time before rendering. If scheduled changes become due during rendering, they can be missing from
        # the page.
        moment = now()
        with watch_reads() as reads, dependencies.recorded() as nodes, versions.recorded() as seen:
            response = self.get_response(request)
        has_known_versions = seen.lasting and not reads.has_untracked
        if site_versions is None or not has_known_versions or not is_shareable(request, response):
            return response
        # Lists of upcoming pages change at midnight.
        midnight = localtime(moment).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        expires = min(filter(None, (moment + MAX_AGE, due.next_due(moment), midnight)))
        response.setdefault("Cache-Control", "no-cache")
        entry = Entry(
            replace(site_versions, tags=site_versions.in_slots(nodes.slots)),
            nodes,
            seen.versions,
            expires,
            compress(response.content),
            response.get("ETag") or compute_etag(response.content),
            is_unbounded=is_unbounded(request),
            next_disappearance=due.next_end(moment),
            readings=seen.readings,
            checked_at=moment,
        )
        entry.add_proof(request.stamps)
        response.new_entry = entry  # PageCacheMiddleware stores the entry with its headers.
        return response


def _response(request: HttpRequest, entry: Entry) -> HttpResponse:
    """Return the response for a current entry, with CDN headers if the site uses a CDN."""
    response = entry.response(request)
    request.page_cache = "304" if response.status_code == 304 else "hit"
    if settings.CDN_PURGE_URLS:
        keys = purging.page_keys(entry.nodes, entry.discussions)
        cdn.set_headers(response, keys, min(entry.expires, now() + cdn.MAX_AGE), entry.next_disappearance)
    return response
