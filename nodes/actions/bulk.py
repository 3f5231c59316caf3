"""Perform one action on many nodes. Each node is changed or refused independently, without a transaction."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.translation import gettext as _

from nodes.access import NodePermission
from nodes.actions.base import NodeAction
from nodes.collections import home_of
from nodes.errors import NodeError
from nodes.services import editing
from nodes.types import Refused, SelectedNode, Summary

# The exceptions that an action raises if it is refused for a node.
REFUSALS = (NodeError, Http404, PermissionDenied)


def check_all(
    actions: Iterable[tuple[SelectedNode, NodeAction]],
) -> tuple[list[tuple[SelectedNode, NodeAction]], list[Refused]]:
    """Check the actions without executing them, so nothing is written.

    Return the actions that are permitted, and the nodes for which the action is refused.
    """
    allowed = []
    refused = []
    for selected, action in actions:
        try:
            metadata = action.check().node.metadata
        except REFUSALS as error:
            refused.append(Refused(selected, reason_of(error)))
        else:
            allowed.append((replace(selected, title=metadata.title, type=metadata.type), action))
    return allowed, refused


def execute_all(actions: Iterable[tuple[SelectedNode, NodeAction]]) -> Summary:
    """Execute all actions. If one is refused, the others are still executed."""
    done = 0
    refused = []
    for selected, action in actions:
        try:
            action.execute()
        except REFUSALS as error:
            refused.append(Refused(selected, reason_of(error)))
        else:
            done += 1
    return Summary(done, tuple(refused))


def reason_of(error: Exception) -> str:
    """Return the reason for a refusal, as a message for users."""
    if isinstance(error, Http404):
        return _("This item no longer exists.")
    if isinstance(error, PermissionDenied):
        return _("Your account doesn't have permission to do this.")
    return str(error)


@dataclass(frozen=True, kw_only=True)
class PublishListed(NodeAction):
    """The action that publishes a node that the user selected in a list.

    Attributes:
        seen: The nonce that the node had when the user saw the list.
    """

    seen: ObjectId

    needs = NodePermission.PUBLISH

    def execute(self) -> None:
        """Check permissions and rules, then publish the node.

        Raises:
            NodeGone: The node no longer exists.
            ChangedSince: The node has changed since the user saw it.
            DraftStays: The node is public and has a draft.
            NotReady: The node lacks something that publishing requires.
        """
        collection = home_of(self.check().node.metadata.type)
        editing.publish_as_seen(self.actor, self.node_id, self.seen, collection)
