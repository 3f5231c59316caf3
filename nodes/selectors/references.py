"""Find references between nodes: the targets of links, the uses of nodes, photos and inserts, and broken links.

A node's `derived.refs` lists everything that its text and fields use: the ids of nodes and photos, and the names of
inserts. `draft.refs` is the same list for the node's draft. Services write both, so these queries can use indexes and
don't have to read the text.
"""

import enum
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from bson import ObjectId

from marginalia.markup.html import references as markup_references
from marginalia.mongo.connection import Document, batched, database
from marginalia.mongo.reading import aggregate_with_hint, read_documents, read_with_hint
from nodes import rendering
from nodes.collections import ASSET_FILES, NODES, REFERRING, TRASH, keys_of, node_filter
from nodes.content import MARKDOWN, declared_fields, registry
from nodes.models import Node
from nodes.models.tree import Tree
from nodes.selectors import stored_photos
from nodes.selectors.listing import LISTED, UNTAGGED, Cursor, find_live, is_public, live, public_among, readable_nodes

# Maximum number of different nodes that a page can link to. The same limit applies separately to photos. Links beyond
# the limit are rendered without a URL.
MOST_REFERENCES = 200
# Maximum number of uses that are listed, and maximum number of uses that are counted.
LISTED_USES = 100
COUNTED_USES = 1_000
# Number of pages or drafts that one query checks for broken links.
LOOKED_AT_ONCE = 200
# The prefix of cursors for drafts, which are checked after public pages.
DRAFTS = "drafts"
REFERRING_DRAFTS = {"draft.refs": {"$exists": True}}
# Number of ids per query.
IDS_AT_ONCE = 1_000
LATEST_FIRST = [("metadata.updated", -1), ("_id", -1)]

Ref = ObjectId | str


def addresses(sections: Tree, names: Sequence[str], moment: datetime) -> dict[str, str]:
    """Return the current URL path of each node in `names` that readers can see.

    The keys are the ids exactly as they are spelled in `names`.

    A single query reads all of the nodes.
    """
    ids = {name: ObjectId(name) for name in names if ObjectId.is_valid(name)}
    if not ids:
        return {}
    documents = database()[NODES].find({"_id": {"$in": list(set(ids.values()))}, **live(moment)}, UNTAGGED)
    nodes = readable_nodes(NODES, documents)
    paths = {
        node.pk: sections.url(node.parent_id, node.metadata.slug) for node in nodes if is_public(node, sections, moment)
    }
    return {name: paths[node_id] for name, node_id in ids.items() if node_id in paths}


@dataclass(frozen=True)
class Use:
    """A page or post, public or not, that uses a node, photo or insert in its live version, its draft, or both."""

    node: Node
    live: bool
    drafted: bool


def uses_filter(refs: Sequence[Ref]) -> dict[str, Any]:
    """Return the filter for pages and posts that use any of `refs`. Queries use the indexes by_ref and by_draft_ref."""
    wanted = refs[0] if len(refs) == 1 else {"$in": list(refs)}
    return {"$or": [{"derived.refs": wanted}, {"draft.refs": wanted}]}


def find_uses(refs: Sequence[Ref]) -> list[Use]:
    """Return up to LISTED_USES pages and posts, live or not, that use any of `refs`, most recently changed first.

    If `refs` has several items and there are more than LISTED_USES uses, the selection is arbitrary. Uses by nodes that
    are themselves in `refs` are left out.
    """
    if not refs:
        return []
    either = {"live": _any_of("$derived.refs", refs), "drafted": _any_of("$draft.refs", refs)}
    documents = database()[NODES].find(_by_others(refs), LISTED | either).limit(LISTED_USES)
    if len(refs) == 1:
        # For one ref, the server merges the scans of two indexes, which are both in this order. For several refs, it
        # would have to merge two scans per ref, so these results aren't sorted on the server.
        documents = documents.sort(LATEST_FIRST)
    uses = list(read_documents(NODES, documents, lambda d: Use(Node.from_document(d), d["live"], d["drafted"])))
    return sorted(uses, key=lambda use: (use.node.metadata.updated, use.node.pk), reverse=True)


def count_uses(refs: Sequence[Ref]) -> int:
    """Return the number of pages and posts that use any of `refs`, or COUNTED_USES + 1 if there are more."""
    return int(database()[NODES].count_documents(_by_others(refs), limit=COUNTED_USES + 1)) if refs else 0


def with_contents(sections: Tree, ids: Sequence[ObjectId]) -> list[ObjectId]:
    """Return `ids`, and the ids of all nodes and photos in the sections among `ids`.

    For all sections together, up to COUNTED_USES nodes and up to COUNTED_USES photos are returned.
    """
    parents = [inner for i in ids if i in sections.sections for inner in (i, *(s.id for s in sections.descendants(i)))]
    all_ids = dict.fromkeys(ids)
    if parents:
        inside = {"metadata.parent_id": {"$in": parents}}
        for collection in (NODES, ASSET_FILES):
            contents = database()[collection].find({**inside, **node_filter(collection)}, {"_id": 1})
            all_ids |= dict.fromkeys(document["_id"] for document in contents.limit(COUNTED_USES))
    return list(all_ids)


