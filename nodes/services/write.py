"""Write a node with a compare-and-set operation on its section, slug and nonce.

The revision is inserted before the node is written, and the site's versions are updated afterwards.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from bson import ObjectId
from pymongo.client_session import ClientSession
from pymongo.errors import DuplicateKeyError

from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database
from nodes import merging
from nodes.collections import NODES, REDIRECTS, REVISIONS, home_of
from nodes.content import declared_fields, upgrading
from nodes.content.declared_fields import PREFIX
from nodes.errors import NewerVersion, NotUpgraded, SlugTaken
from nodes.selectors import slugs
from nodes.services import derived, ordering, rules, scope
from nodes.services.site import invalidate
from nodes.signals import send_saved
from nodes.tags import unique
from nodes.types import NEVER, Act, Actor, Change, Expected, Submitted, TagChange

# Maximum number of saves to search when looking for the last save of a form.
LOOK_BACK = 200
# The fields that must be read before a node is written.
STORED = {"metadata": 1, "draft.due": 1, **scope.FIELDS}
# How many earlier nodes a redirect remembers for its URL, in addition to the most recent node.
MOST_EARLIER = 10


def compare_and_set(
    actor: Actor,
    stored: Document,
    change: Change,
    *,
    more_filter: Mapping[str, Any] | None = None,
    more_update: Mapping[str, Any] | None = None,
    session: ClientSession | None = None,
) -> ObjectId | None:
    """Change the node if it hasn't changed since `stored` was read.

    The revision is inserted first, so that later saves find this version as their base. The same update changes the
    tags, so if the save fails, the tags don't change. After the write, the site's versions are updated.

    If the change affects the live version on which scheduled changes are based, their schedule is cancelled
    (`ends_schedule`). Changes that are already due must be published first (scheduled.publish_if_due). Otherwise, the
    filter doesn't match.

    Args:
        actor: The author of the change.
        stored: The node, read with at least STORED.
        change: The change.
        more_filter: Additional conditions on fields of the node.
        more_update: Additional changes to fields of the node.
        session: The session of a transaction. If it is passed, the caller must update the versions and send the signals
            after the commit.

    Returns:
        The new nonce, or None if the node has changed since it was read.

    Raises:
        SlugTaken: Another node in the section has the slug.
        InvalidSlug: The slug can't be part of a URL, or is reserved.
        InvalidPlace: The section can't contain the node.
        NotReady: The node lacks something that publishing requires.
        FieldRefused: A value can't be stored.
        NewerVersion: The node was stored by a newer release.
        NotUpgraded: The node could not be upgraded to the current version of its type.
    """
    changes = change.fields
    seen = Expected.of(stored)
    metadata = writable(stored["metadata"])
    new_tags = rules.apply_tags(change.tags, metadata["tags"])
    home = home_of(metadata["type"])
    place = changes.get("parent_id", seen.parent_id), changes.get("slug", seen.slug)
    if place != (seen.parent_id, seen.slug):
        rules.check_place(place[0], metadata["type"])
        if place[0] != seen.parent_id:
            rules.check_capacity(place[0])
        slugs.check(place[1], place[0])
        # The unique index prevents duplicates. This query only avoids storing redirects for renames that would fail.
        taken = {"metadata.parent_id": place[0], "metadata.slug": place[1], "_id": {"$ne": seen.id}}
        if database()[home].find_one(taken, {"_id": 1}):
            raise SlugTaken(place[1], slugs.find_free(place[1], place[0], home))
        # The URLs of photos in the library contain the id, so they don't need redirects.
        if home == NODES or seen.parent_id is not None:
            store_redirect(seen, was_public=metadata["published"] is not None and metadata["published"] <= now())
    nonce = ObjectId()
    moment = now()
    due = stored.get("draft", {}).get("due")
    after = {**metadata, **merging.nested({**merging.fields(metadata), **changes})}
    after |= {"tags": new_tags, "nonce": nonce, "updated": moment}
    rules.check_ready(after)
    rules.check_type(changes, after)
    rules.check_unique(seen.id, after, changes)
    # Merged text can be longer than either of the two versions that were merged, so check its length.
    rules.check_lengths(changes)
    rules.check_inserts(changes, after)
    insert_revision(seen.id, seen.nonce, after, actor, change.submitted, act=change.act)
    extra = dict(more_update or {})
    derived_data = derived.derive_to_store(after)
    update: dict[str, Any] = {
        **extra,
        "$set": {
            **extra.get("$set", {}),
            **_written(stored["metadata"], after, changes),
            "metadata.nonce": nonce,
            "metadata.updated": moment,
            "derived": derived_data,
        },
    }
    if due and ends_schedule(changes) and "$unset" not in extra:
        update["$unset"] = {"draft.due": "", "draft.derived": ""}
    if place[0] != seen.parent_id:
        update = ordering.update_with_position(update, place[0])
    not_due = {"draft.due": {"$eq": due, "$gt": moment} if due else None}
    unchanged = {**seen.as_filter(), **not_due, **(more_filter or {})}
    if change.tags:
        # Changing only tags doesn't change the nonce, so the filter must contain the tags. If they don't match, the
        # caller reads them again.
        unchanged["metadata.tags"] = metadata["tags"]
        update["$set"]["metadata.tags"] = after["tags"]
    try:
        done = database()[home].update_one(unchanged, update, session=session)
    except DuplicateKeyError as error:
        if duplicate := rules.duplicate_values(after["type"], error):
            raise duplicate from error
        raise SlugTaken(place[1], slugs.find_free(place[1], place[0], home)) from error
    if not done.matched_count:
        return None
    if session is None:
        invalidate(scope.of_save(stored, after, derived_data), scope.changed_tags(stored, after, change.tags))
        send_saved(seen.id, metadata, after, changed_paths(change))
    return nonce


def changed_paths(change: Change) -> set[str]:
    """Return the paths of the fields that a change writes."""
    return {*change.fields, *(["tags"] if change.tags else [])}


def ends_schedule(changes: Mapping[str, Any]) -> bool:
    """Return whether saving these fields, keyed by path, in the live version cancels the schedule of the node's draft.

    Saving any field except the slug or the section cancels the schedule, because the draft is based on the live fields.
    """
    return bool(changes.keys() - rules.NOT_DRAFTED)


def _written(stored: Mapping[str, Any], after: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields to set: the changes, and the whole `detail` if it was stored with an older version."""
    if upgrading.version(stored) == upgrading.version(after):
        return {f"metadata.{path}": value for path, value in changes.items()}
    common = {path: value for path, value in changes.items() if not path.startswith(PREFIX)}
    written = {**common, "detail": after["detail"], upgrading.VERSION: after[upgrading.VERSION]}
    return {f"metadata.{name}": value for name, value in written.items()}


