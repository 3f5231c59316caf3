"""Creating, saving and tagging nodes. Editors, commands and imports call these functions."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bson import ObjectId
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from pymongo.errors import DuplicateKeyError

from marginalia.markup.characters import is_blank
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes import content, merging
from nodes.collections import NODES, REVISIONS, TRASH, node_filter
from nodes.content import declared_fields, upgrading, values
from nodes.errors import (
    ChangedSince,
    DraftStays,
    EditConflict,
    FieldRefused,
    InvalidField,
    InvalidPlace,
    NodeGone,
    Published,
    SlugTaken,
    TooBusy,
)
from nodes.models.stored_site import Scope
from nodes.selectors import slugs
from nodes.services import derived, ordering, placement, rules, scheduled, scope
from nodes.services.site import invalidate
from nodes.services.write import (
    STORED,
    base_for,
    check_capacity,
    check_id,
    check_inserts,
    check_lengths,
    check_place,
    check_tags,
    compare_and_set,
    ends_schedule,
    insert_revision,
    writable,
)
from nodes.signals import fields_saved
from nodes.tags import MOST, unique
from nodes.types import NEVER, NO_TAGS, Act, Actor, Expected, Saved, Submitted, TagChange

# Maximum attempts to merge and write while others keep saving the same node.
ATTEMPTS = 50


def create(
    actor: Actor,
    *,
    type: str,
    parent_id: ObjectId | None,
    slug: str,
    title: str,
    fields: Mapping[str, Any] | None = None,
    tags: tuple[str, ...] = (),
    node_id: ObjectId | None = None,
    created: datetime | None = None,
    only_unpublished: bool = False,
) -> Saved:
    """Insert a node and its first revision.

    If `slug` is empty, it is made from the title. `fields` are further fields by path ("summary", "published", "detail.text"…).
    `node_id` is an id that the caller chose. If the same actor calls again with this id, the existing node is changed to match.
    With `only_unpublished`, a published node is refused. Raises SlugTaken, InvalidSlug, InvalidPlace, NodeGone (created with
    this id and deleted), IdTaken, Published, FieldRefused.
    """
    if node_id is not None and (made := _made_before(actor, node_id)):
        # Without a slug, the node keeps its own, because concurrent calls may each have found another free slug.
        named = {"slug": slug} if slug else {}
        whole = {**named, "parent_id": parent_id, "title": title, **(fields or {})}
        changed = TagChange.between(made["tags"], tags)
        # The first call may have died before the invalidation.
        invalidate()
        return save(actor, node_id, made["nonce"], whole, changed, form=node_id, only_unpublished=only_unpublished)
    if content.get(type).is_file:
        raise InvalidPlace(_("A photo begins with its file: upload one."))
    check_place(parent_id, type)
    check_capacity(parent_id)
    wanted = slugs.normalized(slug)
    slug = wanted or slugs.find_free(title, parent_id)
    slugs.check(slug, parent_id)
    given = normalized({"title": title, **empty_required_fields(type, fields or {}), **(fields or {})}, type)
    check_tags(tags)
    rules.check_dates({}, given)
    form = node_id
    node_id = node_id or ObjectId()
    nonce = ObjectId()
    moment = now()
    metadata: dict[str, Any] = {
        "nonce": nonce,
        "type": type,
        "parent_id": parent_id,
        "slug": slug,
        "title": title,
        "created": created or moment,
        "updated": moment,
        "published": None,
        "expires": NEVER,
        "author": actor.as_document(),
        "tags": sorted(unique(tags)),
        "summary": "",
        "detail": declared_fields.defaults(type),
        **upgrading.version_fields(type),
    }
    extra = merging.nested(given)
    metadata["detail"].update(extra.pop("detail"))
    metadata.update(extra)
    check_inserts(fields or {}, metadata)
    insert_revision(node_id, None, metadata, actor, Submitted(form, {}) if form else None)
    try:
        whole = {"_id": node_id, "metadata": metadata, "derived": derived.derive(metadata)}
        database()[NODES].insert_one(ordering.with_position(whole, parent_id))
    except DuplicateKeyError as error:
        is_made = form is not None and database()[NODES].find_one({"_id": form}, {"_id": 1}) is not None
        if is_made or not wanted:
            return create(
                actor, type=type, parent_id=parent_id, slug=wanted, title=title, fields=fields, tags=tags, node_id=form,
                created=created, only_unpublished=only_unpublished,
            )  # fmt: skip
        raise SlugTaken(slug, slugs.find_free(slug, parent_id)) from error
    invalidate(scope.of_new(metadata))
    return Saved(node_id, nonce, tuple(fields or ()))


def _made_before(actor: Actor, node_id: ObjectId) -> Mapping[str, Any] | None:
    """Return the metadata with which `actor` created the node, or None if there is no such node. Raises NodeGone, IdTaken."""
    stored = database()[NODES].find_one({"_id": node_id}, {"metadata.nonce": 1})
    first = database()[REVISIONS].find_one({"node_id": node_id, "parent": None, "saved_by": actor.as_document()})
    if stored and first:
        made: Mapping[str, Any] = first["metadata"]
        return made
    if stored or database()[TRASH].find_one({"_id": node_id}, {"_id": 1}):
        raise NodeGone(node_id)
    check_id(node_id, form=node_id)
    return None


def save(
    actor: Actor,
    node_id: ObjectId,
    seen_nonce: ObjectId,
    mine: Mapping[str, Any],
    tags: TagChange = NO_TAGS,
    *,
    form: ObjectId | None = None,
    only_unpublished: bool = False,
    collection: str = NODES,
    act: Act | None = None,
    merges: bool = True,
) -> Saved:
    """Save the fields `mine` of a form that was rendered when the node had the nonce `seen_nonce`. Concurrent saves merge.

    Only changed fields are written. Scheduled changes become an ordinary draft (`Saved.unscheduled`), and changes that are
    already due are published first. The place (slug, parent_id) is a field like others, and is checked.

    - `form` is the id of the rendered form. A form that is saved again continues from its last save.
    - `only_unpublished` is for authors, whose permission ends when the node is published.
    - `act` is the action for the history.
    - If `merges` is False, any change based on another version than the stored one raises EditConflict.

    Raises EditConflict, NodeGone, Published, SlugTaken, InvalidSlug, InvalidPlace, FieldRefused, NewerVersion, NotUpgraded,
    TooBusy.
    """
    base: Mapping[str, Any] | None = None
    for _attempt in range(ATTEMPTS):
        stored = database()[collection].find_one({"_id": node_id, **node_filter(collection)}, STORED)
        if stored is None:
            raise NodeGone(node_id)
        if scheduled.publish_if_due(stored):
            continue
        # If the node is published after this read, its nonce changes, so the write fails.
        if only_unpublished and stored["metadata"]["published"]:
            raise Published(node_id)
        type = stored["metadata"]["type"]
        present = stored["metadata"]["nonce"]
        theirs = merging.fields(writable(stored["metadata"]))
        if base is None:
            mine = normalized(mine, type)
            base = theirs
            if present != seen_nonce:
                base, tags = base_for(node_id, seen_nonce, present, form, tags)
        merge = merging.merge(base, mine, theirs, type)
        is_change = bool(merge.changes) or tags.changes(stored["metadata"]["tags"])
        if merge.conflicts or (is_change and not merges and present != seen_nonce):
            raise EditConflict(base, stored["metadata"], merge, tags, mine)
        rules.check_dates(theirs, merge.changes)
        if not is_change:
            # The node already has these values, from this form or another writer, who may have died before the invalidation.
            if tags or present != seen_nonce:
                invalidate()
            return Saved(node_id, present, merged=merge.merged)
        write = placement.move_section if _moves_section(stored["metadata"], merge.changes) else compare_and_set
        submitted = Submitted(form, mine, was_merged=bool(merge.merged), tags=tags.wanted) if form else None
        done = act or (Act.MERGED if merge.merged else None)
        if nonce := write(actor, stored, merge.changes, tags, submitted=submitted, act=done):
            ended = scheduled.due_time(stored) if ends_schedule(merge.changes) else None
            fields_saved.send(sender=None, node_id=node_id, type=type, changed=frozenset(merge.changes))
            return Saved(node_id, nonce, tuple(merge.changes), merge.merged, ended)
    raise TooBusy


def publish_as_seen(actor: Actor, node_id: ObjectId, seen_nonce: ObjectId, collection: str = NODES) -> None:
    """Publish a node now if it still has the nonce `seen_nonce`; do nothing if it is public.

    Raises NodeGone, ChangedSince, NotReady, and DraftStays for a public node with a draft.
    """
    stored = database()[collection].find_one({"_id": node_id, **node_filter(collection)}, STORED)
    if stored is None:
        raise NodeGone(node_id)
    dates = publication_dates(stored["metadata"], now())
    if all(stored["metadata"][name] == date for name, date in dates.items()):
        if "draft" in stored and not scheduled.publish_if_due(stored):
            raise DraftStays(node_id)
    elif stored["metadata"]["nonce"] != seen_nonce or compare_and_set(actor, stored, dates) is None:
        raise ChangedSince(node_id)


def publication_dates(fields: Mapping[str, Any], moment: datetime) -> dict[str, datetime]:
    """Return the dates, by path, that make a node with these `fields` (by path) public at `moment`.

    A public node keeps its date, and an expired node no longer expires.
    """
    published = fields.get("published")
    expires = fields.get("expires") or NEVER
    if published is None or published > moment:
        published = moment
    return {"published": published, "expires": expires if expires > moment else NEVER}


# Fields of every node that callers can set.
_COMMON = frozenset({"title", "slug", "parent_id", "summary", "published", "expires", "author", "created", "updated"})


def empty_required_fields(type: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the required fields without a default that are not in `given`, as empty values, which the type refuses."""
    return {
        path: None
        for path, field in declared_fields.own_fields(type)
        if path not in given and not (field.blank or field.null or field.has_default())
    }


