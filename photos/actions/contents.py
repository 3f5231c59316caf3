"""Changing the file that a photo shows."""

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
    """Replace the file of a photo, or only of its version `seen`. The photo keeps its URL, texts, tags and comments."""

    user: Any
    photo_id: ObjectId
    filename: str
    seen: ObjectId | None = None

    def check(self) -> None:
        """Raise PermissionDenied. The permission is the same for all photos, so none is read."""
        if not access.may_change_photos(self.user):
            raise PermissionDenied

    def begin(self) -> Replacement:
        """Check, then lock the photo; return the upload for its bytes. Raises PermissionDenied, NodeGone, PhotoLocked."""
        self.check()
        return Replacement(Actor.of(self.user), self.photo_id, self.filename, seen_nonce=self.seen)


@dataclass(frozen=True, kw_only=True)
class RestoreContent(NodeAction):
    """Show a former content of a photo again."""

    content_id: ObjectId

    needs = NodePermission.EDIT

    def check(self) -> Editable:
        return access.photo(self.user, self.node_id, self.needs)

    def execute(self) -> Saved:
        """Check, then restore. Raises NodeGone (for the photo or the content), PhotoLocked, TooBusy."""
        self.check()
        return photos.restore_content(self.actor, self.node_id, self.content_id)
