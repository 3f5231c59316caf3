"""Drafts of live versions. A draft has its own nonce and is published by a three-way merge and one update.

Drafts are published immediately or at a scheduled time (nodes/services/scheduled.py).
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from bson import ObjectId
from django.utils.translation import gettext as _

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database
from nodes import merging
from nodes.collections import NODES
from nodes.content import upgrading
from nodes.errors import DraftGone, EditConflict, FieldRefused, NodeError, NodeGone, NotLive, TooBusy
from nodes.merging import Merge
from nodes.services import derived, rules, scheduled, scope
from nodes.services.editing import ATTEMPTS, normalized
from nodes.services.site import invalidate
from nodes.services.write import (
    NOT_DRAFTED,
    base_for,
    check_inserts,
    check_lengths,
    check_tags,
    compare_and_set,
    insert_revision,
    load_base,
    writable,
)
from nodes.types import NO_TAGS, Act, Actor, Expected, Saved, Submitted, TagChange


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
    """Save the fields `mine` as the node's draft. Readers still see the live version.

    A schedule stays if `may_publish`: the editor can publish and sees the draft. Otherwise it ends (`Saved.unscheduled`),
    because readers would see changes that nobody with permission to publish has seen. It also ends if the draft has other
    publication dates, or expires before it is due. Changes that are already due are published first.

    `seen_nonce` is the nonce that the form was rendered with: the draft's, or the node's if there was no draft. If a concurrent
    editor saved the draft, both merge as in a node, unless `merges` is False (see editing.save). Raises EditConflict, NodeGone,
    FieldRefused, NewerVersion, NotUpgraded, TooBusy.
    """
    check_tags(tags.added)
    base: Mapping[str, Any] | None = None
    for _attempt in range(ATTEMPTS):
        stored = load(node_id)
        if scheduled.publish_if_due(stored):
            continue
        draft = stored.get("draft")
        due = scheduled.due_time(stored)
        present = draft or stored["metadata"]
        said = with_draft(stored)
        type = said["type"]
        theirs = merging.fields(said)
        if base is None:
            mine = {path: value for path, value in normalized(mine, type).items() if path not in NOT_DRAFTED}
            base = theirs
            if present["nonce"] != seen_nonce:
                base, tags = base_for(node_id, seen_nonce, present["nonce"], form, tags)
        merge = merging.merge(base, mine, theirs, type)
        is_change = bool(merge.changes) or tags.changes(said["tags"])
        if merge.conflicts or (is_change and not merges and present["nonce"] != seen_nonce):
            raise EditConflict(base, said, merge, tags, mine)
        if draft and not is_change:
            return Saved(node_id, draft["nonce"], merged=merge.merged)
        check_lengths(merge.changes)
        after = merging.nested({k: v for k, v in {**theirs, **merge.changes}.items() if k not in NOT_DRAFTED})
        check_inserts(merge.changes, {**said, **after})
        if merge.changes.keys() & {"published", "expires"}:
            dates = {"published": after["published"], "expires": after["expires"]}
            rules.check_dates(merging.fields(stored["metadata"]), dates)
        after |= {"tags": tags.applied(said["tags"]), **upgrading.version_fields(type)}
        # Publication dates cannot be scheduled, and changes cannot appear after the page has expired.
        keeps = may_publish and due and after["published"] == stored["metadata"]["published"] and after["expires"] > due
        nonce = ObjectId()
        # History follows `parent` from the node's nonce, so this revision is only a base of later merges and never listed.
        submitted = Submitted(form, mine, was_merged=bool(merge.merged), tags=tags.wanted) if form else None
        insert_revision(node_id, present["nonce"], {**said, **after, "nonce": nonce}, actor, submitted, draft=True)
        written = {
            "nonce": nonce,
            "base_nonce": draft["base_nonce"] if draft else stored["metadata"]["nonce"],
            # A change of tags makes no nonce, so the base's revision doesn't contain later tags.
            "base_tags": scheduled.base_tags(node_id, draft) if draft else stored["metadata"]["tags"],
            **_said(actor, {**said, **after}, after, due if keeps else None),
        }
        unchanged = {"draft.nonce": draft["nonce"], "draft.due": due} if draft else {"draft": {"$exists": False}}
        if database()[NODES].update_one({**_place(stored), **unchanged}, {"$set": {"draft": written}}).matched_count:
            return Saved(node_id, nonce, tuple(merge.changes), merge.merged, None if keeps else due)
    raise TooBusy


def publish_draft(
    actor: Actor,
    node_id: ObjectId,
    seen_draft: ObjectId,
    *,
    seen_nonce: ObjectId | None = None,
    mine: Mapping[str, Any] | None = None,
    tags: TagChange = NO_TAGS,
) -> Saved:
    """Publish the draft, merged with the live changes since the draft was started.

    After a conflict, `mine` contains the fields that the editor decided on after seeing the live version `seen_nonce`. They
    replace the draft. Raises EditConflict, DraftGone (saved again, published or discarded since), NodeGone, FieldRefused,
    NewerVersion, NotUpgraded, TooBusy.
    """
    for _attempt in range(ATTEMPTS):
        stored = load(node_id)
        merge, tags = _over_live(stored, seen_draft, seen_nonce, mine, tags)
        rules.check_dates(merging.fields(stored["metadata"]), merge.changes)
        nonce = compare_and_set(
            actor,
            stored,
            merge.changes,
            tags,
            more_filter={"draft.nonce": seen_draft, "draft.due": scheduled.due_time(stored)},
            more_update={"$unset": {"draft": ""}},
            submitted=scheduled.last_submission(node_id, seen_draft),
            act=Act.CHANGES_PUBLISHED,
        )
        if nonce:
            return Saved(node_id, nonce, tuple(merge.changes), merge.merged)
    raise TooBusy


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
    """Schedule the draft, so that readers see it from `due` on instead of the live version. `due` replaces an earlier time.

    The draft is merged now with the live changes since it was started, so that no conflict can arise when it is due. For
    `seen_nonce`, `mine` and `tags`, see publish_draft. The publication date of the page stays unchanged. Raises NotLive,
    FieldRefused (the page expires before `due`), and the exceptions of publish_draft.
    """
    for _attempt in range(ATTEMPTS):
        stored = load(node_id)
        if scheduled.publish_if_due(stored):
            continue
        merge, tags = _over_live(stored, seen_draft, seen_nonce, mine, tags)
        live = upgrading.upgraded(stored["metadata"])
        moment = now()
        if live["published"] is None or live["published"] > moment or live["expires"] <= moment:
            raise NotLive(node_id)
        changes = {**merge.changes, "published": live["published"]}
        check_lengths(changes)
        whole = {**merging.fields(live), **changes}
        if whole["expires"] <= due:
            raise FieldRefused(
                "expires", _("The page expires before its changes appear: choose an earlier time for them.")
            )
        check_tags(tags.added)
        after = merging.nested({path: value for path, value in whole.items() if path not in NOT_DRAFTED})
        check_inserts(changes, {**live, **after})
        after |= {"tags": tags.applied(live["tags"]), **upgrading.version_fields(live["type"])}
        said = {**live, **after}
        nonce = ObjectId()
        insert_revision(
            node_id,
            seen_draft,
            {**said, "nonce": nonce},
            actor,
            scheduled.last_submission(node_id, seen_draft),
            draft=True,
        )
        base = {"base_nonce": live["nonce"], "base_tags": live["tags"]}
        written = {"nonce": nonce, **base, **_said(actor, said, after, due)}
        unchanged = {**Expected.of(stored).as_filter(), "draft.nonce": seen_draft}
        if database()[NODES].update_one(unchanged, {"$set": {"draft": written}}).matched_count:
            # Pages are cached until the next scheduled time, which has changed.
            invalidate()
            return Saved(node_id, nonce, tuple(merge.changes), merge.merged)
    raise TooBusy


def unschedule(node_id: ObjectId, seen_draft: ObjectId) -> None:
    """End the schedule of the draft, if it is still `seen_draft` and not due yet. Raises DraftGone, NodeGone."""
    still = {**_place(load(node_id)), "draft.nonce": seen_draft, "draft.due": {"$gt": now()}}
    done = database()[NODES].update_one(still, {"$unset": {"draft.due": "", "draft.derived": ""}})
    if not done.modified_count:
        raise DraftGone(node_id)


def discard_draft(node_id: ObjectId, seen_draft: ObjectId) -> None:
    """Delete the draft if it is still `seen_draft`, even if it is scheduled. Changes that are due are published instead.

    The nonce of the discarded draft is stored, so that an import doesn't restore it (transfer/importing_nodes.py). Raises
    DraftGone, NodeGone.
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


