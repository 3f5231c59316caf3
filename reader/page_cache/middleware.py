"""Pages from the cache, and into it."""

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
from reader.page_cache import kept
from reader.page_cache.entries import LONGEST, Entry, etag_of, packed, present
from reader.page_cache.keepable import is_for_all, key_of
from reader.page_cache.kept import cache

# Seconds that a comparison may take: a server that hangs longer is away, for readers of kept pages.
PATIENCE = 2.0
# Seconds for making a page in the place of one that may be shown as stale.
MAKING = 5.0


class KeptPageMiddleware:
    """Answer from the cache what holds: outside of SiteMiddleware, so that a page that is kept costs one command."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        key = None if secondaries.is_reading() else key_of(request)
        entry = kept.find(key) if key is not None else None
        if key is None or entry is None:
            return self.get_response(request)
        moment = now()
        if not entry.is_trusted(moment):
            with outage_after(PATIENCE):
                found = present(entry.nodes.own, entry.discussions)
            cache.frame = found.site.versions.site if found.site.versions else None
            if not entry.holds(found):
                # Another process may have made it anew.
                other = kept.shared.get(key)
                if other is None or not other.holds(found):
                    request.site = found.site  # SiteMiddleware need not read it again
                    request.outdated = entry if entry.frame_holds(found) else None
                    with outage_after(MAKING):
                        return self.get_response(request)
                entry = other
            if not entry.is_compared:
                # The first time here: it may be of another process.
                cache.put(key, entry)
            entry.held = moment
            entry.is_compared = True
        response = _for_caches(entry.response(request), entry)
        request.page_cache = "304" if response.status_code == 304 else "hit"
        return response


class PageCacheMiddleware:
    """Keep what may be kept: inside of SiteMiddleware, which has read the site's versions before anything else."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        key = key_of(request)
        if request.method in ("GET", "HEAD"):
            request.page_cache = "unkeepable"
        if secondaries.is_reading():
            return self.get_response(request)
        site_versions = stored_site.current().versions
        cache.frame = site_versions.site if site_versions else None
        if key is None:
            return self.get_response(request)
        outdated: Entry | None = getattr(request, "outdated", None)
        if outdated and (renewed := outdated.renewed(request)):
            request.page_cache = "renewed"
            kept.put(key, renewed)
            return _for_caches(renewed.response(request), renewed)
        # What falls due while the page is made may be missing from it.
        moment = now()
        with watch_reads() as reads, dependencies.recorded() as nodes, versions.recorded() as seen:
            response = self.get_response(request)
        is_known = seen.lasting and not reads.has_untracked
        if site_versions is None or not is_known or not is_for_all(request, response):
            return response
        # Lists by a date of their own change with the day.
        midnight = localtime(moment).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        until = min(filter(None, (moment + LONGEST, due.next_due(moment), midnight)))
        request.page_cache = "miss"
        response.setdefault("Cache-Control", "no-cache")
        response.setdefault("Content-Language", stored_site.current().settings.language)
        policy = getattr(response, "_csp_update", None)
        etag = response.get("ETag") or etag_of(response.content)
        headers = tuple(response.items())
        entry = Entry(
            replace(site_versions, tags=site_versions.in_slots(nodes.slots)),
            nodes,
            seen.versions,
            until,
            packed(response.content),
            etag,
            headers,
            policy,
            due.next_end(moment),
            seen.readings,
            moment,
        )
        kept.put(key, entry)
        # Of a discussion that is being written to the next version may get lost, and with it the word to drop the page.
        return entry.response(request) if seen.writing else _for_caches(entry.response(request), entry)


def _for_caches(response: HttpResponse, entry: Entry) -> HttpResponse:
    """Return an answer that was made of an entry that holds, with what caches in front of the site are to know."""
    if settings.CDN_PURGE_URLS:
        cdn.mark(
            response, purging.keys(entry.nodes, entry.discussions), min(entry.until, now() + cdn.LONGEST), entry.ends
        )
    return response
