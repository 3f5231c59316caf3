"""A node's history: the saves that led to what it is, by following each revision's parent from the present nonce.

A revision whose write failed is in no such chain, so it is never shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from nodes import merging
from nodes.collections import REVISIONS
from nodes.selectors.editable_nodes import Version
from nodes.types import Act, Actor

# Saves that are followed back. Older ones are there until purged, but not listed.
FOLLOWED = 2_000
SHOWN = 50
# Saves of one editor no further apart than this, with nothing between them, are one sitting.
PAUSE = timedelta(minutes=30)


@dataclass(frozen=True)
class Revision:
    """One save: what the node said after it, who made it, the paths of the fields it changed, and what it did."""

    version: Version
    parent: ObjectId | None
    changed: tuple[str, ...]
    acts: tuple[Act, ...]


@dataclass(frozen=True)
class Sitting:
    """Saves of one editor, one soon after the other, which did nothing but save; or one that did more. Newest first."""

    revisions: tuple[Revision, ...]

    @property
    def changed(self) -> tuple[str, ...]:
        """The paths of the fields that any of them changed."""
        return tuple(dict.fromkeys(path for revision in self.revisions for path in revision.changed))


def sittings(revisions: Sequence[Revision]) -> list[Sitting]:
    """Return the revisions of a history, newest first, by sittings."""
    found: list[list[Revision]] = []
    for revision in revisions:
        if found and _goes_on(found[-1][-1], revision):
            found[-1].append(revision)
        else:
            found.append([revision])
    return [Sitting(tuple(sitting)) for sitting in found]


def _goes_on(later: Revision, earlier: Revision) -> bool:
    """Return whether two saves, one after the other, are of one sitting."""
    is_soon = later.version.saved_at - earlier.version.saved_at <= PAUSE
    return is_soon and later.version.saved_by == earlier.version.saved_by and later.acts == earlier.acts == (Act.SAVED,)


def newest(node_id: ObjectId, present: ObjectId, *, skip_until: ObjectId | None = None) -> tuple[list[Revision], bool]:
    """Return up to SHOWN saves of a node, newest first, and whether there are older ones.

    They begin at the nonce `present`, or after the nonce `skip_until`, the last of the page before.
    """
    nonces = _chain(node_id, present)
    if skip_until in nonces:
        nonces = nonces[nonces.index(skip_until) + 1 :]
    # One more than shown: what a save changed is told by the one before it.
    documents = {
        d["_id"]: d for d in database()[REVISIONS].find({"_id": {"$in": nonces[: SHOWN + 1]}, "node_id": node_id})
    }
    versions = {
        nonce: Version.of(d["metadata"], d["saved_at"], d["saved_by"]["name"]) for nonce, d in documents.items()
    }
    found = [
        Revision(
            versions[nonce],
            parent,
            _changed(versions.get(parent), versions[nonce]),
            _acts(documents.get(parent), documents[nonce]),
        )
        for nonce, parent in ((nonce, documents[nonce]["parent"]) for nonce in nonces[:SHOWN])
    ]
    return found, len(nonces) > SHOWN


def savers_since(node_id: ObjectId, seen: ObjectId | None, present: ObjectId) -> tuple[Actor, ...]:
    """Return who saved after the nonce `seen`, up to `present`, each once; the newest first."""
    links = _links(node_id)
    savers: dict[Actor, None] = {}
    nonce: ObjectId | None = present
    while nonce != seen and (link := links.pop(nonce, None)):
        savers[Actor(link["saved_by"]["_id"], link["saved_by"]["name"])] = None
        nonce = link["parent"]
    return tuple(savers)


def draft_base(node_id: ObjectId, draft_nonce: ObjectId) -> ObjectId | None:
    """Return the nonce of the live version that a draft was begun on, also of one that was published; None if that is not
    known (any more)."""
    links = _links(node_id)
    nonce: ObjectId | None = draft_nonce
    while (link := links.pop(nonce, None)) and link.get("draft"):
        nonce = link["parent"]
    return nonce if link else None


def _chain(node_id: ObjectId, present: ObjectId) -> list[ObjectId]:
    links = _links(node_id)
    nonces: list[ObjectId] = []
    nonce: ObjectId | None = present
    while nonce is not None and (link := links.pop(nonce, None)):
        nonces.append(nonce)
        nonce = link["parent"]
    return nonces


def _links(node_id: ObjectId) -> dict[ObjectId | None, Mapping[str, Any]]:
    """Return {parent, saved_by, draft} by nonce. Take out what you follow: what was imported may lead in a circle."""
    found = database()[REVISIONS].find({"node_id": node_id}, {"parent": 1, "saved_by": 1, "draft": 1})
    return {link["_id"]: link for link in found.sort("saved_at", -1).limit(FOLLOWED)}


def _changed(before: Version | None, after: Version) -> tuple[str, ...]:
    if before is None:
        return ()
    old = before.fields
    new = after.fields
    changed = [path for path in {**old, **new} if not merging.same(old.get(path), new.get(path))]
    if sorted(before.tags) != sorted(after.tags):
        changed.append("tags")
    return tuple(changed)


def _acts(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> tuple[Act, ...]:
    """Return what a save did, by its revision and the one before it, None if that is not known (any more): one or more."""
    old = before and before["metadata"]
    new = after["metadata"]
    found = [Act(after["act"])] if "act" in after else []
    if after["parent"] is None:
        # An import acts without an account, or notes where the node comes from.
        is_typed = after["saved_by"]["_id"] and not (new.get("detail") or {}).get("source")
        found.append(Act.CREATED if is_typed else Act.IMPORTED)
    if old or after["parent"] is None:
        found += _publishing(old or {}, new, after["saved_at"])
    if old:
        told = {"parent_id": Act.MOVED, "slug": Act.RENAMED, "content_id": Act.REPLACED}
        found += [act for name, act in told.items() if old.get(name) != new.get(name)]
    if Act.PUBLISHED in found and Act.CHANGES_PUBLISHED in found:
        found.remove(Act.CHANGES_PUBLISHED)
    return tuple(found) or (Act.SAVED,)


def _publishing(old: Mapping[str, Any], new: Mapping[str, Any], moment: datetime) -> list[Act]:
    """Return what a save at `moment` did to who sees the node, by its dates before and after."""
    was, is_now = (_is_public(dates, moment) for dates in (old, new))
    if is_now and not was:
        return [Act.PUBLISHED]
    if new["published"] and new["published"] > moment and new["published"] != old.get("published"):
        return [Act.SCHEDULED]
    return [Act.UNPUBLISHED] if old.get("published") and (was and not is_now or not new["published"]) else []


def _is_public(dates: Mapping[str, Any], moment: datetime) -> bool:
    published: datetime | None = dates.get("published")
    return published is not None and published <= moment < dates["expires"]
