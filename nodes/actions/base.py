"""The base of actions on a stored node or photo."""

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
    """An action of `user` (an account, an API principal or `access.System`) on the node or photo `node_id`."""

    user: Any
    node_id: ObjectId

    needs: ClassVar[NodePermission]

    @property
    def actor(self) -> Actor:
        """The author of the change, for the history."""
        return Actor.of(self.user)

    def check(self) -> Editable:
        """Return the node as it is stored now.

        Raises Http404 if the user cannot see it, PermissionDenied if the user cannot do this, NodeError if a rule forbids it.
        """
        return access.node_or_photo(self.user, self.node_id, self.needs)

    @abstractmethod
    def execute(self) -> Any:
        """Check, then write. Raises what `check` raises, and NodeError if the write is refused."""
