"""Save, publish, schedule and discard drafts of live versions.

A draft has its own nonce. When a draft is published, it is merged with the live version (a three-way merge) and written
with a single update. It can be published immediately, or at a scheduled time (nodes/services/scheduled.py).
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

from bson import ObjectId
from django.utils.translation import gettext as _

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database
from marginalia.mongo.reading import read_with_hint
from nodes import merging
from nodes.collections import NODES, keys_of
from nodes.content import upgrading
from nodes.errors import DraftGone, EditConflict, FieldRefused, NodeError, NodeGone, NotLive
from nodes.merging import Merge
from nodes.services import derived, rules, scheduled, scope
from nodes.services.editing import Edit, merge_and_write, normalized
from nodes.services.retrying import retry_compare_and_set
from nodes.services.site import invalidate
from nodes.services.write import compare_and_set, insert_revision, load_base, writable
from nodes.types import NO_TAGS, Act, Actor, Change, Expected, Saved, TagChange


def save_draft(
    actor: Actor,
    node_id: ObjectId,
    seen_nonce: ObjectId,
    mine: Mapping[str, Any],
    tags: TagChange = NO_TAGS,
    *,
    form: ObjectId | None = None,
    may_publish: bool = False,
    merges: bool = True,
) -> Saved:
    """Save the fields in `mine` as the node's draft. Readers still see the live version.

    If scheduled changes are already due, they are published first. If another editor has saved the draft since the form
    was rendered, the two versions are merged, as in `editing.save`. If `may_publish` is False, the draft is unscheduled
    (`Saved.unscheduled`), because readers would see changes that no one with permission to publish has seen. The draft
    is also unscheduled if its publication time differs from the live version's, or if the page would expire before the
    draft is due.

    Args:
        actor: The author of the change.
        node_id: The node.
        seen_nonce: The nonce with which the form was rendered: the draft's nonce, or the node's if there was no draft.
        mine: The form's fields, keyed by path.
        tags: The tags to add and remove.
        form: The id of the form.
        may_publish: Whether the editor has seen the draft and has permission to publish it.
        merges: Whether to merge changes that others have made. If False, such changes cause an EditConflict.

    Raises:
        EditConflict: Both sides changed the same field or paragraph.
        NodeGone: The node no longer exists.
        NotReady: The draft lacks something that publishing requires.
        FieldRefused: A value can't be stored.
        NewerVersion: The node was stored by a newer release.
        NotUpgraded: The node could not be upgraded to the current version of its type.
        TooBusy: Other writers kept changing the node.
    """

    def write(stored: Document, version: Mapping[str, Any], change: Change, merged: tuple[str, ...]) -> Saved | None:
        live = stored["metadata"]
        draft = stored.get("draft")
        due = scheduled.due_time(stored)
        if draft and not change.alters(version):
            return Saved(node_id, draft["nonce"], merged=merged)
        dates = {name: change.fields.get(name, version[name]) for name in ("published", "expires")}
        if change.fields.keys() & dates.keys():
            rules.check_dates(live, dates)
        # The draft remains scheduled only if the page won't expire before the draft goes live, and if the draft doesn't
        # change the publication time. Scheduled changes can't change this time.
        keeps = may_publish and due and dates["published"] == live["published"] and dates["expires"] > due
        unchanged = {**scheduled.unchanged(draft), "draft.due": due} if draft else {"draft": {"$exists": False}}
        base = {
            "base_nonce": draft["base_nonce"] if draft else live["nonce"],
            # Changing tags doesn't generate a nonce, so the base revision can lack later tag changes. The tags are
            # therefore stored separately.
            "base_tags": scheduled.base_tags(node_id, draft) if draft else live["tags"],
        }
        parent = version["nonce"]
        nonce = _store(actor, _place(stored) | unchanged, version, change, parent, base, due if keeps else None)
        return Saved(node_id, nonce, tuple(change.fields), merged, None if keeps else due) if nonce else None

    drafted = {path: value for path, value in mine.items() if path not in rules.NOT_DRAFTED}
    return merge_and_write(Edit(seen_nonce, drafted, tags, form, merges), lambda: load(node_id), with_draft, write)


def publish_draft(
    actor: Actor,
    node_id: ObjectId,
    seen_draft: ObjectId,
    *,
    seen_nonce: ObjectId | None = None,
    mine: Mapping[str, Any] | None = None,
    tags: TagChange = NO_TAGS,
) -> Saved:
    """Publish the draft, merged with changes that were made to the live version after the draft was started.

    Args:
        actor: The author of the change.
        node_id: The node.
        seen_draft: The nonce of the draft that the editor saw.
        seen_nonce: The nonce of the live version that the editor saw when resolving a conflict.
        mine: The values that the editor chose to resolve a conflict, keyed by path. They replace the draft.
        tags: The tags to add and remove.

    Raises:
        EditConflict: Both sides changed the same field or paragraph.
        DraftGone: The draft has been saved, published or discarded since the editor saw it.
        NodeGone: The node no longer exists.
        NotReady: The node lacks something that publishing requires.
        FieldRefused: A value can't be stored.
        NewerVersion: The node was stored by a newer release.
        NotUpgraded: The node could not be upgraded to the current version of its type.
        TooBusy: Other writers kept changing the node.
    """

    def attempt() -> Saved | None:
        stored = load(node_id)
        merge, tag_change = _over_live(stored, seen_draft, seen_nonce, mine, tags)
        rules.check_dates(merging.fields(stored["metadata"]), merge.changes)
        submitted = scheduled.last_submission(node_id, seen_draft)
        nonce = compare_and_set(
            actor,
            stored,
            Change(merge.changes, tag_change, submitted, Act.CHANGES_PUBLISHED),
            more_filter={**scheduled.unchanged(stored["draft"]), "draft.due": scheduled.due_time(stored)},
            more_update={"$unset": {"draft": ""}},
        )
        return Saved(node_id, nonce, tuple(merge.changes), merge.merged) if nonce else None

    return retry_compare_and_set(attempt)


def schedule(
    actor: Actor,
    node_id: ObjectId,
    seen_draft: ObjectId,
    due: datetime,
    *,
    seen_nonce: ObjectId | None = None,
    mine: Mapping[str, Any] | None = None,
    tags: TagChange = NO_TAGS,
) -> Saved:
    """Schedule the draft to replace the live version at `due`.

    Changes that were made to the live version since the draft was started are merged immediately, so no conflict can
    occur later. The page's publication time doesn't change. The exceptions of `publish_draft` can also be raised.

    Args:
        actor: The author of the change.
        node_id: The node.
        seen_draft: The nonce of the draft that the editor saw.
        due: The time when the draft goes live. It replaces the time of an earlier schedule.
        seen_nonce: As for `publish_draft`.
        mine: As for `publish_draft`.
        tags: As for `publish_draft`.

    Raises:
        NotLive: The page isn't live.
        FieldRefused: The page expires before `due`.
    """

    def attempt() -> Saved | None:
        stored = load(node_id)
        if scheduled.publish_if_due(stored):
            return None
        merge, tag_change = _over_live(stored, seen_draft, seen_nonce, mine, tags)
        live = upgrading.upgraded(stored["metadata"])
        moment = now()
        if live["published"] is None or live["published"] > moment or live["expires"] <= moment:
            raise NotLive(node_id)
        if merge.changes.get("expires", live["expires"]) <= due:
            raise FieldRefused(
                "expires", _("The page expires before its changes go live. Choose an earlier time for the changes.")
            )
        submitted = scheduled.last_submission(node_id, seen_draft)
        changes = Change({**merge.changes, "published": live["published"]}, tag_change, submitted, Act.SCHEDULED)
        unchanged = {**Expected.of(stored).as_filter(), **scheduled.unchanged(stored["draft"])}
        base = {"base_nonce": live["nonce"], "base_tags": live["tags"]}
        nonce = _store(actor, unchanged, live, changes, seen_draft, base, due)
        if nonce is None:
            return None
        # Pages are cached until the next scheduled change. This time is now different, so the caches are invalidated.
        invalidate()
        return Saved(node_id, nonce, tuple(merge.changes), merge.merged)

    return retry_compare_and_set(attempt)


def unschedule(node_id: ObjectId, seen_draft: ObjectId) -> None:
    """Cancel the schedule of the draft if its nonce is still `seen_draft` and it isn't due yet.

    Raises:
        DraftGone: The draft has been saved, published or discarded since the editor saw it.
        NodeGone: The node no longer exists.
    """
    still = {**_place(load(node_id)), "draft.nonce": seen_draft, "draft.due": {"$gt": now()}}
    done = database()[NODES].update_one(still, {"$unset": {"draft.due": "", "draft.derived": ""}})
    if not done.modified_count:
        raise DraftGone(node_id)


def discard_draft(node_id: ObjectId, seen_draft: ObjectId) -> None:
    """Delete the draft if its nonce is still `seen_draft`, even if it is scheduled. If it is due, publish it instead.

    The nonce of the discarded draft is stored, so that an import doesn't restore the draft
    (transfer/importing_nodes.py).

    Raises:
        DraftGone: The draft has been saved, published or discarded since the editor saw it.
        NodeGone: The node no longer exists.
    """
    stored = load(node_id)
    with suppress(NodeError):
        scheduled.publish_if_due(stored)
    update = {"$unset": {"draft": ""}, "$set": {"discarded": seen_draft}}
    done = database()[NODES].update_one({**_place(stored), "draft.nonce": seen_draft}, update)
    if not done.modified_count:
        raise DraftGone(node_id)
    if scheduled.due_time(stored):
        invalidate()


def ids_with_tag(tag: str) -> list[ObjectId]:
    """Return the ids of the nodes whose draft has the tag, or is based on a live version that had the tag."""
    query = {
        # With $exists, the index would not exclude the nodes without drafts.
        "draft.saved_at": {"$type": "date"},
        "$or": [{"draft.metadata.tags": tag}, {"draft.base_tags": tag}],
    }
    nodes = read_with_hint(keys_of("by_draft"), partial(database()[NODES].find, query, {"_id": 1}))
    return [node["_id"] for node in nodes]


def rename_tag(node_id: ObjectId, change: TagChange) -> None:
    """Replace a tag of a draft, and of the live version on which the draft is based.

    The draft's nonce doesn't change, because tag changes can't conflict with an edit.

    Raises:
        TooBusy: Other writers kept changing the draft.
    """

    def attempt() -> bool | None:
        stored = database()[NODES].find_one({"_id": node_id, "draft": {"$exists": True}}, {"metadata": 1, "draft": 1})
        if stored is None:
            return True
        draft = stored["draft"]
        lists = {"draft.metadata.tags": draft["metadata"].get("tags"), "draft.base_tags": draft.get("base_tags")}
        renamed = {path: change.applied(tags) for path, tags in lists.items() if tags and change.removed & set(tags)}
        if not renamed:
            return True
        unchanged = {**_place(stored), **scheduled.unchanged(draft)}
        return bool(database()[NODES].update_one(unchanged, {"$set": renamed}).matched_count) or None

    retry_compare_and_set(attempt)


def _over_live(
    stored: Document,
    seen_draft: ObjectId,
    seen_nonce: ObjectId | None,
    mine: Mapping[str, Any] | None,
    tags: TagChange,
) -> tuple[Merge, TagChange]:
    """Merge the draft `seen_draft` into the live version. Return the merge and the tag change.

    If `mine` and `seen_nonce` are given, `mine` is merged instead of the draft. It contains the values that the editor
    chose to resolve a conflict.

    This function raises DraftGone, EditConflict and FieldRefused.
    """
    node_id = stored["_id"]
    draft = stored.get("draft")
    type = stored["metadata"]["type"]
    if draft is None or draft["nonce"] != seen_draft:
        # Another writer may have published the draft, but crashed before it invalidated the caches, so invalidate them
        # now.
        invalidate()
        raise DraftGone(node_id)
    if mine is None or seen_nonce is None:
        wanted = merging.fields(upgrading.draft_metadata(stored))
        since = draft["base_nonce"]
        tags = scheduled.draft_tag_change(node_id, draft)
    else:
        wanted = {path: value for path, value in normalized(mine, type).items() if path not in rules.NOT_DRAFTED}
        since = seen_nonce
    base = load_base(node_id, since)
    merge = merging.merge(base, wanted, merging.fields(stored["metadata"]), type)
    if merge.conflicts:
        raise EditConflict(base, stored["metadata"], merge, tags, wanted)
    return merge, tags


def _store(
    actor: Actor,
    unchanged: Mapping[str, Any],
    version: Mapping[str, Any],
    change: Change,
    parent: ObjectId,
    base: Mapping[str, Any],
    due: datetime | None,
) -> ObjectId | None:
    """Apply a change to the metadata `version`, and store the result as the draft of the node that matches `unchanged`.

    `parent` is the previous nonce, `base` describes the live version on which the draft is based, and `due` is the time
    when the draft goes live. Return the draft's nonce, or None if no node matches. This function raises FieldRefused
    and NotReady.
    """
    rules.check_lengths(change.fields)
    fields = {**merging.fields(version), **change.fields}
    own = merging.nested({path: value for path, value in fields.items() if path not in rules.NOT_DRAFTED})
    own |= {"tags": rules.apply_tags(change.tags, version["tags"]), **upgrading.version_fields(version["type"])}
    nonce = ObjectId()
    whole = {**version, **own, "nonce": nonce}
    rules.check_inserts(change.fields, whole)
    rules.check_type(change.fields, whole)
    draft = {
        "nonce": nonce,
        **base,
        "metadata": own,
        "saved_at": now(),
        "saved_by": actor.as_document(),
        **derived.references(whole),
    }
    if due:
        rules.check_ready(whole)
        rules.check_unique(unchanged["_id"], whole)
        draft |= {"due": due, "derived": derived.derive_for_readers(whole)}
    insert_revision(unchanged["_id"], parent, whole, actor, change.submitted, draft=True, act=change.act)
    done = database()[NODES].update_one(unchanged, {"$set": {"draft": draft}})
    return nonce if done.matched_count else None


def load(node_id: ObjectId) -> Document:
    """Return the stored document of a node and its draft.

    Raises:
        NodeGone: The node no longer exists.
        NewerVersion: The node was stored by a newer release.
        NotUpgraded: The node could not be upgraded to the current version of its type.
    """
    stored = database()[NODES].find_one({"_id": node_id}, {"metadata": 1, "draft": 1, **scope.FIELDS})
    if stored is None:
        raise NodeGone(node_id)
    writable(stored["metadata"])
    if "draft" in stored:
        writable(upgrading.draft_metadata(stored))
    return stored


def _place(stored: Document) -> dict[str, Any]:
    seen = Expected.of(stored)
    return {"_id": seen.id, "metadata.parent_id": seen.parent_id, "metadata.slug": seen.slug}


def with_draft(stored: Document) -> dict[str, Any]:
    """Return the node's metadata with the draft applied, and with the draft's nonce.

    If there is no draft, return the node's own metadata.
    """
    live = upgrading.upgraded(stored["metadata"])
    draft = stored.get("draft")
    if draft is None:
        return dict(live)
    changed = upgrading.upgraded(upgrading.draft_metadata(stored))
    detail = {**(live.get("detail") or {}), **changed["detail"]}
    return {**live, **changed, "nonce": draft["nonce"], "updated": draft["saved_at"], "detail": detail}