def _by_others(refs: Sequence[Ref]) -> dict[str, Any]:
    return {**uses_filter(refs), "_id": {"$nin": [ref for ref in refs if isinstance(ref, ObjectId)]}}


def _any_of(path: str, refs: Sequence[Ref]) -> dict[str, Any]:
    """Return an expression that is true if the array at `path` contains any of `refs`. The array can be missing."""
    return {"$ne": [{"$setIntersection": [{"$ifNull": [path, []]}, {"$literal": list(refs)}]}, []]}


class State(enum.StrEnum):
    """The visibility of a reference's target."""

    LIVE = "live"
    HIDDEN = "hidden"  # The target or one of its sections isn't live.
    TRASHED = "trashed"
    GONE = "gone"


def states(sections: Tree, ids: Collection[ObjectId], moment: datetime) -> dict[ObjectId, State]:
    """Return the state of each of these nodes and photos. Ids that don't exist have State.GONE."""
    by_id: dict[ObjectId, State] = {}

    def read(collection: str, more: Mapping[str, Any]) -> list[Document]:
        """Return documents with their section and slug, in batches, for the ids whose state isn't known yet."""
        place = {"metadata.parent_id": 1, "metadata.type": 1}
        return [
            document
            for batch in batched([i for i in ids if i not in by_id], IDS_AT_ONCE)
            for document in database()[collection].find(
                {"_id": {"$in": batch}, **node_filter(collection), **more}, place
            )
        ]

    for collection in (NODES, ASSET_FILES):
        seen = public_among(read(collection, live(moment)), sections, moment)
        by_id |= dict.fromkeys((document["_id"] for document in seen), State.LIVE)
    # Nodes are read before and after the trash, so that nodes that move to or from the trash during the read are found.
    for collection in (NODES, ASSET_FILES, TRASH, NODES, ASSET_FILES):
        state = State.TRASHED if collection == TRASH else State.HIDDEN
        by_id |= dict.fromkeys((document["_id"] for document in read(collection, {})), state)
    return {i: by_id.get(i, State.GONE) for i in ids}


def titles(ids: Collection[ObjectId], *, of_photos: bool) -> dict[ObjectId, str]:
    """Return the titles of nodes that exist or are in the trash. If `of_photos` is true, include photos."""
    by_id: dict[ObjectId, str] = {}
    for collection in (NODES, ASSET_FILES, TRASH):
        for batch in batched([i for i in ids if i not in by_id], IDS_AT_ONCE):
            query = {"_id": {"$in": batch}, **node_filter(collection)}
            for document in database()[collection].find(query, {"metadata.title": 1, "metadata.type": 1}):
                if of_photos or document["metadata"]["type"] not in registry.uploaded():
                    by_id[document["_id"]] = document["metadata"]["title"]
    return by_id


@dataclass(frozen=True)
class Broken:
    """A broken reference in a public page or a draft.

    Attributes:
        node: The node with the reference.
        target: The id of the target.
        state: The state of the target.
        words: The link text of each link to the target. It is empty if a field contains the reference.
        is_draft: Whether the node's draft contains the reference.
    """

    node: Node
    target: ObjectId
    state: State
    words: tuple[str, ...]
    is_draft: bool = False


@dataclass(frozen=True)
class CheckedBatch:
    """The result of checking a batch of public pages or drafts that contain references.

    Attributes:
        broken: The broken references.
        looked: The number of checked pages or drafts.
        after: The cursor of the next batch, or "" after the last batch.
        is_of_drafts: Whether drafts were checked.
    """

    broken: tuple[Broken, ...]
    looked: int
    after: str
    is_of_drafts: bool = False


def count_referring() -> int:
    """Return the total number of pages (public or not) and drafts that contain references."""
    return _count(REFERRING, "referring") + _count(REFERRING_DRAFTS, "by_draft_ref")


def _count(query: Mapping[str, Any], index: str) -> int:
    counted = aggregate_with_hint(database()[NODES], [{"$match": query}, {"$count": "count"}], keys_of(index))
    return sum(result["count"] for result in counted)


def check_batch(sections: Tree, moment: datetime, cursor: str = "") -> CheckedBatch:
    """Check the references in the next LOOKED_AT_ONCE public pages (newest first) or drafts (last saved first).

    Drafts are checked after all public pages. Text is read only to find the link text of broken references.

    Raises:
        ValueError: The cursor is invalid.
    """
    if cursor.startswith(DRAFTS):
        return _check_drafts(sections, moment, cursor.removeprefix(DRAFTS))
    edge = Cursor.parse(cursor) if cursor else None
    documents = find_live(REFERRING, "referring", moment, LOOKED_AT_ONCE + 1, edge, LISTED | {"derived.refs": 1})
    is_more = len(documents) > LOOKED_AT_ONCE
    documents = documents[:LOOKED_AT_ONCE]
    last = next(readable_nodes(NODES, reversed(documents)), None) if is_more else None
    after = str(Cursor.of(last, newer=False)) if last else DRAFTS
    public = public_among(documents, sections, moment)
    refs = list(read_documents(NODES, public, partial(_refs_in, "derived")))
    return CheckedBatch(tuple(_broken(sections, moment, refs, is_draft=False)), len(documents), after)


