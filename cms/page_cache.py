"""Pages for readers without a session, kept in process under the versions they were made from. Never stale, unless they say so.

The site's versions are read before anything else (SiteMiddleware), each discussion's before its comments, and writers set new
versions after their change can be read. What was made under the present versions is therefore as new as the data; an entry
is compared with the database at every request, by one command that reads all versions that a page has; it is trusted for a
while only where PAGE_CACHE_TRUST_MS says so.

Every page depends on the site's `frame` and `lists`; that of a node on its nonce and tags; what shows tags of other nodes, on
the versions of these; what shows other texts, on the site's `texts` (nodes.models.dependencies). A page for which something was
read that notes none of these is not kept.

Where a page's discussion alone is another, that part is made anew, and the rest stays.

A page is kept packed, as browsers take it: five times as many find room. It is public, and so tells nothing by its length.

While no primary answers there is nothing to compare with: readers get what was kept last, marked as stale (StaleMiddleware).
"""

import gzip
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from bson import ObjectId
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import parse_http_date_safe, quote_etag

from api.changes import purging
from cms.requests.keepable import PLAIN, is_for_all, key_of
from cms.requests.stale import marked
from cms.serving import cdn
from comments import conf
from comments.backends import VERSIONS
from comments.reading import selectors as comments
from comments.reading import versions
from comments.types import Target
from mongo.clock import now
from mongo.engine import secondaries
from mongo.engine.noting import watched
from mongo.servers import knows_primary, knows_secondary, within
from nodes.collections import NODES
from nodes.models import dependencies
from nodes.models import site as stored_site
from nodes.models.dependencies import Dependencies
from nodes.models.site import Beside, Site, Versions
from nodes.selectors import due
from nodes.types import Expected

# The part of a page that is made anew by itself, and what encloses it: no text of an editor or reader has an HTML comment.
PART, BEGINS, ENDS = "nodes/_discussion.html", b"<!-- discussion -->", b"<!-- end of discussion -->"
# However well an entry compares, it ends this long after it was made: a writer may have died between its change and the new
# version, a millisecond in which other pages would show it no more.
LONGEST = timedelta(minutes=10)
# zlib's: 6 takes twice as long for a twentieth less.
LEVEL = 4
# Seconds that a comparison may take: a server that hangs longer is away, for readers of kept pages.
PATIENCE = 2.0
# Seconds for making a page in the place of one that may be shown as stale.
MAKING = 5.0


@dataclass(frozen=True)
class Present:
    """What is stored now: the site, the versions of discussions (none of one that has not begun, None of one that is being
    written to), and the nonce and the tags of the node where it stood, None where it does not stand any more."""

    site: Site
    discussions: Mapping[str, str | None]
    node: tuple[ObjectId, tuple[str, ...]] | None


