"""A page that is kept: what it was made from, and whether it still is what it would be if it were made now."""

import gzip
import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from bson import ObjectId
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS
from django.http import HttpRequest, HttpResponse
from django.template.loader import get_template
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import parse_http_date_safe, quote_etag

from marginalia.comments import conf
from marginalia.comments.backends import VERSIONS
from marginalia.comments.reading import selectors as comments
from marginalia.comments.reading import versions
from marginalia.comments.types import Target
from marginalia.mongo.clock import now
from marginalia.mongo.engine.read_tracking import watch_reads
from nodes.collections import NODES
from nodes.models import dependencies, stored_site, tree
from nodes.models.dependencies import Dependencies
from nodes.models.stored_site import SLOTS, ExtraQuery, Site, Versions
from nodes.selectors import stored_nodes
from nodes.types import Expected

# The part of a page that is made anew by itself, and what encloses it: no text of an editor or reader has an HTML comment.
PART = "nodes/_discussion.html"
BEGINS = b"<!-- discussion -->"
ENDS = b"<!-- end of discussion -->"
# However well an entry compares, it ends this long after it was made: a writer may have died between its change and the new
# version, a millisecond in which other pages would show it no more.
LONGEST = timedelta(minutes=10)
# zlib's: 6 takes twice as long for a twentieth less.
LEVEL = 4
_NO_GZIP = re.compile(r"gzip\s*;\s*q=0(\.0*)?\s*(,|$)")


@dataclass(frozen=True)
class Present:
    """What is stored now: the site, the versions of discussions that were asked for ("" of one that has not begun, None of one
    that is being written to), and the nonce and the tags of the node where it stood, None where it does not stand any more."""

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
    # How often a discussion was looked at for it.
    readings: int = 0
    held: datetime = field(default_factory=now)
    is_compared: bool = False

    @property
    def size(self) -> int:
        """Bytes, about: the page, and what is kept beside it."""
        # All slots are one set for all pages, but for those that another process has made.
        slots = () if self.nodes.slots is SLOTS else self.nodes.slots
        return len(self.packed) + 2_500 + 150 * len(self.site_versions.tags) + 100 * len(slots)

    @property
    def content(self) -> bytes:
        """The page as it was made."""
        return gzip.decompress(self.packed)

    def holds(self, present: Present) -> bool:
        """Return whether the page is still what it would be if it were made now, with the versions that were just read."""
        discussed = (present.discussions.get(id) == version for id, version in self.discussions.items())
        return self.frame_holds(present) and all(discussed)

    def frame_holds(self, present: Present) -> bool:
        """Return whether all of the page but what shows discussions is still what it would be."""
        before = self.site_versions
        after = present.site.versions
        return (
            after is not None
            and before.site == after.site
            and before.lists == after.lists
            and (before.texts == after.texts or not self.nodes.texts)
            and before.in_slots(self.nodes.slots) == after.in_slots(self.nodes.slots)
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
            and self.site_versions.site == frame
        )

    def renewed(self, request: HttpRequest) -> "Entry | None":
        """Return the page with its discussion as it is now, where its frame holds; None where the discussion is shown outside
        of PART, too, or cannot be read, and where PART is a theme's, which may show whatever its page's view has read."""
        content = self.content
        template = get_template(PART)
        is_shipped = template.origin.name == str(settings.BASE_DIR / "templates" / PART)
        if len(self.discussions) != 1 or BEGINS not in content or not is_shipped:
            return None
        with watch_reads() as reads, dependencies.recorded() as nodes, versions.recorded() as seen:
            shown = stored_nodes.live_by_id(tree.current(), Target.of_id(*self.discussions).pk, now())
            if shown is None:
                return None
            part = template.render({"node": shown, "is_preview": False}, request).encode()
        # Of nodes it has read the page's own, as it still is.
        is_own = nodes in (Dependencies(), Dependencies(node=self.nodes.node, tags=self.nodes.tags))
        if reads.has_untracked or not seen.lasting or seen.writing or not is_own or seen.readings != self.readings:
            return None
        content = b"".join((content.split(BEGINS)[0], part.strip(), content.split(ENDS)[-1]))
        return replace(
            self,
            discussions=seen.versions,
            packed=packed(content),
            etag=etag_of(content),
            held=now(),
            is_compared=False,
        )

    def response(self, request: HttpRequest) -> HttpResponse:
        """Return the page, packed for who takes that, or a 304 for who has it already."""
        # The tag of a node in the API is compared to the byte at its next write, and so belongs to one form.
        has_forms = self.etag.startswith("W/")
        accepted = request.headers.get("Accept-Encoding", "")
        is_packed = has_forms and "gzip" in accepted and not _NO_GZIP.search(accepted)
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


def packed(content: bytes) -> bytes:
    """Return a page as gzip."""
    return gzip.compress(content, LEVEL, mtime=0)


def etag_of(content: bytes) -> str:
    """Return the tag of a page by its content: weak, one for both forms."""
    return "W/" + quote_etag(hashlib.blake2b(content, digest_size=16).hexdigest())


def present(node: Expected | None, discussions: Collection[str]) -> Present:
    """Return the site as it is stored now, and the versions of this node and these discussions."""
    beside = []
    is_beside = conf.database_alias() == DEFAULT_DB_ALIAS
    if discussions and is_beside:
        ids = list(discussions)
        # `$in` of one id costs the server a third more.
        beside.append(ExtraQuery(VERSIONS[0], {"_id": ids[0] if len(ids) == 1 else {"$in": ids}}, VERSIONS[1]))
    if node:
        # By its place too, the shard key.
        place = {"_id": node.id, "metadata.parent_id": node.parent_id, "metadata.slug": node.slug}
        beside.append(ExtraQuery(NODES, place, ("metadata.nonce", "metadata.tags")))
    site, stored = stored_site.read_with(*beside) if beside else (stored_site.read(), [])
    by_id = {one["_id"]: one for one in stored}
    own = by_id.pop(node.id)["metadata"] if node and node.id in by_id else None
    if is_beside:
        settled = {id: versions.settled(one["version"], writing=one["claims"]) for id, one in by_id.items()}
    else:
        found = comments.discussions(map(Target.of_id, discussions)) if discussions else {}
        settled = {target.id: versions.settled(one.version, writing=one.writing) for target, one in found.items()}
    kept = (own["nonce"], tuple(own.get("tags") or ())) if own else None
    return Present(site, dict.fromkeys(discussions, "") | settled, kept)