def normalized(mine: Mapping[str, Any], type: str) -> dict[str, Any]:
    """Return the fields `mine`, by path, in their stored form. Raises InvalidField, TextTooLong.

    Invalid values of declared fields and unknown paths are refused.
    """
    if not content.get(type).is_installed:
        raise InvalidPlace(_("There is no type “%(type)s”.") % {"type": type})
    fields = dict(mine)
    declared = declared_fields.declared(type)
    for path, value in mine.items():
        if field := declared.get(path):
            try:
                fields[path] = values.cleaned(field, value)
            except ValidationError as error:
                raise InvalidField(path, " ".join(error.messages)) from error
        elif path not in _COMMON:
            raise InvalidField(path, _("There is no field “%(name)s”.") % {"name": path})
    if "title" in fields and is_blank(fields["title"]):
        raise InvalidField("title", _("Enter a title."))
    name = (fields.get("author") or {}).get("name")
    if name and is_blank(name):
        raise InvalidField("author", _("Choose an account, or type a name."))
    if "slug" in fields:
        fields["slug"] = slugs.normalized(fields["slug"])
    if "expires" in fields:
        fields["expires"] = fields["expires"] or NEVER
    fields = {k: v.replace("\r\n", "\n") if isinstance(v, str) else v for k, v in fields.items()}
    check_lengths(fields)
    return fields