@dataclass
class Entry:
    """A page as it was sent, packed, what it was made from, when it changes by itself at the latest, and when it was last found
    to hold: when it was made, at first, unless `is_compared`."""

    site_versions: Versions
    nodes: Dependencies
    discussions: Mapping[str, str]
    until: datetime
    packed: bytes
    etag: str
    headers: tuple[tuple[str, str], ...]
    # What its view adds to the site's policy, which is written outside of the cache.
    policy: Mapping[str, Any] | None = None
    # When something next vanishes or changes as scheduled.
    ends: datetime | None = None
    # What it shows, and how often a discussion was looked at for it.
    shown: Any = None
    readings: int = 0
    held: datetime = field(default_factory=now)
    is_compared: bool = False

    @property
    def size(self) -> int:
        """Bytes, about: the page, what it shows, and what is kept beside it."""
        return len(self.packed) + (4_000 if self.shown else 2_000)

    @property
    def content(self) -> bytes:
        """The page as it was made."""
        return gzip.decompress(self.packed)

    def holds(self, present: Present) -> bool:
        """Return whether the page is still what it would be if it were made now, with the versions that were just read."""
        discussed = (present.discussions.get(id, "") == version for id, version in self.discussions.items())
        return self.frame_holds(present) and all(discussed)

    def frame_holds(self, present: Present) -> bool:
        """Return whether all of the page but what shows discussions is still what it would be."""
        before, after = self.site_versions, present.site.versions
        return (
            after is not None
            and before.frame == after.frame
            and before.lists == after.lists
            and (before.texts == after.texts or not self.nodes.texts)
            and before.of_tags(self.nodes.slots) == after.of_tags(self.nodes.slots)
            and (self.nodes.own is None or (self.nodes.own.nonce, self.nodes.tags) == present.node)
            and now() < self.until
        )

    def is_trusted(self, moment: datetime) -> bool:
        """Return whether the page was found to hold so shortly before `moment` that the settings have it shown as it is."""
        trusted = timedelta(milliseconds=settings.PAGE_CACHE_TRUST_MS)
        return self.is_compared and moment < min(self.held + trusted, self.until)

    def outlives(self, frame: ObjectId | None) -> bool:
        """Return whether it may be shown as stale while it cannot be compared: for STALE_MINUTES, if nothing was due to vanish
        since, nor has this process seen another `frame` of the site, as there is once a page was taken down."""
        moment = now()
        return (
            moment < self.held + timedelta(minutes=settings.STALE_MINUTES)
            and (self.ends is None or moment < self.ends)
            and self.site_versions.frame == frame
        )

    def renewed(self, request: HttpRequest) -> "Entry | None":
        """Return the page with its discussion as it is now, where its frame holds; None where the discussion is shown outside
        of PART, too, or cannot be read."""
        content = self.content
        if self.shown is None or BEGINS not in content:
            return None
        with watched() as reads, dependencies.recorded() as nodes, versions.recorded() as seen:
            part = render_to_string(PART, {"node": self.shown, "is_preview": False}, request).encode()
        is_all = seen.readings == self.readings and nodes == Dependencies()
        if reads.unnoted or not seen.lasting or seen.writing or not is_all:
            return None
        content = b"".join((content.split(BEGINS)[0], part.strip(), content.split(ENDS)[-1]))
        return replace(
            self,
            discussions=seen.versions,
            packed=packed(content),
            etag=_etag(content),
            held=now(),
            is_compared=False,
        )

    def response(self, request: HttpRequest) -> HttpResponse:
        """Return the page, packed for who takes that, or a 304 for who has it already."""
        # The tag of a node in the API is compared to the byte at its next write, and so belongs to one form.
        has_forms = self.etag.startswith("W/")
        is_packed = has_forms and "gzip" in request.headers.get("Accept-Encoding", "")
        response = self.page(self.packed if is_packed else self.content)
        response["ETag"] = self.etag
        if has_forms:
            patch_vary_headers(response, ["Accept-Encoding"])
        if is_packed:
            response["Content-Encoding"] = "gzip"
        modified = parse_http_date_safe(response.get("Last-Modified", ""))
        answer = get_conditional_response(request, self.etag, modified, response) or response
        if self.policy:
            # A browser takes the headers of a 304 for those of the page that it has.
            answer._csp_update = self.policy
        return answer

    def page(self, content: bytes) -> HttpResponse:
        """Return the page whole, in this form."""
        response = HttpResponse(content)
        for name, value in self.headers:
            response[name] = value
        response["Content-Length"] = str(len(response.content))
        if self.policy:
            response._csp_update = self.policy
        return response


class PageCache:
    """Entries by request, the longest unused dropped when they need more than `most` bytes together: first those with
    parameters, of which a stranger can make any number."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = 0
        self.entries: OrderedDict[tuple[str, ...], Entry] = OrderedDict()
        # The newest `frame` of the site that this process has made a page of.
        self.frame: ObjectId | None = None
        self._lock = threading.Lock()

    def get(self, key: tuple[str, ...]) -> Entry | None:
        with self._lock:
            if key in self.entries:
                self.entries.move_to_end(key)
            return self.entries.get(key)

    def put(self, key: tuple[str, ...], entry: Entry) -> None:
        with self._lock:
            self._forget(key)
            if entry.size > self.most // 10:
                return
            self.entries[key] = entry
            self.size += entry.size
            while self.size > self.most:
                self._forget(next((one for one in self.entries if len(one) > PLAIN), next(iter(self.entries))))

    def clear(self) -> None:
        with self._lock:
            self.entries.clear()
            self.size = 0

    def _forget(self, key: tuple[str, ...]) -> None:
        if old := self.entries.pop(key, None):
            self.size -= old.size


cache = PageCache(settings.PAGE_CACHE_BYTES)


class StaleMiddleware:
    """Answer with what was kept last, or what secondaries have, marked as stale, while no server is known that takes writes;
    with what was kept also where one failed.

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
        response = self.get_response(request)
        return (response.status_code == 503 and _stale(request)) or response


def _stale(request: HttpRequest) -> HttpResponse | None:
    """Return the page that was kept, marked; None where there is none that may be shown."""
    key = key_of(request)
    entry = cache.get(key) if key is not None else None
    if entry is None or not entry.outlives(cache.frame):
        return None
    request.page_cache = "stale"
    return marked(entry.page(entry.content))


