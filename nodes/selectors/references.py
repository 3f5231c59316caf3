"""References between nodes: targets of links, uses of nodes, photos and inserts, and broken links.

`derived.refs` of a node names what its text and fields use, `draft.refs` what its draft does: ids of nodes and photos, and
the names of inserts. The services write both; indexes answer all that is asked here, without a look into any text.
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
from nodes.content import MARKDOWN, PHOTO, declared_fields, registry
from nodes.models import Node
from nodes.models.tree import Tree
from nodes.selectors import stored_photos
from nodes.selectors.listing import LISTED, UNTAGGED, Cursor, find_live, is_public, live, public_among, readable_nodes

# Different nodes that one text links to, and different photos; those beyond are words without address.
MOST_REFERENCES = 200
# Uses that are listed, and counted.
LISTED_USES = 100
COUNTED_USES = 1_000
# Pages or drafts looked through by one query for links that lead nowhere.
LOOKED_AT_ONCE = 200
# Cursors of looks through drafts, which follow the public pages, begin so.
DRAFTS = "drafts"
REFERRING_DRAFTS = {"draft.refs": {"$exists": True}}
# Ids in one query.
IDS_AT_ONCE = 1_000
LATEST_FIRST = [("metadata.updated", -1), ("_id", -1)]

Ref = ObjectId | str


def addresses(sections: Tree, names: Sequence[str], moment: datetime) -> dict[str, str]:
    """Return the current URL paths of nodes that readers can see, by their ids as texts contain them. It needs one query."""
    ids = {name: ObjectId(name) for name in names if ObjectId.is_valid(name)}
    if not ids:
        return {}
    documents = database()[NODES].find({"_id": {"$in": list(set(ids.values()))}, **live(moment)}, UNTAGGED)
    found = readable_nodes(NODES, documents)
    paths = {
        node.pk: sections.url(node.parent_id, node.metadata.slug) for node in found if is_public(node, sections, moment)
    }
    return {name: paths[node_id] for name, node_id in ids.items() if node_id in paths}


@dataclass(frozen=True)
class Use:
    """A page or post that uses something in its live version (public or not), in its draft, or in both."""

    node: Node
    live: bool
    drafted: bool


def uses_filter(refs: Sequence[Ref]) -> dict[str, Any]:
    """Return the filter of the pages and posts that use any of these: along by_ref and by_draft_ref."""
    wanted = refs[0] if len(refs) == 1 else {"$in": list(refs)}
    return {"$or": [{"derived.refs": wanted}, {"draft.refs": wanted}]}


def find_uses(refs: Sequence[Ref]) -> list[Use]:
    """Return the pages and posts that use any of these, live or not, at most LISTED_USES, the last changed first.

    Where more use one of several things, it is any of these. Uses among what is asked for are left out, of itself too.
    """
    if not refs:
        return []
    either = {"live": _any_of("$derived.refs", refs), "drafted": _any_of("$draft.refs", refs)}
    found = database()[NODES].find(_by_others(refs), LISTED | either).limit(LISTED_USES)
    if len(refs) == 1:
        # Two scans in this order, merged. Of several things each would need two.
        found = found.sort(LATEST_FIRST)
    uses = list(read_documents(NODES, found, lambda one: Use(Node.from_document(one), one["live"], one["drafted"])))
    return sorted(uses, key=lambda use: (use.node.metadata.updated, use.node.pk), reverse=True)


def count_uses(refs: Sequence[Ref]) -> int:
    """Return the number of pages and posts that `find_uses` finds, or COUNTED_USES + 1 for more."""
    return int(database()[NODES].count_documents(_by_others(refs), limit=COUNTED_USES + 1)) if refs else 0


def with_contents(sections: Tree, ids: Sequence[ObjectId]) -> list[ObjectId]:
    """Return the ids of these nodes and photos, and of the contents of sections among them, at most COUNTED_USES more."""
    holding = [inner for i in ids if i in sections.sections for inner in (i, *(s.id for s in sections.descendants(i)))]
    found = dict.fromkeys(ids)
    if holding:
        inside = {"metadata.parent_id": {"$in": holding}}
        for collection in (NODES, ASSET_FILES):
            standing_in = database()[collection].find({**inside, **node_filter(collection)}, {"_id": 1})
            found |= dict.fromkeys(document["_id"] for document in standing_in.limit(COUNTED_USES))
    return list(found)


def _by_others(refs: Sequence[Ref]) -> dict[str, Any]:
    return {**uses_filter(refs), "_id": {"$nin": [ref for ref in refs if isinstance(ref, ObjectId)]}}


def _any_of(path: str, refs: Sequence[Ref]) -> dict[str, Any]:
    """Return the expression that says whether the array at `path`, if there is one, holds any of these."""
    return {"$ne": [{"$setIntersection": [{"$ifNull": [path, []]}, {"$literal": list(refs)}]}, []]}


class State(enum.StrEnum):
    """What a reference leads to, as readers meet it now."""

    LIVE = "live"
    HIDDEN = "hidden"  # not published (yet), expired, or in a section that is
    TRASHED = "trashed"
    GONE = "gone"


def states(sections: Tree, ids: Collection[ObjectId], moment: datetime) -> dict[ObjectId, State]:
    """Return the state of each of these nodes and photos for readers. Ids that don't exist have State.GONE."""
    found: dict[ObjectId, State] = {}

    def read(collection: str, more: Mapping[str, Any]) -> list[Document]:
        """Read the place of what was not found yet, many at once: no objects are made of them."""
        place = {"metadata.parent_id": 1, "metadata.type": 1}
        return [
            document
            for batch in batched([i for i in ids if i not in found], IDS_AT_ONCE)
            for document in database()[collection].find(
                {"_id": {"$in": batch}, **node_filter(collection), **more}, place
            )
        ]

    for collection in (NODES, ASSET_FILES):
        seen = public_among(read(collection, live(moment)), sections, moment)
        found |= dict.fromkeys((document["_id"] for document in seen), State.LIVE)
    # Twice: in the middle of going to or coming from the trash a node is seen in one of the looks.
    for collection in (NODES, ASSET_FILES, TRASH, NODES, ASSET_FILES):
        state = State.TRASHED if collection == TRASH else State.HIDDEN
        found |= dict.fromkeys((document["_id"] for document in read(collection, {})), state)
    return {i: found.get(i, State.GONE) for i in ids}


