"""Old addresses: which node answers what was a permalink, or "?p=" with an id, on the site it came from.

They are kept by node, so that they lead to its present address wherever it moves.
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

__all__ = ["NUMBERS", "all_links", "arrive", "find", "is_front", "keep", "known", "there_are_any"]

# WordPress goes by the number under any of these names.
NUMBERS = ("p", "page_id", "attachment_id")
NUMBER = re.compile("[0-9]{1,18}")
# A longer path (characters) is no permalink of WordPress's.
LONGEST = 1_000
# Sites that had the same path, at the most.
SOURCES = 20
BATCH = 500


def keep(export: Export, found: Iterable[tuple[int, str, ObjectId]]) -> None:
    """Store the old addresses of some things of an export: (number, permalink, node) of each.

    A node need not be there yet: what is not, or is not live, is answered as any wrong address is.
    """
    host = host_of(export.site.url)
    base = _path(export.site.url)
    for some in batched(found, BATCH):
        writes = [
            UpdateOne(
                {"path": path, "source": export.key},
                {"$set": {"host": host_of(link) or host, "node_id": node_id}},
                upsert=True,
            )
            for number, link, node_id in some
            for path in {_path(link), _numbered(base, number)}
            if 0 < len(path) <= LONGEST
        ]
        database()[LINKS].bulk_write(writes, ordered=False)


def find(host: str, path: str, query: Mapping[str, str]) -> ObjectId | None:
    """Return the node that stands for an old address: of the site that had this host, else of the only one that had this
    path. None if there is none, or if several sites had it and none of them this host."""
    number = next((query[name] for name in NUMBERS if name in query), None)
    wanted = _composed(path)
    if number is not None:
        wanted = _numbered(wanted, int(number)) if NUMBER.fullmatch(number) else ""
    if not wanted or len(wanted) > LONGEST:
        return None
    found = list(database()[LINKS].find({"path": wanted}, {"host": 1, "node_id": 1}).limit(SOURCES))
    ids = {link["node_id"] for link in found if link["host"] == host_of(f"//{host}")} or {d["node_id"] for d in found}
    return ids.pop() if len(ids) == 1 else None


def there_are_any() -> bool:
    """Return whether anything was imported that had an address elsewhere."""
    return database()[LINKS].find_one({}, {"_id": 1}) is not None


def is_front(path: str) -> bool:
    """Return whether a site that was imported had its front page at this path."""
    base = _composed(path)
    # Each site has addresses by number below its front page.
    numbered = {"path": {"$gt": f"{base}?", "$lt": f"{base}@"}}
    return database()[LINKS].find_one(numbered, {"_id": 1}) is not None


def all_links() -> Iterator[dict[str, Any]]:
    """Yield every old address as it is stored, without its id."""
    yield from database()[LINKS].find({}, {"_id": 0}).sort([("path", 1), ("source", 1)])


def arrive(link: Mapping[str, Any], *, dry_run: bool = False) -> bool:
    """Store an old address that another site knew, unless it is known here; return whether it was not. Raises ValueError for
    what is no old address."""
    said = {name: link.get(name) for name in ("path", "source", "host")}
    if not all(isinstance(value, str) for value in said.values()) or not isinstance(link.get("node_id"), ObjectId):
        raise ValueError("this is no old address")
    place = {"path": said["path"], "source": said["source"]}
    is_new = database()[LINKS].find_one(place, {"_id": 1}) is None
    if is_new and not dry_run:
        database()[LINKS].update_one(place, {"$set": {"host": said["host"], "node_id": link["node_id"]}}, upsert=True)
    return is_new


def known(export: Export, numbers: Iterable[int]) -> dict[int, ObjectId]:
    """Return what stands for some numbers of an export, by number, as an earlier run has kept it."""
    base = _path(export.site.url)
    pending = iter(numbers)
    found: dict[int, ObjectId] = {}
    while some := {_numbered(base, number): number for number in islice(pending, BATCH)}:
        wanted = {"path": {"$in": list(some)}, "source": export.key}
        found |= {some[link["path"]]: link["node_id"] for link in database()[LINKS].find(wanted)}
    return found


def _numbered(base: str, number: int) -> str:
    return f"{base}?{number}"


def _path(link: str) -> str:
    """The path of a permalink as `find` is asked for it; with the number, if it goes by that. "" for nonsense."""
    try:
        parts = urlsplit(link.strip())
        query = dict(parse_qsl(parts.query))
    except ValueError:
        return ""
    path = _composed(unquote(parts.path))
    number = next((query[name] for name in NUMBERS if name in query), "")
    return _numbered(path, int(number)) if NUMBER.fullmatch(number) else path


def _composed(path: str) -> str:
    """Return a path without the slashes around it, with composed accented letters."""
    return unicodedata.normalize("NFC", path).strip("/")
