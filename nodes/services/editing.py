"""Services that create, save and tag nodes. Editors, commands and imports use these services."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson import ObjectId
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from pymongo.errors import DuplicateKeyError

from marginalia.markup.characters import is_blank, normalize_newlines
from marginalia.mongo.clock import now
from marginalia.mongo.connection import Document, database
from nodes import content, merging
from nodes.collections import NODES, REVISIONS, TRASH, node_filter
from nodes.content import declared_fields, values
from nodes.content.messages import photo_needs_file, unknown_field, unknown_type
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
)
from nodes.models import derived_of
from nodes.models.stored_site import Scope
from nodes.selectors import slugs
from nodes.services import derived, ordering, placement, rules, scheduled, scope, vocabulary
from nodes.services.retrying import retry_compare_and_set
from nodes.services.site import invalidate
from nodes.services.write import (
    STORED,
    base_for,
    compare_and_set,
    ends_schedule,
    insert_revision,
    new_metadata,
    writable,
)
from nodes.signals import send_saved
from nodes.tags import MOST
from nodes.types import NEVER, NO_TAGS, Act, Actor, Change, Expected, Saved, Submitted, TagChange


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

    Args:
        actor: The author of the change.
        type: The content type.
        parent_id: The section, or None for the top level.
        slug: The slug, or "" to generate it from the title.
        title: The title.
        fields: Other fields, keyed by path, such as "summary", "published" and "detail.text".
        tags: The tags.
        node_id: The id for the node, if the caller chooses it. If the same actor calls this function again with the
            same id, the existing node is changed.
        created: The creation time. The default is the current time.
        only_unpublished: Whether to raise Published if the node has been published since an earlier call with the same
            id.

    Raises:
        SlugTaken: Another node in the section has the slug.
        InvalidSlug: The slug can't be part of a URL, or is reserved.
        InvalidPlace: The section can't contain the node.
        NodeGone: A node was created with this id, but no longer exists.
        IdTaken: The id belongs to another document.
        Published: The node has been published since an earlier call.
        NotReady: The node lacks something that publishing requires.
        FieldRefused: A value can't be stored.
        TooBusy: Other writers kept changing the node.
    """
    fields = fields or {}
    wanted = slugs.normalized(slug)

    def attempt() -> Saved | None:
        if node_id is not None and (made := _made_before(actor, node_id)):
            # If no slug was given, the node keeps the slug that the first call generated. A concurrent call may have
            # generated a different slug.
            whole = {**({"slug": slug} if slug else {}), "parent_id": parent_id, "title": title, **fields}
            changed = TagChange.between(made["tags"], tags)
            # The process that created the node may have crashed before it invalidated the caches, so invalidate them
            # now.
            invalidate()
            return save(actor, node_id, made["nonce"], whole, changed, form=node_id, only_unpublished=only_unpublished)
        if content.get(type).is_file:
            raise InvalidPlace(photo_needs_file())
        rules.check_place(parent_id, type)
        rules.check_capacity(parent_id)
        new_slug = wanted or slugs.find_free(title, parent_id)
        slugs.check(new_slug, parent_id)
        given = normalized({"title": title, **empty_required_fields(type, fields), **fields}, type)
        rules.check_dates({}, given)
        metadata = new_metadata(actor, type, parent_id=parent_id, slug=new_slug, title=title, tags=tags)
        metadata["created"] = created or metadata["created"]
        extra = merging.nested(given)
        metadata["detail"].update(extra.pop("detail"))
        metadata.update(extra)
        rules.check_ready(metadata)
        rules.check_type(merging.fields(metadata), metadata)
        rules.check_unique(node_id, metadata)
        rules.check_inserts(fields, metadata)
        new_id = node_id or ObjectId()
        insert_revision(new_id, None, metadata, actor, Submitted(node_id, {}) if node_id else None)
        document = {"_id": new_id, "metadata": metadata, "derived": derived.derive_to_store(metadata)}
        try:
            database()[NODES].insert_one(ordering.with_position(document, parent_id))
        except DuplicateKeyError as error:
            if duplicate := rules.duplicate_values(type, error):
                raise duplicate from error
            # Try again with a different slug, or save the node that a concurrent call created.
            if not wanted or (node_id and database()[NODES].find_one({"_id": node_id}, {"_id": 1})):
                return None
            raise SlugTaken(new_slug, slugs.find_free(new_slug, parent_id)) from error
        invalidate(scope.of_new(metadata))
        send_saved(new_id, None, metadata, {"title", *fields, *(["tags"] if tags else [])})
        return Saved(new_id, metadata["nonce"], tuple(fields))

    return retry_compare_and_set(attempt)


