"""Cached pages with the versions of their data, and the comparison with the versions in the database."""

import gzip
import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path

from bson import ObjectId
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.http import HttpRequest, HttpResponse
from django.http.response import ResponseHeaders
from django.template.loader import get_template
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import parse_http_date_safe, quote_etag

from marginalia.comments import conf
from marginalia.comments.backends import VERSIONS
from marginalia.comments.reading import selectors, versions
from marginalia.comments.types import Target
from marginalia.mongo.clock import now
from marginalia.mongo.engine.read_tracking import watch_reads
from nodes.collections import NODES
from nodes.models import dependencies, stored_site, tree
from nodes.models.dependencies import Dependencies
from nodes.models.stored_site import SLOTS, ExtraQuery, Site, Versions
from nodes.selectors import stored_nodes
from nodes.types import Expected
from reader import purging
from reader.page_cache import stamps
from reader.page_cache.stamps import Proof, Snapshot

# The template of the part of a page that can be rendered separately, and the part's delimiters. Text from editors and
# readers never contains HTML comments.
DISCUSSION_TEMPLATE = "nodes/_discussion.html"
SHIPPED_DISCUSSION = Path(__file__).parents[1] / "templates" / DISCUSSION_TEMPLATE
DISCUSSION_START = b"<!-- discussion -->"
DISCUSSION_END = b"<!-- end of discussion -->"
# All entries expire after this time, even if their versions are current. A writer may have crashed in the millisecond
# between its change and the new version. In this case, the cached page differs from pages that are rendered later.
MAX_AGE = timedelta(minutes=10)
# The zlib compression level. Level 4 takes about 1.4 times as long, but makes pages only 5% smaller.
COMPRESSION_LEVEL = 3
# The beginning of the API's URL paths.
API_PREFIX = "/api/"
# The headers that describe the content, so that responses without the content don't have them.
_CONTENT_HEADERS = {"Content-Type", "Content-Length", "Content-Language"}
# The request headers of conditional requests.
_CONDITIONS = {"HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE", "HTTP_IF_UNMODIFIED_SINCE"}
_NO_GZIP = re.compile(r"gzip\s*;\s*q=0(\.0*)?\s*(,|$)")


@dataclass(frozen=True)
class StoredState:
    """The versions that are currently stored in the database.

    Attributes:
        site: The site, with its versions.
        discussions: The version of each requested discussion. A version is "" if readers have seen no change
            since before the discussion began, or None if a comment is being written.
        node: The nonce and tags of the node, or None if the node no longer has the same section and slug.
    """

    site: Site
    discussions: Mapping[str, str | None]
    node: tuple[ObjectId, tuple[str, ...]] | None