def _check_drafts(sections: Tree, moment: datetime, cursor: str) -> CheckedBatch:
    # The index contains every node, but the nodes with a draft are next to each other in it, so the server reads only
    # these nodes.
    query: dict[str, Any] = {**REFERRING_DRAFTS, "draft.saved_at": {"$type": "date"}}
    if cursor:
        edge = Cursor.parse(cursor, times=1)
        query["draft.saved_at"]["$lte"] = edge.times[0]
        query["$or"] = edge.beyond(("draft.saved_at",))
    fields = LISTED | {"draft.refs": 1, "draft.saved_at": 1}
    nodes = database()[NODES]
    order = [("draft.saved_at", -1), ("_id", -1)]
    cursors = read_with_hint(
        keys_of("by_draft"), lambda hint: nodes.find(query, fields).sort(order).limit(LOOKED_AT_ONCE + 1).hint(hint)
    )
    documents = list(cursors)
    is_more = len(documents) > LOOKED_AT_ONCE
    documents = documents[:LOOKED_AT_ONCE]
    last = documents[-1] if is_more else None
    after = f"{DRAFTS}{Cursor(False, (last['draft']['saved_at'],), last['_id'])}" if last else ""
    refs = [
        (document, targets)
        for document, targets in read_documents(NODES, documents, partial(_refs_in, "draft"))
        if registry.get(document["metadata"]["type"]).is_installed
    ]
    return CheckedBatch(tuple(_broken(sections, moment, refs, is_draft=True)), len(documents), after, is_of_drafts=True)


def _refs_in(part: str, document: Document) -> tuple[Document, list[Ref]]:
    # If the document is damaged, this call raises an exception, and read_documents leaves the document out.
    Node.from_document(document)
    return document, list(document[part]["refs"])


def _broken(
    sections: Tree, moment: datetime, refs: Sequence[tuple[Document, Sequence[Ref]]], *, is_draft: bool
) -> Iterator[Broken]:
    """Yield the references whose targets readers can't see."""
    ids = [(document, [ref for ref in targets if isinstance(ref, ObjectId)]) for document, targets in refs]
    by_target = states(sections, {ref for _document, targets in ids for ref in targets}, moment)
    broken = [(document, [ref for ref in targets if by_target[ref] != State.LIVE]) for document, targets in ids]
    all_words = _words([document["_id"] for document, targets in broken if targets], is_draft=is_draft)
    for document, targets in broken:
        for ref in targets:
            words = all_words.get(document["_id"], {}).get(ref, ())
            yield Broken(Node.from_document(document), ref, by_target[ref], tuple(words), is_draft)


def check_all(sections: Tree, moment: datetime, cursor: str = "") -> Iterator[CheckedBatch]:
    """Check all batches, beginning at `cursor`, and yield their results.

    Raises:
        ValueError: The cursor is invalid.
    """
    while True:
        batch = check_batch(sections, moment, cursor)
        yield batch
        if not batch.after:
            return
        cursor = batch.after


def _words(node_ids: Sequence[ObjectId], *, is_draft: bool) -> dict[ObjectId, dict[ObjectId, list[str]]]:
    """Return the link text of the links in these nodes, or in their drafts, keyed by node and then by target."""
    fields = {"metadata.type": 1, ("draft.metadata.detail" if is_draft else "metadata.detail"): 1}
    by_node: dict[ObjectId, dict[ObjectId, list[str]]] = {}
    for document in database()[NODES].find({"_id": {"$in": list(node_ids)}}, fields):
        # If the draft has been published since it was checked, the document no longer contains it.
        version = document.get("draft", {}) if is_draft else document
        detail = version.get("metadata", {}).get("detail") or {}
        texts = [rendering.to_html(detail.get("text") or "", detail.get("format") or MARKDOWN)]
        written = declared_fields.markdown_texts(document["metadata"]["type"], detail)
        texts += [rendering.of_field(field.text) for field in written]
        mentions = [mention for html in texts for mention in markup_references.find_mentions(html)]
        slugs = [m.name for m in mentions if m.scheme == markup_references.PHOTO and not ObjectId.is_valid(m.name)]
        photos = stored_photos.by_references(slugs[:MOST_REFERENCES])
        by_target = by_node.setdefault(document["_id"], {})
        for mention in mentions:
            if ObjectId.is_valid(mention.name):
                by_target.setdefault(ObjectId(mention.name), []).append(mention.words)
            elif mention.name in photos:
                by_target.setdefault(photos[mention.name].pk, []).append(mention.words)
    return by_node
