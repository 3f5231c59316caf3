"""The action that sorts the contents of a section manually."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bson import ObjectId
from django.utils.translation import gettext as _

from nodes import access
from nodes.access import NodePermission
from nodes.actions.base import NodeAction
from nodes.content import BY_HAND
from nodes.errors import InvalidPlace
from nodes.selectors.editable_nodes import Editable
from nodes.services import ordering


@dataclass(frozen=True, kw_only=True)
class Order(NodeAction):
    """The action that rearranges nodes in the section `node_id`.

    Attributes:
        seen: The ids of the nodes to rearrange, in the order that the user saw.
        wanted: The same ids in the new order.
        to_start: The nodes to move to the start of the section after the rearrangement.
        to_end: The nodes to move to the end of the section after the rearrangement.
    """

    seen: Sequence[ObjectId] = ()
    wanted: Sequence[ObjectId] = ()
    to_start: Sequence[ObjectId] = field(default=())
    to_end: Sequence[ObjectId] = field(default=())

    needs = NodePermission.PUBLISH

    def check(self) -> Editable:
        """Check whether the user can rearrange the section, and return the section.

        Raises:
            Http404: The user can't see the section.
            PermissionDenied: The user can see the section, but can't rearrange it.
            InvalidPlace: The section isn't sorted manually.
        """
        editable = access.node(self.user, self.node_id, self.needs)
        if editable.node.content_type.lists != BY_HAND:
            raise InvalidPlace(_("This section isn't sorted manually."))
        return editable

    def execute(self) -> int:
        """Check permissions and rules, then rearrange the nodes.

        Return the number of nodes that are no longer in the section.

        Raises:
            InvalidPlace: The section isn't sorted manually.
            TooBusy: Other writers kept changing the order.
        """
        self.check()
        missed = ordering.arrange(self.node_id, self.seen, self.wanted)
        missed += sum(not ordering.move_to_start(self.node_id, node_id) for node_id in self.to_start)
        return missed + sum(not ordering.move_to_end(self.node_id, node_id) for node_id in self.to_end)
