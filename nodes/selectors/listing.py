"""Read the pages of lists with keyset pagination, newest first. Later pages load as fast as the first page."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from bson import ObjectId
from bson.errors import InvalidId

from marginalia.mongo.connection import Document, database
from marginalia.mongo.reading import read_documents, read_with_hint
from nodes.collections import ASSET_FILES, NEWEST, NODES, keys_of, listed_filter
from nodes.content import Content, registry
from nodes.content.upgrading import FIRST
from nodes.models import Node, Photo, node_from_document
from nodes.models.dependencies import note_tags, note_texts, on_lists
from nodes.models.tree import Tree
from nodes.types import NEVER

_DERIVED = {f"derived.{name}": 1 for name in ("excerpt", "language", "picture", "minutes")}
# The fields of a whole node, excluding the draft and embedded comments.
WHOLE = {"metadata": 1, **_DERIVED}
# The fields for lists: everything except the body text and other details.
LISTED = {
    f"metadata.{name}": 1
    for name in (
        "nonce",
        "type",
        "parent_id",
        "slug",
        "title",
        "created",
        "updated",
        "published",
        "expires",
        "author",
        "tags",
        "summary",
        "schema_version",
    )
} | _DERIVED
# The fields for lists that don't show tags. Changing tags doesn't change these lists.
UNTAGGED = {path: 1 for path in LISTED if path != "metadata.tags"}
# The fields that lists need from each collection.
FIELDS: dict[str, dict[str, int]] = {
    NODES: LISTED,
    ASSET_FILES: LISTED | {"metadata.content_id": 1, "metadata.detail": 1},
}
NEWEST_FIRST = [*NEWEST]
OLDEST_FIRST = [(path, 1) for path, _way in NEWEST]
TIMES = ("metadata.published", "metadata.created")
EARLIEST_MILLISECOND = -62_135_596_800_000  # The start of the year 1.
LATEST_MILLISECOND = 253_402_300_799_999  # The end of the year 9999.
BEGINNING = datetime(1, 1, 1, tzinfo=UTC)


def for_readers(
    fields: Mapping[str, Any], moment: datetime, *, tagged: Collection[str] | None = None
) -> dict[str, Any]:
    """Extend the projection `fields` so that readers see scheduled changes that are due at `moment`.

    If scheduled changes are due, the projection returns them as `due`, and Node.from_document applies them
    (`as_shown`). Therefore, showing due changes requires neither an additional command nor a write. If `fields`
    contains tags, the dependency on tags is recorded.

    Args:
        fields: The projection.
        moment: The current time.
        tagged: The tags in the query's filter, or None if the query doesn't filter by tags.
    """
    if "metadata.tags" in fields:
        note_tags(tagged)
    is_due = {"$lte": [{"$ifNull": ["$draft.due", NEVER]}, {"$literal": moment}]}
    return {**fields, "due": {"$cond": [is_due, "$draft", "$$REMOVE"]}}


def readable_nodes(collection: str, documents: Iterable[Document]) -> Iterator[Any]:
    """Yield the nodes or photos for the documents of a collection. Damaged documents are logged and left out."""
    return read_documents(collection, documents, node_from_document)


def detail_projection(types: Iterable[type[Content]], paths: Iterable[str]) -> dict[str, int]:
    """Return the projection for reading `paths` in the `detail` of these types.

    If a type has older versions, the whole `detail` is read: upgraders need it, and older documents can store the
    fields under different names.
    """
    return dict.fromkeys(["metadata.detail"] if any(type.schema_version != FIRST for type in types) else paths, 1)


def type_condition(types: Sequence[str]) -> Any:
    """Return the condition on `metadata.type` that matches these types."""
    return types[0] if len(types) == 1 else {"$in": list(types)}


def live(moment: datetime) -> dict[str, Any]:
    """Return the filter for nodes that are public at `moment`, without checking their sections (see Tree.live_ids)."""
    return {"metadata.published": {"$lte": moment}, "metadata.expires": {"$gt": moment}}


def public_filter(sections: Tree, moment: datetime) -> dict[str, Any]:
    """Return the filter for nodes that readers can see at `moment`: live nodes in live sections (see is_public)."""
    return {"metadata.parent_id": {"$in": sections.live_ids(moment)}, **live(moment)}


def is_public(node: Node | Photo, sections: Tree, moment: datetime) -> bool:
    """Return whether readers can see a node or photo at `moment`. The function also checks all parent sections."""
    return node.is_live(moment) and node.content_type.is_installed and sections.is_live(node.metadata.parent_id, moment)


def posts_of(section_id: ObjectId) -> dict[str, Any]:
    """Return the filter for the nodes in a section that are listed by date."""
    return {"metadata.parent_id": section_id, "metadata.type": type_condition(registry.dated())}


def public_among(documents: Iterable[Document], sections: Tree, moment: datetime) -> list[Document]:
    """Return the documents that readers can see, from the results of a query with `live(moment)`."""
    shown = set(sections.live_ids(moment))
    return [
        document
        for document in documents
        if document["metadata"].get("parent_id", ...) in shown
        and registry.get(str(document["metadata"].get("type"))).is_installed
    ]


def with_properties(properties: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the filter for photos whose files have all these properties, given as (name, value) pairs."""
    return {"metadata.detail.exif": {"$all": [{"$elemMatch": {"n": name, "v": value}} for name, value in properties]}}


