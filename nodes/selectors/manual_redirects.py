"""Queries for the redirects that editors have added. For the former URLs of nodes, see `stored_nodes`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from bson import ObjectId

from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from marginalia.mongo.reading import read_document, read_documents
from nodes.collections import MANUAL_REDIRECTS
from nodes.models import tree
from nodes.models.stored_site import linked_id
from nodes.redirects import path_of
from nodes.selectors import stored_nodes


@dataclass(frozen=True)
class Redirect:
    """A redirect from a URL without a page.

    Attributes:
        url: The normalized URL.
        target: "node:ID", a path on this site, or the URL of another site.
        hits: How often readers were redirected, and `last_hit` is the last time.
    """

    url: str
    target: str
    nonce: ObjectId
    hits: int
    last_hit: datetime | None


def get(url: str) -> Redirect | None:
    """Return the redirect from a normalized URL, or None."""
    return read_document(MANUAL_REDIRECTS, database()[MANUAL_REDIRECTS].find_one({"_id": url}), _redirect)


def get_all(urls: Iterable[str]) -> dict[str, Redirect]:
    """Return the redirects from normalized URLs, keyed by URL."""
    stored = database()[MANUAL_REDIRECTS].find({"_id": {"$in": list(urls)}})
    return {redirect.url: redirect for redirect in read_documents(MANUAL_REDIRECTS, stored, _redirect)}


def find(url: str) -> Redirect | None:
    """Return the redirect from a normalized URL. If there is none, return the redirect from the URL without its query."""
    found = get_all([url, path_of(url)])
    return found.get(url) or found.get(path_of(url))


def page(query: str, after: str, size: int) -> list[Redirect]:
    """Return up to `size` redirects whose URL contains `query`, sorted by URL, beginning after the URL `after`."""
    condition: dict[str, Any] = {"$gt": after}
    if query:
        # MongoDB rejects regular expressions that contain null characters.
        condition["$regex"] = re.escape(query.replace("\x00", ""))
    cursor = database()[MANUAL_REDIRECTS].find({"_id": condition}).sort("_id", 1).limit(size)
    return list(read_documents(MANUAL_REDIRECTS, cursor, _redirect))


def count() -> int:
    """Return the number of redirects."""
    return int(database()[MANUAL_REDIRECTS].estimated_document_count())


def target_url(target: str) -> str:
    """Return the current URL of a target, or "" if the target is a page that readers can't see."""
    node_id = linked_id(target)
    if node_id is None:
        return quote(target, safe="/:?#[]@!$&'()*+,;=%~")
    node = stored_nodes.live_by_id(tree.current(), node_id, now())
    return node.get_absolute_url() if node else ""


def _redirect(stored: Mapping[str, Any]) -> Redirect:
    return Redirect(
        stored["_id"], stored["target"], stored["nonce"], int(stored.get("hits", 0)), stored.get("last_hit")
    )
