"""Actions that change the bytes of a photo or file."""

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
    """The action that replaces the bytes of a photo or file. It keeps its URL, text, tags and comments.

    Attributes:
        user: The user who performs the action.
        photo_id: The id of the photo or file.
        filename: The name of the new file.
        seen: The nonce of the version that can be replaced. If it is None, any version can be replaced.
    """

    user: Any
    photo_id: ObjectId
    filename: str
    seen: ObjectId | None = None

    def check(self) -> None:
        """Raise PermissionDenied if the user can't change photos. The permission isn't specific to one photo."""
        if not access.may_change_photos(self.user):
            raise PermissionDenied

    def begin(self) -> Replacement:
        """Check permissions, then lock the photo. Return the upload, which receives the file's bytes.

        Raises:
            PermissionDenied: The user can't change photos.
            NodeGone: The photo no longer exists.
            ChangedSince: The photo has changed since the user saw it.
            PhotoLocked: Another upload to the photo is in progress.
        """
        self.check()
        return Replacement(Actor.of(self.user), self.photo_id, self.filename, seen_nonce=self.seen)


@dataclass(frozen=True, kw_only=True)
class RestoreContent(NodeAction):
    """The action that restores earlier bytes of a photo or file, unless it has changed since `seen`."""

    content_id: ObjectId
    seen: ObjectId | None = None

    needs = NodePermission.EDIT

    def check(self) -> Editable:
        return access.asset(self.user, self.node_id, self.needs)

    def execute(self) -> Saved:
        """Check permissions, then restore the file.

        Raises:
            NodeGone: The photo or the file no longer exists.
            ChangedSince: The photo has changed since the user saw it.
            PhotoLocked: Another upload to the photo is in progress.
            TooBusy: Other writers kept changing the photo.
        """
        self.check()
        return photos.restore_content(self.actor, self.node_id, self.content_id, seen_nonce=self.seen)