def _over_live(
    stored: Document,
    seen_draft: ObjectId,
    seen_nonce: ObjectId | None,
    mine: Mapping[str, Any] | None,
    tags: TagChange,
) -> tuple[Merge, TagChange]:
    """Return the changes of fields and tags that the draft `seen_draft`, or `mine` instead, makes to the live version.

    Raises DraftGone, EditConflict, FieldRefused.
    """
    node_id = stored["_id"]
    draft = stored.get("draft")
    type = stored["metadata"]["type"]
    if draft is None or draft["nonce"] != seen_draft:
        # Another writer may have published it and died before the invalidation.
        invalidate()
        raise DraftGone(node_id)
    if mine is None or seen_nonce is None:
        wanted = merging.fields(upgrading.draft_metadata(stored))
        since = draft["base_nonce"]
        tags = scheduled.draft_tag_change(node_id, draft)
    else:
        wanted = {path: value for path, value in normalized(mine, type).items() if path not in NOT_DRAFTED}
        since = seen_nonce
    base = load_base(node_id, since)
    merge = merging.merge(base, wanted, merging.fields(stored["metadata"]), type)
    if merge.conflicts:
        raise EditConflict(base, stored["metadata"], merge, tags, wanted)
    return merge, tags


def _said(actor: Actor, said: Mapping[str, Any], after: Mapping[str, Any], due: datetime | None) -> dict[str, Any]:
    """Return the stored fields of a draft, except its nonces and its base.

    `said` is the whole metadata with the draft applied, and `after` is the draft's own part. `due` is the scheduled time.
    """
    found: dict[str, Any] = {
        "metadata": after,
        "saved_at": now(),
        "saved_by": actor.as_document(),
        **derived.references(said),
    }
    return found | {"due": due, "derived": derived.derive_for_readers(said)} if due else found


def load(node_id: ObjectId) -> Document:
    """Return the stored document of a node and its draft. Raises NodeGone, NewerVersion, NotUpgraded."""
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
    """Return the metadata with the draft applied, under the draft's nonce, or the node's metadata if there is no draft."""
    live = upgrading.upgraded(stored["metadata"])
    draft = stored.get("draft")
    if draft is None:
        return dict(live)
    changed = upgrading.upgraded(upgrading.draft_metadata(stored))
    said = {**live, **changed, "nonce": draft["nonce"], "updated": draft["saved_at"]}
    said["detail"] = {**(live.get("detail") or {}), **changed["detail"]}
    return said
