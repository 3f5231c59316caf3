"""The action that adds and removes tags. Tags have no nonce, so tag changes never conflict with other edits."""

from dataclasses import dataclass

from nodes import access
from nodes.access import NodePermission
from nodes.actions.base import NodeAction
from nodes.collections import home_of
from nodes.selectors.editable_nodes import Editable
from nodes.services import editing
from nodes.types import TagChange


@dataclass(frozen=True, kw_only=True)
class Tag(NodeAction):
    """The action that adds and removes tags of a node or photo."""

    tags: TagChange

    needs = NodePermission.EDIT

    def check(self) -> Editable:
        return access.node_or_photo(self.user, self.node_id, self.needs, describes=True)

    def execute(self) -> None:
        """Check permissions and rules, then change the tags.

        Raises:
            NodeGone: The node no longer exists.
            Published: The node was published, so the user can no longer change it.
            FieldRefused: A value can't be stored.
            TooBusy: Other writers kept changing the node.
        """
        node = self.check().node
        editing.change_tags(
            self.node_id,
            self.tags,
            home_of(node.metadata.type),
            only_unpublished=access.bound_to_unpublished(self.user, node),
        )