def _made_before(actor: Actor, node_id: ObjectId) -> Mapping[str, Any] | None:
    """Return the metadata with which `actor` originally created the node, or None if the id isn't used yet.

    This function raises NodeGone and IdTaken.
    """
    stored = database()[NODES].find_one({"_id": node_id}, {"metadata.nonce": 1})
    first = database()[REVISIONS].find_one({"node_id": node_id, "parent": None, "saved_by": actor.as_document()})
    if stored and first:
        made: Mapping[str, Any] = first["metadata"]
        return made
    if stored or database()[TRASH].find_one({"_id": node_id}, {"_id": 1}):
        raise NodeGone(node_id)
    rules.check_id(node_id, form=node_id)
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
    """Save the fields in `mine`, from a form that was rendered when the node had the nonce `seen_nonce`.

    Changes that others have saved since then are merged. Only changed fields are written. Scheduled changes become an
    ordinary draft (`Saved.unscheduled`), but changes that are already due are published first. The slug and `parent_id`
    are saved like other fields, once the function has checked that the node can have this slug and section.

    Args:
        actor: The author of the change.
        node_id: The node.
        seen_nonce: The nonce of the version that the editor saw.
        mine: The form's fields, keyed by path.
        tags: The tags to add and remove.
        form: The id of the rendered form. If a form is saved again, its previous save is the base for merging.
        only_unpublished: Whether the node must be unpublished, for authors who can't change published nodes.
        collection: The node's collection.
        act: The kind of change that the history shows.
        merges: Whether to merge changes that others have made. If False, such changes cause an EditConflict.

    Raises:
        EditConflict: Both sides changed the same field or paragraph.
        NodeGone: The node no longer exists.
        Published: The node has been published, and `only_unpublished` is True.
        SlugTaken: Another node in the section has the slug.
        InvalidSlug: The slug can't be part of a URL, or is reserved.
        InvalidPlace: The section can't contain the node.
        NotReady: The node lacks something that publishing requires.
        FieldRefused: A value can't be stored.
        NewerVersion: The node was stored by a newer release.
        NotUpgraded: The node could not be upgraded to the current version of its type.
        TooBusy: Other writers kept changing the node.
    """

    def load() -> Document:
        stored = database()[collection].find_one({"_id": node_id, **node_filter(collection)}, STORED)
        if stored is None:
            raise NodeGone(node_id)
        return stored

    def live_version(stored: Document) -> Mapping[str, Any]:
        # If the node is published after this check, its nonce changes, and the write fails.
        if only_unpublished and stored["metadata"]["published"]:
            raise Published(node_id)
        return writable(stored["metadata"])

    def write(stored: Document, version: Mapping[str, Any], change: Change, merged: tuple[str, ...]) -> Saved | None:
        fields = change.fields
        rules.check_dates(version, fields)
        if not change.alters(version):
            # The node already has these values, because this form or another writer stored them earlier. The earlier
            # save may have crashed before it invalidated the caches, so invalidate them now.
            if change.tags or version["nonce"] != seen_nonce:
                invalidate()
            return Saved(node_id, version["nonce"], merged=merged)
        moves_section = "parent_id" in fields and content.get(version["type"]).is_section
        nonce = (placement.move_section if moves_section else compare_and_set)(actor, stored, change)
        if nonce is None:
            return None
        ended = scheduled.due_time(stored) if ends_schedule(fields) else None
        return Saved(node_id, nonce, tuple(fields), merged, ended)

    return merge_and_write(Edit(seen_nonce, mine, tags, form, merges, act), load, live_version, write)


