"""Shared functions for uploads: check permissions, derive ids, read request bodies, and convert errors."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any, ClassVar

from bson import ObjectId
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from pydantic import Field, ValidationInfo, field_validator

from api import refusals
from api.http import idempotency, responses
from api.problems import Problem
from api.rights.principals import Principal
from api.schemas.shapes import Id, Shape
from marginalia.mongo import leases
from marginalia.mongo.clock import now
from nodes import errors, form_fields, tags
from nodes.content import PHOTO
from nodes.models import File, Photo
from nodes.selectors import stored_assets, stored_photos, trash
from photos.actions import UploadFile, UploadPhoto
from photos.assets.limits import limits
from photos.assets.writer import CHUNK
from photos.services.photos import Upload, check_destination
from photos.services.sweeping import sweep_stalled

# How long an id is locked while an upload starts, which takes two writes. If a process dies between these writes, the
# lock expires after this time.
START_LIMIT = timedelta(minutes=1)
RETRY_LATER = "30"  # seconds
# The content type of a file whose format the client doesn't declare. The format is always detected from the bytes.
ANY_BYTES = "application/octet-stream"
# The content types of forms, whose body isn't the file itself.
_FORMS = frozenset({"multipart/form-data", "application/x-www-form-urlencoded"})
# The names of the fields of descriptions, keyed by the path of the stored field.
_NAMES = {
    "parent_id": "gallery",
    "slug": "slug",
    "title": "title",
    "summary": "summary",
    "tags": "tags",
    "detail.alt": "alt",
    "published": "publish",
}


class Description(Shape):
    """The fields that the descriptions of new photos and of new files share."""

    # The part of the request that contains the description. Field paths in errors begin with this name.
    source: ClassVar[str] = "query"
    action_class: ClassVar[type[UploadPhoto]]

    filename: str = Field(min_length=1, max_length=200, examples=["lake.jpg"])
    title: str = Field("", max_length=300, description="The title. By default, the file's name.")
    slug: str = Field(
        "", max_length=200, description="The last part of the URL. By default, it's created from the title."
    )
    summary: str = Field("", max_length=2_000)
    tags: list[str] = Field([], max_length=tags.MOST)
    publish: bool = Field(False, description="Publish immediately. For photos, this requires `alt`.")

    @field_validator("title", "summary")
    @classmethod
    def _clean_as_in_forms(cls, value: str, info: ValidationInfo) -> str:
        field = form_fields.COMMON[info.field_name or ""]
        try:
            return str(field.clean(value)) if value.strip() else ""
        except ValidationError as error:
            raise ValueError(" ".join(error.messages)) from error

    @property
    def place(self) -> ObjectId | None:
        """The id of the gallery or section, or None for the library."""
        raise NotImplementedError

    def fields(self) -> dict[str, Any]:
        """Return the values to store, keyed by path."""
        return {"summary": self.summary, "published": now() if self.publish else None}


class PhotoDescription(Description):
    """The description of a new photo, sent together with the file. You can set the photo's other fields later."""

    action_class = UploadPhoto

    gallery: Id | None = Field(
        None, description="The photo's gallery. By default, the library, which readers don't see."
    )
    alt: str = Field(
        "", max_length=500, description="Alternative text: what the photo shows, for readers who can't see it."
    )

    @property
    def place(self) -> ObjectId | None:
        return ObjectId(self.gallery) if self.gallery else None

    def fields(self) -> dict[str, Any]:
        return {**super().fields(), "detail.alt": self.alt}


class FileDescription(Description):
    """The description of a new file, sent together with its bytes."""

    action_class = UploadFile

    section: Id | None = Field(
        None, description="The file's section, which determines who can see it. By default, the library."
    )

    @property
    def place(self) -> ObjectId | None:
        return ObjectId(self.section) if self.section else None


class Arrived(Shape):
    """A photo or file that has been uploaded.

    Send `nonce` in If-Match with the next change. `node` and `file` are the URLs of its description and its bytes.
    `duplicates` lists other photos with identical bytes.
    """

    id: Id
    nonce: Id
    title: str
    node: str
    file: str
    duplicates: list[Id]


def check_may_add(principal: Principal, description: Description) -> None:
    """Raise an error if a principal can't add this photo or file.

    Raises:
        PermissionDenied: The principal can't add photos.
        Problem: 422 if the description is not valid.
    """
    with as_problems(description.source):
        _action(principal, description).check()


def check_wanted_place(description: Description) -> None:
    """Check whether a photo can be stored in the requested gallery with the requested slug, before its file is read.

    Raises:
        Problem: 422 if the gallery or the slug can't be used.
    """
    with as_problems(description.source):
        check_destination(description.place, description.slug, type_of(description))


def derive_id(request: HttpRequest, principal: Principal, type: str) -> ObjectId | None:
    """Return the id of a new photo or file, derived from the Idempotency-Key and the account, or None if there is no key.

    A repeated request gets the same id, so it doesn't create a second photo. Uploads therefore don't need
    idempotency.run_once, which would have to read the whole body to compute its hash.

    Raises:
        Problem: 400 if the key is empty or too long.
    """
    key = idempotency.read_key(request)
    return None if key is None else idempotency.derive_id(f"{type}:{principal.pk}:{key}")