@dataclass
class Entry:
    """A compressed response, with the versions of the data from which it was rendered.

    Attributes:
        expires: The time after which the page may be outdated even if its versions are current.
        is_unbounded: Whether anyone can create any number of URLs like the page's URL.
        checked_at: The time when the entry was rendered or last found to be current.
    """

    site_versions: Versions
    nodes: Dependencies
    discussions: Mapping[str, str]
    expires: datetime
    compressed: bytes
    etag: str
    # All headers that don't depend on the request, except the entity tag.
    headers: ResponseHeaders = field(default_factory=lambda: ResponseHeaders({}))
    is_unbounded: bool = False
    # The next time when something on the page is scheduled to disappear or change.
    next_disappearance: datetime | None = None
    # The number of times that a discussion was read to render the page.
    readings: int = 0
    checked_at: datetime = field(default_factory=now)
    proof: Proof | None = None

    @property
    def size(self) -> int:
        """Return the approximate size in bytes of the page and the data stored with it."""
        # In each process, all pages that depend on every tag share a single set of slots, so this set isn't counted.
        slots = () if self.nodes.slots is SLOTS else self.nodes.slots
        return len(self.compressed) + 3_500 + 150 * len(self.site_versions.tags) + 250 * len(slots)

    @property
    def content(self) -> bytes:
        """Return the uncompressed page."""
        return _decompress(self.compressed)

    def is_current(self, state: StoredState) -> bool:
        """Return whether the page would be the same if it were rendered again with the versions in `state`."""
        same_discussions = (state.discussions.get(id) == version for id, version in self.discussions.items())
        return self.is_current_except_discussions(state) and all(same_discussions)

    def is_current_except_discussions(self, state: StoredState) -> bool:
        """Return whether the page is current. Changes to its discussions are ignored."""
        before = self.site_versions
        after = state.site.versions
        return (
            after is not None
            and before.site == after.site
            and before.lists == after.lists
            and (before.texts == after.texts or not self.nodes.texts)
            and before.in_slots(self.nodes.slots) == after.in_slots(self.nodes.slots)
            and (self.nodes.own is None or (self.nodes.own.nonce, self.nodes.tags) == state.node)
            and now() < self.expires
        )

    def is_known_current(self, moment: datetime, request: HttpRequest) -> bool:
        """Return whether the page is current according to the stamps, so that it needn't be compared.

        The API always compares, because its clients can send a write to one server and read from another.
        """
        return stamps.is_current(self.proof) and moment < self.expires and not request.path_info.startswith(API_PREFIX)

    def add_proof(self, before: Snapshot) -> None:
        """Store the proof for the page, whose data was read or compared after the snapshot `before`."""
        # The listener follows only the changes in the site's own database.
        if not self.discussions or conf.database_alias() == DEFAULT_DB_ALIAS:
            self.proof = stamps.prove(purging.page_keys(self.nodes, self.discussions), before)

    def can_be_served_stale(self, site_version: ObjectId | None) -> bool:
        """Return whether readers can see the page, marked as stale, while the database is unavailable for comparison.

        This is allowed for STALE_MINUTES, unless something on the page was due to disappear since the last comparison.
        It isn't allowed if the site's version has changed, because the page may have been unpublished.

        Args:
            site_version: The last `site` version that this process has read.
        """
        moment = now()
        return (
            moment < self.checked_at + timedelta(minutes=settings.STALE_MINUTES)
            and (self.next_disappearance is None or moment < self.next_disappearance)
            and self.site_versions.site == site_version
        )

    def with_current_discussion(self, request: HttpRequest) -> "Entry | None":
        """Return the page with its discussion rendered again. Callers must check that the rest of the page is current.

        Return None if the page also shows the discussion outside DISCUSSION_TEMPLATE, or if the discussion can't be
        read. Also return None if a theme overrides the template, because the template can then show any data that the
        page's view has read.
        """
        content = self.content
        template = get_template(DISCUSSION_TEMPLATE)
        is_shipped = Path(template.origin.name) == SHIPPED_DISCUSSION
        if len(self.discussions) != 1 or DISCUSSION_START not in content or not is_shipped:
            return None
        with watch_reads() as reads, dependencies.recorded() as nodes, versions.recorded() as seen:
            node = stored_nodes.live_by_id(tree.current(), Target.from_id(*self.discussions).pk, now())
            if node is None:
                return None
            discussion = template.render({"node": node, "is_preview": False}, request).encode()
        # The template must have read no node except the page's own node, in the same version.
        is_own = nodes in (Dependencies(), Dependencies(node=self.nodes.node, tags=self.nodes.tags))
        if reads.has_untracked or not seen.lasting or not is_own or seen.readings != self.readings:
            return None
        before = content.split(DISCUSSION_START)[0]
        after = content.split(DISCUSSION_END)[-1]
        content = b"".join((before, discussion.strip(), after))
        return replace(
            self,
            discussions=seen.versions,
            compressed=compress(content),
            etag=compute_etag(content),
            checked_at=now(),
            proof=None,
        )

    def set_headers(self, response: HttpResponse) -> None:
        """Store the headers of the page's first response, except the entity tag, and the header for compression."""
        if self.is_compressible:
            patch_vary_headers(response, ["Accept-Encoding"])
        self.headers = ResponseHeaders(response.headers)
        self.headers.pop("ETag", None)

    @property
    def is_compressible(self) -> bool:
        """Return whether clients can receive the page in compressed form.

        Only weak entity tags are valid for both the compressed and the uncompressed page. The API uses strong tags for
        nodes, because writes must compare tags exactly. A strong tag is valid for only one of the two forms.
        """
        return self.etag.startswith("W/")

    def response(self, request: HttpRequest) -> HttpResponse:
        """Return the page, compressed if the client accepts gzip. If the client already has the page, return a 304."""
        conditional = None
        if not _CONDITIONS.isdisjoint(request.META):
            modified = self.headers.get("Last-Modified")
            timestamp = parse_http_date_safe(modified) if modified else None
            conditional = get_conditional_response(request, self.etag, timestamp)
        if conditional is not None:
            # When browsers receive a 304 response, they apply its headers to the page in their cache.
            for name, value in self.headers.items():
                if name not in _CONTENT_HEADERS:
                    conditional[name] = value
            conditional["ETag"] = self.etag
            return conditional
        accepted = request.META.get("HTTP_ACCEPT_ENCODING", "")
        # With DEBUG, pages aren't compressed, so that tools such as django-debug-toolbar can add to them.
        is_accepted = "gzip" in accepted and not _NO_GZIP.search(accepted)
        if not (self.is_compressible and is_accepted) or settings.DEBUG:
            return self.full_response(self.content)
        response = self.full_response(self.compressed)
        response["Content-Encoding"] = "gzip"
        return response

    def full_response(self, content: bytes) -> HttpResponse:
        """Return a response with the page's headers. `content` is the page, compressed or uncompressed."""
        response = HttpResponse(content)
        # Copy the headers, because Django would otherwise check each of them again for every response.
        own = {"content-length": ("Content-Length", str(len(content))), "etag": ("ETag", self.etag)}
        response.headers._store = self.headers._store | own
        return response


