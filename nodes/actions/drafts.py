"""Actions that save, publish, schedule or discard the draft of a live node."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bson import ObjectId

from nodes import access
from nodes.access import NodePermission
from nodes.actions.base import NodeAction
from nodes.selectors.editable_nodes import Editable
from nodes.services import drafts, rules
from nodes.types import NO_TAGS, Saved, TagChange


@dataclass(frozen=True, kw_only=True)
class DraftAction(NodeAction):
    """Base class for actions on a draft.

    Attributes:
        seen: The nonce of the draft that the user saw.
    """

    seen: ObjectId

    needs = NodePermission.DRAFT

    def check(self) -> Editable:
        return access.node(self.user, self.node_id, self.needs)


@dataclass(frozen=True, kw_only=True)
class SaveDraft(DraftAction):
    """The action that saves a node's draft. Readers still see the live version.

    Attributes:
        seen: The nonce of the draft that the user saw, or of the node if it has no draft.
        fields: The fields to save, keyed by path.
        tags: The tags to add and remove.
        form: The id of the form.
        merges: Whether to merge changes that others have made. If False, such changes cause an EditConflict.
        shows_draft: Whether the user saw the draft, not only the live version. If so, and if the user has permission to
            publish, a scheduled draft remains scheduled.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    tags: TagChange = NO_TAGS
    form: ObjectId | None = None
    merges: bool = True
    shows_draft: bool = True

    def check(self) -> Editable:
        editable = super().check()
        access.check_fields(self.user, editable.node.metadata.type, self.fields)
        rules.check_place_unchanged(self.fields, editable.live.fields)
        return editable

    def execute(self) -> Saved:
        """Check permissions and rules, then save the draft.

        Raises:
            EditConflict: Both sides changed the same field or paragraph.
            NodeGone: The node no longer exists.
            FieldRefused: A value can't be stored.
            NewerVersion: The node was stored by a newer release.
            NotUpgraded: The node could not be upgraded to the current version of its type.
            TooBusy: Other writers kept changing the node.
        """
        editable = self.check()
        may_publish = self.shows_draft and access.allowed(self.user, editable.node, NodePermission.PUBLISH)
        return drafts.save_draft(
            self.actor,
            self.node_id,
            self.seen,
            self.fields,
            self.tags,
            form=self.form,
            may_publish=may_publish,
            merges=self.merges,
        )


@dataclass(frozen=True, kw_only=True)
class PublishDraft(DraftAction):
    """The action that publishes a draft.

    The draft is merged with changes that were made to the live version after the draft was started.

    Attributes:
        seen: The nonce of the draft that the user saw.
        decided_on: The nonce of the live version that the user saw when resolving a conflict.
        decided: The values that the user chose to resolve a conflict, keyed by field path.
        tags: The tags to add and remove.
    """

    decided_on: ObjectId | None = None
    decided: Mapping[str, Any] | None = None
    tags: TagChange = NO_TAGS

    needs = NodePermission.PUBLISH

    def check(self) -> Editable:
        editable = super().check()
        access.check_fields(self.user, editable.node.metadata.type, self.decided or {})
        return editable

    def execute(self) -> Saved:
        """Check permissions and rules, then publish the draft.

        Raises:
            EditConflict: Both sides changed the same field or paragraph.
            DraftGone: The draft has been saved, published or discarded since the user saw it.
            NodeGone: The node no longer exists.
            NotReady: The node lacks something that publishing requires.
            FieldRefused: A value can't be stored.
            NewerVersion: The node was stored by a newer release.
            NotUpgraded: The node could not be upgraded to the current version of its type.
            TooBusy: Other writers kept changing the node.
        """
        self.check()
        return drafts.publish_draft(
            self.actor, self.node_id, self.seen, seen_nonce=self.decided_on, mine=self.decided, tags=self.tags
        )


@dataclass(frozen=True, kw_only=True)
class ScheduleDraft(PublishDraft):
    """The action that schedules a draft. It also has the attributes of PublishDraft.

    Attributes:
        at: The time when the draft replaces the live version.
    """

    at: datetime

    def check(self) -> Editable:
        editable = super().check()
        rules.check_future(self.at)
        return editable

    def execute(self) -> Saved:
        """Check permissions and rules, then schedule the draft.

        The exceptions of PublishDraft can also be raised.

        Raises:
            NotLive: The page isn't live.
        """
        self.check()
        return drafts.schedule(
            self.actor, self.node_id, self.seen, self.at, seen_nonce=self.decided_on, mine=self.decided, tags=self.tags
        )


@dataclass(frozen=True, kw_only=True)
class UnscheduleDraft(DraftAction):
    """The action that cancels the schedule of a draft, but keeps the draft.

    Attributes:
        seen: The nonce of the draft that the user saw.
    """

    needs = NodePermission.PUBLISH

    def execute(self) -> None:
        """Check permissions and rules, then cancel the schedule.

        Raises:
            DraftGone: The draft has been saved, published or discarded since the user saw it.
            NodeGone: The node no longer exists.
        """
        self.check()
        drafts.unschedule(self.node_id, self.seen)


@dataclass(frozen=True, kw_only=True)
class DiscardDraft(DraftAction):
    """The action that deletes a draft.

    Attributes:
        seen: The nonce of the draft that the user saw.
    """

    def execute(self) -> None:
        """Check permissions and rules, then delete the draft.

        Raises:
            DraftGone: The draft has been saved, published or discarded since the user saw it.
            NodeGone: The node no longer exists.
        """
        self.check()
        drafts.discard_draft(self.node_id, self.seen)
