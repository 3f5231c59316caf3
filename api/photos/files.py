"""Endpoints that return photo files as they appear on the site's pages."""

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
from nodes.errors import TooBusy
from nodes.models import Photo, tree
from nodes.selectors import stored_photos
from nodes.selectors.listing import is_public
from photos.assets.formats import FORMATS
from photos.views import send_current

router = Router(tags=["Photos"])

# Values for Cache-Control. A photo's file can be replaced at any time, so caches must revalidate the file for every
# request. The ETag identifies the file's content.
CACHE_PUBLIC, CACHE_PRIVATE = "public, no-cache", "private, no-cache"
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


def get_visible(principal: Principal, photo_id: ObjectId) -> tuple[Photo, bool]:
    """Return a photo, and whether readers can see it.

    Raises:
        Http404: The principal can't see the photo.
    """
    photo = stored_photos.get(photo_id)
    is_for_all = photo is not None and is_public(photo, tree.current(), now())
    if photo is None or not (is_for_all or access.allowed(principal, photo, NodePermission.VIEW)):
        raise Http404
    return photo, is_for_all


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
    photo, is_for_all = get_visible(principals.current(request), ObjectId(photo_id))
    # The router has changed HEAD to GET. Restore the original method, so that the file isn't read for HEAD requests.
    request.method = request.META["REQUEST_METHOD"]
    try:
        response = send_current(request, photo, cache=CACHE_PUBLIC if is_for_all else CACHE_PRIVATE)
    except TooBusy as error:
        raise Problem("unavailable", str(error), headers={"Retry-After": "5"}) from error
    if not is_for_all:
        patch_vary_headers(response, ["Authorization", "Cookie"])
    return response