def base_for(
    node_id: ObjectId, seen: ObjectId, present: ObjectId, form: ObjectId | None, tags: TagChange
) -> tuple[dict[str, Any] | None, TagChange]:
    """Return the merge base and the tag change for saving a form that was rendered with the nonce `seen`.

    The same form may have been saved since then, for example because of a double click or the back button. In that
    case, the base is the content of the form's last save, so that editors don't conflict with themselves. The search
    covers at most LOOK_BACK saves before the nonce `present`.
    """
    last = _last_of(node_id, seen, present, form)
    if last is None:
        return load_base(node_id, seen), tags
    if tags.wanted is not None and "form_tags" in last:
        tags = TagChange.between(last["form_tags"], tags.wanted)
    return load_base(node_id, last["_id"], as_submitted=True), tags


def _last_of(node_id: ObjectId, seen: ObjectId, present: ObjectId, form: ObjectId | None) -> Document | None:
    """Return the newest revision that this form saved after the revision `seen`. The revision's content isn't read."""
    if form is None:
        return None
    links = {"parent": 1, "form": 1, "form_tags": 1}
    newest = database()[REVISIONS].find({"node_id": node_id}, links).sort("saved_at", -1).limit(LOOK_BACK)
    by_nonce = {revision["_id"]: revision for revision in newest}
    nonce: ObjectId | None = present
    while nonce != seen and (revision := by_nonce.pop(nonce, None)):
        if revision.get("form") == form:
            return revision
        nonce = revision["parent"]
    return None


def load_base(node_id: ObjectId, nonce: ObjectId, *, as_submitted: bool = False) -> dict[str, Any] | None:
    """Return the fields of the node's revision `nonce`, or None if there is no usable revision.

    If `as_submitted` is true, return the fields as they were submitted with the form that saved the revision.
    """
    revision = database()[REVISIONS].find_one({"_id": nonce, "node_id": node_id}, {"metadata": 1, "submitted": 1})
    if revision is None:
        return None
    try:
        present = writable(revision["metadata"])
        return submitted_fields(revision) if as_submitted else merging.fields(present)
    except (NewerVersion, NotUpgraded):
        return None