def compress(content: bytes) -> bytes:
    """Compress a page with gzip."""
    return gzip.compress(content, COMPRESSION_LEVEL, mtime=0)


# The cache is small, because few clients don't accept gzip.
@lru_cache(maxsize=16)
def _decompress(content: bytes) -> bytes:
    return gzip.decompress(content)


def compute_etag(content: bytes) -> str:
    """Return a weak entity tag for the uncompressed content. It is valid for the compressed content, too."""
    return "W/" + quote_etag(hashlib.blake2b(content, digest_size=16).hexdigest())


def read_state(node: Expected | None, discussions: Collection[str]) -> StoredState:
    """Read the site and the versions of a node and some discussions. If they share a database, use a single command."""
    lookups = []
    in_same_database = conf.database_alias() == DEFAULT_DB_ALIAS
    if discussions and in_same_database:
        ids = list(discussions)
        # For a single id, `$in` takes a third more time on the server than an equality match.
        lookups.append(ExtraQuery(VERSIONS[0], {"_id": ids[0] if len(ids) == 1 else {"$in": ids}}, VERSIONS[1]))
    if node:
        # The filter contains the node's section and slug, because they are the shard key.
        place = {"_id": node.id, "metadata.parent_id": node.parent_id, "metadata.slug": node.slug}
        lookups.append(ExtraQuery(NODES, place, ("metadata.nonce", "metadata.tags")))
    site, documents = stored_site.read_with(*lookups) if lookups else (stored_site.read(), [])
    by_id = {document["_id"]: document for document in documents}
    metadata = by_id.pop(node.id)["metadata"] if node and node.id in by_id else None
    if in_same_database:
        settled = {
            id: versions.reliable_version(document["version"], writing=document["claims"])
            for id, document in by_id.items()
        }
    else:
        by_target = selectors.discussions(map(Target.from_id, discussions)) if discussions else {}
        settled = {
            target.id: versions.reliable_version(discussion.version, writing=discussion.writing)
            for target, discussion in by_target.items()
        }
    nonce_and_tags = (metadata["nonce"], tuple(metadata.get("tags") or ())) if metadata else None
    return StoredState(site, dict.fromkeys(discussions, "") | settled, nonce_and_tags)
