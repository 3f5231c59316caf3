"""The site document, which contains the site's settings and its versions.

Versions are ids that show whether cached pages and results are still valid. A cached page is valid as long as the
versions of its dependencies are unchanged (nodes.models.dependencies). A writer updates the versions once readers can
see its change. Code that generates a page reads the versions before it reads anything else.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import IntEnum
from hashlib import blake2b
from typing import Any

from bson import ObjectId
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from marginalia.mongo.connection import first_batch, server_selection_time_limit
from marginalia.mongo.engine.read_tracking import tracked_reads
from marginalia.trust import DEFAULT_TRUST_AFTER
from nodes.collections import SITE

SITE_ID = "site"
# If a link leads to a page or section on this site, the link's target consists of this prefix and the node's id.
NODE_PREFIX = "node:"
# Maximum number of documents from other collections that a single database command reads together with the site.
MAX_EXTRA_DOCUMENTS = 1_000


@dataclass(frozen=True)
class StoredSettings:
    """The settings that administrators can change in the admin, and their defaults."""

    name: str = "Marginalia"
    tagline: str = ""
    language: str = "en"
    time_zone: str = "UTC"
    posts_per_page: int = 10
    comment_policy: str = "hold-first"
    # The number of public comments after which writers are trusted.
    comments_trust_after: int = field(
        default_factory=lambda: getattr(settings, "COMMENTS", {}).get("TRUST_AFTER", DEFAULT_TRUST_AFTER)
    )
    comments_close_after_days: int = 0
    comment_likes: bool = False
    # The photo for link previews of pages without a photo.
    share_picture: ObjectId | None = None
    theme: str = "magazine"
    # The ids of the photos that are used as logos. `logo_dark` is shown in dark mode.
    logo: ObjectId | None = None
    logo_dark: ObjectId | None = None
    # "#rrggbb", or "" for the theme's default (nodes.models.look).
    accent: str = ""
    fonts: str = ""
    home: str = "lead"
    # Links as {label, target}. The target is "node:ID", a path, or the URL of another site. If the label is "", the
    # page's title is shown. If there are no links, the menu shows the sections, and the footer shows the pages at the
    # top level.
    menu: list[dict[str, str]] = field(default_factory=list)
    footer: str = ""
    footer_links: list[dict[str, str]] = field(default_factory=list)
    social: list[dict[str, str]] = field(default_factory=list)


_SETTINGS = frozenset(setting.name for setting in fields(StoredSettings))

COMMENT_POLICIES = (
    ("open", _("Comments appear immediately")),
    ("hold-first", _("Each author's first comments need approval")),
    ("hold-all", _("Every comment needs approval")),
    ("members", _("Only members can comment, and their comments appear immediately")),
    ("closed", _("No one can comment")),
)
HOMES = (
    ("lead", _("Newest post large, others below")),
    ("list", _("All posts the same size")),
)


def linked_id(target: str) -> ObjectId | None:
    """Return the id of the page or section to which a target refers, or None for other targets."""
    name = target.removeprefix(NODE_PREFIX)
    return ObjectId(name) if target.startswith(NODE_PREFIX) and ObjectId.is_valid(name) else None


class Scope(IntEnum):
    """The scope of a change. A change updates the version of its scope, and the versions of all narrower scopes.

    - SITE: The change affects every page. Examples are changes to settings, sections, pages at the top level, and the
      sections, slugs and dates of nodes.
    - LISTS: The change affects lists. Examples are changes to photos, and to content that lists show.
    - TEXTS: The change affects only the node's own page, and pages that show the whole text of other nodes.
    """

    SITE = 0
    LISTS = 1
    TEXTS = 2


# The stored keys of the versions, in the same order as Scope. The key for Scope.SITE is still "frame" because existing
# documents contain it.
VERSION_KEYS = ("frame", "lists", "texts")
# The slots for the versions of tags. Tags have separate versions, so that changing tags doesn't update `lists`. Each
# tag is hashed to a slot, and all tags in a slot share a version.
SLOTS = frozenset(str(number) for number in range(64))


def slots(tags: Iterable[str]) -> frozenset[str]:
    """Return the slots with the versions of `tags`. Tags that differ only in case have the same slot."""
    return frozenset(str(blake2b(tag.casefold().encode(), digest_size=1).digest()[0] % len(SLOTS)) for tag in tags)


@dataclass(frozen=True)
class Versions:
    """The site's versions. Every page depends on `site` and `lists`."""

    site: ObjectId
    lists: ObjectId
    texts: ObjectId
    # The tag versions, keyed by slot. Slots whose version was never updated are missing.
    tags: Mapping[str, ObjectId] = field(default_factory=dict, hash=False)

    def in_slots(self, slots: Collection[str]) -> dict[str, ObjectId]:
        """Return the versions of the tags in `slots`, keyed by slot."""
        return {slot: self.tags[slot] for slot in slots if slot in self.tags}

    @property
    def changed(self) -> datetime:
        """The time of the last update to any of these versions, truncated to whole seconds."""
        return max(version.generation_time for version in (self.site, self.lists, self.texts))


