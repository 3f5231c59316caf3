"""Operations on nodes. Each operation translates a request into an action. Repeated requests have no further effect."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import Http404

from api.nodes import patches
from api.problems import Problem
from api.refusals import as_problems
from api.rights.principals import Principal
from nodes import access, actions, content, merging
from nodes.content.messages import unknown_type
from nodes.errors import DraftGone
from nodes.selectors import editable_nodes, history
from nodes.selectors.editable_nodes import Editable, Version
from nodes.services.rules import NOT_DRAFTED
from nodes.tags import unique
from nodes.types import NO_TAGS, Actor, TagChange


@dataclass(frozen=True)
class WriteContext:
    """The context of a requested change: who makes the change, and to which version.

    Attributes:
        seen: The nonce of the version that the change is based on.
        request_id: The id derived from the Idempotency-Key and the request, or None if there is no key.
        merges: Whether to merge the change with changes that others have saved since that version.
        is_draft: Whether to change the draft instead of the live version.
    """

    principal: Principal
    seen: ObjectId
    request_id: ObjectId | None = None
    merges: bool = False
    is_draft: bool = False

    def target(self, node_id: ObjectId) -> dict[str, Any]:
        """Return the arguments for an action on the version that the client saw."""
        return {"user": self.principal, "node_id": node_id, "seen": self.seen}

    def saving(self, node_id: ObjectId) -> dict[str, Any]:
        """Return the arguments for an action that saves fields."""
        return {**self.target(node_id), "form": self.request_id, "merges": self.merges}


def create(principal: Principal, request_id: ObjectId | None, data: Mapping[str, Any]) -> ObjectId:
    """Create a node and return its id, which is `request_id` if there is one.

    Raises:
        Problem: The data is not valid.
        PermissionDenied: The principal can't create such a node.
        NodeError: The node can't be created.
    """
    type = data["type"]
    if not content.get(type).is_installed or content.get(type).is_file:
        raise Problem("invalid", errors=[("body.type", unknown_type(type))])
    # Reject users without permission before parsing the fields that they sent.
    action = actions.CreateNode(user=principal, type=type, fields={})
    action.check()
    # The response contains the new node, so reject accounts that aren't allowed to list nodes.
    if not access.may_list(principal):
        raise PermissionDenied
    if request_id and editable_nodes.load(request_id):
        # The node was created by an earlier attempt at this request.
        return request_id
    author = {"author": Actor.of(principal).as_document()}
    fields = patches.parse_fields(principal, type, {"section": None, **data}, author, request_id)
    tags = unique(data.get("tags") or ())
    return replace(action, fields={"slug": "", **fields}, tags=tags, node_id=request_id).execute().id


def change(context: WriteContext, node_id: ObjectId, data: Mapping[str, Any]) -> None:
    """Change the fields of a node or its draft.

    Raises:
        Http404: There is no such node.
        PermissionDenied: The principal can't change the node.
        Problem: The data is not valid.
        NodeError: The change can't be saved.
    """
    action_type = actions.SaveDraft if context.is_draft else actions.SaveNode
    action = action_type(**context.saving(node_id))
    # Reject users without permission before parsing the fields that they sent.
    editable = action.check()
    base = _base_version(context, editable)
    fields = patches.parse_fields(context.principal, editable.node.metadata.type, data, base.fields, context.request_id)
    tags = TagChange.between(base.tags, unique(data["tags"] or ())) if "tags" in data else NO_TAGS
    replace(action, fields=fields, tags=tags).execute()


def publish(context: WriteContext, node_id: ObjectId) -> None:
    """Publish a node or the changes in its draft now. The errors are the same as for `change`."""
    if not context.is_draft:
        actions.Publish(**context.saving(node_id)).execute()
        return
    # The dates come from the draft, not from the request, so errors about them refer to the parameter `version`, which
    # selects the draft.
    with as_problems({"published": "query.version", "expires": "query.version"}):
        try:
            actions.PublishDraft(**context.target(node_id)).execute()
        except DraftGone:
            if not _is_draft_published(context, node_id):
                raise


def unpublish(context: WriteContext, node_id: ObjectId) -> None:
    """Unpublish a node. The errors are the same as for `change`."""
    actions.Unpublish(**context.saving(node_id)).execute()


def schedule(context: WriteContext, node_id: ObjectId, at: datetime) -> None:
    """Publish a node, or the changes in its draft, at a time in the future. The errors are the same as for `change`."""
    with as_problems({"published": "body.at", "expires": "body.at"}):
        if not context.is_draft:
            actions.Schedule(at=at, **context.saving(node_id)).execute()
            return
        try:
            actions.ScheduleDraft(at=at, **context.target(node_id)).execute()
        except DraftGone:
            present = editable_nodes.load(node_id)
            if not (present and present.draft and present.draft.due == at):
                raise


def unschedule(context: WriteContext, node_id: ObjectId) -> None:
    """Convert a scheduled draft to an ordinary draft. The errors are the same as for `change`."""
    action = actions.UnscheduleDraft(**context.target(node_id))
    draft = action.check().draft
    is_unscheduled = draft is not None and draft.nonce == context.seen and draft.due is None
    if not is_unscheduled:
        action.execute()


def discard(context: WriteContext, node_id: ObjectId) -> None:
    """Delete a draft. The errors are the same as for `change`."""
    action = actions.DiscardDraft(**context.target(node_id))
    if action.check().draft is not None:
        action.execute()


def move(context: WriteContext, node_id: ObjectId, data: Mapping[str, Any]) -> None:
    """Move a node to another section, change its slug, or both. The errors are the same as for `change`."""
    action = actions.Move(place={}, **context.saving(node_id))
    replace(action, place=_place(context, action.check(), data)).execute()


def tag(principal: Principal, node_id: ObjectId, add: list[str], remove: list[str]) -> None:
    """Add tags to a node and remove tags from it. The errors are the same as for `change`."""
    tags = TagChange(added=frozenset(unique(add)), removed=frozenset(unique(remove)))
    actions.Tag(user=principal, node_id=node_id, tags=tags).execute()


def move_to_trash(context: WriteContext, node_id: ObjectId) -> None:
    """Move a node to the trash. Do nothing if the same version is already in the trash.

    The errors are the same as for `change`.
    """
    try:
        actions.Trash(**context.target(node_id)).execute()
    except Http404:
        _check_trashed_version(context, actions.Restore(**context.target(node_id)).check())


def restore(context: WriteContext, node_id: ObjectId, data: Mapping[str, Any]) -> None:
    """Restore a node from the trash. If the node isn't in the trash, do nothing.

    If `data` contains a section or a slug, the node is restored with this section or slug. The errors are the same as
    for `change`.
    """
    action = actions.Restore(**context.target(node_id))
    try:
        trashed = action.check()
    except Http404:
        actions.Trash(**context.target(node_id)).check()
        return
    _check_trashed_version(context, trashed)
    place = _place(context, trashed, data)
    moves = "parent_id" in place
    replace(action, slug=place.get("slug", ""), parent_id=place.get("parent_id"), moves=moves).execute()


def _place(context: WriteContext, editable: Editable, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the new section and slug, keyed by field path. An empty slug is omitted, so the slug doesn't change."""
    given = {name: value for name, value in data.items() if name == "section" or value}
    return patches.parse_fields(context.principal, editable.node.metadata.type, given, editable.live.fields)


def _check_trashed_version(context: WriteContext, trashed: Editable) -> None:
    """Raise a problem if the node in the trash is not the version that the client saw.

    Raises:
        Problem: 412 if the client saw a different version.
    """
    if trashed.live.nonce != context.seen:
        raise Problem("stale", etag=f'"{trashed.live.nonce}"')


def _base_version(context: WriteContext, editable: Editable) -> Version:
    """Return the version that a change is based on, or the current version if that version no longer exists.

    A version's nonce stays the same when the tags change, so the returned version always has the current tags.
    """
    present = editable.draft if context.is_draft and editable.draft else editable.live
    if present.nonce == context.seen:
        return present
    return editable_nodes.load_version(editable.node.pk, context.seen) or present


def _is_draft_published(context: WriteContext, node_id: ObjectId) -> bool:
    """Return whether the changes in the draft that the client saw have been published."""
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
    # If merging the draft into the live version again wouldn't change anything, the draft has been published.
    return not merge.conflicts and all(merging.same(live.get(path), value) for path, value in merge.changes.items())