@dataclass(frozen=True)
class Cursor:
    """The first or last node on a page of a list. The adjacent page continues from this node.

    The node is identified by its `times` and `id`. The list is sorted by these times, then by id.
    """

    newer: bool
    times: tuple[datetime, ...]
    id: ObjectId

    def __str__(self) -> str:
        milliseconds = (str(round(time.timestamp() * 1000)) for time in self.times)
        return f"{'>' if self.newer else '<'}{'.'.join((*milliseconds, str(self.id)))}"

    @classmethod
    def of(cls, node: Node | Photo, *, newer: bool) -> Self:
        """Return the cursor for the nodes that are newer, or older, than a published node."""
        return cls(newer, (node.metadata.published, node.metadata.created), node.pk)

    @classmethod
    def parse(cls, text: str, times: int = 2) -> Self:
        """Parse a cursor from its string form. `times` is the number of times that the cursor contains.

        Raises:
            ValueError: The text isn't a valid cursor.
        """
        side = text[:1]
        (*milliseconds, last_id) = text[1:].split(".")
        if side not in ("<", ">") or len(milliseconds) != times:
            raise ValueError(text)
        try:
            return cls(side == ">", tuple(map(_moment, milliseconds)), ObjectId(last_id))
        except InvalidId as error:
            raise ValueError(text) from error

    def beyond(
        self, paths: Sequence[str], within: tuple[datetime, datetime] | None = None, *, itself: bool = False
    ) -> list[Document]:
        """Return the conditions, for use in $or, that match the nodes beyond this cursor in a list sorted by `paths`.

        Args:
            paths: The paths of the times by which the list is sorted.
            within: Inclusive bounds for the first path. They are repeated in each condition. If they were outside $or,
                the server would read documents that are out of bounds before excluding them.
            itself: Whether to include the cursor's own node.
        """
        operator = "$gt" if self.newer else "$lt"
        places = list(zip((*paths, "_id"), (*self.times, self.id), strict=True))
        path = paths[0]
        time = self.times[0]
        bounds = {"$gte": within[0], "$lte": within[1]} if within else {}
        conditions: list[Document] = [{path: {operator: time, **bounds}}]
        if within is None or within[0] <= time <= within[1]:
            conditions += [dict(places[:n]) | {path: {operator: value}} for n, (path, value) in enumerate(places) if n]
            conditions += [dict(places)] if itself else []
        return conditions


def _moment(milliseconds: str) -> datetime:
    digits = milliseconds.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()):
        raise ValueError(milliseconds)
    if len(digits) > 15 or not EARLIEST_MILLISECOND <= int(milliseconds) <= LATEST_MILLISECOND:
        raise ValueError(milliseconds)
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(milliseconds))


@dataclass(frozen=True)
class Span:
    """A period of publication times, including both ends."""

    since: datetime
    until: datetime


@dataclass(frozen=True)
class Listing:
    """A page of a list, newest first. `older` and `newer` are the adjacent pages' cursors, or None at the ends."""

    nodes: tuple[Any, ...]
    older: str | None = None
    newer: str | None = None


def listing(
    base: Mapping[str, Any],
    index: str,
    moment: datetime,
    size: int,
    cursor: str | None = None,
    *,
    whole: bool = False,
    span: Span | None = None,
    collections: tuple[str, ...] = (NODES,),
) -> Listing:
    """Return a page of live nodes and photos from `collections` that match `base`, newest first.

    Args:
        base: The filter.
        index: The name of the index to read.
        moment: The current time.
        size: The maximum number of nodes.
        cursor: The cursor of the page, or None for the first page.
        whole: Whether to read whole nodes, including their text.
        span: The period of publication to list, or None for all times.
        collections: The collections to read.

    Raises:
        ValueError: The cursor is invalid.
    """
    edge = Cursor.parse(cursor) if cursor else None
    if whole:
        note_texts()
    nodes: list[Node | Photo] = []
    damaged = 0
    for name in collections:
        documents = find_live(base, index, moment, size + 1, edge, WHOLE if whole else FIELDS[name], span, name)
        readable = list(readable_nodes(name, documents))
        nodes += readable
        # Damaged documents are counted, too, so that the list continues after them.
        damaged += len(documents) - len(readable)
    going_newer = edge is not None and edge.newer
    if len(collections) > 1:
        nodes.sort(key=lambda node: (node.metadata.published, node.metadata.created, node.pk), reverse=not going_newer)
    more = len(nodes) + damaged > size
    nodes = nodes[:size]
    if going_newer:
        nodes.reverse()
    if not nodes:
        return Listing(())
    has_older, has_newer = (True, more) if going_newer else (more, edge is not None)
    return Listing(
        tuple(node for node in nodes if node.content_type.is_installed),
        str(Cursor.of(nodes[-1], newer=False)) if has_older else None,
        str(Cursor.of(nodes[0], newer=True)) if has_newer else None,
    )


@on_lists
def find_live(
    base: Mapping[str, Any],
    index: str,
    moment: datetime,
    limit: int,
    edge: Cursor | None,
    fields: Mapping[str, Any] = LISTED,
    span: Span | None = None,
    collection: str = NODES,
) -> list[Document]:
    """Return up to `limit` live documents, newest first. With an `edge`, return documents beyond it, nearest first.

    The query has an index hint, because the server caches query plans, and a plan that suits one section can be much
    slower for another.
    """
    condition = {**base, **live(moment), **listed_filter(collection)}
    if collection == NODES:
        fields = for_readers(fields, moment)
    since, until = (span.since, min(span.until, moment)) if span else (BEGINNING, moment)
    if edge is not None:
        del condition["metadata.published"]
        condition["$or"] = edge.beyond(TIMES, (since, until))
    else:
        condition["metadata.published"] = {"$gte": since, "$lte": until}
    order = OLDEST_FIRST if edge is not None and edge.newer else NEWEST_FIRST
    nodes = database()[collection]
    return list(
        read_with_hint(
            keys_of(index, collection),
            lambda hint: nodes.find(condition, dict(fields)).sort(order).limit(limit).hint(hint),
        )
    )