def _moves_section(metadata: Mapping[str, Any], changes: Mapping[str, Any]) -> bool:
    return "parent_id" in changes and content.get(metadata["type"]).is_section


def change_tags(node_id: ObjectId, tags: TagChange, collection: str = NODES, *, only_unpublished: bool = False) -> None:
    """Add and remove tags of a node. This needs no nonce, because a change of tags cannot conflict with an edit.

    Raises NodeGone, Published, FieldRefused (too many), TooBusy.
    """
    check_tags(tags.added)
    nodes = database()[collection]
    fields = {"metadata": 1}
    if is_derived := bool(derived.extra_search_words(" ".join(tags.added | tags.removed))):
        fields["derived.text"] = 1
    for _attempt in range(ATTEMPTS):
        stored = nodes.find_one({"_id": node_id, **node_filter(collection)}, fields)
        if stored is None:
            raise NodeGone(node_id)
        if only_unpublished and stored["metadata"]["published"]:
            raise Published(node_id)
        # The filter contains the place, which is the shard key. After a concurrent rename, move or tagging, the loop retries.
        seen = Expected.of(stored)
        present = stored["metadata"]["tags"]
        unchanged = {"_id": seen.id, "metadata.parent_id": seen.parent_id, "metadata.slug": seen.slug}
        unchanged["metadata.tags"] = present
        if only_unpublished:
            unchanged["metadata.published"] = None
        given = tags.applied(present)
        if len(given) > max(MOST, len(present)):
            raise FieldRefused("tags", _("At most %(most)d tags are taken: remove some first.") % {"most": MOST})
        changes: dict[str, Any] = {"metadata.tags": given}
        if is_derived:
            # Search finds such tags only in the derived pairs of the whole node.
            unchanged["metadata.nonce"] = seen.nonce
            text = stored.get("derived", {}).get("text", "")
            changes["derived.pairs"] = derived.pairs({**stored["metadata"], "tags": given}, text)
        if nodes.update_one(unchanged, {"$set": changes}).matched_count:
            # Lists show all fields of photos.
            is_file = content.get(stored["metadata"]["type"]).is_file
            invalidate(Scope.LISTS if is_file else Scope.TEXTS, scope.changed_tags(stored, {"tags": given}, tags))
            return
    raise TooBusy
