"""Endpoints that create a photo or file, or replace its bytes, in a single request whose body is the bytes."""

from typing import Annotated

from bson import ObjectId
from django.http import HttpRequest, HttpResponse
from ninja import Query

from api.http import responses
from api.http.idempotency import KEY_PARAMETER
from api.photos import files, incoming
from api.photos.files import get_visible
from api.photos.incoming import Arrived, Description, FileDescription, PhotoDescription
from api.rights import principals
from api.rights.principals import ACCOUNTS
from api.schemas.shapes import Id
from nodes.content import FILE, PHOTO
from nodes.selectors import stored_assets
from photos.actions import ReplaceFile

router = files.router

# Client generators understand application/octet-stream, but most don't understand wildcards such as image/*.
FILE_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            content_type: {"schema": files.BINARY} for content_type in (*files.IMAGE_TYPES, incoming.ANY_BYTES)
        },
    }
}
ANY_BODY = {"requestBody": {"required": True, "content": {incoming.ANY_BYTES: {"schema": files.BINARY}}}}


@router.post(
    "/photos",
    operation_id="photos_upload",
    url_name="api-photos",
    auth=ACCOUNTS,
    response={201: Arrived},
    summary="Upload a photo",
    openapi_extra={"parameters": [KEY_PARAMETER], **FILE_BODY},
)
def upload(request: HttpRequest, description: Query[PhotoDescription]) -> HttpResponse:
    """Create a photo from the file in the body. If you send an Idempotency-Key, you can safely repeat the request."""
    return _upload(request, description)


@router.post(
    "/files",
    operation_id="files_upload",
    url_name="api-files",
    auth=ACCOUNTS,
    response={201: Arrived},
    tags=["Files"],
    summary="Upload a file",
    openapi_extra={"parameters": [KEY_PARAMETER], **ANY_BODY},
)
def upload_file(request: HttpRequest, description: Query[FileDescription]) -> HttpResponse:
    """Create a file of any type from the body. If you send an Idempotency-Key, you can safely repeat the request."""
    return _upload(request, description)


def _upload(request: HttpRequest, description: Description) -> HttpResponse:
    principal = principals.current(request)
    incoming.check_may_add(principal, description)
    type = incoming.type_of(description)
    body = incoming.upload_body(request, type)
    asset = incoming.add(principal, description, body, incoming.derive_id(request, principal, type))
    return incoming.uploaded_response(request, asset, status=201)


@router.put(
    "/photos/{photo_id}/content",
    operation_id="photos_replace_file",
    url_name="api-photo-content",
    auth=ACCOUNTS,
    response=Arrived,
    summary="Replace a photo's file",
    openapi_extra={"parameters": [responses.IF_MATCH], **FILE_BODY},
)
def replace(
    request: HttpRequest,
    photo_id: Id,
    filename: Annotated[str, Query(min_length=1, max_length=200, examples=["lake.jpg"])],
) -> HttpResponse:
    """Replace a photo's file with the file in the body, provided that If-Match contains the photo's current version.

    The photo keeps its URL, title, description, tags and comments. You can restore the previous file for some time.
    """
    return _replace(request, ObjectId(photo_id), filename, PHOTO)


@router.put(
    "/files/{file_id}/content",
    operation_id="files_replace_file",
    url_name="api-file-content",
    auth=ACCOUNTS,
    response=Arrived,
    tags=["Files"],
    summary="Replace the bytes of a file",
    openapi_extra={"parameters": [responses.IF_MATCH], **ANY_BODY},
)
def replace_file(
    request: HttpRequest,
    file_id: Id,
    filename: Annotated[str, Query(min_length=1, max_length=200, examples=["programme.pdf"])],
) -> HttpResponse:
    """Replace the bytes of a file with the body, provided that If-Match contains the file's current version.

    The file keeps its URL, title and tags. You can restore the previous bytes for some time.
    """
    return _replace(request, ObjectId(file_id), filename, FILE)


def _replace(request: HttpRequest, asset_id: ObjectId, filename: str, type: str) -> HttpResponse:
    principal = principals.current(request)
    asset, _is_for_all = get_visible(principal, asset_id, type)
    seen = responses.if_match_nonce(request)
    action = ReplaceFile(user=principal, photo_id=asset_id, filename=filename, seen=seen)
    action.check()
    body = incoming.upload_body(request, type)
    with incoming.as_problems():
        action.begin().write(body)
    return incoming.uploaded_response(request, stored_assets.get(asset_id) or asset, status=200)
