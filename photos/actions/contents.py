"""Actions that change the file of a photo."""

from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from django.core.exceptions import PermissionDenied

from nodes import access
from nodes.access import NodePermission
from nodes.actions.base import NodeAction
from nodes.selectors.editable_nodes import Editable
from nodes.types import Actor, Saved
from photos.services import photos
from photos.services.photos import Replacement


@dataclass(frozen=True, kw_only=True)
class ReplaceFile:
    """The action that replaces the file of a photo. The photo keeps its URL, texts, tags and comments.

    Attributes:
        user: The user who acts.
        photo_id: The photo.
        filename: The name of the new file.
        seen: The nonce of the only version to replace. None replaces any version.
    """

    user: Any
    photo_id: ObjectId
    filename: str
    seen: ObjectId | None = None

    def check(self) -> None:
        """Raise PermissionDenied if the user can't change photos. The permission is the same for all photos."""
        if not access.may_change_photos(self.user):
            raise PermissionDenied

    def begin(self) -> Replacement:
        """Check, then lock the photo. Return the upload for the bytes of the file.

        Raises:
            PermissionDenied: The user can't change photos.
            NodeGone: The node no longer exists.
            PhotoLocked: Another upload to the photo is under way.
        """
        self.check()
        return Replacement(Actor.of(self.user), self.photo_id, self.filename, seen_nonce=self.seen)


@dataclass(frozen=True, kw_only=True)
class RestoreContent(NodeAction):
    """The action that shows a former content of a photo again."""

    content_id: ObjectId

    needs = NodePermission.EDIT

    def check(self) -> Editable:
        return access.photo(self.user, self.node_id, self.needs)

    def execute(self) -> Saved:
        """Check, then restore the content.

        Raises:
            NodeGone: The photo or the content no longer exists.
            PhotoLocked: Another upload to the photo is under way.
            TooBusy: Other writers kept changing the photo.
        """
        self.check()
        return photos.restore_content(self.actor, self.node_id, self.content_id)