def titles(ids: Collection[ObjectId], *, of_photos: bool) -> dict[ObjectId, str]:
    """Return the titles of existing nodes, including those in the trash. Photos are included only if `of_photos`."""
    found: dict[ObjectId, str] = {}
    for collection in (NODES, ASSET_FILES, TRASH):
        for batch in batched([i for i in ids if i not in found], IDS_AT_ONCE):
            query = {"_id": {"$in": batch}, **node_filter(collection)}
            named = database()[collection].find(query, {"metadata.title": 1, "metadata.type": 1})
            known = [(document["_id"], document["metadata"]) for document in named]
            found |= {i: said["title"] for i, said in known if of_photos or said["type"] != PHOTO}
    return found


@dataclass(frozen=True)
class Broken:
    """A reference of a public page, or of a draft, that shows readers words alone. `words`: each place of the text; none for a
    field. `is_draft`: the draft beside the node refers to it."""

    node: Node
    target: ObjectId
    state: State
    words: tuple[str, ...]
    is_draft: bool = False


@dataclass(frozen=True)
class CheckedBatch:
    """What one look through the public pages, or the drafts, that refer to anything found. `after`: the cursor to go on from,
    "" at the end."""

    broken: tuple[Broken, ...]
    looked: int
    after: str
    is_of_drafts: bool = False


def count_referring() -> int:
    """Return how many pages, public or not, refer to anything, and how many drafts."""
    return _count(REFERRING, "referring") + _count(REFERRING_DRAFTS, "by_draft_ref")


def _count(query: Mapping[str, Any], index: str) -> int:
    counted = aggregate_with_hint(database()[NODES], [{"$match": query}, {"$count": "count"}], keys_of(index))
    return sum(one["count"] for one in counted)


def check_batch(sections: Tree, moment: datetime, cursor: str = "") -> CheckedBatch:
    """Look through the next LOOKED_AT_ONCE public pages that refer to anything, the newest first, for broken references; after
    them through drafts, of any node, the last saved first.

    What they refer to is read from the index of ids; a text is read only where something is broken, for its words. Raises
    ValueError for a cursor that is none.
    """
    if cursor.startswith(DRAFTS):
        return _look_through_drafts(sections, moment, cursor.removeprefix(DRAFTS))
    edge = Cursor.parse(cursor) if cursor else None
    documents = find_live(REFERRING, "referring", moment, LOOKED_AT_ONCE + 1, edge, LISTED | {"derived.refs": 1})
    is_more = len(documents) > LOOKED_AT_ONCE
    documents = documents[:LOOKED_AT_ONCE]
    last = next(readable_nodes(NODES, reversed(documents)), None) if is_more else None
    after = str(Cursor.of(last, newer=False)) if last else DRAFTS
    public = public_among(documents, sections, moment)
    refs = list(read_documents(NODES, public, partial(_refs_in, "derived")))
    return CheckedBatch(tuple(_broken(sections, moment, refs, is_draft=False)), len(documents), after)


