"""The base class for actions on a stored node or photo."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from bson import ObjectId

from nodes import access
from nodes.access import NodePermission
from nodes.selectors.editable_nodes import Editable
from nodes.types import Actor


@dataclass(frozen=True, kw_only=True)
class NodeAction(ABC):
    """An action on a node or photo.

    Attributes:
        user: The user who performs the action: an account, an API principal, or `access.System`.
        node_id: The node or photo.
    """

    user: Any
    node_id: ObjectId

    needs: ClassVar[NodePermission]

    @property
    def actor(self) -> Actor:
        """The person whom the history shows as the author of the change."""
        return Actor.of(self.user)

    def check(self) -> Editable:
        """Check permissions and rules, and return the node as it is currently stored.

        Raises:
            Http404: The user can't see the node.
            PermissionDenied: The user can see the node, but can't perform the action.
            NodeError: A rule forbids the action.
        """
        return access.node_or_photo(self.user, self.node_id, self.needs)

    @abstractmethod
    def execute(self) -> Any:
        """Check permissions and rules, then perform the action.

        Raises:
            Http404: The user can't see the node.
            PermissionDenied: The user can see the node, but can't perform the action.
            NodeError: A rule forbids the action, or the database rejects the write.
        """
