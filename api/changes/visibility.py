"""Which changes readers may know of: those of what they see, and those that took something from them.

That something is there, or was written at some time, is as hidden as what it says: an id has the time in it. So a change of
what readers do not see is told to them only if they saw it before, and then without the nonce of what they may not read.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from bson import ObjectId

from api.changes import stored
from api.changes.events import Change
from api.changes.stored import Entry
from marginalia.comments import targets
from marginalia.comments.types import Target
from marginalia.mongo.connection import Document, database
from marginalia.mongo.reading import read_document
from nodes.collections import ASSET_FILES, NODES, REVISIONS
from nodes.content import CONTENT, PHOTO, registry
from nodes.models import tree
from nodes.models.tree import Tree
from nodes.models.validation import VISIBILITY_FIELDS
from nodes.selectors import falling_due
from nodes.selectors.listing import MODELS, is_public

_MILLISECOND = timedelta(milliseconds=1)


def entries(changes: Sequence[Change], until: datetime, moment: datetime) -> list[Entry]:
    """Return changes as they are told, in their order; those of bytes alone are left out. `until`: what was due till then is
    told."""
    # As it is stored: the site's version may be behind what the stream tells.
    sections = tree.load() if any(change.home for change in changes) else None
    present = {home: _present(home, changes) for home in (NODES, ASSET_FILES)}
    before = _before(changes)
    discussed = {
        str(target)
        for target in targets.resolve_many(Target.parse(one.id) for one in changes if one.kind == stored.COMMENTS)
    }
    found = []
    for change in changes:
        shown = True
        kind = change.kind
        nonce = change.nonce
        if change.kind == stored.COMMENTS:
            shown = change.id in discussed
        elif change.home:
            now_there = present[change.home].get(change.id)
            document = change.trashed or now_there
            type = document["metadata"].get("type", "") if document else ""
            if type == CONTENT:
                continue
            kind = kind_of(type, change.home, is_placed=change.is_placed)
            is_seen = now_there is not None and _is_seen(now_there, change.home, sections, moment)
            shown = not change.is_draft if is_seen else _was_seen(change, before, sections, until, moment)
            nonce = nonce if is_seen or not shown else None
        found.append(Entry(change.token["_data"], kind, str(change.id), nonce, shown, change.token, until))
    return found


def due(found: Document, sections: Tree, resume: Document | None, until: datetime, moment: datetime) -> Entry:
    """Return what is told of a node or photo that appeared, changed as scheduled or expired at `at`, in these sections."""
    home = found["home"]
    at = found["at"]
    kind = kind_of(found["metadata"].get("type", ""), home, is_placed=True)
    # Of what has expired: whether readers saw it until then.
    shown = _is_seen(found, home, sections, at - _MILLISECOND if found["what"] == "expires" else moment)
    nonce = found["metadata"].get("nonce") if found["what"] == "published" else None
    key = f"{found['what']}:{found['_id']}:{round(at.timestamp() * 1000)}"
    return Entry(key, kind, str(found["_id"]), nonce, shown, resume, until)


def kind_of(type: str, home: str, *, is_placed: bool) -> str:
    """Return the kind of an entry: what stands in a section goes with it."""
    if type == PHOTO or home == ASSET_FILES:
        return stored.PHOTO
    return stored.SUBTREE if is_placed and type in registry.sections() else stored.NODE


def _is_seen(document: Document, home: str, sections: Tree | None, moment: datetime) -> bool:
    """Return whether readers see a node or photo, as it is in a document, at a moment."""
    # A photo whose first upload is under way has no content.
    is_whole = home == NODES or isinstance(document["metadata"].get("content_id"), ObjectId)
    node = (
        read_document(home, document, partial(MODELS[home].from_document, fields=VISIBILITY_FIELDS))
        if is_whole
        else None
    )
    return node is not None and sections is not None and is_public(node, sections, moment)


def _was_seen(
    change: Change,
    before: Mapping[ObjectId | None, Document],
    sections: Tree | None,
    until: datetime,
    moment: datetime,
) -> bool:
    """Return whether readers saw, until this change, what they do not see now. What is not known counts as seen."""
    versions = [before.get(nonce) for nonce in change.left] + ([change.trashed] if change.trashed else [])
    for version in versions:
        if version is None:
            return True
        if version:
            # What has expired since `until` was not told yet, and would not be found any more.
            ended = version["metadata"].get("expires")
            at = ended - _MILLISECOND if isinstance(ended, datetime) and until < ended <= moment else moment
            if _is_seen(version, change.home, sections, at):
                return True
    return False


def _present(home: str, changes: Iterable[Change]) -> dict[ObjectId, Document]:
    ids = [change.id for change in changes if change.home == home]
    found = database()[home].find({"_id": {"$in": ids}}, falling_due.SHOWN) if ids else ()
    return {document["_id"]: document for document in found}


def _before(changes: Iterable[Change]) -> dict[ObjectId | None, Document]:
    """Return, by the nonce of a version that may have taken a node from readers, the version before it: {} for the first."""
    nonces = {nonce: change.id for change in changes for nonce in change.left if nonce}
    if not nonces:
        return {}
    revisions = database()[REVISIONS]
    of_these = {"node_id": {"$in": list(set(nonces.values()))}}
    saved = list(revisions.find({**of_these, "_id": {"$in": list(nonces)}}, {"parent": 1}))
    wanted = [one["parent"] for one in saved if one["parent"]]
    found = {one["_id"]: one for one in revisions.find({**of_these, "_id": {"$in": wanted}}, falling_due.SHOWN)}
    found[None] = {}
    return {one["_id"]: found[one["parent"]] for one in saved if one["parent"] in found}
