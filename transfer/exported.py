"""The documents of nodes and photos in an export.

Documents are exported as they are stored, except that derived fields are left out.

Nodes and photos in the trash are not exported. The contents of sections in the trash are not exported either, because
the site doesn't show them anywhere.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bson import ObjectId
from pymongo.collection import Collection

from marginalia.mongo.connection import Document, batched, database
from nodes.collections import ASSET_FILES, MANUAL_REDIRECTS, NODES, REDIRECTS, REVISIONS, node_filter
from nodes.content import CONTENT, registry
from nodes.models import tree
from nodes.selectors import stored_tags

BATCH = 200
# A revision is always stored before its node. This is the longest possible time between the two.
BEFORE = timedelta(minutes=1)
# The earliest and the latest time that an ObjectId can contain.
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime(2106, 1, 1, tzinfo=UTC)
_NODE = ("_id", "metadata", "position", "arranged", "draft")
_FILE = ("_id", "metadata", "filename", "length", "uploadDate")
# The derived fields of a draft, which aren't exported.
_DERIVED_OF_DRAFT = frozenset({"refs", "derived"})
# Fields of a file that are needed only for locking and cleanup, and aren't exported.
_UPKEEP = frozenset({"locked"})


@dataclass(frozen=True)
class Selection:
    """The nodes and photos to export.

    Attributes:
        ids: The ids to export, or None to export everything.
        since: Export only what has changed since this time, or everything if `since` is None.
    """

    ids: frozenset[ObjectId] | None = None
    since: datetime | None = None

    def includes(self, id: ObjectId) -> bool:
        """Return whether the node or photo `id` is selected, regardless of when it was last changed."""
        return self.ids is None or id in self.ids

    def changed_filter(self) -> dict[str, Any]:
        """Return the filter for nodes and photos that have changed since `since`.

        In addition to the dates, the filter compares the nonce, which contains the time of the save. Therefore, it also
        finds nodes whose dates an import has set to earlier values, and photos whose upload began before `since`.
        """
        if self.since is None:
            return {}
        moment = {"$gte": self.since}
        nonce = ObjectId.from_datetime(min(max(self.since, _FIRST), _LAST))
        return {"$or": [{"metadata.updated": moment}, {"draft.saved_at": moment}, {"metadata.nonce": {"$gte": nonce}}]}


def ids_of_section(section_id: ObjectId) -> frozenset[ObjectId]:
    """Return the ids to export for a section.

    These are the ids of the section, of its contents at all levels, of the photos that these contents refer to, and of
    the ancestors of all these sections and photos. Pages in other sections are not included, even if the contents refer
    to them.
    """
    sections = tree.fresh()
    inner = [section_id, *(section.id for section in sections.descendants(section_id))]
    inside = {"metadata.parent_id": {"$in": inner}}
    ids = set(inner)
    refs = set[ObjectId]()
    for node in database()[NODES].find({"$or": [inside, {"_id": {"$in": inner}}]}, _REFS):
        ids.add(node["_id"])
        refs |= {ref for source in ("derived", "draft") for ref in node.get(source, {}).get("refs", ())}
    ids |= {photo["_id"] for photo in database()[ASSET_FILES].find(inside | node_filter(ASSET_FILES), {"_id": 1})}
    for batch in batched((ref for ref in refs if isinstance(ref, ObjectId)), BATCH):
        photos = database()[ASSET_FILES].find(
            {"_id": {"$in": batch}, **node_filter(ASSET_FILES)}, {"metadata.parent_id": 1}
        )
        for photo in photos:
            ids |= {photo["_id"], photo["metadata"]["parent_id"]} - {None}
    above = [sections.ancestors(node_id) or () for node_id in list(ids) if node_id in sections.sections]
    return frozenset(ids | {section.id for chain in above for section in chain})


_REFS = {"derived.refs": 1, "draft.refs": 1}


def sections(selection: Selection) -> Iterator[Document]:
    """Yield the selected sections, each after its ancestors."""
    known = tree.fresh()
    selected = [section.id for section in known.sections.values() if selection.includes(section.id)]
    depths = {section_id: len(known.ancestors(section_id) or ()) for section_id in selected}
    # The depth of a section is 0 if one of its ancestors is missing or in the trash. Such sections are not exported.
    ids = sorted((id for id, depth in depths.items() if depth), key=lambda id: (depths[id], id))
    for batch in batched(ids, BATCH):
        stored = database()[NODES].find({"_id": {"$in": batch}, **selection.changed_filter()}, _fields(_NODE))
        by_id = {section["_id"]: section for section in stored}
        yield from _with_history([by_id[id] for id in batch if id in by_id])


def leaves(selection: Selection) -> Iterator[Document]:
    """Yield the selected nodes that are not sections, ordered by id."""
    yield from _with_history(
        _selected(NODES, selection, {"metadata.type": {"$in": list(registry.non_sections())}}, _NODE)
    )


def photos(selection: Selection) -> Iterator[Document]:
    """Yield the selected photos, ordered by id.

    After each photo, yield the photo's additional files, except those that aren't completely stored.
    """
    for batch in batched(_with_history(_selected(ASSET_FILES, selection, node_filter(ASSET_FILES), _FILE)), BATCH):
        contents_filter = {"metadata.parent_id": {"$in": [photo["_id"] for photo in batch]}, "metadata.type": CONTENT}
        whole = {**contents_filter, "metadata.locked": None, "metadata.doomed": None, "length": {"$gt": 0}}
        contents: dict[ObjectId, list[Document]] = {}
        for content in database()[ASSET_FILES].find(whole, _fields(_FILE)).sort("_id", 1):
            contents.setdefault(content["metadata"]["parent_id"], []).append(as_exported(content))
        for photo in batch:
            yield photo
            yield from contents.get(photo["_id"], ())


def revisions(selection: Selection, node_ids: Iterable[ObjectId]) -> Iterator[Document]:
    """Yield the revisions of nodes and photos, grouped by node or photo, and from oldest to newest within each group.

    The groups are in descending order of ids, because an index has this order. If the server had to sort revisions,
    which contain the complete body text, the cursor would time out.
    """
    later = {"saved_at": {"$gte": selection.since - BEFORE}} if selection.since else {}
    for batch in batched(node_ids, BATCH):
        cursor = database()[REVISIONS].find({"node_id": {"$in": batch}, **later})
        yield from cursor.sort([("node_id", -1), ("saved_at", 1)])


def redirects(selection: Selection, node_ids: frozenset[ObjectId]) -> Iterator[Document]:
    """Yield the former paths of nodes. An export of the whole site also includes the paths of deleted nodes."""
    for redirect in database()[REDIRECTS].find().sort("_id", 1):
        is_deleted = selection.ids is None and "deleted_at" in redirect
        moment = redirect.get("deleted_at") or redirect.get("kept_at")
        is_old = selection.since is not None and moment is not None and moment < selection.since
        if (redirect["node_id"] in node_ids or is_deleted) and not is_old:
            yield redirect


def manual_redirects() -> Iterator[Document]:
    """Yield the redirects that editors have added, without their hits."""
    for redirect in database()[MANUAL_REDIRECTS].find().sort("_id", 1):
        yield {"url": redirect["_id"], "target": redirect["target"]}


def tags() -> Iterator[Document]:
    """Yield the descriptions and the former names of tags."""
    for tag in stored_tags.all_stored():
        yield {"tag": tag.name, "description": tag.description, "renamed_to": tag.renamed_to}


def exists(id: ObjectId) -> bool:
    """Return whether a node or photo is stored, and isn't in the trash."""
    homes: tuple[tuple[str, Document], ...] = ((NODES, {}), (ASSET_FILES, node_filter(ASSET_FILES)))
    return any(database()[home].find_one({"_id": id, **query}, {"_id": 1}) is not None for home, query in homes)