@dataclass(frozen=True)
class ExtraQuery:
    """A query for documents in another collection that are read together with the site."""

    collection: str
    filter: Mapping[str, Any]
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Site:
    """The site's settings and versions as they were read. `versions` is None until the first change."""

    versions: Versions | None
    nonce: ObjectId | None
    tree: int
    settings: StoredSettings

    @property
    def version(self) -> ObjectId | None:
        """The version that every change updates."""
        return self.versions.texts if self.versions else None


# The site as read at the start of the current request. Each request reads the site only once, so that it uses the same
# versions throughout.
_request_site: ContextVar[Site | None] = ContextVar("site", default=None)


@tracked_reads()
def read() -> Site:
    """Return the site as it is currently stored. Each request begins with this call."""
    with server_selection_time_limit():
        documents = first_batch("find", SITE, filter={"_id": SITE_ID}, limit=1, singleBatch=True)
    return _site(documents[0] if documents else {})


@tracked_reads()
def read_with(*queries: ExtraQuery) -> tuple[Site, list[dict[str, Any]]]:
    """Return the currently stored site and the documents for `queries`.

    A single command reads the site, and then the documents.
    """
    pipeline: list[dict[str, Any]] = [{"$match": {"_id": SITE_ID}}]
    for query in queries:
        stages = [{"$match": query.filter}, {"$project": dict.fromkeys(query.fields, 1)}]
        pipeline.append({"$unionWith": {"coll": query.collection, "pipeline": stages}})
    with server_selection_time_limit():
        documents = first_batch("aggregate", SITE, pipeline=pipeline, cursor={"batchSize": MAX_EXTRA_DOCUMENTS})
    has_site = bool(documents) and documents[0]["_id"] == SITE_ID
    return _site(documents[0] if has_site else {}), documents[has_site:]


def _site(document: Mapping[str, Any]) -> Site:
    stored: dict[str, Any] = document.get("settings", {})
    known = {name: stored[name] for name in _SETTINGS & stored.keys()}
    versions = None
    if document.keys() >= set(VERSION_KEYS):
        versions = Versions(document["frame"], document["lists"], document["texts"], document.get("tags", {}))
    return Site(versions, document.get("nonce"), document.get("tree", 0), StoredSettings(**known))


def current() -> Site:
    """Return the site as read at the start of the current request.

    Outside a request, return the site as it is currently stored.
    """
    return _request_site.get() or read()


def begin_request(site: Site | None = None) -> Site:
    """Set the site that `current()` returns during this request, and return it. If `site` is None, read the site."""
    site = site or read()
    _request_site.set(site)
    return site


@contextmanager
def read_once() -> Iterator[Site]:
    """Read the site, and let `current()` return it during the `with` block, as during a request."""
    site = read()
    token = _request_site.set(site)
    try:
        yield site
    finally:
        _request_site.reset(token)


def forget() -> None:
    """Forget the site that was read for the current request, so that `current()` reads it again.

    Call this function after each request, and after each write to the site document.
    """
    _request_site.set(None)
