"""Creating nodes: new ones, and copies."""

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
    """Create a node of `type` from `fields` by path: title, slug, parent_id and further ones ("summary", "detail.text"…).

    Without a slug, one is made from the title. `node_id` is an id chosen by the form: if the same user's form has created
    its node before, the action saves that node instead. Without an author, the user is the author.
    """

    user: Any
    type: str
    fields: Mapping[str, Any]
    tags: tuple[str, ...] = ()
    node_id: ObjectId | None = None
    created: datetime | None = None

    def check(self) -> None:
        """Raise PermissionDenied, FieldForbidden, InvalidPlace or Published."""
        if not access.may_create(self.user, self.type):
            raise PermissionDenied
        access.check_fields(self.user, self.type, {*self.fields, *(("created",) if self.created else ())})
        access.check_may_place(self.user, self.fields.get("parent_id"))
        made = editable_nodes.load(self.node_id) if self.node_id else None
        if made and not access.allowed(self.user, made.node, NodePermission.EDIT):
            # The form has created its node before, and the author can no longer edit it directly.
            raise Published(made.node.pk)

    def execute(self) -> Saved:
        """Check, then create the node.

        Raises:
            SlugTaken, InvalidSlug, InvalidPlace, NodeGone, IdTaken, Published, NotReady, FieldRefused.
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
    """Copy a node, with its draft, into a section. The copy is unpublished. `new_id` is an id chosen by the form."""

    parent_id: ObjectId | None
    new_id: ObjectId = field(default_factory=ObjectId)

    needs = NodePermission.VIEW

    def check(self) -> Editable:
        editable = super().check()
        if not access.may_create(self.user, editable.node.metadata.type):
            raise PermissionDenied
        access.check_may_place(self.user, self.parent_id, editable.node.parent_id)
        if editable_nodes.load(self.new_id):
            # The form was sent again, so the user must be able to change the copy that it made.
            access.node(self.user, self.new_id, NodePermission.EDIT)
        return editable

    def execute(self) -> Saved:
        """Check, then copy. Raises NodeGone, IdTaken, InvalidPlace, Published, NewerVersion, NotUpgraded."""
        self.check()
        return duplicating.duplicate(
            self.actor,
            self.node_id,
            parent_id=self.parent_id,
            new_id=self.new_id,
            only_unpublished=access.changes_unpublished_only(self.user),
        )
