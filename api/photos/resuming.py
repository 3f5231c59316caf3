"""New photos in pieces: a connection may break at any time, and the upload goes on where it broke off."""

import re
from http import HTTPStatus
from typing import Any, ClassVar

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from pydantic import Field, StrictBool, StrictInt

from api.http import answers
from api.http.once import KEY
from api.photos import arriving, staged, uploading
from api.photos.arriving import Arrived, Body, Described
from api.photos.staged import PART, Staged
from api.problems import Problem
from api.rights import principals
from api.rights.principals import ACCOUNTS, Principal
from api.schemas.shapes import Id, Shape
from nodes import access
from nodes.models import Photo
from nodes.selectors import stored_photos
from photos.assets.errors import BadPicture
from photos.assets.writer import new_id
from photos.services.photos import clean_filename

router = uploading.router

_RANGE = re.compile(r"bytes (?:([0-9]{1,18})-([0-9]{1,18})|\*)/([0-9]{1,18})")
_PIECE = {
    "requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
    "parameters": [
        {
            "in": "header",
            "name": "Content-Range",
            "required": True,
            "description": "`bytes FIRST-LAST/LENGTH`, or `bytes */LENGTH` with no body.",
            "schema": {"type": "string", "pattern": f"^{_RANGE.pattern}$"},
        }
    ],
}


class Announced(Described):
    """A photo that will come in pieces. `length`: of its file, in bytes."""

    source: ClassVar[str] = "body"

    length: StrictInt = Field(ge=1)
    publish: StrictBool = Field(False, description=Described.model_fields["publish"].description)


class Expected(Shape):
    """An upload that was begun: how many bytes of it are here, and how many it has."""

    id: Id
    received: int
    length: int


@router.post(
    "/photos/uploads",
    url_name="api-photo-uploads",
    auth=ACCOUNTS,
    response={201: Expected},
    summary="Begin an upload in pieces",
    openapi_extra={"parameters": [KEY]},
)
def begin(request: HttpRequest, announced: Announced) -> HttpResponse:
    """Say what will come, and learn where to send it (Location), for which a day is time.

    An account has ten uploads at most that are not finished.
    """
    principal = principals.of(request)
    arriving.check_may_add(principal, announced)
    arriving.check_size(announced.length)
    key = arriving.key_of(request, principal) or new_id()
    response = answers.told(request, _begun(principal, announced, key), status=201)
    response["Location"] = reverse("api:api-photo-upload", kwargs={"upload_id": str(key)})
    return response


def _begun(principal: Principal, announced: Announced, upload_id: ObjectId) -> dict[str, Any]:
    if photo := _made(principal, upload_id):
        # A request that is sent again, after all that it began: its words may have been changed since.
        if photo.filename != clean_filename(announced.filename):
            raise Problem("key-reused")
        return {"id": upload_id, "received": announced.length, "length": announced.length}
    arriving.check_place_of(announced)
    said = announced.model_dump(exclude={"length"})
    try:
        upload = staged.begin(principal.pk, announced.length, said, upload_id)
    except staged.TooMany:
        told = f"{staged.MOST} uploads of this account are not finished: finish one, or delete it."
        raise Problem("conflict", told) from None
    if (upload.said, upload.length) != (said, announced.length):
        raise Problem("key-reused")
    return {"id": upload.id, "received": staged.received(upload), "length": upload.length}


@router.put(
    "/photos/uploads/{upload_id}",
    url_name="api-photo-upload",
    auth=ACCOUNTS,
    response={201: Arrived, 308: None},
    summary="Send a piece of an upload",
    openapi_extra=_PIECE,
)
def piece(request: HttpRequest, upload_id: Id) -> HttpResponse:
    """Take the next piece, named by Content-Range. 308 says by `Range` how far it is, 201 that it has become a photo.

    Pieces come in order. What was not kept of one, as it ended within a part of 261,120 bytes, comes again with the next;
    what comes again does no harm.
    """
    principal = principals.of(request)
    key = ObjectId(upload_id)
    upload = staged.find(principal.pk, key)
    if upload is None:
        return _arrived_before(request, principal, key)
    wanted = Announced(**upload.said, length=upload.length)
    arriving.check_may_add(principal, wanted)
    received = _taken(request, upload, staged.received(upload))
    if received < upload.length:
        return _so_far(received)
    return _finished(request, principal, upload, wanted)


@router.delete(
    "/photos/uploads/{upload_id}", auth=ACCOUNTS, response={204: None}, summary="Give up an upload in pieces"
)
def give_up(request: HttpRequest, upload_id: Id) -> HttpResponse:
    """Remove what has come of an upload."""
    principal = principals.of(request)
    if not access.may_add_photos(principal):
        raise PermissionDenied
    upload = staged.find(principal.pk, ObjectId(upload_id))
    if upload is None:
        raise Http404
    staged.discard(upload)
    return HttpResponse(status=204)


def _taken(request: HttpRequest, upload: Staged, received: int) -> int:
    """Store what a request brings beyond what is here, and return how many bytes are here then. Raises Problem."""
    start, stop = _range(request, upload, received)
    if start == stop:
        return received
    body = Body(request)
    if body.left != stop - start:
        raise Problem("bad-request", "Content-Length is not that of the range.")
    while start < received and body.left:
        start += len(body.read(min(PART, received - start)))
    while received < stop:
        size = min(PART, upload.length - received)
        if stop - received < size:
            break
        staged.add(upload, received, body.read(size))
        received += size
    return received


def _range(request: HttpRequest, upload: Staged, received: int) -> tuple[int, int]:
    """Return the first byte of a piece, and that after its last; twice the same where none is sent. Raises Problem (409)."""
    found = _RANGE.fullmatch(request.headers.get("Content-Range", "").strip())
    if found and int(found[3]) == upload.length:
        if found[1] is None:
            return received, received
        start = int(found[1])
        stop = int(found[2]) + 1
        if start < stop <= upload.length and start <= received:
            return start, stop
    told = f"Content-Range: bytes {received}-…/{upload.length} is expected."
    raise Problem("conflict", told, headers=_told(received), received=received, length=upload.length)


def _so_far(received: int) -> HttpResponse:
    return HttpResponse(status=HTTPStatus.PERMANENT_REDIRECT, headers=_told(received))


def _told(received: int) -> dict[str, str]:
    return {"Range": f"bytes=0-{received - 1}"} if received else {}


def _finished(request: HttpRequest, principal: Principal, upload: Staged, wanted: Announced) -> HttpResponse:
    """Make the photo of an upload whose bytes are all here; its id is that of the upload, so that it is made once."""
    try:
        photo = arriving.add(principal, wanted, staged.parts(upload), upload.id)
    except LookupError:
        # It was finished, or given up, by another request.
        return _arrived_before(request, principal, upload.id)
    except Problem as problem:
        if isinstance(problem.__cause__, BadPicture):
            # It will be none, however often it is asked for.
            staged.discard(upload)
        raise
    staged.discard(upload)
    return arriving.told(request, photo, status=201)


def _arrived_before(request: HttpRequest, principal: Principal, upload_id: ObjectId) -> HttpResponse:
    """Answer with the photo that an upload of a principal has become. Raises Http404 if there is none."""
    photo = _made(principal, upload_id)
    if photo is None:
        raise Http404
    return arriving.told(request, photo, status=201)


def _made(principal: Principal, upload_id: ObjectId) -> Photo | None:
    photo = stored_photos.get(upload_id)
    author = photo.metadata.author if photo else None
    return photo if author and author.id == principal.pk else None
