"""Actions that move nodes to trash, restore them, or delete them permanently."""

from dataclasses import dataclass

from bson import ObjectId

from nodes import access
from nodes.access import NodePermission
from nodes.actions.base import NodeAction
from nodes.collections import home_of
from nodes.selectors.editable_nodes import Editable
from nodes.services import trash


@dataclass(frozen=True, kw_only=True)
class Trash(NodeAction):
    """The action that moves a node to trash if the node hasn't changed since the user saw it.

    Attributes:
        seen: The nonce of the version that the user saw.
    """

    seen: ObjectId

    needs = NodePermission.TRASH

    def execute(self) -> None:
        """Check permissions and rules, then move the node to trash.

        Raises:
            NodeGone: The node no longer exists.
            EditConflict: The node has changed since the user saw it.
        """
        node = self.check().node
        trash.trash(self.actor, self.node_id, self.seen, home_of(node.metadata.type))


@dataclass(frozen=True, kw_only=True)
class Restore(NodeAction):
    """The action that restores a node from the trash.

    Attributes:
        seen: The nonce of the version that the user saw, or None if it is unknown.
        slug: A new slug for the node, in case another node now uses its original slug.
    """

    seen: ObjectId | None = None
    slug: str = ""
    # The section to restore the node to, or None for the top level. This field is ignored unless `moves` is True.
    parent_id: ObjectId | None = None
    moves: bool = False

    needs = NodePermission.TRASH

    def check(self) -> Editable:
        """Check whether the user can restore the node, and return the node.

        Raises:
            Http404: The user can't see the node.
            PermissionDenied: The user can see the node, but can't restore it.
        """
        editable = access.trashed(self.user, self.node_id, self.needs)
        if self.moves:
            access.check_may_place(self.user, self.parent_id, editable.node.parent_id)
        return editable

    def execute(self) -> bool:
        """Check permissions and rules, then restore the node.

        Return whether the node is now a draft because its publication time passed while it was in the trash.

        Raises:
            NodeGone: The node no longer exists.
            InvalidPlace: The section can't contain the node.
            InvalidSlug: The slug can't be part of a URL, or is reserved.
            SlugTaken: Another node in the section has the slug.
            TooBusy: Other writers kept changing the node.
        """
        self.check()
        place = {"parent_id": self.parent_id} if self.moves else {}
        return trash.restore(self.actor, self.node_id, self.seen, slug=self.slug or None, **place)


@dataclass(frozen=True, kw_only=True)
class Delete(NodeAction):
    """The action that permanently deletes a node in the trash, with its history and comments.

    Attributes:
        seen: The nonce of the version that the user saw, or None if it is unknown.
    """

    seen: ObjectId | None = None

    needs = NodePermission.DELETE

    def check(self) -> Editable:
        """Check whether the user can delete the node, and return the node.

        Raises:
            Http404: The user can't see the node.
            PermissionDenied: The user can see the node, but can't delete it.
        """
        return access.trashed(self.user, self.node_id, self.needs)

    def execute(self) -> None:
        """Check permissions and rules, then delete the node.

        Raises:
            NodeGone: The node no longer exists.
            InvalidPlace: The section isn't empty.
        """
        self.check()
        trash.delete(self.node_id, self.seen)
