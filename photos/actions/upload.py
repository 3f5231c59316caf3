"""Uploading new photos."""

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
    """Upload a photo into a gallery. It is a draft unless `fields` (by path: "detail.alt", "published"…) publish it.

    Without a title, the file's name is used. Without a slug, one is made from the title. `photo_id` is an id that the caller
    has chosen, which no photo and no other upload has.
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
        """Raise PermissionDenied, FieldForbidden, or NotReady for a photo that would be published without alternative text."""
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
        """Check, then reserve the photo's place; return the upload for its bytes.

        Raises what `check` raises, InvalidPlace, IdTaken, InvalidSlug, SlugTaken (only for an explicit slug), FieldRefused.
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

        Raises FieldForbidden, and what Upload.finish raises.
        """
        access.check_fields(self.user, PHOTO, fields)
        return upload.finish(fields, tags)

    def execute(self, pieces: Iterable[bytes]) -> Uploaded:
        """Check, then store the file in `pieces`. After any exception, nothing is left behind.

        Raises what `begin` raises, BadPicture, UploadLost, TooBusy.
        """
        return self.begin().write(pieces)


def may_send_files(user: Any) -> bool:
    """Return whether the user can upload or replace any photo. A proxy asks this before it accepts the file."""
    return access.may_add_photos(user) or access.may_change_photos(user)
