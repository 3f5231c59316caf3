"""The trash: moving nodes there, restoring them, deleting them permanently."""

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
    """Move a node to the trash if it still has the nonce `seen`."""

    seen: ObjectId

    needs = NodePermission.TRASH

    def execute(self) -> None:
        """Check, then move. Raises NodeGone, EditConflict."""
        node = self.check().node
        trash.trash(self.actor, self.node_id, self.seen, home_of(node.metadata.type))


@dataclass(frozen=True, kw_only=True)
class Restore(NodeAction):
    """Restore a node from the trash to its place, or to another slug or section. `seen` is its nonce, if it was shown."""

    seen: ObjectId | None = None
    slug: str = ""
    # The section, if another than its own; `moves` tells the top level from no choice.
    parent_id: ObjectId | None = None
    moves: bool = False

    needs = NodePermission.TRASH

    def check(self) -> Editable:
        """Return the node in the trash. Raises as NodeAction.check."""
        editable = access.trashed(self.user, self.node_id, self.needs)
        if self.moves:
            access.check_may_place(self.user, self.parent_id, editable.node.parent_id)
        return editable

    def execute(self) -> bool:
        """Check, then restore; return whether its date of publication passed in the trash, so that it is a draft now.

        Raises NodeGone, InvalidPlace, InvalidSlug, SlugTaken, TooBusy.
        """
        self.check()
        place = {"parent_id": self.parent_id} if self.moves else {}
        return trash.restore(self.actor, self.node_id, self.seen, slug=self.slug or None, **place)


@dataclass(frozen=True, kw_only=True)
class Delete(NodeAction):
    """Delete a node in the trash permanently, with its history and comments. `seen` is its nonce, if it was shown."""

    seen: ObjectId | None = None

    needs = NodePermission.DELETE

    def check(self) -> Editable:
        """Return the node in the trash. Raises as NodeAction.check."""
        return access.trashed(self.user, self.node_id, self.needs)

    def execute(self) -> None:
        """Check, then delete. Raises NodeGone, InvalidPlace."""
        self.check()
        trash.delete(self.node_id, self.seen)
