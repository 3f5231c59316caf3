"""The actions that add and remove tags of a node, and that describe and rename a tag.

The tags of a node have no nonce, so tag changes never conflict with other edits.
"""

from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext as _

from nodes import access
from nodes.access import NodePermission
from nodes.actions.base import NodeAction
from nodes.collections import home_of
from nodes.errors import FieldRefused, TagExists
from nodes.models import stored_site
from nodes.selectors import stored_tags
from nodes.selectors.editable_nodes import Editable
from nodes.services import editing
from nodes.services import tags as tag_services
from nodes.tags import LONGEST_DESCRIPTION
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


@dataclass(frozen=True, kw_only=True)
class ChangeTag:
    """The action that describes a tag, and renames it on all pages.

    Attributes:
        user: The user who performs the action.
        name: The tag.
        new_name: The new name, or `name`.
        description: The description.
        seen: The nonce of the stored tag that the user saw, or None if nothing was stored.
        merges: Whether to merge the two tags if `new_name` is already a tag.
    """

    user: Any
    name: str
    new_name: str
    description: str
    seen: ObjectId | None
    merges: bool = False

    def check(self) -> str:
        """Check permissions and rules. Return the new name, with the capitals of an existing tag.

        Raises:
            PermissionDenied: The user can't manage tags.
            FieldRefused: The new name or the description can't be stored.
            TagBusy: One of the tags is being renamed.
            TagExists: The user has to confirm that the tags are merged.
        """
        if not access.may_manage_tags(self.user):
            raise PermissionDenied
        if len(self.description) > LONGEST_DESCRIPTION:
            raise FieldRefused(
                "description",
                _("This description is too long. Use at most %(most)d characters.") % {"most": LONGEST_DESCRIPTION},
            )
        if self.new_name == self.name:
            return self.name
        tag_services.check_new_name(self.name, self.new_name)
        existing = stored_tags.existing_spelling(self.new_name, stored_site.current().version)
        if existing in ("", self.name):
            # A tag that isn't used on any page keeps its description.
            if not stored_tags.get(self.new_name).description:
                return self.new_name
            existing = self.new_name
        if not self.merges:
            raise TagExists(existing, stored_tags.count(existing))
        return existing

    def execute(self) -> bool:
        """Check permissions and rules, then change the tag. Return whether the change is complete.

        Raises:
            TagChanged: Someone else has changed the tag.
        """
        new_name = self.check()
        nonce = self.seen
        if self.description != stored_tags.get(self.name).description:
            nonce = tag_services.describe(self.name, self.description, self.seen)
        return new_name == self.name or tag_services.rename(self.name, new_name, nonce)
