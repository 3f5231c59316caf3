"""The site's document, which contains its settings and the versions with which cached pages and results are compared.

A cached page is valid as long as its dependencies have the same versions (nodes.models.dependencies). Writers renew
versions after readers can see their change. Code that makes a page reads the versions before anything else.
"""

from collections.abc import Collection, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import IntEnum
from hashlib import blake2b
from typing import Any

from bson import ObjectId
from django.utils.translation import gettext_lazy as _

from marginalia.mongo.connection import first_batch, server_selection_time_limit
from marginalia.mongo.engine.read_tracking import tracked_reads
from nodes.collections import SITE

SITE_ID = "site"
# Prefix of the target of a link to a page or section of the site, before its id.
NODE_PREFIX = "node:"
# Maximum documents of other collections that one command reads together with the site.
MAX_EXTRA_DOCUMENTS = 1_000


@dataclass(frozen=True)
class StoredSettings:
    """Settings that administrators change in the admin. The defaults apply until then."""

    name: str = "Marginalia"
    tagline: str = ""
    language: str = "en"
    time_zone: str = "UTC"
    posts_per_page: int = 10
    comment_policy: str = "hold-first"
    comments_close_after_days: int = 0
    # The photo for link previews of pages without a photo.
    share_picture: ObjectId | None = None
    theme: str = "magazine"
    # Ids of photos. The second one is shown in dark colours.
    logo: ObjectId | None = None
    logo_dark: ObjectId | None = None
    # "#rrggbb", or "" for the theme's default (nodes.models.look).
    accent: str = ""
    fonts: str = ""
    home: str = "lead"
    # Links as {label, target}. The target is "node:ID", a path or a URL of another site. If the label is "", the page's
    # title is shown. Without links, the menu shows the sections, and the footer shows the pages at the top level.
    menu: list[dict[str, str]] = field(default_factory=list)
    footer: str = ""
    footer_links: list[dict[str, str]] = field(default_factory=list)
    social: list[dict[str, str]] = field(default_factory=list)


_SETTINGS = frozenset(setting.name for setting in fields(StoredSettings))

COMMENT_POLICIES = (
    ("open", _("Comments appear immediately")),
    ("hold-first", _("Each author's first comment needs approval")),
    ("hold-all", _("Every comment needs approval")),
    ("members", _("Only members can comment, and their comments appear immediately")),
    ("closed", _("No one can comment")),
)
DOCUMENTATION = "documentation"
THEMES = (
    ("magazine", _("Magazine: menu at the top, one column of text")),
    (DOCUMENTATION, _("Documentation: all pages of the section alongside the text")),
)
HOMES = (
    ("lead", _("Newest post large, the others below it")),
    ("list", _("All posts in the same size")),
)


class Scope(IntEnum):
    """Reach of a change. A change renews the version of its scope and of all scopes after it."""

    SITE = 0  # every page, for settings, sections, pages at the top level, and places and dates of nodes
    LISTS = 1  # lists, for the content that they show of nodes, and photos
    TEXTS = 2  # the node's own page, and pages that show whole texts of other nodes


# The stored keys of the versions, in the order of Scope. The key of Scope.SITE stays "frame", because stored documents
# have it.
VERSION_KEYS = ("frame", "lists", "texts")
# Tags also have versions, so that a change of tags doesn't renew `lists`. All tags share this many versions, by a hash.
SLOTS = frozenset(str(number) for number in range(64))


def slots(tags: Iterable[str]) -> frozenset[str]:
    """Return the slots for the versions of `tags`. Upper and lower case make no difference."""
    return frozenset(str(blake2b(tag.casefold().encode(), digest_size=1).digest()[0] % len(SLOTS)) for tag in tags)


@dataclass(frozen=True)
class Versions:
    """The site's versions. Every page depends on the first two."""

    site: ObjectId
    lists: ObjectId
    texts: ObjectId
    # Versions by slot. Slots that were never renewed are missing.
    tags: Mapping[str, ObjectId] = field(default_factory=dict, hash=False)

    def in_slots(self, slots: Collection[str]) -> dict[str, ObjectId]:
        """Return the versions in `slots`."""
        return {slot: self.tags[slot] for slot in slots if slot in self.tags}

    @property
    def changed(self) -> datetime:
        """The time, in whole seconds, when one of these versions was last renewed."""
        return max(version.generation_time for version in (self.site, self.lists, self.texts))


@dataclass(frozen=True)
class ExtraQuery:
    """A query of another collection that is read together with the site, with the fields to read."""

    collection: str
    filter: Mapping[str, Any]
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Site:
    """The site as it was when it was read. `versions` is None before the first change."""

    versions: Versions | None
    nonce: ObjectId | None
    tree: int
    settings: StoredSettings

    @property
    def version(self) -> ObjectId | None:
        """The version that every change renews."""
        return self.versions.texts if self.versions else None


# The site as it was read at the start of the current request. A request reads the site once, so that it uses one
# version.
_request_site: ContextVar[Site | None] = ContextVar("site", default=None)


@tracked_reads()
def read() -> Site:
    """Return the site as it is stored now. Each request begins with this."""
    with server_selection_time_limit():
        documents = first_batch("find", SITE, filter={"_id": SITE_ID}, limit=1, singleBatch=True)
    return _site(documents[0] if documents else {})


@tracked_reads()
def read_with(*queries: ExtraQuery) -> tuple[Site, list[dict[str, Any]]]:
    """Return the site as it is stored now, and the documents of `queries`, which the same command reads after the site."""
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
    """Return the site as the current request first read it.

    Outside of a request, return the site as it is stored now.
    """
    return _request_site.get() or read()


def begin_request(site: Site | None = None) -> Site:
    """Set the site that `current()` returns during this request, and return it. Without `site`, it is read."""
    site = site or read()
    _request_site.set(site)
    return site


def forget() -> None:
    """Forget the site of the current request, at its end or after a write. The next `current()` reads the site again."""
    _request_site.set(None)
