"""The site's one document: its settings, and the versions that kept pages and answers are compared with.

A page is kept as long as what it was made from has the versions that it had (nodes.models.dependencies). Who changes something
gives new ones to it once the change can be read; who makes a page reads them before anything else.
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
# Documents that are read beside it at once.
MAX_EXTRA_DOCUMENTS = 1_000


@dataclass(frozen=True)
class StoredSettings:
    """What administrators set in the admin; the defaults serve until they do."""

    name: str = "Marginalia"
    tagline: str = ""
    language: str = "en"
    time_zone: str = "UTC"
    posts_per_page: int = 10
    comment_policy: str = "hold-first"
    comments_close_after_days: int = 0
    # The photo for link previews of what has no picture.
    share_picture: ObjectId | None = None
    theme: str = "magazine"
    # Photos; the second one is for dark colours.
    logo: ObjectId | None = None
    logo_dark: ObjectId | None = None
    # "#rrggbb"; "" is the theme's own (nodes.models.look).
    accent: str = ""
    fonts: str = ""
    home: str = "lead"
    # Links as {label, target}; the target is "node:ID", a path or an address elsewhere; "" for the label is the page's title.
    # None in the menu: the sections. None in the footer: the pages at the top level.
    menu: list[dict[str, str]] = field(default_factory=list)
    footer: str = ""
    footer_links: list[dict[str, str]] = field(default_factory=list)
    social: list[dict[str, str]] = field(default_factory=list)


_SETTINGS = frozenset(one.name for one in fields(StoredSettings))

COMMENT_POLICIES = (
    ("open", _("Comments appear at once")),
    ("hold-first", _("The first comment of each author waits for approval")),
    ("hold-all", _("Every comment waits for approval")),
    ("members", _("Only members comment, and their comments appear at once")),
    ("closed", _("No one can comment")),
)
DOCUMENTATION = "documentation"
THEMES = (
    ("magazine", _("Magazine: a menu above, one column of text")),
    (DOCUMENTATION, _("Documentation: all pages of a section beside the text")),
)
HOMES = (
    ("lead", _("The newest post large, the others below")),
    ("list", _("All posts alike")),
)


class Scope(IntEnum):
    """How far a change reaches: it gives a new version to what has its name, and to those after it."""

    SITE = 0  # every page: settings, sections, what stands at the top level, where things stand and from when to when
    LISTS = 1  # what lists read of nodes, and photos
    TEXTS = 2  # the page of a node by itself, and what shows whole texts


# The stored keys of the versions, in the order of Scope. The key of Scope.SITE stays "frame", as stored documents have it.
VERSION_KEYS = ("frame", "lists", "texts")
# Tags have versions, too, so that tagging alone leaves lists as they are: so many for all, by a hash of the tag.
SLOTS = frozenset(str(number) for number in range(64))


def slots(tags: Iterable[str]) -> frozenset[str]:
    """Return the slots in which the versions of tags stand: of a tag in any letters the same."""
    return frozenset(str(blake2b(tag.casefold().encode(), digest_size=1).digest()[0] % len(SLOTS)) for tag in tags)


@dataclass(frozen=True)
class Versions:
    """The site's versions. Every page is made from what the first two stand for."""

    site: ObjectId
    lists: ObjectId
    texts: ObjectId
    # By slot; those that were never given a version are not there.
    tags: Mapping[str, ObjectId] = field(default_factory=dict, hash=False)

    def in_slots(self, slots: Collection[str]) -> dict[str, ObjectId]:
        """Return the versions in some slots."""
        return {slot: self.tags[slot] for slot in slots if slot in self.tags}

    @property
    def changed(self) -> datetime:
        """When the site last got one of them, by the second."""
        return max(one.generation_time for one in (self.site, self.lists, self.texts))


@dataclass(frozen=True)
class ExtraQuery:
    """Documents of another collection that are read together with the site, and which of their fields."""

    collection: str
    filter: Mapping[str, Any]
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Site:
    """The site as it was when read. `versions`: None before the first change."""

    versions: Versions | None
    nonce: ObjectId | None
    tree: int
    settings: StoredSettings

    @property
    def version(self) -> ObjectId | None:
        """The one that every change gives anew."""
        return self.versions.texts if self.versions else None


# The site as read at the beginning of the request in progress: one request sees one version, and reads it once.
_of_request: ContextVar[Site | None] = ContextVar("site", default=None)


@tracked_reads()
def read() -> Site:
    """Return the site as it is stored now: what requests begin with."""
    with server_selection_time_limit():
        found = first_batch("find", SITE, filter={"_id": SITE_ID}, limit=1, singleBatch=True)
    return _site(found[0] if found else {})


@tracked_reads()
def read_with(*others: ExtraQuery) -> tuple[Site, list[dict[str, Any]]]:
    """Return the site as it is stored now and, read after it by the same command, these documents of other collections."""
    both: list[dict[str, Any]] = [{"$match": {"_id": SITE_ID}}]
    for other in others:
        found_there = [{"$match": other.filter}, {"$project": dict.fromkeys(other.fields, 1)}]
        both.append({"$unionWith": {"coll": other.collection, "pipeline": found_there}})
    with server_selection_time_limit():
        found = first_batch("aggregate", SITE, pipeline=both, cursor={"batchSize": MAX_EXTRA_DOCUMENTS})
    is_there = bool(found) and found[0]["_id"] == SITE_ID
    return _site(found[0] if is_there else {}), found[is_there:]


def _site(document: Mapping[str, Any]) -> Site:
    stored: dict[str, Any] = document.get("settings", {})
    known = {name: stored[name] for name in _SETTINGS & stored.keys()}
    versions = None
    if document.keys() >= set(VERSION_KEYS):
        versions = Versions(document["frame"], document["lists"], document["texts"], document.get("tags", {}))
    return Site(versions, document.get("nonce"), document.get("tree", 0), StoredSettings(**known))


def current() -> Site:
    """Return the site as this request first read it, or as it is stored now outside of a request."""
    return _of_request.get() or read()


def begin_request(site: Site | None = None) -> Site:
    """Read the site (unless it was read for this very request) at its beginning; every `current()` of it answers with it."""
    site = site or read()
    _of_request.set(site)
    return site


def forget() -> None:
    """End what begin_request began, and after a write: what follows reads anew."""
    _of_request.set(None)
