"""Actions that change the fields, dates, section or slug of a node's live version."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bson import ObjectId

from marginalia.mongo.clock import now
from nodes import access
from nodes.access import NodePermission
from nodes.actions.base import NodeAction
from nodes.collections import home_of
from nodes.selectors.editable_nodes import Editable
from nodes.services import editing, rules
from nodes.services.write import base_for
from nodes.types import NO_TAGS, Act, Saved, TagChange


@dataclass(frozen=True, kw_only=True)
class SaveAction(NodeAction):
    """Base class for actions that save fields of the live version. Changes made since the version `seen` are merged.

    Attributes:
        seen: The nonce of the version that the user saw.
        form: The id of the form. If a form is saved again, its previous save is the base for merging.
        merges: Whether to merge changes that others have made. If False, such changes cause an EditConflict.
    """

    seen: ObjectId
    form: ObjectId | None = None
    merges: bool = True

    @abstractmethod
    def changes(self, editable: Editable) -> Mapping[str, Any]:
        """Return the fields to save, keyed by path."""

    def execute(self) -> Saved:
        return self.save(self.check())

    def save(self, editable: Editable, tags: TagChange = NO_TAGS, act: Act | None = None) -> Saved:
        """Save the fields that `changes` returns.

        Raises:
            EditConflict: Both sides changed the same field or paragraph.
            NodeGone: The node no longer exists.
            Published: The node was published, so the user can no longer change it.
            SlugTaken: Another node in the section has the slug.
            InvalidSlug: The slug can't be part of a URL, or is reserved.
            InvalidPlace: The section can't contain the node.
            FieldRefused: A value can't be stored.
            NotReady: The node lacks something that publishing requires.
            NewerVersion: The node was stored by a newer release.
            NotUpgraded: The node could not be upgraded to the current version of its type.
            TooBusy: Other writers kept changing the node.
        """
        return editing.save(
            self.actor,
            self.node_id,
            self.seen,
            self.changes(editable),
            tags,
            form=self.form,
            merges=self.merges,
            only_unpublished=access.bound_to_unpublished(self.user, editable.node),
            collection=home_of(editable.node.metadata.type),
            act=act,
        )


@dataclass(frozen=True, kw_only=True)
class SaveNode(SaveAction):
    """The action that saves fields and tags of a node. Changes made since the version `seen` are merged.

    Attributes:
        seen: The nonce of the version that the user saw.
        form: The id of the form. If a form is saved again, its previous save is the base for merging.
        merges: Whether to merge changes that others have made. If False, such changes cause an EditConflict.
        fields: The fields to save, keyed by path.
        tags: The tags to add and remove.
        act: The kind of change that the history shows, if it can't be derived from the fields.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    tags: TagChange = NO_TAGS
    act: Act | None = None

    needs = NodePermission.EDIT

    def check(self) -> Editable:
        paths = set(self.fields) | ({"tags"} if self.tags else set())
        describes = paths <= access.DESCRIBING_FIELDS
        editable = access.node_or_photo(self.user, self.node_id, self.needs, describes=describes)
        access.check_fields(self.user, editable.node.metadata.type, self.fields)
        present = editable.live.fields["parent_id"]
        if self.fields.get("parent_id", present) != present:
            # If another editor has moved the node since the form was opened, the form still contains the previous
            # section. Therefore, the submitted section is compared with the section in the merge base, not with the
            # stored section. If the form has already been saved, the base is the form's last save.
            base, _tags = base_for(self.node_id, self.seen, editable.live.nonce, self.form, NO_TAGS)
            access.check_may_place(self.user, self.fields["parent_id"], base["parent_id"] if base else present)
        return editable

    def changes(self, editable: Editable) -> Mapping[str, Any]:
        return self.fields

    def execute(self) -> Saved:
        """Check permissions and rules, then save the node. The exceptions are the same as for `save`."""
        return self.save(self.check(), self.tags, self.act)


@dataclass(frozen=True, kw_only=True)
class Publish(SaveAction):
    """The action that makes a node public now. A publication date in the past is kept, but a past expiry is removed.

    Attributes:
        seen: The nonce of the version that the user saw.
    """

    needs = NodePermission.PUBLISH

    def changes(self, editable: Editable) -> Mapping[str, Any]:
        return editing.publication_dates(editable.live.fields, now())


@dataclass(frozen=True, kw_only=True)
class Schedule(SaveAction):
    """The action that schedules the publication of a node.

    Attributes:
        seen: The nonce of the version that the user saw.
        at: The publication time, which must be in the future.
    """

    at: datetime

    needs = NodePermission.PUBLISH

    def check(self) -> Editable:
        editable = super().check()
        rules.check_future(self.at)
        return editable

    def changes(self, editable: Editable) -> Mapping[str, Any]:
        return {"published": self.at}


@dataclass(frozen=True, kw_only=True)
class Unpublish(SaveAction):
    """The action that hides a node from readers, or cancels its scheduled publication.

    Attributes:
        seen: The nonce of the version that the user saw.
    """

    needs = NodePermission.PUBLISH

    def changes(self, editable: Editable) -> Mapping[str, Any]:
        return {"published": None}


@dataclass(frozen=True, kw_only=True)
class Move(SaveAction):
    """The action that moves or renames a node.

    Attributes:
        seen: The nonce of the version that the user saw.
        place: The new "parent_id", the new "slug", or both.
    """

    place: Mapping[str, Any]

    needs = NodePermission.MOVE

    def check(self) -> Editable:
        editable = super().check()
        if others := self.place.keys() - rules.NOT_DRAFTED:
            # Permission to move a node doesn't include permission to change its other fields, such as its dates.
            raise access.FieldForbidden(others)
        present = editable.live.fields["parent_id"]
        access.check_may_place(self.user, self.place.get("parent_id", present), present)
        return editable

    def changes(self, editable: Editable) -> Mapping[str, Any]:
        return self.place