class KeptPageMiddleware:
    """Answer from the cache what holds: outside of SiteMiddleware, so that a page that is kept costs one command."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        key = None if secondaries.is_reading() else key_of(request)
        entry = cache.get(key) if key is not None else None
        if entry is not None:
            moment = now()
            if not entry.is_trusted(moment):
                with within(PATIENCE):
                    found = present(entry.nodes.own, entry.discussions)
                if not entry.holds(found):
                    request.site = found.site  # SiteMiddleware need not read it again
                    request.outdated = entry if entry.frame_holds(found) else None
                    with within(MAKING):
                        return self.get_response(request)
                entry.held, entry.is_compared = moment, True
            response = _for_caches(entry.response(request), entry)
            request.page_cache = "304" if response.status_code == 304 else "hit"
            return response
        return self.get_response(request)


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
        cache.frame = site_versions.frame if site_versions else None
        if key is None:
            return self.get_response(request)
        outdated: Entry | None = getattr(request, "outdated", None)
        if outdated and (renewed := outdated.renewed(request)):
            request.page_cache = "renewed"
            cache.put(key, renewed)
            return _for_caches(renewed.response(request), renewed)
        # What falls due while the page is made may be missing from it.
        moment = now()
        with watched() as reads, dependencies.recorded() as nodes, versions.recorded() as seen:
            response = self.get_response(request)
        is_known = seen.lasting and not reads.unnoted
        if site_versions is None or not is_known or not is_for_all(request, response):
            return response
        until = min(filter(None, (moment + LONGEST, due.next_due(moment))))
        request.page_cache = "miss"
        response.setdefault("Cache-Control", "no-cache")
        response.setdefault("Content-Language", stored_site.current().settings.language)
        policy = getattr(response, "_csp_update", None)
        etag = response.get("ETag") or _etag(response.content)
        headers = tuple(response.items())
        entry = Entry(
            site_versions,
            nodes,
            seen.versions,
            until,
            packed(response.content),
            etag,
            headers,
            policy,
            due.next_end(moment),
            shown.without_texts() if (shown := getattr(request, "shown", None)) else None,
            seen.readings,
            moment,
        )
        cache.put(key, entry)
        # Of a discussion that is being written to the next version may get lost, and with it the word to drop the page.
        return entry.response(request) if seen.writing else _for_caches(entry.response(request), entry)


def _for_caches(response: HttpResponse, entry: Entry) -> HttpResponse:
    """Return an answer that was made of an entry that holds, with what caches in front of the site are to know."""
    if settings.CDN_PURGE_URLS:
        cdn.mark(
            response, purging.keys(entry.nodes, entry.discussions), min(entry.until, now() + cdn.LONGEST), entry.ends
        )
    return response


def packed(content: bytes) -> bytes:
    """Return a page as gzip."""
    return gzip.compress(content, LEVEL, mtime=0)


def _etag(content: bytes) -> str:
    """Return the tag of a page by its content: weak, one for both forms."""
    return "W/" + quote_etag(hashlib.blake2b(content, digest_size=16).hexdigest())


def present(node: Expected | None, discussions: Collection[str]) -> Present:
    """Return the site as it is stored now, and the versions of this node and these discussions."""
    beside, is_beside = [], conf.database_alias() == DEFAULT_DB_ALIAS
    if discussions and is_beside:
        ids = list(discussions)
        # `$in` of one id costs the server a third more.
        beside.append(Beside(VERSIONS[0], {"_id": ids[0] if len(ids) == 1 else {"$in": ids}}, VERSIONS[1]))
    if node:
        # By its place too, the shard key.
        place = {"_id": node.id, "metadata.parent_id": node.parent_id, "metadata.slug": node.slug}
        beside.append(Beside(NODES, place, ("metadata.nonce", "metadata.tags")))
    site, stored = stored_site.read_beside(*beside) if beside else (stored_site.read(), [])
    by_id = {one["_id"]: one for one in stored}
    own = by_id.pop(node.id)["metadata"] if node and node.id in by_id else None
    if is_beside:
        settled = {id: versions.settled(one["version"], writing=one["claims"]) for id, one in by_id.items()}
    else:
        found = comments.discussions(map(Target.of_id, discussions)) if discussions else {}
        settled = {target.id: versions.settled(one.version, writing=one.writing) for target, one in found.items()}
    return Present(site, settled, (own["nonce"], tuple(own.get("tags") or ())) if own else None)