def upload_body(request: HttpRequest, type: str) -> "Body":
    """Return the request body, which is the bytes of a photo or file.

    Raises:
        Problem: 415 if the content type is a form, or if the bytes of a photo have neither image/… nor
            application/octet-stream, 400 if the request doesn't declare its length, 413 if the body is too large.
    """
    content_type = request.content_type or ""
    if content_type in _FORMS:
        raise Problem("unsupported-media-type", "Send the file itself as the body, not a form.")
    if type == PHOTO and content_type != ANY_BYTES and not content_type.startswith("image/"):
        message = f"Send the file itself, with the content type image/… or {ANY_BYTES}."
        raise Problem("unsupported-media-type", message)
    body = Body(request)
    check_size(body.remaining, type)
    return body


def check_size(length: int, type: str) -> None:
    """Raise a problem if the site doesn't accept photos or files of `length` bytes.

    Raises:
        Problem: 413 if the file is too large.
    """
    max_bytes = limits().max_bytes if type == PHOTO else settings.FILES_MAX_BYTES
    if length > max_bytes:
        raise Problem("too-large", f"The file is too large. The maximum size is {max_bytes} bytes.", most=max_bytes)


class Body:
    """A request body that is read in parts, so that the complete body is never in memory.

    Attributes:
        remaining: The number of bytes that have not been read yet.
    """

    def __init__(self, request: HttpRequest) -> None:
        """Initialize with a request whose body has not been read yet.

        Raises:
            Problem: 400 if the request does not declare its length.
        """
        length = request.META.get("CONTENT_LENGTH") or ""
        if not length.isdecimal() or len(length) > 18:
            raise Problem("bad-request", "Send Content-Length with the file.")
        self._request = request
        self.remaining = int(length)

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes, or all remaining bytes.

        Raises:
            Problem: 400 if the connection is lost.
        """
        size = min(size, self.remaining)
        data = bytearray()
        while len(data) < size:
            part = self._request.read(size - len(data))
            if not part:
                raise Problem("bad-request", "The connection was lost. Send the request again.")
            data += part
        self.remaining -= size
        return bytes(data)

    def __iter__(self) -> Iterator[bytes]:
        while self.remaining:
            yield self.read(CHUNK)


def add(
    principal: Principal, description: Description, parts: Iterable[bytes], photo_id: ObjectId | None
) -> Photo | File:
    """Create a photo or file from its bytes and return it. If `photo_id` already exists, return the existing one.

    If an error occurs, nothing is stored.

    Raises:
        Problem: The photo or file can't be created.
    """
    if photo_id is None:
        return _finish(_begin(principal, description, None), parts, description.source)
    with leases.exclusively(f"photo:{photo_id}", START_LIMIT) as is_locked:
        if not is_locked:
            raise under_way()
        if asset := stored_assets.get(photo_id):
            return asset
        if trash.load(photo_id):
            raise Problem(
                "conflict", "The upload from this request is in the trash. Restore it, or use another Idempotency-Key."
            )
        upload = _begin(principal, description, photo_id)
    return _finish(upload, parts, description.source)


def under_way() -> Problem:
    """Return the problem for a request that repeats an upload while the first attempt is still running."""
    return Problem("conflict", "This upload is already in progress.", headers={"Retry-After": RETRY_LATER})


def _begin(principal: Principal, description: Description, photo_id: ObjectId | None) -> Upload:
    action = _action(principal, description, photo_id)
    with as_problems(description.source):
        try:
            try:
                return action.begin()
            except errors.IdTaken:
                # The id may belong to an upload whose process died. In that case, sweep_stalled() deletes the upload.
                sweep_stalled()
                return action.begin()
        except errors.IdTaken as error:
            raise under_way() from error
        except errors.SlugTaken as error:
            raise Problem("conflict", str(error), free=error.free) from error


def type_of(description: Description) -> str:
    """Return PHOTO or FILE."""
    return description.action_class.upload_class.type


def _action(principal: Principal, description: Description, photo_id: ObjectId | None = None) -> UploadPhoto:
    return description.action_class(
        user=principal,
        gallery_id=description.place,
        filename=description.filename,
        title=description.title,
        slug=description.slug,
        fields={path: value for path, value in description.fields().items() if value},
        tags=tuple(description.tags),
        photo_id=photo_id,
    )


def _finish(upload: Upload, parts: Iterable[bytes], source: str) -> Photo | File:
    with as_problems(source):
        upload.write(parts)
    asset = stored_assets.get(upload.id)
    if asset is None:
        raise Problem("not-found", "It was deleted during the upload.")
    return asset


def uploaded_response(request: HttpRequest, asset: Photo | File, *, status: int) -> HttpResponse:
    """Return the response for a stored photo or file."""
    is_photo = isinstance(asset, Photo)
    node = reverse("api:api-node", kwargs={"node_id": str(asset.pk)})
    data = {
        "id": asset.pk,
        "nonce": asset.metadata.nonce,
        "title": asset.metadata.title,
        "node": node,
        "file": reverse(f"api:api-{asset.metadata.type}-file", args=[str(asset.pk)]),
        "duplicates": stored_photos.same_bytes(asset.metadata.detail.sha256, asset.pk) if is_photo else (),
    }
    response = responses.json_response(request, data, nonce=asset.metadata.nonce, status=status)
    if status == 201:
        response["Location"] = node
    return response


def as_problems(source: str = "query") -> AbstractContextManager[None]:
    """Convert service errors to problems. `source` is the part of the request that describes the photo."""
    return refusals.as_problems({path: f"{source}.{name}" for path, name in _NAMES.items()})
