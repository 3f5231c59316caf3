"""Read the history of a node: the saves that led to its current version, and the saves of its drafts.

The saves that led to the current version are found by following the parents of revisions, so failed writes are never
shown. Saves of drafts aren't in this chain. They are found by their mark, and stay in the history after the draft was
published or discarded.
"""

import heapq
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

# Maximum number of saves in a history. Older revisions are kept until they are purged, but they aren't listed.
FOLLOWED = 2_000
SHOWN = 50
# Consecutive saves by the same editor belong to one sitting if no pause between them is longer than this.
PAUSE = timedelta(minutes=30)


@dataclass(frozen=True)
class Revision:
    """A save: the version that it created, the paths of the fields that it changed, and its actions.

    Attributes:
        parent: The nonce of the version that the save changed, or None if this version is no longer stored.
    """

    version: Version
    parent: ObjectId | None
    changed: tuple[str, ...]
    acts: tuple[Act, ...]

    @property
    def is_draft(self) -> bool:
        """Return whether this is a save of a draft."""
        return Act.DRAFTED in self.acts


@dataclass(frozen=True)
class Sitting:
    """Consecutive saves by one editor with only short pauses between them, newest first.

    A save that also did something else, such as publishing the node, is a sitting of its own.
    """

    revisions: tuple[Revision, ...]

    @property
    def changed(self) -> tuple[str, ...]:
        """The paths of all fields that these saves changed."""
        return tuple(dict.fromkeys(path for revision in self.revisions for path in revision.changed))


def sittings(revisions: Sequence[Revision]) -> list[Sitting]:
    """Group the revisions of a history into sittings, newest first."""
    groups: list[list[Revision]] = []
    for revision in revisions:
        if groups and _is_same_sitting(groups[-1][-1], revision):
            groups[-1].append(revision)
        else:
            groups.append([revision])
    return [Sitting(tuple(group)) for group in groups]


def _is_same_sitting(later: Revision, earlier: Revision) -> bool:
    """Return whether two consecutive saves belong to the same sitting."""
    is_soon = later.version.saved_at - earlier.version.saved_at <= PAUSE
    is_plain = later.acts == earlier.acts and later.acts in ((Act.SAVED,), (Act.DRAFTED,))
    return is_soon and is_plain and later.version.saved_by == earlier.version.saved_by


def newest(node_id: ObjectId, present: ObjectId, *, skip_until: ObjectId | None = None) -> tuple[list[Revision], bool]:
    """Return up to SHOWN saves of a node and its drafts, newest first. Also return whether there are older saves.

    Args:
        node_id: The node.
        present: The nonce of the newest save of the live version.
        skip_until: The nonce of the last save on the previous page. Only older saves are returned.
    """
    parents = _parents(node_id, present)
    nonces = list(parents)
    if skip_until in parents:
        nonces = nonces[nonces.index(skip_until) + 1 :]
    shown = nonces[:SHOWN]
    # Each save is compared with the version that it changed.
    wanted = list({*shown, *(parents[nonce] for nonce in shown)})
    documents = {d["_id"]: d for d in database()[REVISIONS].find({"_id": {"$in": wanted}, "node_id": node_id})}
    versions = {
        nonce: Version.of(d["metadata"], d["saved_at"], d["saved_by"]["name"]) for nonce, d in documents.items()
    }
    revisions = [
        Revision(
            versions[nonce],
            parent if parent in versions else None,
            _changed(versions.get(parent), versions[nonce]),
            _acts(documents.get(parent), documents[nonce]),
        )
        for nonce, parent in ((nonce, parents[nonce]) for nonce in shown)
    ]
    return revisions, len(nonces) > SHOWN


