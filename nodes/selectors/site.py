"""The site's one document: its settings and its version."""

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, fields
from typing import Any

from bson import ObjectId
from django.utils.translation import gettext_lazy as _

from mongo.connection import database, promptly
from nodes.collections import SITE

SITE_ID = "site"


@dataclass(frozen=True)
class SiteSettings:
    """What administrators set in the admin; the defaults serve until they do."""

    name: str = "Marginalia"
    tagline: str = ""
    language: str = "en"
    time_zone: str = "UTC"
    posts_per_page: int = 10
    comment_policy: str = "hold-first"
    comments_close_after_days: int = 0


COMMENT_POLICIES = (
    ("open", _("Open: every comment appears at once")),
    ("hold-first", _("Hold the first comment of each author")),
    ("hold-all", _("Hold every comment")),
    ("members", _("Members only")),
    ("closed", _("Closed")),
)


@dataclass(frozen=True)
class Site:
    """The site as it was when read. `version` changes after every change that readers can see; None: none was made yet."""

    version: ObjectId | None
    nonce: ObjectId | None
    tree: int
    settings: SiteSettings


# The site as read at the beginning of the request in progress: one request sees one version, and reads it once.
_of_request: ContextVar[Site | None] = ContextVar("site", default=None)


def read() -> Site:
    """Return the site as it is stored now: what requests begin with."""
    with promptly():
        return _site(database()[SITE].find_one({"_id": SITE_ID}) or {})


def read_beside(collection: str, ids: Iterable[str], version: Any) -> tuple[Site, dict[str, Any]]:
    """Return the site as it is stored now and, read by the same command, these documents' `version` (an expression)."""
    versions: list[dict[str, Any]] = [{"$match": {"_id": {"$in": list(ids)}}}, {"$project": {"version": version}}]
    both: list[dict[str, Any]] = [
        {"$match": {"_id": SITE_ID}},
        {"$unionWith": {"coll": collection, "pipeline": versions}},
    ]
    with promptly():
        found = {document["_id"]: document for document in database()[SITE].aggregate(both)}
    return _site(found.pop(SITE_ID, {})), {id: document["version"] for id, document in found.items()}


def _site(document: Mapping[str, Any]) -> Site:
    stored: dict[str, Any] = document.get("settings", {})
    known = {f.name: stored[f.name] for f in fields(SiteSettings) if f.name in stored}
    return Site(document.get("version"), document.get("nonce"), document.get("tree", 0), SiteSettings(**known))


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
