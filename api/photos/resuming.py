"""Resumable uploads of new photos. A client sends the file in pieces, and can continue after a lost connection."""

import re
from http import HTTPStatus
from typing import Any, ClassVar

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from pydantic import Field, StrictBool, StrictInt

from api.http import responses
from api.http.idempotency import KEY_PARAMETER
from api.photos import files, incoming, staged, uploading
from api.photos.incoming import Arrived, Body, PhotoDescription
from api.photos.staged import PART_SIZE, StagedUpload
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
    "requestBody": {"content": {incoming.ANY_BYTES: {"schema": files.BINARY}}},
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


class Announced(PhotoDescription):
    """A photo to upload in pieces. `length` is the size of the photo's file in bytes."""

    source: ClassVar[str] = "body"

    length: StrictInt = Field(ge=1)
    publish: StrictBool = Field(False, description=PhotoDescription.model_fields["publish"].description)


class Expected(Shape):
    """The progress of a resumable upload. `received` is the number of bytes stored so far.

    `length` is the size of the file in bytes.
    """

    id: Id
    received: int
    length: int


@router.post(
    "/photos/uploads",
    operation_id="photos_begin_upload",
    url_name="api-photo-uploads",
    auth=ACCOUNTS,
    response={201: Expected},
    summary="Start a resumable upload",
    openapi_extra={"parameters": [KEY_PARAMETER]},
)
def begin(request: HttpRequest, announced: Announced) -> HttpResponse:
    """Start an upload. Send the pieces to the URL in the Location header. You have to finish the upload within a day.

    An account can have at most ten unfinished uploads.
    """
    principal = principals.current(request)
    incoming.check_may_add(principal, announced)
    incoming.check_size(announced.length)
    upload_id = incoming.derive_photo_id(request, principal) or new_id()
    response = responses.json_response(request, _begin(principal, announced, upload_id), status=201)
    response["Location"] = reverse("api:api-photo-upload", kwargs={"upload_id": str(upload_id)})
    return response


def _begin(principal: Principal, announced: Announced, upload_id: ObjectId) -> dict[str, Any]:
    if photo := _own_photo(principal, upload_id):
        # The request was repeated after the upload was finished. The photo's description may have been edited since
        # then, so compare only the file name.
        if photo.filename != clean_filename(announced.filename):
            raise Problem("key-reused")
        return {"id": upload_id, "received": announced.length, "length": announced.length}
    incoming.check_wanted_place(announced)
    description = announced.model_dump(exclude={"length"})
    try:
        upload = staged.begin(principal.pk, announced.length, description, upload_id)
    except staged.TooManyUploads:
        message = f"This account has {staged.MAX_UPLOADS} unfinished uploads. Finish or delete one first."
        raise Problem("conflict", message) from None
    if (upload.description, upload.length) != (description, announced.length):
        raise Problem("key-reused")
    return {"id": upload.id, "received": staged.count_received(upload), "length": upload.length}


@router.put(
    "/photos/uploads/{upload_id}",
    operation_id="photos_send_piece",
    url_name="api-photo-upload",
    auth=ACCOUNTS,
    response={201: Arrived, 308: None},
    summary="Send a piece of a resumable upload",
    openapi_extra=_PIECE,
)
def piece(request: HttpRequest, upload_id: Id) -> HttpResponse:
    """Store the next piece. The Content-Range header specifies the position of the piece in the file.

    Until the file is complete, the response is 308 and reports the progress in the `Range` header. After the last
    piece, the response is 201 and contains the photo.

    Send the pieces in order. The server stores only complete chunks of 261,120 bytes. If some bytes of a piece were not
    stored, send these bytes again at the start of the next piece. You can safely send bytes more than once.
    """
    principal = principals.current(request)
    upload_key = ObjectId(upload_id)
    upload = staged.find(principal.pk, upload_key)
    if upload is None:
        return _finished_response(request, principal, upload_key)
    announced = Announced(**upload.description, length=upload.length)
    incoming.check_may_add(principal, announced)
    received = _store_piece(request, upload, staged.count_received(upload))
    if received < upload.length:
        return _progress_response(received)
    return _finish(request, principal, upload, announced)


