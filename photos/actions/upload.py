"""Actions that upload new photos."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from bson import ObjectId
from django.core.exceptions import PermissionDenied

from nodes import access
from nodes.services.rules import check_ready
from nodes.types import Actor
from photos.services import photos
from photos.services.photos import FileUpload, Upload, Uploaded


@dataclass(frozen=True, kw_only=True)
class UploadPhoto:
    """The action that uploads a photo into a gallery or the library. The photo is a draft unless `fields` makes it public.

    Attributes:
        user: The user who performs the action.
        gallery_id: The gallery's id, or None for the library, which readers don't see.
        filename: The name of the file.
        title: The title, or "" to use the name of the file.
        slug: The slug, or "" to derive it from the title.
        fields: Other fields, keyed by path, such as "detail.alt" and "published".
        tags: The tags.
        photo_id: An id chosen by the caller. It must not be the id of an existing photo or another upload.
    """

    user: Any
    gallery_id: ObjectId | None
    filename: str
    title: str = ""
    slug: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    photo_id: ObjectId | None = None

    upload_class: ClassVar[type[Upload]] = Upload

    def check(self) -> None:
        """Check whether the user can upload this photo.

        Raises:
            PermissionDenied: The user can't upload photos into the gallery.
            FieldForbidden: The user can't set one of the fields.
            NotReady: The photo would be published without alternative text.
        """
        if not access.may_add_photos(self.user) or not access.may_place(self.user, self.gallery_id):
            raise PermissionDenied
        access.check_fields(self.user, self.upload_class.type, self.fields)
        check_ready(
            {
                "type": self.upload_class.type,
                "title": photos.title_of(self.title, self.filename),
                "published": self.fields.get("published"),
                "detail": {"alt": self.fields.get("detail.alt")},
            }
        )

    def begin(self) -> Upload:
        """Check permissions and rules, then reserve the slug. Return the upload, which receives the file's bytes.

        Raises:
            PermissionDenied: The user can't upload photos into the gallery.
            FieldForbidden: The user can't set one of the fields.
            NotReady: The photo would be published without alternative text.
            InvalidPlace: The gallery can't contain the photo.
            IdTaken: Another document has the id.
            InvalidSlug: The slug can't be part of a URL, or it is reserved.
            SlugTaken: Another photo in the gallery has the slug. This exception is raised only if the slug was set
                explicitly.
            FieldRefused: A value can't be stored.
        """
        self.check()
        return self.upload_class(
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
        """Check the fields that follow the files in a submitted form, then complete `upload`.

        Raises:
            FieldForbidden: The user can't set one of the fields.
            NodeError: `Upload.finish` failed.
        """
        access.check_fields(self.user, self.upload_class.type, fields)
        return upload.finish(fields, tags)

    def execute(self, pieces: Iterable[bytes]) -> Uploaded:
        """Check permissions and rules, then store the file from its `pieces`. If that fails, nothing is left behind.

        The method can also raise the exceptions of `begin`.

        Raises:
            BadPicture: The file isn't a photo that the site accepts.
            UploadLost: The sweeper deleted the upload because it had stalled, or another upload owns the lock.
            TooBusy: Other writers kept changing the photo, or other images occupied the decoder for too long.
        """
        return self.begin().write(pieces)


@dataclass(frozen=True, kw_only=True)
class UploadFile(UploadPhoto):
    """The action that uploads a file into a section, or into the library. `gallery_id` is the section's id."""

    upload_class = FileUpload


def may_send_files(user: Any) -> bool:
    """Return whether `user` has permission to upload or replace at least some photos.

    If a proxy is configured to do so, it checks this permission before it accepts a file.
    """
    return access.may_add_photos(user) or access.may_change_photos(user)