def as_exported(document: Mapping[str, Any]) -> Document:
    """Return a stored node, photo or file as it is exported, but without its history and the hash of its bytes."""
    fields = _FILE if "uploadDate" in document else _NODE
    record = {name: document[name] for name in fields if name in document}
    if "draft" in record:
        record["draft"] = {name: value for name, value in record["draft"].items() if name not in _DERIVED_OF_DRAFT}
    if fields is _FILE:
        more = {"superseded"} if record["metadata"].get("type") == CONTENT else set()
        record["metadata"] = {k: v for k, v in record["metadata"].items() if k not in _UPKEEP | more}
    return record


def _selected(
    collection: str, selection: Selection, condition: Mapping[str, Any], fields: Iterable[str]
) -> Iterator[Document]:
    """Yield the selected documents, ordered by id, except those with a section that is missing or in the trash.

    Each batch is read with a separate query. A single cursor would time out while large photos are written.
    """
    known = tree.fresh()
    home = database()[collection]
    query = {"$and": [dict(condition), selection.changed_filter()]}
    for batch in _id_batches(home, query) if selection.ids is None else batched(sorted(selection.ids), BATCH):
        for document in home.find({"_id": {"$in": batch}, **query}, _fields(fields)).sort("_id", 1):
            if known.ancestors(document["metadata"]["parent_id"]) is not None:
                yield document


def _id_batches(home: Collection[Document], query: Mapping[str, Any]) -> Iterator[list[ObjectId]]:
    batch: list[ObjectId] = []
    while True:
        later = {"_id": {"$gt": batch[-1]}} if batch else {}
        cursor = home.find({**query, **later}, {"_id": 1}).sort("_id", 1).limit(BATCH)
        batch = [document["_id"] for document in cursor]
        if not batch:
            return
        yield batch


def _with_history(documents: Iterable[Document]) -> Iterator[Document]:
    """Yield nodes or photos as they are exported, each with a "history" of all nonces that it has had on this site.

    The importing site searches these nonces for the nonce of the version that is stored there. If this nonce is among
    them, the stored version is an earlier version of the exported one, and can be replaced.
    """
    for batch in batched(documents, BATCH):
        history: dict[ObjectId, list[ObjectId]] = {document["_id"]: [] for document in batch}
        for revision in database()[REVISIONS].find({"node_id": {"$in": list(history)}}, {"node_id": 1}):
            history[revision["node_id"]].append(revision["_id"])
        for document in batch:
            yield as_exported(document) | {"history": sorted(history[document["_id"]])}


def _fields(names: Iterable[str]) -> dict[str, int]:
    return dict.fromkeys(names, 1)
