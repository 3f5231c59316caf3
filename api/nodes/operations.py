"""The operations on nodes: each checks permissions with the access functions and calls the services of the admin."""

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
from nodes.access import NodePermission
from nodes.collections import home_of
from nodes.errors import DraftGone, EditConflict, NodeError
from nodes.selectors import editable_nodes, history, stored_photos
from nodes.selectors import trash as in_trash
from nodes.selectors.editable_nodes import Editable, Version
from nodes.services import drafts, editing, trash
from nodes.services.write import NOT_DRAFTED
from nodes.tags import unique
from nodes.types import NO_TAGS, Actor, TagChange
from photos.services import photos

# Fields that the uploader of a photo can change until it is published.
DESCRIPTION_FIELDS = frozenset({"title", "summary", "tags", "detail.alt", "detail.focal"})


@dataclass(frozen=True)
class WriteContext:
    """How a change was requested.

    `seen`: the nonce of the version that it is based on. `request_id`: the id derived from the Idempotency-Key.
    `merges`: changes that others saved since are merged automatically. `is_draft`: the change is made to the draft.
    """

    principal: Principal
    seen: ObjectId
    request_id: ObjectId | None = None
    merges: bool = False
    is_draft: bool = False

    @property
    def actor(self) -> Actor:
        """Return the author of the change, as the history records it."""
        return Actor.of(self.principal)


@contextmanager
def refusals_as_problems() -> Iterator[None]:
    """Raise the problem for an error of a service."""
    try:
        yield
    except NodeError as error:
        raise refusals.problem_of(error) from error


def create(principal: Principal, request_id: ObjectId | None, data: Mapping[str, Any]) -> ObjectId:
    """Create a node and return its id, which is `request_id` if there is one.

    Raises Problem, PermissionDenied.
    """
    type = data["type"]
    if not content.get(type).is_installed or content.get(type).is_file:
        raise Problem("invalid", errors=[("body.type", _("There is no type “%(type)s”.") % {"type": type[:50]})])
    # An account that cannot list nodes could not get the new node in the response.
    if not (access.may_create(principal, type) and access.may_list(principal)):
        raise PermissionDenied
    if request_id and editable_nodes.load(request_id):
        # An earlier attempt of this request has created the node.
        return request_id
    actor = Actor.of(principal)
    author_field = {"author": actor.as_document()}
    fields = author_field | patches.parse_fields(principal, type, {"section": None, **data}, author_field, request_id)
    title = fields.pop("title")
    slug = fields.pop("slug", "")
    parent_id = fields.pop("parent_id")
    created = editing.create(
        actor, type=type, parent_id=parent_id, slug=slug, title=title, fields=fields, tags=_tags(data.get("tags")),
        node_id=request_id, only_unpublished=access.changes_unpublished_only(principal),
    )  # fmt: skip
    return created.id


def change(context: WriteContext, node_id: ObjectId, data: Mapping[str, Any]) -> None:
    """Change fields of a node or of its draft. Raises Http404, PermissionDenied, Problem, NodeError."""
    action = NodePermission.DRAFT if context.is_draft else NodePermission.EDIT
    editable = _load(context, node_id, action, describes=patches.field_names(data) <= DESCRIPTION_FIELDS)
    base = _base_version(context, editable)
    changes = patches.parse_fields(
        context.principal, editable.node.metadata.type, data, base.fields, context.request_id
    )
    tags = TagChange.between(base.tags, _tags(data["tags"])) if "tags" in data else NO_TAGS
    if context.is_draft and (address_fields := changes.keys() & NOT_DRAFTED):
        message = _("A draft cannot change the address. Put section and slug back, or save them live.")
        raise Problem("invalid", errors=[(patches.body_path(path), message) for path in sorted(address_fields)])
    if not context.is_draft and (published := changes.get("published")):
        _check_not_public(editable, published, "body.published")
    _save(context, editable, changes, tags)


def publish(context: WriteContext, node_id: ObjectId) -> None:
    """Publish a node now, or the changes in its draft. Raises Http404, PermissionDenied, Problem, NodeError."""
    editable = _load(context, node_id, NodePermission.PUBLISH)
    if not context.is_draft:
        _save(context, editable, editing.publication_dates(editable.live.fields, now()))
        return
    if editable.draft and (published := editable.draft.fields.get("published")):
        base = editable_nodes.load_version(node_id, editable.draft.base_nonce) if editable.draft.base_nonce else None
        if base is None or base.fields.get("published") != published:
            _check_not_public(editable, published, "query.version")
    with _changing_draft(context, editable, lambda: _is_draft_published(context, node_id)):
        drafts.publish_draft(context.actor, node_id, context.seen)