def savers_since(node_id: ObjectId, seen: ObjectId | None, present: ObjectId) -> tuple[Actor, ...]:
    """Return the authors of the saves after the nonce `seen`, up to `present`, newest first and without duplicates."""
    links = _links(node_id)
    savers: dict[Actor, None] = {}
    nonce: ObjectId | None = present
    while nonce != seen and (link := links.pop(nonce, None)):
        savers[Actor(link["saved_by"]["_id"], link["saved_by"]["name"])] = None
        nonce = link["parent"]
    return tuple(savers)


def draft_base(node_id: ObjectId, draft_nonce: ObjectId) -> ObjectId | None:
    """Return the nonce of the live version from which a draft was started, or None if it is unknown.

    The draft may already have been published.
    """
    links = _links(node_id)
    nonce: ObjectId | None = draft_nonce
    while (link := links.pop(nonce, None)) and link.get("draft"):
        nonce = link["parent"]
    return nonce if link else None


def _parents(node_id: ObjectId, present: ObjectId) -> dict[ObjectId, ObjectId | None]:
    """Return the parents of the saves that led to `present` and of the saves of drafts, keyed by nonce, newest first."""
    links = _links(node_id)
    chain: list[Mapping[str, Any]] = []
    nonce: ObjectId | None = present
    while nonce is not None and (link := links.pop(nonce, None)):
        chain.append(link)
        nonce = link["parent"]
    drafts = [link for link in links.values() if link.get("draft")]
    saves = heapq.merge(chain, drafts, key=lambda link: link["saved_at"], reverse=True)
    return {link["_id"]: link["parent"] for link in saves}


def _links(node_id: ObjectId) -> dict[ObjectId | None, Mapping[str, Any]]:
    """Return {parent, saved_at, saved_by, draft} for each revision, keyed by nonce, newest first.

    Callers must remove each link that they follow, because imported chains can be circular.
    """
    fields = {"parent": 1, "saved_at": 1, "saved_by": 1, "draft": 1}
    revisions = database()[REVISIONS].find({"node_id": node_id}, fields)
    return {link["_id"]: link for link in revisions.sort("saved_at", -1).limit(FOLLOWED)}


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
    """Return the actions that a save performed (always at least one).

    `before` is the previous revision, or None if it is unknown.
    """
    old = before and before["metadata"]
    new = after["metadata"]
    acts = [Act(after["act"])] if "act" in after else []
    if after.get("draft"):
        return (Act.DRAFTED, *acts)
    if after["parent"] is None:
        # If no account created the node, or if the node has a `source`, it was imported.
        is_typed = after["saved_by"]["_id"] and not (new.get("detail") or {}).get("source")
        acts.append(Act.CREATED if is_typed else Act.IMPORTED)
    if old or after["parent"] is None:
        acts += _publishing(old or {}, new, after["saved_at"])
    if old:
        by_field = {"parent_id": Act.MOVED, "slug": Act.RENAMED, "content_id": Act.REPLACED}
        acts += [act for name, act in by_field.items() if old.get(name) != new.get(name)]
    if Act.PUBLISHED in acts and Act.CHANGES_PUBLISHED in acts:
        acts.remove(Act.CHANGES_PUBLISHED)
    return tuple(acts) or (Act.SAVED,)


def _publishing(old: Mapping[str, Any], new: Mapping[str, Any], moment: datetime) -> list[Act]:
    """If a save published, scheduled or unpublished a node, return this action in a list. Otherwise, return [].

    `old` and `new` are the metadata before and after the save, and `moment` is the time of the save.
    """
    was, is_now = (_is_public(dates, moment) for dates in (old, new))
    if is_now and not was:
        return [Act.PUBLISHED]
    if new["published"] and new["published"] > moment and new["published"] != old.get("published"):
        return [Act.SCHEDULED]
    return [Act.UNPUBLISHED] if old.get("published") and (was and not is_now or not new["published"]) else []


def _is_public(dates: Mapping[str, Any], moment: datetime) -> bool:
    published: datetime | None = dates.get("published")
    return published is not None and published <= moment < dates["expires"]
