"""Resumable uploads of new photos and files. A client sends the bytes in pieces, and can continue later."""

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
from api.photos.incoming import Arrived, Body, Description, FileDescription, PhotoDescription
from api.photos.staged import PART_SIZE, StagedUpload
from api.problems import Problem
from api.rights import principals
from api.rights.principals import ACCOUNTS, Principal
from api.schemas.shapes import Id, Shape
from nodes import access
from nodes.models import File, Photo
from nodes.selectors import stored_assets
from photos.assets.errors import BadFile
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
    publish: StrictBool = Field(False, description=Description.model_fields["publish"].description)


class AnnouncedFile(FileDescription):
    """A file to upload in pieces. `length` is its size in bytes."""

    source: ClassVar[str] = "body"

    length: StrictInt = Field(ge=1)
    publish: StrictBool = Field(False, description=Description.model_fields["publish"].description)


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
    return _announce(request, announced)


@router.post(
    "/files/uploads",
    operation_id="files_begin_upload",
    url_name="api-file-uploads",
    auth=ACCOUNTS,
    response={201: Expected},
    tags=["Files"],
    summary="Start a resumable upload of a file",
    openapi_extra={"parameters": [KEY_PARAMETER]},
)
def begin_file(request: HttpRequest, announced: AnnouncedFile) -> HttpResponse:
    """Start an upload. Send the pieces to the URL in the Location header, in the same way as for photos."""
    return _announce(request, announced)


def _announce(request: HttpRequest, announced: Announced | AnnouncedFile) -> HttpResponse:
    principal = principals.current(request)
    incoming.check_may_add(principal, announced)
    type = incoming.type_of(announced)
    incoming.check_size(announced.length, type)
    upload_id = incoming.derive_id(request, principal, type) or new_id()
    response = responses.json_response(request, _begin(principal, announced, upload_id), status=201)
    response["Location"] = reverse(f"api:api-{type}-upload", args=[str(upload_id)])
    return response


def _begin(principal: Principal, announced: Announced | AnnouncedFile, upload_id: ObjectId) -> dict[str, Any]:
    if photo := _own_asset(principal, upload_id, incoming.type_of(announced)):
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
    return _receive(request, ObjectId(upload_id), Announced)


@router.put(
    "/files/uploads/{upload_id}",
    operation_id="files_send_piece",
    url_name="api-file-upload",
    auth=ACCOUNTS,
    response={201: Arrived, 308: None},
    tags=["Files"],
    summary="Send a piece of a resumable upload of a file",
    openapi_extra=_PIECE,
)
def file_piece(request: HttpRequest, upload_id: Id) -> HttpResponse:
    """Store the next piece, in the same way as for photos."""
    return _receive(request, ObjectId(upload_id), AnnouncedFile)


def _receive(request: HttpRequest, upload_key: ObjectId, shape: type[Announced | AnnouncedFile]) -> HttpResponse:
    principal = principals.current(request)
    upload = _find(principal, upload_key, shape)
    if upload is None:
        return _finished_response(request, principal, upload_key, shape.action_class.upload_class.type)
    announced = shape(**upload.description, length=upload.length)
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
    return _cancel(request, ObjectId(upload_id), Announced)


@router.delete(
    "/files/uploads/{upload_id}",
    auth=ACCOUNTS,
    response={204: None},
    operation_id="files_cancel_upload",
    tags=["Files"],
    summary="Cancel a resumable upload of a file",
)
def give_up_file(request: HttpRequest, upload_id: Id) -> HttpResponse:
    """Delete an unfinished upload."""
    return _cancel(request, ObjectId(upload_id), AnnouncedFile)


def _find(principal: Principal, upload_id: ObjectId, shape: type[Announced | AnnouncedFile]) -> StagedUpload | None:
    """Return one of the principal's unfinished uploads if it was announced with this shape."""
    upload = staged.find(principal.pk, upload_id)
    return upload if upload and upload.description.keys() <= shape.model_fields.keys() else None


def _cancel(request: HttpRequest, upload_id: ObjectId, shape: type[Announced | AnnouncedFile]) -> HttpResponse:
    principal = principals.current(request)
    if not access.may_add_photos(principal):
        raise PermissionDenied
    upload = _find(principal, upload_id, shape)
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


def _finish(
    request: HttpRequest, principal: Principal, upload: StagedUpload, announced: Announced | AnnouncedFile
) -> HttpResponse:
    """Create the photo or file for an upload that has been stored completely.

    It has the same id as the upload, so it can't be created twice.
    """
    try:
        asset = incoming.add(principal, announced, staged.iter_parts(upload), upload.id)
    except LookupError:
        # Another request has finished or cancelled the upload.
        return _finished_response(request, principal, upload.id, incoming.type_of(announced))
    except Problem as problem:
        if isinstance(problem.__cause__, BadFile):
            # The file can never become valid, so delete the upload.
            staged.discard(upload)
        raise
    staged.discard(upload)
    return incoming.uploaded_response(request, asset, status=201)


def _finished_response(request: HttpRequest, principal: Principal, upload_id: ObjectId, type: str) -> HttpResponse:
    """Return the response for the photo or file that was created from one of the principal's uploads.

    Raises:
        Http404: There is no such photo or file.
    """
    asset = _own_asset(principal, upload_id, type)
    if asset is None:
        raise Http404
    return incoming.uploaded_response(request, asset, status=201)


def _own_asset(principal: Principal, upload_id: ObjectId, type: str) -> Photo | File | None:
    asset = stored_assets.get(upload_id)
    author = asset.metadata.author if asset and asset.metadata.type == type else None
    return asset if author and author.id == principal.pk else None
