"""The action that sorts the contents of a section manually."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from bson import ObjectId
from django.utils.translation import gettext as _

from nodes import access
from nodes.access import NodePermission
from nodes.actions.base import NodeAction
from nodes.actions.save import Move
from nodes.content import BY_NAME
from nodes.errors import InvalidPlace, NodeGone
from nodes.models import tree
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
            InvalidPlace: The node isn't a section, or the section lists its contents by date.
        """
        editable = access.node(self.user, self.node_id, self.needs)
        if not editable.node.content_type.is_arrangeable():
            raise InvalidPlace(_("This section lists its contents by date, so you can't arrange them."))
        return editable

    def execute(self) -> int:
        """Check permissions and rules, then rearrange the nodes.

        Return the number of nodes that are no longer in the section.

        Raises:
            InvalidPlace: The node isn't a section, or the section lists its contents by date.
            TooBusy: Other writers kept changing the order.
        """
        self.check()
        missed = ordering.arrange(self.node_id, self.seen, self.wanted)
        missed += sum(not ordering.move_to_start(self.node_id, node_id) for node_id in self.to_start)
        return missed + sum(not ordering.move_to_end(self.node_id, node_id) for node_id in self.to_end)


@dataclass(frozen=True, kw_only=True)
class SortByName(Order):
    """The action that lists the section `node_id` by name again. The manual order is lost.

    Attributes:
        if_unchanged: Whether to keep a manual order that isn't the order of names.
    """

    if_unchanged: bool = False

    def check(self) -> Editable:
        """Check whether the user can rearrange the section, and return the section.

        Raises:
            Http404: The user can't see the section.
            PermissionDenied: The user can see the section, but can't rearrange it.
            InvalidPlace: The section is never listed by name.
        """
        editable = super().check()
        if editable.node.content_type.lists != BY_NAME:
            raise InvalidPlace(_("Sections of this type are always sorted manually."))
        return editable

    def execute(self) -> int:
        """Check permissions and rules, then remove the manual order.

        Raises:
            InvalidPlace: The section is never listed by name.
        """
        self.check()
        if self.if_unchanged:
            ordering.restore_name_order(self.node_id)
        else:
            ordering.sort_by_name(self.node_id)
        return 0


@dataclass(frozen=True, kw_only=True)
class PlaceNextTo(NodeAction):
    """The action that moves a node next to another node, which can be in another section.

    Attributes:
        seen: The nonce of the version that the user saw.
        anchor_id: The node next to which the node is moved.
        is_before: Whether the node is moved before `anchor_id` rather than after it.
    """

    seen: ObjectId
    anchor_id: ObjectId
    is_before: bool

    needs = NodePermission.VIEW

    def execute(self) -> None:
        """Check permissions and rules, then move the node.

        In a section that isn't sorted manually, a node from another section gets the place that its name or date
        implies. If the node is already in such a section, the section is sorted manually from now on.

        Raises:
            InvalidPlace: The section can't contain the node, or can't be arranged.
            NodeGone: One of the nodes has been moved.
            TooBusy: Other writers kept changing the nodes.
            NodeError: The move is refused for another reason, as for `Move`.
        """
        anchor = access.node(self.user, self.anchor_id, NodePermission.VIEW).node
        section_id = anchor.metadata.parent_id
        comes_from_elsewhere = self.check().node.metadata.parent_id != section_id
        is_arranged = not comes_from_elsewhere or tree.current().is_by_hand(section_id)
        if is_arranged:
            if section_id is None:
                raise InvalidPlace(_("The top level is always sorted by name. To order the menu, use the settings."))
            Order(user=self.user, node_id=section_id).check()
        if comes_from_elsewhere:
            Move(user=self.user, node_id=self.node_id, seen=self.seen, place={"parent_id": section_id}).execute()
        if not (is_arranged and section_id):
            return
        if not ordering.move_next_to(section_id, self.node_id, self.anchor_id, is_before=self.is_before):
            raise NodeGone(self.node_id)
