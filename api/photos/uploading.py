"""Endpoints that create a photo or replace a photo's file, in a single request whose body is the file."""

from typing import Annotated

from bson import ObjectId
from django.http import HttpRequest, HttpResponse
from ninja import Query

from api.http import responses
from api.http.idempotency import KEY_PARAMETER
from api.photos import files, incoming
from api.photos.files import get_visible
from api.photos.incoming import Arrived, PhotoDescription
from api.problems import Problem
from api.rights import principals
from api.rights.principals import ACCOUNTS
from api.schemas.shapes import Id
from nodes.selectors import stored_photos
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
    principal = principals.current(request)
    incoming.check_may_add(principal, description)
    picture = incoming.picture_body(request)
    photo_id = incoming.derive_photo_id(request, principal)
    return incoming.photo_response(request, incoming.add_photo(principal, description, picture, photo_id), status=201)


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
    principal = principals.current(request)
    photo_key = ObjectId(photo_id)
    photo, _is_for_all = get_visible(principal, photo_key)
    seen = responses.if_match_nonce(request)
    action = ReplaceFile(user=principal, photo_id=photo_key, filename=filename, seen=seen)
    action.check()
    picture = incoming.picture_body(request)
    if seen != photo.metadata.nonce:
        raise Problem("stale")
    with incoming.as_problems():
        action.begin().write(picture)
    return incoming.photo_response(request, stored_photos.get(photo_key) or photo, status=200)