def unpublish(context: WriteContext, node_id: ObjectId) -> None:
    """Unpublish a node. Raises Http404, PermissionDenied, Problem, NodeError."""
    _save(context, _load(context, node_id, NodePermission.PUBLISH), {"published": None})


def schedule(context: WriteContext, node_id: ObjectId, publish_time: datetime) -> None:
    """Publish a node, or the changes in its draft, at a time in the future.

    Raises Http404, PermissionDenied, Problem, NodeError.
    """
    editable = _load(context, node_id, NodePermission.PUBLISH)
    publish_time = patches.check_moment(publish_time, "body.at")
    if publish_time <= now():
        raise Problem(
            "invalid", errors=[("body.at", _("Choose a time ahead. To show the changes at once, publish them."))]
        )
    if not context.is_draft:
        _check_not_public(editable, publish_time, "body.at")
        if publish_time >= editable.live.fields["expires"]:
            raise Problem("invalid", errors=[("body.at", _("It would expire before it appears."))])
        _save(context, editable, {"published": publish_time})
        return

    def is_done() -> bool:
        present = editable_nodes.load(node_id)
        return bool(present and present.draft and present.draft.due == publish_time)

    with _changing_draft(context, editable, is_done):
        drafts.schedule(context.actor, node_id, context.seen, publish_time)


def unschedule(context: WriteContext, node_id: ObjectId) -> None:
    """Turn a scheduled draft into an ordinary one. Raises Http404, PermissionDenied, Problem, NodeError."""
    editable = _load(context, node_id, NodePermission.PUBLISH)
    is_unscheduled = editable.draft is not None and editable.draft.nonce == context.seen and editable.draft.due is None
    if not is_unscheduled:
        drafts.unschedule(node_id, context.seen)


def discard(context: WriteContext, node_id: ObjectId) -> None:
    """Delete a draft. Raises Http404, PermissionDenied, Problem, NodeError."""
    if _load(context, node_id, NodePermission.DRAFT).draft is not None:
        drafts.discard_draft(node_id, context.seen)


def move(context: WriteContext, node_id: ObjectId, data: Mapping[str, Any]) -> None:
    """Move a node to another section, change its slug, or both.

    Raises Http404, PermissionDenied, Problem, NodeError.
    """
    editable = _load(context, node_id, NodePermission.MOVE)
    changes = {name: value for name, value in data.items() if name == "section" or value}
    _save(
        context,
        editable,
        patches.parse_fields(context.principal, editable.node.metadata.type, changes, editable.live.fields),
    )


def tag(principal: Principal, node_id: ObjectId, add: list[str], remove: list[str]) -> None:
    """Add and remove tags. Raises Http404, PermissionDenied, NodeError."""
    editable = _load_node_or_photo(principal, node_id, NodePermission.EDIT, describes=True)
    tags = TagChange(added=frozenset(_tags(add)), removed=frozenset(_tags(remove)))
    type = editable.node.metadata.type
    editing.change_tags(node_id, tags, home_of(type), only_unpublished=_only_unpublished(principal, editable))


def move_to_trash(context: WriteContext, node_id: ObjectId) -> None:
    """Move a node to the trash. If it is there already in the version seen, do nothing.

    Raises Http404, PermissionDenied, Problem, NodeError.
    """
    try:
        editable = _load(context, node_id, NodePermission.TRASH)
    except Http404:
        _check_trashed_version(context, access.trashed(context.principal, node_id, NodePermission.TRASH))
        return
    trash.trash(context.actor, node_id, context.seen, home_of(editable.node.metadata.type))


def restore(context: WriteContext, node_id: ObjectId, data: Mapping[str, Any]) -> None:
    """Restore a node from the trash, to another place if `data` has one. If it is not in the trash, do nothing.

    Raises Http404, PermissionDenied, Problem, NodeError.
    """
    if in_trash.load(node_id) is None:
        _load(context, node_id, NodePermission.TRASH)
        return
    editable = access.trashed(context.principal, node_id, NodePermission.TRASH)
    _check_trashed_version(context, editable)
    data = {"section": str(editable.live.fields["parent_id"] or "") or None, **data}
    place = patches.parse_fields(context.principal, editable.node.metadata.type, data, editable.live.fields)
    trash.restore(context.actor, node_id, context.seen, slug=place.get("slug") or None, parent_id=place["parent_id"])


