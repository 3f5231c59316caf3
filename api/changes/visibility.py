"""Determine which changes readers can see: changes to visible content, and changes that hide content.

Readers must not learn that a hidden node exists, or when the node is saved. Even a node's id reveals when the node was
created. Readers therefore see a change to a hidden node only if they could see the node before the change. The entry
for such a change doesn't contain the nonce of the hidden version.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from bson import ObjectId

from api.changes import change_log
from api.changes.change_log import Entry
from api.changes.events import DetectedChange
from marginalia.comments import targets
from marginalia.comments.types import Target
from marginalia.mongo.connection import Document, database
from marginalia.mongo.reading import read_document
from nodes.collections import ASSET_FILES, NODES, REVISIONS
from nodes.content import CONTENT, registry
from nodes.models import node_from_document, tree
from nodes.models.tree import Tree
from nodes.models.validation import VISIBILITY_FIELDS
from nodes.selectors import falling_due
from nodes.selectors.listing import is_public

_MILLISECOND = timedelta(milliseconds=1)


def entries(changes: Sequence[DetectedChange], until: datetime, moment: datetime) -> list[Entry]:
    """Return entries for `changes`, in the same order, except for changes to the contents of files.

    Args:
        changes: The changes.
        until: The time up to which scheduled changes are already in the list.
        moment: The current time.
    """
    # Load the stored tree, because the cached tree may be older than the events in the change stream.
    sections = tree.load() if any(change.collection for change in changes) else None
    current = {collection: _current_documents(collection, changes) for collection in (NODES, ASSET_FILES)}
    previous = _previous_versions(changes)
    visible_targets = {
        str(target)
        for target in targets.resolve_many(
            Target.parse(change.id) for change in changes if change.kind == change_log.COMMENTS
        )
    }
    entries = []
    for change in changes:
        for_readers = True
        kind = change.kind
        nonce = change.nonce
        if change.kind == change_log.COMMENTS:
            for_readers = change.id in visible_targets
        elif change.collection:
            now_stored = current[change.collection].get(change.id)
            document = change.trashed or now_stored
            type = document["metadata"].get("type", "") if document else ""
            if type == CONTENT:
                continue
            kind = kind_of(type, change.collection, affects_subtree=change.affects_subtree)
            is_visible_now = now_stored is not None and _is_visible(now_stored, change.collection, sections, moment)
            for_readers = (
                not change.is_draft_only if is_visible_now else _was_visible(change, previous, sections, until, moment)
            )
            nonce = nonce if is_visible_now or not for_readers else None
        entries.append(Entry(change.token["_data"], kind, str(change.id), nonce, for_readers, change.token, until))
    return entries


def due_entry(document: Document, sections: Tree, resume: Document | None, until: datetime, moment: datetime) -> Entry:
    """Return the entry for a node or photo that was published, changed or hidden on schedule.

    The scheduled time is `document["at"]`.
    """
    collection = document["home"]
    due_at = document["at"]
    kind = kind_of(document["metadata"].get("type", ""), collection, affects_subtree=True)
    # For an expired node, check whether readers could see the node immediately before its expiry.
    for_readers = _is_visible(
        document, collection, sections, due_at - _MILLISECOND if document["what"] == "expires" else moment
    )
    nonce = document["metadata"].get("nonce") if document["what"] == "published" else None
    key = f"{document['what']}:{document['_id']}:{round(due_at.timestamp() * 1000)}"
    return Entry(key, kind, str(document["_id"]), nonce, for_readers, resume, until)


def kind_of(type: str, collection: str, *, affects_subtree: bool) -> str:
    """Return the kind of an entry. If a section's path or visibility changed, the kind is SUBTREE."""
    if collection == ASSET_FILES or type in registry.uploaded():
        return change_log.PHOTO
    return change_log.SUBTREE if affects_subtree and type in registry.sections() else change_log.NODE


def _is_visible(document: Document, collection: str, sections: Tree | None, moment: datetime) -> bool:
    """Return whether readers can see the node or photo in `document` at `moment`."""
    # A photo has no content until its first upload is finished, so readers can't see it before then.
    is_complete = collection == NODES or isinstance(document["metadata"].get("content_id"), ObjectId)
    node = (
        read_document(collection, document, partial(node_from_document, fields=VISIBILITY_FIELDS))
        if is_complete
        else None
    )
    return node is not None and sections is not None and is_public(node, sections, moment)


def _was_visible(
    change: DetectedChange,
    previous: Mapping[ObjectId | None, Document],
    sections: Tree | None,
    until: datetime,
    moment: datetime,
) -> bool:
    """Return whether readers could see a node before a change hid it.

    If the previous version is unknown, return True.
    """
    versions = [previous.get(nonce) for nonce in change.hiding_nonces] + ([change.trashed] if change.trashed else [])
    for version in versions:
        if version is None:
            return True
        if version:
            # If the node expired after `until`, the list doesn't contain the expiry yet, and _due_entries can no longer
            # find the node. Therefore, check whether readers could see the node immediately before its expiry.
            expires = version["metadata"].get("expires")
            last_moment = (
                expires - _MILLISECOND if isinstance(expires, datetime) and until < expires <= moment else moment
            )
            if _is_visible(version, change.collection, sections, last_moment):
                return True
    return False


def _current_documents(collection: str, changes: Iterable[DetectedChange]) -> dict[ObjectId, Document]:
    ids = [change.id for change in changes if change.collection == collection]
    documents = database()[collection].find({"_id": {"$in": ids}}, falling_due.SHOWN) if ids else ()
    return {document["_id"]: document for document in documents}


def _previous_versions(changes: Iterable[DetectedChange]) -> dict[ObjectId | None, Document]:
    """Return the previous version of each node that a change may have hidden from readers.

    The keys are the nonces of the versions that may have hidden the nodes. If there is no previous version, the value
    is {}.
    """
    nonces = {nonce: change.id for change in changes for nonce in change.hiding_nonces if nonce}
    if not nonces:
        return {}
    revisions = database()[REVISIONS]
    of_nodes = {"node_id": {"$in": list(set(nonces.values()))}}
    saved_versions = list(revisions.find({**of_nodes, "_id": {"$in": list(nonces)}}, {"parent": 1}))
    parents = [revision["parent"] for revision in saved_versions if revision["parent"]]
    versions = {
        revision["_id"]: revision
        for revision in revisions.find({**of_nodes, "_id": {"$in": parents}}, falling_due.SHOWN)
    }
    versions[None] = {}
    return {
        revision["_id"]: versions[revision["parent"]] for revision in saved_versions if revision["parent"] in versions
    }