@dataclass(frozen=True)
class Edit:
    """An edit of a node.

    Attributes:
        seen: The nonce with which the form was rendered.
        fields: The form's fields, keyed by path.
        tags: The tags to add and remove.
        form: The id of the form.
        merges: Whether to merge changes that others have made. If False, such changes are a conflict.
        act: The kind of change that the history shows.
    """

    seen: ObjectId
    fields: Mapping[str, Any]
    tags: TagChange
    form: ObjectId | None
    merges: bool
    act: Act | None = None


def merge_and_write(
    edit: Edit,
    load: Callable[[], Document],
    version_of: Callable[[Document], Mapping[str, Any]],
    write: Callable[[Document, Mapping[str, Any], Change, tuple[str, ...]], Saved | None],
) -> Saved:
    """Merge an edit with the stored version, and write the result. If another writer is faster, merge again.

    If scheduled changes are already due, they are published first.

    Args:
        edit: The edit.
        load: A function that reads the node.
        version_of: A function that returns the metadata to merge with, from the live version or from the draft.
        write: A function that writes the node. Its arguments are the node, the metadata to merge with, the change, and
            the paths of merged fields. If the node has changed since it was read, the function returns None.

    Raises:
        EditConflict: Both sides changed the same field or paragraph.
        FieldRefused: A value can't be stored.
        TooBusy: Other writers kept changing the node.
    """
    base: Mapping[str, Any] | None = None
    mine = edit.fields
    tags = edit.tags

    def attempt() -> Saved | None:
        nonlocal base, mine, tags
        stored = load()
        if scheduled.publish_if_due(stored):
            return None
        version = version_of(stored)
        is_seen = version["nonce"] == edit.seen
        theirs = merging.fields(version)
        if base is None:
            mine = normalized(mine, version["type"])
            base = theirs
            if not is_seen:
                base, tags = base_for(stored["_id"], edit.seen, version["nonce"], edit.form, tags)
        merge = merging.merge(base, mine, theirs, version["type"])
        was_merged = bool(merge.merged)
        submitted = Submitted(edit.form, mine, was_merged, tags.wanted) if edit.form else None
        change = Change(merge.changes, tags, submitted, edit.act or (Act.MERGED if was_merged else None))
        if merge.conflicts or not (is_seen or edit.merges or not change.alters(version)):
            raise EditConflict(base, version, merge, tags, mine)
        return write(stored, version, change, merge.merged)

    return retry_compare_and_set(attempt)


def publish_as_seen(actor: Actor, node_id: ObjectId, seen_nonce: ObjectId, collection: str = NODES) -> None:
    """Publish a node if its nonce is still `seen_nonce`. Do nothing if it is already public and has no draft.

    Raises:
        NodeGone: The node no longer exists.
        ChangedSince: The node has changed since the user saw it.
        NotReady: The node lacks something that publishing requires.
        DraftStays: The node is public and has a draft.
    """
    stored = database()[collection].find_one({"_id": node_id, **node_filter(collection)}, STORED)
    if stored is None:
        raise NodeGone(node_id)
    dates = publication_dates(stored["metadata"], now())
    if all(stored["metadata"][name] == date for name, date in dates.items()):
        if "draft" in stored and not scheduled.publish_if_due(stored):
            raise DraftStays(node_id)
    elif stored["metadata"]["nonce"] != seen_nonce or compare_and_set(actor, stored, Change(dates)) is None:
        raise ChangedSince(node_id)


def publication_dates(fields: Mapping[str, Any], moment: datetime) -> dict[str, datetime]:
    """Return the dates that make a node with these `fields` public at `moment`. Fields and dates are keyed by path.

    A publication time in the past is kept, and an expiry in the past is removed.
    """
    published = fields.get("published")
    expires = fields.get("expires") or NEVER
    if published is None or published > moment:
        published = moment
    return {"published": published, "expires": expires if expires > moment else NEVER}


