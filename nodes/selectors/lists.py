"""The admin lists. They scale to large sites: they use keyset pagination, indexes for all filters, and limited counts.

Without a state filter, nodes are sorted by their last change. Otherwise, the order depends on the state: public and
scheduled nodes are sorted by publication, unpublished nodes by creation, and expired nodes by expiry. The newest nodes
always come first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from marginalia.mongo.reading import read_documents
from nodes.collections import ASSET_FILES, NODES, node_filter
from nodes.content import registry
from nodes.models import Node, Photo, node_from_document, tree
from nodes.selectors import search
from nodes.selectors.listing import FIELDS, detail_projection, with_properties

SIZE = 50
# Maximum number of search results.
MOST_RESULTS = 100
# Counts are exact up to this number. Larger counts are shown as "1,000+". This limit keeps counting fast even if there
# are a million nodes.
COUNTED = 1_000
LIVE = "live"
SCHEDULED = "scheduled"
UNPUBLISHED = "unpublished"
EXPIRED = "expired"
DRAFTED = "drafted"
EXPIRING, DUE = "expiring", "due"
STATES = (LIVE, SCHEDULED, UNPUBLISHED, EXPIRING, EXPIRED, DRAFTED, DUE)
# The Dashboard shows editors the nodes that expire within this time.
SOON = timedelta(days=7)
ANY = "any"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Filters:
    """The filters of a list.

    `section` is an id, None for the top level, or ANY for all sections. `author` is an id, None for authors without an
    account, or ANY for all authors.
    """

    section: ObjectId | str | None = ANY
    type: str = ""
    tag: str = ""
    state: str = ""
    author: ObjectId | str | None = ANY
    search: str = ""
    # Bounds for the time by which the list is sorted: the time of the last change, publication, expiry or draft.
    since: datetime | None = None
    until: datetime | None = None
    # Stored facets, such as "recipe.course=dessert". The list contains only nodes that have all these facets.
    facets: tuple[str, ...] = ()
    # Properties of photo files, as (name, value) pairs. The list contains only photos whose files have all these
    # properties.
    exif: tuple[tuple[str, Any], ...] = ()

    def query(self, moment: datetime) -> dict[str, Any]:
        """Return the database filter for the nodes that the list contains at `moment`, without the search."""
        wanted: dict[str, Any] = {}
        if self.section != ANY:
            wanted["metadata.parent_id"] = self.section
        if self.type:
            wanted["metadata.type"] = self.type
        if self.tag:
            wanted["metadata.tags"] = self.tag
        if self.facets:
            wanted["derived.facets"] = self.facets[0] if len(self.facets) == 1 else {"$all": list(self.facets)}
        if self.author != ANY:
            wanted["metadata.author._id"] = self.author
        if self.exif:
            wanted |= with_properties(self.exif)
        wanted |= _state(self.state, moment)
        if span := {op: time for op, time in (("$gte", self.since), ("$lt", self.until)) if time}:
            path = "metadata.updated" if self.state == UNPUBLISHED else self.order
            wanted[path] = {**wanted.get(path, {}), **span}
        return wanted

    @property
    def order(self) -> str:
        """The path of the time by which the list is sorted."""
        return _ORDER.get(self.state, "metadata.updated")


def _state(state: str, moment: datetime) -> dict[str, Any]:
    conditions: dict[str, dict[str, Any]] = {
        LIVE: {"metadata.published": {"$lte": moment}, "metadata.expires": {"$gt": moment}},
        SCHEDULED: {"metadata.published": {"$gt": moment}},
        UNPUBLISHED: {"metadata.published": None},
        EXPIRING: {"metadata.expires": {"$gt": moment, "$lte": moment + SOON}, "metadata.published": {"$lte": moment}},
        EXPIRED: {"metadata.expires": {"$lte": moment}},
        DRAFTED: {"draft.saved_at": {"$gte": EPOCH}},
        DUE: {"draft.due": {"$gte": EPOCH}},
    }
    return conditions.get(state, {})


_ORDER = {
    LIVE: "metadata.published",
    SCHEDULED: "metadata.published",
    UNPUBLISHED: "metadata.published",
    EXPIRING: "metadata.expires",
    EXPIRED: "metadata.expires",
    DRAFTED: "draft.saved_at",
    DUE: "draft.due",
}


@dataclass(frozen=True)
class Row:
    """A node or photo in a list, without its text."""

    node: Node | Photo
    has_draft: bool
    # The time when the node's scheduled changes go live.
    due: datetime | None = None
    drafted: datetime | None = None

    @property
    def changed(self) -> datetime:
        """The time when the node or its draft was last saved."""
        return self.drafted or self.node.metadata.updated


@dataclass(frozen=True)
class Page:
    """A page of a list. `older` and `newer` are the cursors of the adjacent pages, or "" at the ends.

    `corrected` is the search for which results are shown if the typed search found nothing.
    """

    rows: tuple[Row, ...]
    older: str = ""
    newer: str = ""
    corrected: str = ""


# The fields that rows need from each collection.
_FIELDS: dict[str, dict[str, int]] = {
    NODES: FIELDS[NODES] | {"draft.saved_at": 1, "draft.due": 1},
    ASSET_FILES: FIELDS[ASSET_FILES] | {"metadata.locked": 1},
}


def page(
    filters: Filters,
    moment: datetime,
    *,
    cursor: str = "",
    size: int = SIZE,
    collection: str = NODES,
    columns: Sequence[str] = (),
) -> Page:
    """Return a page of a list. If the filters contain a search, return the best results as a single page.

    Args:
        filters: The filters.
        moment: The current time.
        cursor: The cursor of the page, or "" for the first page.
        size: The maximum number of rows.
        collection: The collection of the nodes or photos.
        columns: The names of fields that the rows contain, in addition to the type's `list_display`.

    Raises:
        ValueError: The cursor is invalid.
    """
    if filters.search:
        return _best(filters, moment, collection, columns)
    paths = sort_paths(filters.order)
    going_newer = cursor.startswith(">")
    query = filters.query(moment) | node_filter(collection)
    if cursor:
        query = {"$and": [query, _beyond(paths, cursor)]}
    direction = 1 if going_newer else -1
    rows_cursor = database()[collection].find(query, _fields(filters, collection, columns))
    documents = list(rows_cursor.sort([(path, direction) for path in (*paths, "_id")]).limit(size + 1))
    more = len(documents) > size
    documents = documents[:size]
    if going_newer:
        documents.reverse()
    rows = _rows(documents, collection)
    if not documents:
        return Page(())
    has_older, has_newer = (True, more) if going_newer else (more, bool(cursor))
    return Page(
        rows,
        _cursor("<", paths, documents[-1]) if has_older else "",
        _cursor(">", paths, documents[0]) if has_newer else "",
    )


def _fields(filters: Filters, collection: str, columns: Sequence[str]) -> dict[str, int]:
    """Return the fields that rows need. A list of a single type also needs the fields for its columns."""
    type = registry.get(filters.type)
    names = [*type.list_display, *columns]
    if collection != NODES or not names:
        return _FIELDS[collection]
    paths = [f"metadata.detail.{type._meta.get_field(name).column}" for name in names]
    return _FIELDS[collection] | detail_projection([type], paths)


def _row(document: Mapping[str, Any], collection: str) -> Row:
    draft = document.get("draft", {})
    return Row(node_from_document(document), "draft" in document, draft.get("due"), draft.get("saved_at"))


def _best(filters: Filters, moment: datetime, collection: str, columns: Sequence[str]) -> Page:
    """Return the best results of a search. If the search takes too long, return no results."""
    among = search.Search(tree.current(), moment, filters.query(moment), collections=(collection,))
    try:
        with search.search_time_limit(search.MILLISECONDS):
            found = search.find(among, search.parse(filters.search))
    except search.SearchTimeout:
        return Page(())
    ids = [match.key[1] for match in found.matches.found[:MOST_RESULTS]]
    query = {"_id": {"$in": ids}, **node_filter(collection)}
    by_id = {
        document["_id"]: document
        for document in database()[collection].find(query, _fields(filters, collection, columns))
    }
    return Page(_rows([by_id[id] for id in ids if id in by_id], collection), corrected=found.corrected)


def _rows(documents: Iterable[Mapping[str, Any]], collection: str) -> tuple[Row, ...]:
    return tuple(read_documents(collection, documents, lambda document: _row(document, collection)))


def sort_paths(order: str) -> tuple[str, ...]:
    """Return the paths of the times by which a list is sorted, in the order in which indexes contain these paths."""
    return (order, "metadata.created") if order == "metadata.published" else (order,)


def _cursor(side: str, paths: Sequence[str], document: Mapping[str, Any]) -> str:
    """Return the cursor for a document.

    It consists of "<" (older) or ">" (newer), the times in milliseconds (empty if missing), and the id, with dots
    between them.
    """
    milliseconds = []
    for path in paths:
        head, tail = path.split(".")
        moment = document.get(head, {}).get(tail)
        milliseconds.append("" if moment is None else str(round((moment - EPOCH) / timedelta(milliseconds=1))))
    return f"{side}{'.'.join((*milliseconds, str(document['_id'])))}"


def _beyond(paths: Sequence[str], cursor: str) -> dict[str, Any]:
    side = cursor[:1]
    (*milliseconds, last) = cursor[1:].split(".")
    if side not in "<>" or len(milliseconds) != len(paths) or not ObjectId.is_valid(last):
        raise ValueError(cursor)
    places = [*zip(paths, map(_moment, milliseconds), strict=True), ("_id", ObjectId(last))]
    compare = "$gt" if side == ">" else "$lt"
    path, first = places[0]
    return {
        path: first if first is None else {f"{compare}e": first},
        "$or": [
            dict(places[:n]) | {path: {compare: value}} for n, (path, value) in enumerate(places) if value is not None
        ],
    }


def _moment(milliseconds: str) -> datetime | None:
    if milliseconds and not milliseconds.lstrip("-").isdecimal():
        raise ValueError(milliseconds)
    try:
        return EPOCH + timedelta(milliseconds=int(milliseconds)) if milliseconds else None
    except OverflowError as error:
        raise ValueError(milliseconds) from error


@lru_cache(maxsize=256)
def count(filters: Filters, version: ObjectId | None, moment: datetime, collection: str = NODES) -> int:
    """Return the number of nodes, or COUNTED + 1 if there are more than COUNTED.

    The count is cached for the site's version and `moment`. Callers must round `moment`, so that later calls can use
    the cached count.
    """
    if filters == Filters() and collection == NODES:
        return int(database()[NODES].estimated_document_count())
    query = filters.query(moment) | node_filter(collection)
    if filters.search:
        among = search.Search(tree.current(), moment, query, collections=(collection,))
        typed = search.parse(filters.search)
        if typed.is_empty:
            return 0
        query = among.filter(typed, among.resolve(typed.required.words))
    return int(database()[collection].count_documents(query, limit=COUNTED + 1))


def count_children(section_ids: Sequence[ObjectId], most: int = COUNTED) -> int:
    """Return the number of nodes and photos directly in these sections, or `most` + 1 if there are more than `most`."""
    inside = {"metadata.parent_id": {"$in": list(section_ids)}}
    nodes = database()[NODES].count_documents(inside, limit=most + 1)
    photos = database()[ASSET_FILES].count_documents(
        inside | {"metadata.type": {"$in": list(registry.uploaded())}}, limit=most + 1
    )
    return min(nodes + photos, most + 1)


def children_ids(collection: str, section_ids: Sequence[ObjectId], most: int) -> list[ObjectId]:
    """Return the ids of up to `most` nodes or photos directly in these sections."""
    inside = {"metadata.parent_id": {"$in": list(section_ids)}}
    return [document["_id"] for document in database()[collection].find(inside, {"_id": 1}).limit(most)]


@lru_cache(maxsize=64)
def tags(version: ObjectId | None, collection: str = NODES, author: ObjectId | str | None = ANY) -> tuple[str, ...]:
    """Return the tags that are in use, on all nodes or on the nodes of one author.

    To return the tags on all nodes, the query reads only an index. The result is cached for the site's version.
    """
    query = {} if author == ANY else {"metadata.author._id": author}
    stored = database()[collection].distinct("metadata.tags", query)
    return tuple(sorted((tag for tag in stored if isinstance(tag, str)), key=str.casefold))[:COUNTED]