def submitted_fields(revision: Mapping[str, Any]) -> dict[str, Any]:
    """Return a revision's fields as submitted. Fields that weren't in the form have the values that were saved."""
    whole = revision["metadata"]
    submitted = revision.get("submitted") or {}
    # Upgraders need the whole `detail`.
    detail = {**(whole.get("detail") or {}), **submitted.get("detail", {})}
    return merging.fields({**whole, **submitted, "detail": detail})


def writable(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return stored `metadata`, upgraded to the current version of its type.

    Raises:
        NewerVersion: The metadata was stored by a newer release.
        NotUpgraded: The metadata could not be upgraded.
    """
    if upgrading.is_newer(metadata):
        raise NewerVersion
    try:
        return upgrading.upgraded(metadata)
    except upgrading.UpgradeFailed as error:
        raise NotUpgraded(error.from_version) from error


def new_metadata(
    actor: Actor, type: str, *, parent_id: ObjectId | None, slug: str, title: str, tags: Iterable[str]
) -> dict[str, Any]:
    """Return the metadata of a new, unpublished node whose author is `actor`.

    Raises:
        FieldRefused: A tag can't be used in a URL.
    """
    rules.check_tags(tags)
    moment = now()
    return {
        "nonce": ObjectId(),
        "type": type,
        "parent_id": parent_id,
        "slug": slug,
        "title": title,
        "created": moment,
        "updated": moment,
        "published": None,
        "expires": NEVER,
        "author": actor.as_document(),
        "tags": sorted(unique(tags)),
        "summary": "",
        "detail": declared_fields.defaults(type),
        **upgrading.version_fields(type),
    }


def insert_revision(
    node_id: ObjectId,
    parent: ObjectId | None,
    metadata: Mapping[str, Any],
    actor: Actor,
    submitted: Submitted | None = None,
    *,
    draft: bool = False,
    act: Act | None = None,
) -> None:
    """Insert a node's next revision. Call this function before you update the node.

    Args:
        node_id: The node.
        parent: The node's nonce before the update, or None for a new node.
        metadata: The metadata after the update. Its nonce is the id of the revision.
        actor: The author of the change.
        submitted: The content of the form.
        draft: Whether this is a revision of the node's draft.
        act: The action, if it can't be derived from this revision and the previous one.
    """
    revision = {
        "_id": metadata["nonce"],
        "parent": parent,
        "node_id": node_id,
        "metadata": dict(metadata),
        "saved_at": now(),
        "saved_by": actor.as_document(),
    }
    if draft:
        revision["draft"] = True
    if act is not None:
        revision["act"] = act.value
    if submitted is not None:
        revision["form"] = submitted.form
        if submitted.was_merged:
            revision["submitted"] = merging.nested(submitted.fields)
        if submitted.tags is not None:
            revision["form_tags"] = sorted(submitted.tags)
    database()[REVISIONS].insert_one(revision)


def store_redirect(seen: Expected, *, was_public: bool = False) -> None:
    """Store a redirect from a node's current URL to the node. Call this function before the node is moved or renamed.

    If the process crashes before the move, a needless redirect remains, but no URL stops working.

    If the URL already redirects to an earlier node, that redirect is kept, unless the node was public at this URL
    (`was_public`). If so, the earlier node is added to `earlier`, so that pages below it are still found.
    """
    place = {"_id": {"parent_id": seen.parent_id, "slug": seen.slug}}
    # Redirects to permanently deleted nodes can be replaced.
    free = {} if was_public else {"$or": [{"node_id": seen.id}, {"deleted_at": {"$exists": True}}]}
    # If the URL redirects to another node, the filter doesn't match, and the upsert raises DuplicateKeyError.
    with suppress(DuplicateKeyError):
        database()[REDIRECTS].update_one(
            {**place, **free},
            [
                {"$set": {"earlier": _earlier(seen.id), "node_id": seen.id, "kept_at": now()}},
                {"$unset": "deleted_at"},
            ],
            upsert=True,
        )


def _earlier(node_id: ObjectId) -> Document:
    """Return the expression for the nodes that had this URL before `node_id`, excluding deleted nodes."""
    last = {"$cond": [{"$and": ["$node_id", {"$not": "$deleted_at"}]}, ["$node_id"], []]}
    others = {"$concatArrays": [last, {"$ifNull": ["$earlier", []]}]}
    kept = {"$slice": [{"$filter": {"input": others, "cond": {"$ne": ["$$this", node_id]}}}, MOST_EARLIER]}
    return {"$cond": [{"$eq": [kept, []]}, "$$REMOVE", kept]}
