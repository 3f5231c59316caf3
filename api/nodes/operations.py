"""What can be done to nodes: each asks the access functions and calls the services of the admin, with what a program sent."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.translation import gettext as _

from api.nodes import patches, refusals
from api.problems import Problem
from api.rights.principals import Principal
from marginalia.mongo.clock import now
from nodes import access, content, merging
from nodes import tags as tag_texts
from nodes.access import Action
from nodes.collections import home_of
from nodes.errors import DraftGone, EditConflict, NodeError
from nodes.selectors import editable_nodes, history, stored_photos
from nodes.selectors import trash as in_trash
from nodes.selectors.editable_nodes import Editable, Version
from nodes.services import drafts, editing, trash
from nodes.services.write import NOT_DRAFTED
from nodes.types import NO_TAGS, Actor, TagChange
from photos.services import photos as of_photos

# What who uploaded a photo says of it until it is published.
DESCRIBING = frozenset({"title", "summary", "tags", "detail.alt", "detail.focal"})


@dataclass(frozen=True)
class Asked:
    """How a change is asked for: by whom, on which version (the nonce `seen`), under which id of its Idempotency-Key (`form`),
    whether what others saved since is taken over by itself, and whether it is about the draft."""

    principal: Principal
    seen: ObjectId
    form: ObjectId | None = None
    merges: bool = False
    is_draft: bool = False

    @property
    def actor(self) -> Actor:
        """Who history says has done it."""
        return Actor.of(self.principal)


@contextmanager
def refused() -> Iterator[None]:
    """Raise the Problem that a refusal of a service is."""
    try:
        yield
    except NodeError as error:
        raise refusals.of(error) from error


def create(principal: Principal, form: ObjectId | None, said: Mapping[str, Any]) -> ObjectId:
    """Make a node of what was sent, `form` being its id if there is one; return its id. Raises Problem, PermissionDenied."""
    type = said["type"]
    if not content.get(type).is_installed or content.get(type).is_file:
        raise Problem("invalid", errors=[("body.type", _("There is no type “%(type)s”.") % {"type": type[:50]})])
    # Who sees no nodes of his own could not be answered with what was made.
    if not (access.may_create(principal, type) and access.may_list(principal)):
        raise PermissionDenied
    if form and editable_nodes.load(form):
        # This very request has made it.
        return form
    who = Actor.of(principal)
    signed = {"author": who.as_document()}
    fields = signed | patches.fields(principal, type, {"section": None, **said}, signed, form)
    title = fields.pop("title")
    slug = fields.pop("slug", "")
    parent_id = fields.pop("parent_id")
    made = editing.create(
        who, type=type, parent_id=parent_id, slug=slug, title=title, fields=fields, tags=_tags(said.get("tags")),
        node_id=form, only_unpublished=access.changes_unpublished_only(principal),
    )  # fmt: skip
    return made.id


def change(asked: Asked, node_id: ObjectId, said: Mapping[str, Any]) -> None:
    """Change what was sent of a node, or of its draft. Raises Http404, PermissionDenied, Problem, NodeError."""
    action = Action.DRAFT if asked.is_draft else Action.EDIT
    found = _found(asked, node_id, action, describes=patches.paths(said) <= DESCRIBING)
    seen = _seen(asked, found)
    mine = patches.fields(asked.principal, found.node.metadata.type, said, seen.fields, asked.form)
    tags = TagChange.between(seen.tags, _tags(said["tags"])) if "tags" in said else NO_TAGS
    if asked.is_draft and (moved := mine.keys() & NOT_DRAFTED):
        told = _("A draft cannot change the address. Put section and slug back, or save them live.")
        raise Problem("invalid", errors=[(patches.named(path), told) for path in sorted(moved)])
    if not asked.is_draft and (at := mine.get("published")):
        _check_not_public(found, at, "body.published")
    _save(asked, found, mine, tags)


def publish(asked: Asked, node_id: ObjectId) -> None:
    """Make a node public now, or the changes of its draft. Raises Http404, PermissionDenied, Problem, NodeError."""
    found = _found(asked, node_id, Action.PUBLISH)
    if not asked.is_draft:
        _save(asked, found, editing.made_public(found.live.fields, now()))
        return
    if found.draft and (at := found.draft.fields.get("published")):
        begun_on = editable_nodes.load_version(node_id, found.draft.base_nonce) if found.draft.base_nonce else None
        if begun_on is None or begun_on.fields.get("published") != at:
            _check_not_public(found, at, "query.version")
    with _of_draft(asked, found, lambda: _is_out(asked, node_id)):
        drafts.publish_draft(asked.actor, node_id, asked.seen)


def unpublish(asked: Asked, node_id: ObjectId) -> None:
    """Take a node from the public. Raises Http404, PermissionDenied, Problem, NodeError."""
    _save(asked, _found(asked, node_id, Action.PUBLISH), {"published": None})


def schedule(asked: Asked, node_id: ObjectId, at: datetime) -> None:
    """Make a node public at a time ahead, or the changes of its draft. Raises Http404, PermissionDenied, Problem, NodeError."""
    found = _found(asked, node_id, Action.PUBLISH)
    at = patches.moment(at, "body.at")
    if at <= now():
        raise Problem(
            "invalid", errors=[("body.at", _("Choose a time ahead. To show the changes at once, publish them."))]
        )
    if not asked.is_draft:
        _check_not_public(found, at, "body.at")
        if at >= found.live.fields["expires"]:
            raise Problem("invalid", errors=[("body.at", _("It would expire before it appears."))])
        _save(asked, found, {"published": at})
        return

    def is_done() -> bool:
        present = editable_nodes.load(node_id)
        return bool(present and present.draft and present.draft.due == at)

    with _of_draft(asked, found, is_done):
        drafts.schedule(asked.actor, node_id, asked.seen, at)


def unschedule(asked: Asked, node_id: ObjectId) -> None:
    """Keep scheduled changes as a mere draft. Raises Http404, PermissionDenied, Problem, NodeError."""
    found = _found(asked, node_id, Action.PUBLISH)
    is_mere = found.draft is not None and found.draft.nonce == asked.seen and found.draft.due is None
    if not is_mere:
        drafts.unschedule(node_id, asked.seen)


def discard(asked: Asked, node_id: ObjectId) -> None:
    """Remove a draft. Raises Http404, PermissionDenied, Problem, NodeError."""
    if _found(asked, node_id, Action.DRAFT).draft is not None:
        drafts.discard_draft(node_id, asked.seen)


def move(asked: Asked, node_id: ObjectId, said: Mapping[str, Any]) -> None:
    """Give a node another section, another slug, or both. Raises Http404, PermissionDenied, Problem, NodeError."""
    found = _found(asked, node_id, Action.MOVE)
    place = {name: value for name, value in said.items() if name == "section" or value}
    _save(asked, found, patches.fields(asked.principal, found.node.metadata.type, place, found.live.fields))


def tag(principal: Principal, node_id: ObjectId, add: list[str], remove: list[str]) -> None:
    """Add and remove tags. Raises Http404, PermissionDenied, NodeError."""
    found = _standing(principal, node_id, Action.EDIT, describes=True)
    tags = TagChange(added=frozenset(_tags(add)), removed=frozenset(_tags(remove)))
    type = found.node.metadata.type
    editing.change_tags(node_id, tags, home_of(type), only_unpublished=_only_unpublished(principal, found))


def throw_away(asked: Asked, node_id: ObjectId) -> None:
    """Move a node to the trash; done if it is there, as it was seen. Raises Http404, PermissionDenied, Problem, NodeError."""
    try:
        found = _found(asked, node_id, Action.TRASH)
    except Http404:
        _check_seen(asked, access.trashed(asked.principal, node_id, Action.TRASH))
        return
    trash.trash(asked.actor, node_id, asked.seen, home_of(found.node.metadata.type))


def restore(asked: Asked, node_id: ObjectId, said: Mapping[str, Any]) -> None:
    """Put a node of the trash back, to another place if one is named; done if it stands. Raises Http404, PermissionDenied,
    Problem, NodeError."""
    if in_trash.load(node_id) is None:
        _found(asked, node_id, Action.TRASH)
        return
    found = access.trashed(asked.principal, node_id, Action.TRASH)
    _check_seen(asked, found)
    said = {"section": str(found.live.fields["parent_id"] or "") or None, **said}
    place = patches.fields(asked.principal, found.node.metadata.type, said, found.live.fields)
    trash.restore(asked.actor, node_id, asked.seen, slug=place.get("slug") or None, parent_id=place["parent_id"])


def _found(asked: Asked, node_id: ObjectId, action: Action, *, describes: bool = False) -> Editable:
    found = _standing(asked.principal, node_id, action, describes=describes)
    if asked.is_draft and found.node.content_type.is_file:
        raise Problem("not-found", "A photo has no draft.")
    return found


def _standing(principal: Principal, node_id: ObjectId, action: Action, *, describes: bool = False) -> Editable:
    """Return a node or a photo for a principal to do something with; `describes`: of a photo no more than to say what it shows.
    Raises Http404, PermissionDenied."""
    try:
        return access.node(principal, node_id, action)
    except Http404:
        photo = stored_photos.get(node_id) if access.may_see_photos(principal) else None
        if photo is None:
            raise
    if not (access.may_describe(principal, photo) if describes else access.allowed(principal, photo, action)):
        raise PermissionDenied
    return Editable(photo, Version.of(stored_photos.metadata(node_id), photo.metadata.updated))


def _only_unpublished(principal: Principal, found: Editable) -> bool:
    """Return whether the right of a principal to change something ends when it is published."""
    if found.node.content_type.is_file:
        return not access.may_change_photos(principal)
    return access.changes_unpublished_only(principal)


def _check_seen(asked: Asked, thrown: Editable) -> None:
    """Raise Problem (412) unless what is in the trash is there as it was seen."""
    if thrown.live.nonce != asked.seen:
        raise Problem("stale", etag=f'"{thrown.live.nonce}"')


def _seen(asked: Asked, found: Editable) -> Version:
    """Return the version that a change was made on, with the tags that it has now, as tagging takes no nonce; the present one
    where it is not known any more."""
    present = found.draft if asked.is_draft and found.draft else found.live
    if present.nonce == asked.seen:
        return present
    return editable_nodes.load_version(found.node.pk, asked.seen) or present


def _save(asked: Asked, found: Editable, mine: Mapping[str, Any], tags: TagChange = NO_TAGS) -> None:
    node_id = found.node.pk
    principal = asked.principal
    bound = _only_unpublished(principal, found)
    try:
        if found.node.content_type.is_file:
            of_photos.save(
                asked.actor, node_id, asked.seen, mine, tags, form=asked.form, merges=asked.merges, only_unpublished=bound
            )  # fmt: skip
        elif asked.is_draft:
            may_publish = access.allowed(principal, found.node, Action.PUBLISH)
            drafts.save_draft(
                asked.actor,
                node_id,
                asked.seen,
                mine,
                tags,
                form=asked.form,
                may_publish=may_publish,
                merges=asked.merges,
            )
        else:
            editing.save(
                asked.actor, node_id, asked.seen, mine, tags, form=asked.form, merges=asked.merges,
                only_unpublished=bound,
            )  # fmt: skip
    except EditConflict as error:
        raise refusals.stale(error, mine) from error


@contextmanager
def _of_draft(asked: Asked, found: Editable, is_done: Callable[[], bool]) -> Iterator[None]:
    """Do something with the draft that was seen; all is well if it was done already."""
    try:
        yield
    except EditConflict as error:
        raise refusals.stale(error, found.draft.fields if found.draft else {}) from error
    except DraftGone:
        if not is_done():
            raise


def _is_out(asked: Asked, node_id: ObjectId) -> bool:
    """Return whether readers have what the draft changed that was seen."""
    present = editable_nodes.load(node_id)
    said = editable_nodes.load_version(node_id, asked.seen)
    if present is None or present.draft is not None or said is None:
        return False
    begun = history.draft_base(node_id, asked.seen)
    base = editable_nodes.load_version(node_id, begun) if begun else None
    live = present.live.fields
    type = present.node.metadata.type
    drafted = {path: value for path, value in said.fields.items() if path not in NOT_DRAFTED}
    merge = merging.merge(base.fields if base else None, drafted, live, type)
    # Of what both sides had changed the merge with what came of it is that very thing.
    return not merge.conflicts and all(merging.same(live.get(path), value) for path, value in merge.changes.items())


def _check_not_public(found: Editable, at: datetime, field: str) -> None:
    """Raise Problem (422) if a node that readers have would be taken from them until a time ahead."""
    if at > now() and found.node.is_live(now()):
        told = _("Readers see this page: schedule the changes of its draft, or unpublish it first.")
        raise Problem("invalid", errors=[(field, told)])


def _tags(said: Any) -> tuple[str, ...]:
    return tag_texts.unique(said or ())
