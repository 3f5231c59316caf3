"""Old URLs of imported nodes and photos: permalinks, and URLs that contain "?p=" and an id.

Each URL is stored with the id of the node, so it redirects to the node's current URL even after the node has been
moved.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from bson import ObjectId
from pymongo import UpdateOne

from marginalia.mongo.connection import batched, database
from wordpress.collections import LINKS
from wordpress.export.old_site import host_of
from wordpress.export.scan import Export

__all__ = ["NUMBER_PARAMETERS", "all_links", "exist", "find", "find_numbers", "import_link", "is_front_page", "store"]

# The query parameters that can contain an id in WordPress.
NUMBER_PARAMETERS = ("p", "page_id", "attachment_id")
NUMBER = re.compile("[0-9]{1,18}")
# Paths with more characters than this are not stored. Permalinks in WordPress are never longer.
MAX_PATH = 1_000
# If several imported sites used the same path, at most this many of them are considered.
MAX_SOURCES = 20
BATCH = 500


def store(export: Export, links: Iterable[tuple[int, str, ObjectId]]) -> None:
    """Store old URLs. For each node, `links` contains (number, permalink, node id).

    The nodes don't have to exist yet. As long as a node doesn't exist or isn't live, its old URLs return status 404.
    """
    host = host_of(export.site.url)
    base = _path(export.site.url)
    for batch in batched(links, BATCH):
        writes = [
            UpdateOne(
                {"path": path, "source": export.key},
                {"$set": {"host": host_of(link) or host, "node_id": node_id}},
                upsert=True,
            )
            for number, link, node_id in batch
            for path in {_path(link), _numbered(base, number)}
            if 0 < len(path) <= MAX_PATH
        ]
        database()[LINKS].bulk_write(writes, ordered=False)


def find(host: str, path: str, query: Mapping[str, str]) -> ObjectId | None:
    """Return the id of the node that an old URL now refers to.

    If several imported sites used the path, return the node from the site with this host. Return None if no site used
    the path, or if several sites used it for different nodes and none of them has this host.
    """
    number = next((query[name] for name in NUMBER_PARAMETERS if name in query), None)
    query_path = _normalize(path)
    if number is not None:
        query_path = _numbered(query_path, int(number)) if NUMBER.fullmatch(number) else ""
    if not query_path or len(query_path) > MAX_PATH:
        return None
    candidates = list(database()[LINKS].find({"path": query_path}, {"host": 1, "node_id": 1}).limit(MAX_SOURCES))
    ids = {link["node_id"] for link in candidates if link["host"] == host_of(f"//{host}")} or {
        link["node_id"] for link in candidates
    }
    return ids.pop() if len(ids) == 1 else None


def exist() -> bool:
    """Return whether any old URLs are stored."""
    return database()[LINKS].find_one({}, {"_id": 1}) is not None


def is_front_page(path: str) -> bool:
    """Return whether this path was the front page of an imported site."""
    base = _normalize(path)
    # For every imported site, URLs that consist of the front page and a number are stored.
    query = {"path": {"$gt": f"{base}?", "$lt": f"{base}@"}}
    return database()[LINKS].find_one(query, {"_id": 1}) is not None


def all_links() -> Iterator[dict[str, Any]]:
    """Yield all stored old URLs, without the `_id` of their documents."""
    yield from database()[LINKS].find({}, {"_id": 0}).sort([("path", 1), ("source", 1)])


def import_link(link: Mapping[str, Any], *, dry_run: bool = False) -> bool:
    """Store an old URL from an export of another site, unless it is already stored. Return whether it was new.

    Raises:
        ValueError: `link` is not a valid old URL.
    """
    fields = {name: link.get(name) for name in ("path", "source", "host")}
    if not all(isinstance(value, str) for value in fields.values()) or not isinstance(link.get("node_id"), ObjectId):
        raise ValueError("this is not an old URL")
    key = {"path": fields["path"], "source": fields["source"]}
    is_new = database()[LINKS].find_one(key, {"_id": 1}) is None
    if is_new and not dry_run:
        database()[LINKS].update_one(key, {"$set": {"host": fields["host"], "node_id": link["node_id"]}}, upsert=True)
    return is_new


def find_numbers(export: Export, numbers: Iterable[int]) -> dict[int, ObjectId]:
    """Return the ids of nodes that previous runs have stored, keyed by their numbers in WordPress."""
    base = _path(export.site.url)
    pending = iter(numbers)
    nodes: dict[int, ObjectId] = {}
    while numbers_by_path := {_numbered(base, number): number for number in islice(pending, BATCH)}:
        query = {"path": {"$in": list(numbers_by_path)}, "source": export.key}
        nodes |= {numbers_by_path[link["path"]]: link["node_id"] for link in database()[LINKS].find(query)}
    return nodes


def _numbered(base: str, number: int) -> str:
    return f"{base}?{number}"


def _path(link: str) -> str:
    """Return the path of a permalink in its stored form. If the permalink contains a number, include the number.

    The result is "" for an invalid URL.
    """
    try:
        parts = urlsplit(link.strip())
        query = dict(parse_qsl(parts.query))
    except ValueError:
        return ""
    path = _normalize(unquote(parts.path))
    number = next((query[name] for name in NUMBER_PARAMETERS if name in query), "")
    return _numbered(path, int(number)) if NUMBER.fullmatch(number) else path


def _normalize(path: str) -> str:
    """Return a path in composed Unicode form (NFC), and without leading or trailing slashes."""
    return unicodedata.normalize("NFC", path).strip("/")
