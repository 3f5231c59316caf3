"""Actions that create new nodes and copies of nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bson import ObjectId
from django.core.exceptions import PermissionDenied

from nodes import access
from nodes.access import NodePermission
from nodes.actions.base import NodeAction
from nodes.errors import Published
from nodes.selectors import editable_nodes
from nodes.selectors.editable_nodes import Editable
from nodes.services import duplicating, editing
from nodes.types import Actor, Saved


@dataclass(frozen=True, kw_only=True)
class CreateNode:
    """The action that creates a node.

    Attributes:
        user: The user who performs the action.
        type: The content type.
        fields: The fields, keyed by path: "title", "slug", "parent_id" and others, such as "summary" and "detail.text".
            If the slug is empty, it is generated from the title. If the author is missing, the user becomes the author.
        tags: The tags.
        node_id: The id that the form generated for the new node. If the user has already submitted the form, the action
            saves the node that the form created.
        created: The creation time. The default is the current time.
    """

    user: Any
    type: str
    fields: Mapping[str, Any]
    tags: tuple[str, ...] = ()
    node_id: ObjectId | None = None
    created: datetime | None = None

    def check(self) -> None:
        """Check whether the user can create this node.

        Raises:
            PermissionDenied: The user can't create nodes of the type.
            FieldForbidden: The user can't set one of the fields.
            InvalidPlace: The user can't put nodes into the section.
            Published: The form has already created the node, and the user can no longer edit it.
        """
        if not access.may_create(self.user, self.type):
            raise PermissionDenied
        access.check_fields(self.user, self.type, {*self.fields, *(("created",) if self.created else ())})
        access.check_may_place(self.user, self.fields.get("parent_id"))
        made = editable_nodes.load(self.node_id) if self.node_id else None
        if made and not access.allowed(self.user, made.node, NodePermission.EDIT):
            # The form has already created the node, and its author can no longer edit it directly.
            raise Published(made.node.pk)

    def execute(self) -> Saved:
        """Check permissions and rules, then create the node.

        Raises:
            SlugTaken: Another node in the section has the slug.
            InvalidSlug: The slug can't be part of a URL, or is reserved.
            InvalidPlace: The section can't contain the node.
            NodeGone: The node no longer exists.
            IdTaken: The id belongs to another document.
            Published: The node was published, so the user can no longer change it.
            NotReady: The node lacks something that publishing requires.
            FieldRefused: A value can't be stored.
        """
        self.check()
        actor = Actor.of(self.user)
        fields = dict(self.fields)
        place = {name: fields.pop(name) for name in ("title", "slug", "parent_id")}
        fields["author"] = fields.get("author") or actor.as_document()
        return editing.create(
            actor,
            type=self.type,
            **place,
            fields=fields,
            tags=self.tags,
            node_id=self.node_id,
            created=self.created,
            only_unpublished=access.changes_unpublished_only(self.user),
        )


@dataclass(frozen=True, kw_only=True)
class Duplicate(NodeAction):
    """The action that copies a node, with its draft, into a section. The copy is unpublished.

    Attributes:
        parent_id: The section for the copy. None is the top level.
        new_id: The id of the copy, which the form generated.
    """

    parent_id: ObjectId | None
    new_id: ObjectId = field(default_factory=ObjectId)

    needs = NodePermission.VIEW

    def check(self) -> Editable:
        editable = super().check()
        if not access.may_create(self.user, editable.node.metadata.type):
            raise PermissionDenied
        access.check_may_place(self.user, self.parent_id, editable.node.parent_id)
        if editable_nodes.load(self.new_id):
            # The form was submitted again, so the user must have permission to edit the copy that the form created.
            access.node(self.user, self.new_id, NodePermission.EDIT)
        return editable

    def execute(self) -> Saved:
        """Check permissions and rules, then copy the node.

        Raises:
            NodeGone: The node no longer exists.
            IdTaken: The id belongs to another document.
            InvalidPlace: The section can't contain the copy.
            Published: The form has already created the copy, which was then published. The user can't change it.
            NewerVersion: The node was stored by a newer release.
            NotUpgraded: The node could not be upgraded to the current version of its type.
        """
        self.check()
        return duplicating.duplicate(
            self.actor,
            self.node_id,
            parent_id=self.parent_id,
            new_id=self.new_id,
            only_unpublished=access.changes_unpublished_only(self.user),
        )
