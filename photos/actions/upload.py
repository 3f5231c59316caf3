"""Actions that upload new photos."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bson import ObjectId
from django.core.exceptions import PermissionDenied

from nodes import access
from nodes.content import PHOTO
from nodes.services.rules import check_ready
from nodes.types import Actor
from photos.services import photos
from photos.services.photos import Upload, Uploaded


@dataclass(frozen=True, kw_only=True)
class UploadPhoto:
    """The action that uploads a photo into a gallery. The photo is a draft unless `fields` publish it.

    Attributes:
        user: The user who acts.
        gallery_id: The gallery.
        filename: The name of the file.
        title: The title, or "" to use the name of the file.
        slug: The slug, or "" to make it from the title.
        fields: Further fields by path, such as "detail.alt" and "published".
        tags: The tags.
        photo_id: An id that the caller chose, and that no photo and no other upload has.
    """

    user: Any
    gallery_id: ObjectId
    filename: str
    title: str = ""
    slug: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    photo_id: ObjectId | None = None

    def check(self) -> None:
        """Check whether the user can upload this photo.

        Raises:
            PermissionDenied: The user can't upload photos into the gallery.
            FieldForbidden: The user can't set one of the fields.
            NotReady: The photo would be published without an alternative text.
        """
        if not access.may_add_photos(self.user) or not access.may_place(self.user, self.gallery_id):
            raise PermissionDenied
        access.check_fields(self.user, PHOTO, self.fields)
        check_ready(
            {
                "type": PHOTO,
                "title": photos.title_of(self.title, self.filename),
                "published": self.fields.get("published"),
                "detail": {"alt": self.fields.get("detail.alt")},
            }
        )

    def begin(self) -> Upload:
        """Check, then reserve the place of the photo. Return the upload for the bytes of the file.

        Raises:
            PermissionDenied: The user can't upload photos into the gallery.
            FieldForbidden: The user can't set one of the fields.
            NotReady: The photo would be published without an alternative text.
            InvalidPlace: The gallery can't contain the photo.
            IdTaken: The id belongs to another document.
            InvalidSlug: The slug can't be part of a URL, or is reserved.
            SlugTaken: Another photo of the gallery has the slug. Raised only for an explicit slug.
            FieldRefused: A value can't be stored.
        """
        self.check()
        return Upload(
            Actor.of(self.user),
            self.gallery_id,
            self.filename,
            title=self.title,
            slug=self.slug,
            fields=self.fields,
            tags=self.tags,
            photo_id=self.photo_id,
        )

    def finish(self, upload: Upload, fields: Mapping[str, Any], tags: tuple[str, ...] = ()) -> Uploaded:
        """Check fields that a form sent after its files, then complete `upload`.

        Raises:
            FieldForbidden: The user can't set one of the fields.
            NodeError: `Upload.finish` failed.
        """
        access.check_fields(self.user, PHOTO, fields)
        return upload.finish(fields, tags)

    def execute(self, pieces: Iterable[bytes]) -> Uploaded:
        """Check, then store the file, which consists of `pieces`. After an exception, nothing is left behind.

        The exceptions of `begin` are also raised.

        Raises:
            BadPicture: The file isn't a photo that the site accepts.
            UploadLost: The upload was swept because it had stalled, or another upload owns the lock.
            TooBusy: Other writers kept changing the photo, or other photos used the decoder for too long.
        """
        return self.begin().write(pieces)


def may_send_files(user: Any) -> bool:
    """Return whether `user` can upload or replace any photo. A proxy asks this before it accepts the file."""
    return access.may_add_photos(user) or access.may_change_photos(user)
