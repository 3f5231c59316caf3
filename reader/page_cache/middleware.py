"""The middleware that serves pages from the cache, and the middleware that fills the cache."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from django.conf import settings
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


class FetchFromPageCacheMiddleware:
    """A middleware that serves current pages from the cache.

    It runs outside SiteMiddleware, so that serving a cached page needs only one command.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        key = None if secondaries.is_reading() else cache_key(request)
        if key is None:
            return self.get_response(request)
        entry = storage.find(key)
        moment = now()
        if entry is None or not entry.is_known_current(moment, request):
            # This comes before all reads, so that a change during a read makes the proof invalid.
            request.stamps = stamps.snapshot()
        if entry is None:
            return self.get_response(request)
        if hasattr(request, "stamps"):
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
            if not entry.is_compared:
                # This process hasn't compared the entry before, so the entry can come from another process.
                cache.put(key, entry)
            entry.is_compared = True
            entry.add_proof(request.stamps)
        entry.checked_at = moment
        response = _add_cdn_headers(entry.response(request), entry)
        request.page_cache = "304" if response.status_code == 304 else "hit"
        return response


class UpdatePageCacheMiddleware:
    """A middleware that stores cacheable responses.

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
            request.page_cache = "renewed"
            renewed.add_proof(request.stamps)
            storage.put(key, renewed)
            return _add_cdn_headers(renewed.response(request), renewed)
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
        request.page_cache = "miss"
        response.setdefault("Cache-Control", "no-cache")
        response.setdefault("Content-Language", stored_site.current().settings.language)
        policy = getattr(response, "_csp_update", None)
        etag = response.get("ETag") or compute_etag(response.content)
        headers = tuple(response.items())
        entry = Entry(
            replace(site_versions, tags=site_versions.in_slots(nodes.slots)),
            nodes,
            seen.versions,
            expires,
            compress(response.content),
            etag,
            headers,
            policy,
            is_unbounded(request),
            due.next_end(moment),
            seen.readings,
            moment,
        )
        if not seen.writing:
            entry.add_proof(request.stamps)
        storage.put(key, entry)
        # The CDN must not cache the page while a comment is being written. If the discussion's next version is lost,
        # the CDN doesn't receive a purge.
        return entry.response(request) if seen.writing else _add_cdn_headers(entry.response(request), entry)


def _add_cdn_headers(response: HttpResponse, entry: Entry) -> HttpResponse:
    """Add the CDN headers to the response for a current entry, if the site uses a CDN."""
    if settings.CDN_PURGE_URLS:
        keys = purging.page_keys(entry.nodes, entry.discussions)
        cdn.set_headers(response, keys, min(entry.expires, now() + cdn.MAX_AGE), entry.next_disappearance)
    return response