def _look_through_drafts(sections: Tree, moment: datetime, cursor: str) -> CheckedBatch:
    # The index has an entry of every node: those with a draft stand together.
    query: dict[str, Any] = {**REFERRING_DRAFTS, "draft.saved_at": {"$type": "date"}}
    if cursor:
        edge = Cursor.parse(cursor, times=1)
        query["draft.saved_at"]["$lte"] = edge.times[0]
        query["$or"] = edge.beyond(("draft.saved_at",))
    fields = LISTED | {"draft.refs": 1, "draft.saved_at": 1}
    nodes = database()[NODES]
    order = [("draft.saved_at", -1), ("_id", -1)]
    found = read_with_hint(
        keys_of("by_draft"), lambda hint: nodes.find(query, fields).sort(order).limit(LOOKED_AT_ONCE + 1).hint(hint)
    )
    documents = list(found)
    is_more = len(documents) > LOOKED_AT_ONCE
    documents = documents[:LOOKED_AT_ONCE]
    last = documents[-1] if is_more else None
    after = f"{DRAFTS}{Cursor(False, (last['draft']['saved_at'],), last['_id'])}" if last else ""
    refs = [
        one
        for one in read_documents(NODES, documents, partial(_refs_in, "draft"))
        if registry.get(one[0]["metadata"]["type"]).is_installed
    ]
    return CheckedBatch(tuple(_broken(sections, moment, refs, is_draft=True)), len(documents), after, is_of_drafts=True)


def _refs_in(part: str, document: Document) -> tuple[Document, list[Ref]]:
    Node.from_document(document)  # raises what makes a damaged document be left out
    return document, list(document[part]["refs"])


def _broken(
    sections: Tree, moment: datetime, refs: Sequence[tuple[Document, Sequence[Ref]]], *, is_draft: bool
) -> Iterator[Broken]:
    """Yield what readers cannot see of what each document refers to."""
    ids = [(document, [ref for ref in named if isinstance(ref, ObjectId)]) for document, named in refs]
    found = states(sections, {ref for _document, named in ids for ref in named}, moment)
    off = [(document, [ref for ref in named if found[ref] != State.LIVE]) for document, named in ids]
    said = _words([document["_id"] for document, named in off if named], is_draft=is_draft)
    for document, named in off:
        for ref in named:
            words = said.get(document["_id"], {}).get(ref, ())
            yield Broken(Node.from_document(document), ref, found[ref], tuple(words), is_draft)


def check_all(sections: Tree, moment: datetime, cursor: str = "") -> Iterator[CheckedBatch]:
    """Yield one look after another, from a cursor to the end. Raises ValueError for a cursor that is none."""
    while True:
        found = check_batch(sections, moment, cursor)
        yield found
        if not found.after:
            return
        cursor = found.after


def _words(node_ids: Sequence[ObjectId], *, is_draft: bool) -> dict[ObjectId, dict[ObjectId, list[str]]]:
    """Return, by node and by what it, or its draft, refers to, the words that stand there in its texts."""
    fields = {"metadata.type": 1, ("draft.metadata.detail" if is_draft else "metadata.detail"): 1}
    found: dict[ObjectId, dict[ObjectId, list[str]]] = {}
    for document in database()[NODES].find({"_id": {"$in": list(node_ids)}}, fields):
        # A draft may have been published in between.
        said = document.get("draft", {}) if is_draft else document
        detail = said.get("metadata", {}).get("detail") or {}
        texts = [rendering.to_html(detail.get("text") or "", detail.get("format") or MARKDOWN)]
        written = declared_fields.markdown_texts(document["metadata"]["type"], detail)
        texts += [rendering.of_field(one.text) for one in written]
        mentions = [mention for html in texts for mention in markup_references.find_mentions(html)]
        slugs = [m.name for m in mentions if m.scheme == markup_references.PHOTO and not ObjectId.is_valid(m.name)]
        named = stored_photos.by_references(slugs[:MOST_REFERENCES])
        here = found.setdefault(document["_id"], {})
        for mention in mentions:
            if ObjectId.is_valid(mention.name):
                here.setdefault(ObjectId(mention.name), []).append(mention.words)
            elif mention.name in named:
                here.setdefault(named[mention.name].pk, []).append(mention.words)
    return found
