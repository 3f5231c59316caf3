"""Changing a draft beside the live version: saving it, publishing it now or later, discarding it."""

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
    """Base of actions on a draft. `seen` is the nonce of the draft that the user saw."""

    seen: ObjectId

    needs = NodePermission.DRAFT

    def check(self) -> Editable:
        return access.node(self.user, self.node_id, self.needs)


@dataclass(frozen=True, kw_only=True)
class SaveDraft(DraftAction):
    """Save `fields` (by path) and `tags` as the node's draft. Readers still see the live version.

    `seen` is the draft's nonce, or the node's if it has no draft. `shows_draft`: the user saw the draft and not only the live
    version, so that a user with permission to publish keeps its schedule.
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
        """Check, then save. Raises EditConflict, NodeGone, FieldRefused, NewerVersion, NotUpgraded, TooBusy."""
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
    """Make the draft the live version, merged with what was saved live since it was begun.

    After a conflict, `decided` are the fields that the user decided on, `decided_on` the nonce of the live version that the
    user saw, and `tags` the change of its tags.
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
        """Check, then publish the draft.

        Raises:
            EditConflict, DraftGone, NodeGone, NotReady, FieldRefused, NewerVersion, NotUpgraded, TooBusy.
        """
        self.check()
        return drafts.publish_draft(
            self.actor, self.node_id, self.seen, seen_nonce=self.decided_on, mine=self.decided, tags=self.tags
        )


@dataclass(frozen=True, kw_only=True)
class ScheduleDraft(PublishDraft):
    """Show the draft to readers from `at` on. The live version stays until then."""

    at: datetime

    def check(self) -> Editable:
        editable = super().check()
        rules.check_future(self.at)
        return editable

    def execute(self) -> Saved:
        """Check, then schedule. Raises NotLive, and what PublishDraft raises."""
        self.check()
        return drafts.schedule(
            self.actor, self.node_id, self.seen, self.at, seen_nonce=self.decided_on, mine=self.decided, tags=self.tags
        )


@dataclass(frozen=True, kw_only=True)
class UnscheduleDraft(DraftAction):
    """Cancel the schedule of a draft. The draft stays."""

    needs = NodePermission.PUBLISH

    def execute(self) -> None:
        """Check, then unschedule. Raises DraftGone, NodeGone."""
        self.check()
        drafts.unschedule(self.node_id, self.seen)


@dataclass(frozen=True, kw_only=True)
class DiscardDraft(DraftAction):
    """Delete a draft."""

    def execute(self) -> None:
        """Check, then delete. Raises DraftGone, NodeGone."""
        self.check()
        drafts.discard_draft(self.node_id, self.seen)