# Fields that callers can set on every node.
_COMMON = frozenset({"title", "slug", "parent_id", "summary", "published", "expires", "author", "created", "updated"})


def empty_required_fields(type: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return an empty value for each required field that has no default and isn't in `given`.

    These values are rejected later, like required fields that are left empty in a form.
    """
    return {
        path: None
        for path, field in declared_fields.own_fields(type)
        if path not in given and not (field.blank or field.null or field.has_default())
    }


def normalized(mine: Mapping[str, Any], type: str) -> dict[str, Any]:
    """Validate the editor's fields (`mine`, keyed by path), and return them in their stored form.

    Raises:
        InvalidField: A declared field doesn't accept its value, or a path is unknown.
        TextTooLong: The text in a field is too long.
    """
    if not content.get(type).is_installed:
        raise InvalidPlace(unknown_type(type))
    fields = dict(mine)
    declared = declared_fields.declared(type)
    for path, value in mine.items():
        if field := declared.get(path):
            try:
                fields[path] = values.cleaned(field, value)
            except ValidationError as error:
                raise InvalidField(path, " ".join(error.messages)) from error
        elif path not in _COMMON:
            raise InvalidField(path, unknown_field(path))
    if "title" in fields and is_blank(fields["title"]):
        raise InvalidField("title", _("Enter a title."))
    name = (fields.get("author") or {}).get("name")
    if name and is_blank(name):
        raise InvalidField("author", _("Choose an account or enter a name."))
    if "slug" in fields:
        fields["slug"] = slugs.normalized(fields["slug"])
    if "expires" in fields:
        fields["expires"] = fields["expires"] or NEVER
    fields = {k: normalize_newlines(v) if isinstance(v, str) else v for k, v in fields.items()}
    rules.check_lengths(fields)
    return fields


def change_tags(node_id: ObjectId, tags: TagChange, collection: str = NODES, *, only_unpublished: bool = False) -> None:
    """Add and remove tags of a node. No nonce is needed, because tag changes can't conflict with an edit.

    Raises:
        NodeGone: The node no longer exists.
        Published: The node was published, so the user can no longer change it.
        FieldRefused: There are too many tags.
        TooBusy: Other writers kept changing the node.
    """
    nodes = database()[collection]
    vocabulary.learn_tags(tags.added)

    def attempt() -> bool | None:
        stored = nodes.find_one({"_id": node_id, **node_filter(collection)}, {"metadata": 1, "derived.language": 1})
        if stored is None:
            raise NodeGone(node_id)
        if only_unpublished and stored["metadata"]["published"]:
            raise Published(node_id)
        # The filter contains the section and slug, which are the shard key. If someone else renames or moves the node
        # or changes its tags between the read and the write, the loop tries again.
        seen = Expected.of(stored)
        present = stored["metadata"]["tags"]
        unchanged = {"_id": seen.id, "metadata.parent_id": seen.parent_id, "metadata.slug": seen.slug}
        unchanged["metadata.tags"] = present
        if only_unpublished:
            unchanged["metadata.published"] = None
        given = rules.apply_tags(tags, present)
        if len(given) > max(MOST, len(present)):
            raise FieldRefused("tags", _("Too many tags. Use at most %(most)d.") % {"most": MOST})
        if not nodes.update_one(unchanged, derived.change_tags(given, derived_of(stored))).matched_count:
            return None
        # Lists show all fields of photos, so changing the tags of a photo can change any list.
        is_file = content.get(stored["metadata"]["type"]).is_file
        invalidate(Scope.LISTS if is_file else Scope.TEXTS, scope.changed_tags(stored, {"tags": given}, tags))
        if given != present:
            send_saved(node_id, stored["metadata"], {**stored["metadata"], "tags": given}, {"tags"})
        return True

    retry_compare_and_set(attempt)
