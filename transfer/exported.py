"""What an export of the site holds of nodes: as they are stored, without what is worked out of it when it is taken in again.

What stands in a section that is in the trash is left out as the trash is: it shows nowhere.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bson import ObjectId
from pymongo.collection import Collection

from marginalia.mongo.connection import Document, batched, database
from nodes.collections import ASSET_FILES, NODES, REDIRECTS, REVISIONS, node_filter
from nodes.content import CONTENT, registry
from nodes.models import tree

BATCH = 200
# A revision is stored a moment before what it is of.
BEFORE = timedelta(minutes=1)
# What an id can tell of.
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime(2106, 1, 1, tzinfo=UTC)
_NODE = ("_id", "metadata", "position", "draft")
_FILE = ("_id", "metadata", "filename", "length", "uploadDate")
# Worked out of the draft.
_OF_DRAFT = frozenset({"refs", "derived"})
# What those who write to a file or look after it note of it.
_UPKEEP = frozenset({"locked"})


@dataclass(frozen=True)
class Part:
    """Which nodes and photos an export is of: those with these ids, None for all; of them what was changed `since`."""

    ids: frozenset[ObjectId] | None = None
    since: datetime | None = None

    def holds(self, id: ObjectId) -> bool:
        """Return whether a node or photo is in it, whenever it was changed."""
        return self.ids is None or id in self.ids

    def changed(self) -> dict[str, Any]:
        """Return the filter of nodes and photos that were changed since. A nonce is made when it is saved: what an import dates
        back, and an upload that was begun before, is found by that."""
        if self.since is None:
            return {}
        moment = {"$gte": self.since}
        nonce = ObjectId.from_datetime(min(max(self.since, _FIRST), _LAST))
        return {"$or": [{"metadata.updated": moment}, {"draft.saved_at": moment}, {"metadata.nonce": {"$gte": nonce}}]}


def below(section_id: ObjectId) -> frozenset[ObjectId]:
    """Return the ids of a section, of all that stands in it, of what that refers to, and of the sections in which these stand.

    Of what is referred to photos are taken along, pages elsewhere are not.
    """
    sections = tree.fresh()
    inner = [section_id, *(section.id for section in sections.descendants(section_id))]
    inside = {"metadata.parent_id": {"$in": inner}}
    found = set(inner)
    refs = set[ObjectId]()
    for node in database()[NODES].find({"$or": [inside, {"_id": {"$in": inner}}]}, _REFS):
        found.add(node["_id"])
        refs |= {ref for part in ("derived", "draft") for ref in node.get(part, {}).get("refs", ())}
    found |= {photo["_id"] for photo in database()[ASSET_FILES].find(inside | node_filter(ASSET_FILES), {"_id": 1})}
    for batch in batched((ref for ref in refs if isinstance(ref, ObjectId)), BATCH):
        photos = database()[ASSET_FILES].find(
            {"_id": {"$in": batch}, **node_filter(ASSET_FILES)}, {"metadata.parent_id": 1}
        )
        for photo in photos:
            found |= {photo["_id"], photo["metadata"]["parent_id"]}
    above = [sections.ancestors(one) or () for one in list(found) if one in sections.sections]
    return frozenset(found | {section.id for chain in above for section in chain})


_REFS = {"derived.refs": 1, "draft.refs": 1}


def sections(part: Part) -> Iterator[Document]:
    """Yield the sections, those above before what stands in them."""
    known = tree.fresh()
    depths = {one.id: len(known.ancestors(one.id) or ()) for one in known.sections.values() if part.holds(one.id)}
    # What is in a broken chain has the depth 0.
    ids = sorted((id for id, depth in depths.items() if depth), key=lambda id: (depths[id], id))
    for batch in batched(ids, BATCH):
        found = {
            one["_id"]: one for one in database()[NODES].find({"_id": {"$in": batch}, **part.changed()}, _fields(_NODE))
        }
        yield from _with_history([found[id] for id in batch if id in found])


def leaves(part: Part) -> Iterator[Document]:
    """Yield the nodes in which nothing stands, by id."""
    yield from _with_history(_selected(NODES, part, {"metadata.type": {"$in": list(registry.non_sections())}}, _NODE))


def photos(part: Part) -> Iterator[Document]:
    """Yield the photos by id, each followed by the contents that it was replaced by or with, which are whole."""
    for batch in batched(_with_history(_selected(ASSET_FILES, part, node_filter(ASSET_FILES), _FILE)), BATCH):
        of = {"metadata.parent_id": {"$in": [photo["_id"] for photo in batch]}, "metadata.type": CONTENT}
        whole = {**of, "metadata.locked": None, "metadata.doomed": None, "length": {"$gt": 0}}
        contents: dict[ObjectId, list[Document]] = {}
        for content in database()[ASSET_FILES].find(whole, _fields(_FILE)).sort("_id", 1):
            contents.setdefault(content["metadata"]["parent_id"], []).append(as_exported(content))
        for photo in batch:
            yield photo
            yield from contents.get(photo["_id"], ())


def revisions(part: Part, of: Iterable[ObjectId]) -> Iterator[Document]:
    """Yield the revisions of some nodes and photos, by node and the oldest first; the last node first, as the index has
    them: to sort whole texts would take longer than a cursor may."""
    later = {"saved_at": {"$gte": part.since - BEFORE}} if part.since else {}
    for batch in batched(of, BATCH):
        found = database()[REVISIONS].find({"node_id": {"$in": batch}, **later})
        yield from found.sort([("node_id", -1), ("saved_at", 1)])


def redirects(part: Part, of: frozenset[ObjectId]) -> Iterator[Document]:
    """Yield where some nodes stood before, and in an export of the whole site where deleted ones did."""
    for redirect in database()[REDIRECTS].find().sort("_id", 1):
        is_deleted = part.ids is None and "deleted_at" in redirect
        moment = redirect.get("deleted_at") or redirect.get("kept_at")
        is_old = part.since is not None and moment is not None and moment < part.since
        if (redirect["node_id"] in of or is_deleted) and not is_old:
            yield redirect


def is_there(id: ObjectId) -> bool:
    """Return whether a node or photo stands somewhere."""
    homes: tuple[tuple[str, Document], ...] = ((NODES, {}), (ASSET_FILES, node_filter(ASSET_FILES)))
    return any(database()[home].find_one({"_id": id, **query}, {"_id": 1}) is not None for home, query in homes)


def as_exported(document: Mapping[str, Any]) -> Document:
    """Return a stored node, photo or content as an export has it, but for its history and the hash of its bytes."""
    kept = _FILE if "uploadDate" in document else _NODE
    found = {name: document[name] for name in kept if name in document}
    if "draft" in found:
        found["draft"] = {name: value for name, value in found["draft"].items() if name not in _OF_DRAFT}
    if kept is _FILE:
        more = {"superseded"} if found["metadata"].get("type") == CONTENT else set()
        found["metadata"] = {k: v for k, v in found["metadata"].items() if k not in _UPKEEP | more}
    return found


def _selected(collection: str, part: Part, wanted: Mapping[str, Any], fields: Iterable[str]) -> Iterator[Document]:
    """Yield those that are somewhere, by id. Each batch is a query of its own: a cursor would not outlive slow pictures."""
    known = tree.fresh()
    home = database()[collection]
    query = {"$and": [dict(wanted), part.changed()]}
    for batch in _batches(home, query) if part.ids is None else batched(sorted(part.ids), BATCH):
        for one in home.find({"_id": {"$in": batch}, **query}, _fields(fields)).sort("_id", 1):
            if known.ancestors(one["metadata"]["parent_id"]) is not None:
                yield one


def _batches(home: Collection[Document], query: Mapping[str, Any]) -> Iterator[list[ObjectId]]:
    batch: list[ObjectId] = []
    while True:
        later = {"_id": {"$gt": batch[-1]}} if batch else {}
        batch = [one["_id"] for one in home.find({**query, **later}, {"_id": 1}).sort("_id", 1).limit(BATCH)]
        if not batch:
            return
        yield batch


def _with_history(documents: Iterable[Document]) -> Iterator[Document]:
    """Yield nodes as an export has them, with the nonces that they ever had here: by them a site knows whether its own
    version is an earlier one."""
    for batch in batched(documents, BATCH):
        history: dict[ObjectId, list[ObjectId]] = {one["_id"]: [] for one in batch}
        of = {"node_id": {"$in": list(history)}}
        for revision in database()[REVISIONS].find(of, {"node_id": 1}):
            history[revision["node_id"]].append(revision["_id"])
        for one in batch:
            yield as_exported(one) | {"history": sorted(history[one["_id"]])}


def _fields(names: Iterable[str]) -> dict[str, int]:
    return dict.fromkeys(names, 1)
