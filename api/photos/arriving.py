"""Pictures on their way in: who may send one, under which id it becomes a photo, how it is read, and what goes wrong."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import ClassVar

from bson import ObjectId
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from pydantic import Field, ValidationInfo, field_validator

from api.http import answers, once
from api.problems import Problem
from api.rights.principals import Principal
from api.schemas.shapes import Id, Shape
from editor.forms import NodeForm
from marginalia.markup.characters import is_blank
from marginalia.mongo import jobs
from marginalia.mongo.clock import now
from nodes import access, errors, tags
from nodes.content import PHOTO
from nodes.models import Photo
from nodes.selectors import slugs, stored_photos, trash
from nodes.services.write import check_place
from nodes.types import Actor
from photos.assets.errors import BadPicture, PhotoLocked, UploadLost
from photos.assets.limits import limits
from photos.assets.writer import CHUNK
from photos.services.photos import Replacement, Upload
from photos.services.sweeping import sweep_stalled

# Beginning an upload takes two writes: of a process that died then no more is waited for.
BEGINNING = timedelta(minutes=1)
SOON, LATER = "5", "30"  # seconds


class Described(Shape):
    """What is said of a new photo with its file. More, by a change of the node that it has become."""

    # Where it stands in a request.
    source: ClassVar[str] = "query"

    gallery: Id = Field(description="The gallery that it goes into.")
    filename: str = Field(min_length=1, max_length=200, examples=["lake.jpg"])
    title: str = Field("", max_length=300, description="Without one the file's name serves.")
    slug: str = Field("", max_length=200, description="Without one it is made from the title.")
    summary: str = Field("", max_length=2_000)
    alt: str = Field("", max_length=500, description="What it shows, for those who cannot see it.")
    tags: list[str] = Field([], max_length=tags.MOST)
    publish: bool = Field(False, description="Whether it is public at once: that takes an `alt`.")

    @field_validator("title", "summary")
    @classmethod
    def _as_forms_take_it(cls, value: str, info: ValidationInfo) -> str:
        field = NodeForm.base_fields[info.field_name or ""]
        try:
            return str(field.clean(value)) if value.strip() else ""
        except ValidationError as error:
            raise ValueError(" ".join(error.messages)) from error


class Arrived(Shape):
    """A photo whose file is there. `nonce`: what If-Match takes for the next change; `node`, `file`: the addresses of both;
    `duplicates`: other photos with the very same bytes."""

    id: Id
    nonce: Id
    title: str
    node: str
    file: str
    duplicates: list[Id]


def check_may_add(principal: Principal, wanted: Described) -> None:
    """Raise PermissionDenied unless a principal may add such a photo, Problem (422) if it cannot be published as it is."""
    if not access.may_add_photos(principal) or not access.may_place(principal, ObjectId(wanted.gallery)):
        raise PermissionDenied
    if wanted.publish and not access.may_change_photos(principal):
        raise PermissionDenied
    if wanted.publish and is_blank(wanted.alt):
        raise Problem("invalid", errors=[(f"{wanted.source}.alt", "It takes an alternative text to be published.")])


def check_place_of(wanted: Described) -> None:
    """Raise Problem (422) if a photo cannot have the place that is wanted: before its bytes come."""
    with problems(wanted.source):
        check_place(ObjectId(wanted.gallery), PHOTO)
        if wanted.slug:
            slugs.check(slugs.normalized(wanted.slug), ObjectId(wanted.gallery))


def key_of(request: HttpRequest, principal: Principal) -> ObjectId | None:
    """Return the id that Idempotency-Key gives to what a request makes: the same for the same account and key.

    It names the photo, so that however often the request is sent, one comes of it; no answer is kept, nor is the body, which
    may be large, read twice. None without the header. Raises Problem (400) for one that is empty or too long.
    """
    key = once.key_of(request)
    return None if key is None else once.made_of(f"photo:{principal.pk}:{key}")


def body(request: HttpRequest) -> "Body":
    """Return the picture that a request brings. Raises Problem: 415, 400 without its length, 413."""
    if not (request.content_type or "").startswith("image/"):
        raise Problem("unsupported-media-type", "Send the picture itself, as image/….")
    found = Body(request)
    check_size(found.left)
    return found


def check_size(length: int) -> None:
    """Raise Problem (413) for a picture of more bytes than the site takes."""
    most = limits().max_bytes
    if length > most:
        raise Problem("too-large", f"A picture has at most {most} bytes.", most=most)


class Body:
    """The body of a request as it comes, never whole in memory. `left`: the bytes that are still to be read."""

    def __init__(self, request: HttpRequest) -> None:
        """Raises Problem (400) if the request does not say how long it is."""
        length = request.META.get("CONTENT_LENGTH") or ""
        if not length.isdecimal() or len(length) > 18:
            raise Problem("bad-request", "A file comes with its Content-Length.")
        self._request = request
        self.left = int(length)

    def read(self, size: int) -> bytes:
        """Return the next `size` bytes, or all that are left. Raises Problem (400) where the connection broke."""
        size = min(size, self.left)
        found = bytearray()
        while len(found) < size:
            data = self._request.read(size - len(found))
            if not data:
                raise Problem("bad-request", "The connection broke.")
            found += data
        self.left -= size
        return bytes(found)

    def __iter__(self) -> Iterator[bytes]:
        while self.left:
            yield self.read(CHUNK)


def add(principal: Principal, wanted: Described, parts: Iterable[bytes], photo_id: ObjectId | None) -> Photo:
    """Make a photo of some bytes and return it; the one that is there already under a given id.

    Raises Problem; whatever is raised, nothing is left behind.
    """
    if photo_id is None:
        return _filled(_begun(principal, wanted, None), parts, wanted.source)
    with jobs.exclusively(f"photo:{photo_id}", BEGINNING) as is_held:
        if not is_held:
            raise under_way()
        if found := stored_photos.get(photo_id):
            return found
        if trash.load(photo_id):
            raise Problem("conflict", "The photo that was made by this is in the trash.")
        coming = _begun(principal, wanted, photo_id)
    return _filled(coming, parts, wanted.source)


def under_way() -> Problem:
    """Return the problem of a second request for what the first one is still making."""
    return Problem("conflict", "This upload is under way.", headers={"Retry-After": LATER})


def _begun(principal: Principal, wanted: Described, photo_id: ObjectId | None) -> Upload:
    said = {"summary": wanted.summary, "detail.alt": wanted.alt}
    fields = {path: value for path, value in said.items() if value} | ({"published": now()} if wanted.publish else {})

    def begin() -> Upload:
        return Upload(
            Actor.of(principal), ObjectId(wanted.gallery), wanted.filename, title=wanted.title, slug=wanted.slug,
            fields=fields, tags=tuple(wanted.tags), photo_id=photo_id,
        )  # fmt: skip

    with problems(wanted.source):
        try:
            return begin()
        except errors.IdTaken:
            # By a process that died, perhaps: then the rest of it is in the way no longer.
            sweep_stalled()
            return begin()


def _filled(coming: Upload, parts: Iterable[bytes], source: str) -> Photo:
    fill(coming, parts, source)
    found = stored_photos.get(coming.id)
    if found is None:
        raise Problem("not-found", "It has been deleted since.")
    return found


def fill(coming: Upload | Replacement, parts: Iterable[bytes], source: str = "query") -> None:
    """Feed an upload with all parts and finish it. Raises Problem; whatever is raised, nothing is left behind."""
    try:
        with problems(source):
            for part in parts:
                coming.feed(part)
            coming.finish()
    finally:
        coming.abort()


def told(request: HttpRequest, photo: Photo, *, status: int) -> HttpResponse:
    """Answer with a photo that has arrived."""
    node = reverse("api:api-node", kwargs={"node_id": str(photo.pk)})
    said = {
        "id": photo.pk,
        "nonce": photo.metadata.nonce,
        "title": photo.metadata.title,
        "node": node,
        "file": reverse("api:api-photo-file", kwargs={"photo_id": str(photo.pk)}),
        "duplicates": stored_photos.same_bytes(photo.metadata.detail.sha256, photo.pk),
    }
    response = answers.told(request, said, nonce=photo.metadata.nonce, status=status)
    if status == 201:
        response["Location"] = node
    return response


@contextmanager
def problems(source: str = "query") -> Iterator[None]:
    """Raise the Problem that a refusal of the services is. `source`: where in the request the photo was described."""
    try:
        yield
    except errors.NodeError as error:
        raise _problem(error, source) from error


def _problem(error: errors.NodeError, source: str) -> Problem:
    said = str(error)
    match error:
        case BadPicture():
            return Problem("invalid", said, errors=[("body", said)])
        case errors.TooBusy():
            return Problem("unavailable", said, headers={"Retry-After": SOON})
        case errors.IdTaken():
            return under_way()
        case PhotoLocked() | UploadLost():
            return Problem("conflict", said, headers={"Retry-After": LATER})
        case errors.ChangedSince():
            return Problem("stale")
        case errors.NodeGone():
            return Problem("not-found")
        case errors.InvalidPlace():
            return Problem("invalid", errors=[(f"{source}.gallery", said)])
        case errors.InvalidSlug():
            return Problem("invalid", errors=[(f"{source}.slug", said)])
        case errors.SlugTaken():
            return Problem("conflict", said, free=error.free)
        case errors.FieldRefused():
            return Problem("invalid", errors=[(f"{source}.{error.path.rpartition('.')[2]}", said)])
    return Problem("conflict", said)
