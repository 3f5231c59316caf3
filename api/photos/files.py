"""Endpoints that return the bytes of photos, as they appear on the site's pages, and of files."""

from bson import ObjectId
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from api.http.routing import Router
from api.problems import Problem
from api.rights import principals
from api.rights.principals import Principal
from api.schemas.shapes import Id
from marginalia.mongo.clock import now
from nodes import access
from nodes.access import NodePermission
from nodes.content import FILE, PHOTO
from nodes.errors import TooBusy
from nodes.models import File, Photo, tree
from nodes.selectors import stored_assets
from nodes.selectors.listing import is_public
from photos.assets.blobs import UNKNOWN
from photos.assets.formats import FORMATS
from photos.assets.responses import REVALIDATED
from photos.views import send_current, send_file

router = Router(tags=["Photos"])

# Values for Cache-Control. A photo's file can be replaced at any time, so caches must revalidate the file for every
# request. The ETag identifies the file's content.
CACHE_PUBLIC, CACHE_PRIVATE = REVALIDATED, "private, no-cache"
# The OpenAPI schema of a binary body.
BINARY = {"type": "string", "format": "binary"}
IMAGE_TYPES = tuple(image_format.content_type for image_format in FORMATS)
FILE_RESPONSE = {
    "description": "The bytes",
    "content": {content_type: {"schema": BINARY} for content_type in IMAGE_TYPES},
}
_RESPONSES = {
    200: FILE_RESPONSE,
    206: {**FILE_RESPONSE, "description": "The requested range"},
    304: {"description": "Not modified"},
    416: {"description": "The range is outside the file"},
}

_ANY_FILE = {"description": "The bytes", "content": {UNKNOWN: {"schema": BINARY}}}
_ANY_RESPONSES = {**_RESPONSES, 200: _ANY_FILE, 206: {**_ANY_FILE, "description": "The requested range"}}


def get_visible(principal: Principal, asset_id: ObjectId, type: str) -> tuple[Photo | File, bool]:
    """Return a photo, or a file if `type` is FILE, and whether readers can see it.

    Raises:
        Http404: The principal can't see it.
    """
    asset = stored_assets.get(asset_id)
    is_for_all = asset is not None and is_public(asset, tree.current(), now())
    if asset is None or asset.metadata.type != type:
        raise Http404
    if not (is_for_all or access.allowed(principal, asset, NodePermission.VIEW)):
        raise Http404
    return asset, is_for_all


@router.get(
    "/photos/{photo_id}/file",
    operation_id="photos_get_file",
    url_name="api-photo-file",
    summary="Read a photo's file",
    openapi_extra={"responses": _RESPONSES},
)
def file(request: HttpRequest, photo_id: Id) -> HttpResponseBase:
    """Return a photo's current file, in full or as a byte range.

    If the photo is cropped or rotated, its largest copy is returned instead.

    You can send the ETag in If-Range and If-None-Match. In the response to `/nodes/ID`, `file.copies` contains the URLs
    of smaller copies.
    """
    return _send(request, ObjectId(photo_id), PHOTO)


@router.get(
    "/files/{file_id}/file",
    operation_id="files_get_file",
    url_name="api-file-file",
    tags=["Files"],
    summary="Read the bytes of a file",
    openapi_extra={"responses": _ANY_RESPONSES},
)
def file_bytes(request: HttpRequest, file_id: Id) -> HttpResponseBase:
    """Return the current bytes of a file, in full or as a byte range. You can send the ETag in If-None-Match."""
    return _send(request, ObjectId(file_id), FILE)


def _send(request: HttpRequest, asset_id: ObjectId, type: str) -> HttpResponseBase:
    asset, is_for_all = get_visible(principals.current(request), asset_id, type)
    cache = CACHE_PUBLIC if is_for_all else CACHE_PRIVATE
    # The router has changed HEAD to GET. Restore the original method, so that the file isn't read for HEAD requests.
    request.method = request.META["REQUEST_METHOD"]
    try:
        if isinstance(asset, Photo):
            response = send_current(request, asset, cache=cache)
        else:
            response = send_file(request, asset, asset.metadata.content_id, cache=cache)
    except TooBusy as error:
        raise Problem("unavailable", str(error), headers={"Retry-After": "5"}) from error
    if not is_for_all:
        patch_vary_headers(response, ["Authorization", "Cookie"])
    return response
