"""Arranging the contents of a section by hand."""

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
    """Bring contents of the section `node_id` from the order `seen` into the order `wanted`, then move some to either end."""

    seen: Sequence[ObjectId] = ()
    wanted: Sequence[ObjectId] = ()
    to_start: Sequence[ObjectId] = field(default=())
    to_end: Sequence[ObjectId] = field(default=())

    needs = NodePermission.PUBLISH

    def check(self) -> Editable:
        """Return the section. Raises as NodeAction.check, and InvalidPlace if its order is not made by hand."""
        editable = access.node(self.user, self.node_id, self.needs)
        if editable.node.content_type.lists != BY_HAND:
            raise InvalidPlace(_("What stands here is not arranged by hand."))
        return editable

    def execute(self) -> int:
        """Check, then arrange; return how many are no longer in the section. Raises InvalidPlace, TooBusy."""
        self.check()
        missed = ordering.arrange(self.node_id, self.seen, self.wanted)
        missed += sum(not ordering.move_to_start(self.node_id, node_id) for node_id in self.to_start)
        return missed + sum(not ordering.move_to_end(self.node_id, node_id) for node_id in self.to_end)