def _load(context: WriteContext, node_id: ObjectId, action: NodePermission, *, describes: bool = False) -> Editable:
    editable = _load_node_or_photo(context.principal, node_id, action, describes=describes)
    if context.is_draft and editable.node.content_type.is_file:
        raise Problem("not-found", "A photo has no draft.")
    return editable


def _load_node_or_photo(
    principal: Principal, node_id: ObjectId, action: NodePermission, *, describes: bool = False
) -> Editable:
    """Return a node or photo on which a principal can perform an action. Raises Http404, PermissionDenied.

    `describes`: for a photo, the action changes nothing but its description.
    """
    try:
        return access.node(principal, node_id, action)
    except Http404:
        photo = stored_photos.get(node_id) if access.may_see_photos(principal) else None
        if photo is None:
            raise
    if not (access.may_describe(principal, photo) if describes else access.allowed(principal, photo, action)):
        raise PermissionDenied
    return Editable(photo, Version.of(stored_photos.metadata(node_id), photo.metadata.updated))


def _only_unpublished(principal: Principal, editable: Editable) -> bool:
    """Return whether a principal can change something only until it is published."""
    if editable.node.content_type.is_file:
        return not access.may_change_photos(principal)
    return access.changes_unpublished_only(principal)


def _check_trashed_version(context: WriteContext, trashed: Editable) -> None:
    """Raise Problem (412) unless the node in the trash has the version seen."""
    if trashed.live.nonce != context.seen:
        raise Problem("stale", etag=f'"{trashed.live.nonce}"')


def _base_version(context: WriteContext, editable: Editable) -> Version:
    """Return the version that a change is based on, or the present one if that version no longer exists.

    It has the present tags, because tags change without a nonce.
    """
    present = editable.draft if context.is_draft and editable.draft else editable.live
    if present.nonce == context.seen:
        return present
    return editable_nodes.load_version(editable.node.pk, context.seen) or present


def _save(context: WriteContext, editable: Editable, changes: Mapping[str, Any], tags: TagChange = NO_TAGS) -> None:
    node_id = editable.node.pk
    principal = context.principal
    only_unpublished = _only_unpublished(principal, editable)
    try:
        if editable.node.content_type.is_file:
            photos.save(
                context.actor, node_id, context.seen, changes, tags, form=context.request_id, merges=context.merges,
                only_unpublished=only_unpublished,
            )  # fmt: skip
        elif context.is_draft:
            may_publish = access.allowed(principal, editable.node, NodePermission.PUBLISH)
            drafts.save_draft(
                context.actor,
                node_id,
                context.seen,
                changes,
                tags,
                form=context.request_id,
                may_publish=may_publish,
                merges=context.merges,
            )
        else:
            editing.save(
                context.actor, node_id, context.seen, changes, tags, form=context.request_id, merges=context.merges,
                only_unpublished=only_unpublished,
            )  # fmt: skip
    except EditConflict as error:
        raise refusals.stale_problem(error, changes) from error


@contextmanager
def _changing_draft(context: WriteContext, editable: Editable, is_done: Callable[[], bool]) -> Iterator[None]:
    """Run a block that changes the draft seen. If the draft is gone because the change was made already, do nothing."""
    try:
        yield
    except EditConflict as error:
        raise refusals.stale_problem(error, editable.draft.fields if editable.draft else {}) from error
    except DraftGone:
        if not is_done():
            raise


def _is_draft_published(context: WriteContext, node_id: ObjectId) -> bool:
    """Return whether readers have the changes of the draft seen."""
    present = editable_nodes.load(node_id)
    draft = editable_nodes.load_version(node_id, context.seen)
    if present is None or present.draft is not None or draft is None:
        return False
    base_nonce = history.draft_base(node_id, context.seen)
    base = editable_nodes.load_version(node_id, base_nonce) if base_nonce else None
    live = present.live.fields
    type = present.node.metadata.type
    drafted = {path: value for path, value in draft.fields.items() if path not in NOT_DRAFTED}
    merge = merging.merge(base.fields if base else None, drafted, live, type)
    # Merging the draft again into the live version changes nothing if the draft was published.
    return not merge.conflicts and all(merging.same(live.get(path), value) for path, value in merge.changes.items())


def _check_not_public(editable: Editable, published: datetime, field: str) -> None:
    """Raise Problem (422) if a time in the future would hide a published node from readers."""
    if published > now() and editable.node.is_live(now()):
        message = _("Readers see this page: schedule the changes of its draft, or unpublish it first.")
        raise Problem("invalid", errors=[(field, message)])


def _tags(names: Any) -> tuple[str, ...]:
    return unique(names or ())
