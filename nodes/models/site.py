"""The site's one document: its settings and its version."""

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from typing import Any

from bson import ObjectId
from django.utils.translation import gettext_lazy as _

from mongo.connection import first_batch, promptly
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
        found = first_batch("find", SITE, filter={"_id": SITE_ID}, limit=1, singleBatch=True)
    return _site(found[0] if found else {})


def read_beside(collection: str, ids: Sequence[str], fields: Iterable[str]) -> tuple[Site, list[dict[str, Any]]]:
    """Return the site as it is stored now and, read by the same command, these fields of these documents."""
    # `$in` of one id costs the server a third more.
    wanted = ids[0] if len(ids) == 1 else {"$in": list(ids)}
    others: list[dict[str, Any]] = [{"$match": {"_id": wanted}}, {"$project": dict.fromkeys(fields, 1)}]
    both = [{"$match": {"_id": SITE_ID}}, {"$unionWith": {"coll": collection, "pipeline": others}}]
    with promptly():
        found = first_batch("aggregate", SITE, pipeline=both, cursor={"batchSize": len(ids) + 1})
    is_there = bool(found) and found[0]["_id"] == SITE_ID
    return _site(found[0] if is_there else {}), found[is_there:]


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