@router.delete(
    "/photos/uploads/{upload_id}",
    auth=ACCOUNTS,
    response={204: None},
    operation_id="photos_cancel_upload",
    summary="Cancel a resumable upload",
)
def give_up(request: HttpRequest, upload_id: Id) -> HttpResponse:
    """Delete an unfinished upload."""
    principal = principals.current(request)
    if not access.may_add_photos(principal):
        raise PermissionDenied
    upload = staged.find(principal.pk, ObjectId(upload_id))
    if upload is None:
        raise Http404
    staged.discard(upload)
    return HttpResponse(status=204)


def _store_piece(request: HttpRequest, upload: StagedUpload, received: int) -> int:
    """Store the bytes of a request that have not been stored yet. Return the number of bytes stored so far.

    Raises:
        Problem: The piece doesn't continue the upload, or the connection is lost.
    """
    start, stop = _range(request, upload, received)
    if start == stop:
        return received
    body = Body(request)
    if body.remaining != stop - start:
        raise Problem("bad-request", "Content-Length doesn't match the range.")
    while start < received and body.remaining:
        start += len(body.read(min(PART_SIZE, received - start)))
    while received < stop:
        size = min(PART_SIZE, upload.length - received)
        if stop - received < size:
            break
        staged.add_part(upload, received, body.read(size))
        received += size
    return received


def _range(request: HttpRequest, upload: StagedUpload, received: int) -> tuple[int, int]:
    """Return the start and end of a piece. They are equal if the request contains no piece.

    Raises:
        Problem: 409 if the range doesn't continue the upload.
    """
    match = _RANGE.fullmatch(request.headers.get("Content-Range", "").strip())
    if match and int(match[3]) == upload.length:
        if match[1] is None:
            return received, received
        start = int(match[1])
        stop = int(match[2]) + 1
        if start < stop <= upload.length and start <= received:
            return start, stop
    message = f"Content-Range must be bytes {received}-…/{upload.length}."
    raise Problem("conflict", message, headers=_range_header(received), received=received, length=upload.length)


def _progress_response(received: int) -> HttpResponse:
    return HttpResponse(status=HTTPStatus.PERMANENT_REDIRECT, headers=_range_header(received))


def _range_header(received: int) -> dict[str, str]:
    return {"Range": f"bytes=0-{received - 1}"} if received else {}


def _finish(request: HttpRequest, principal: Principal, upload: StagedUpload, announced: Announced) -> HttpResponse:
    """Create the photo for an upload that has been stored completely.

    The photo has the same id as the upload, so it can't be created twice.
    """
    try:
        photo = incoming.add_photo(principal, announced, staged.iter_parts(upload), upload.id)
    except LookupError:
        # Another request has finished or cancelled the upload.
        return _finished_response(request, principal, upload.id)
    except Problem as problem:
        if isinstance(problem.__cause__, BadPicture):
            # The file can never become valid, so delete the upload.
            staged.discard(upload)
        raise
    staged.discard(upload)
    return incoming.photo_response(request, photo, status=201)


def _finished_response(request: HttpRequest, principal: Principal, upload_id: ObjectId) -> HttpResponse:
    """Return the response for the photo that was created from one of the principal's uploads.

    Raises:
        Http404: There is no such photo.
    """
    photo = _own_photo(principal, upload_id)
    if photo is None:
        raise Http404
    return incoming.photo_response(request, photo, status=201)


def _own_photo(principal: Principal, upload_id: ObjectId) -> Photo | None:
    photo = stored_photos.get(upload_id)
    author = photo.metadata.author if photo else None
    return photo if author and author.id == principal.pk else None
