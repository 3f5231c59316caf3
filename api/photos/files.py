"""The files of photos, as their present pages show them."""

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
from nodes.access import Action
from nodes.errors import TooBusy
from nodes.models import Photo, tree
from nodes.selectors import stored_photos
from nodes.selectors.listing import is_public
from photos.views import send_current

router = Router(tags=["Photos"])

# Another picture may be there at any time, so all ask again; an ETag names the bytes.
FOR_ALL, FOR_SOME = "public, no-cache", "private, no-cache"
BYTES = {"description": "The bytes", "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}}}
_ANSWERS = {
    200: BYTES,
    206: {**BYTES, "description": "The part that Range asked for"},
    304: {"description": "As If-None-Match has it"},
    416: {"description": "Nothing of that range is in the file"},
}


def visible(principal: Principal, photo_id: ObjectId) -> tuple[Photo, bool]:
    """Return a photo, and whether all readers see it. Raises Http404 if there is none that the principal may see."""
    photo = stored_photos.get(photo_id)
    for_all = photo is not None and is_public(photo, tree.current(), now())
    if photo is None or not (for_all or access.allowed(principal, photo, Action.VIEW)):
        raise Http404
    return photo, for_all


@router.get(
    "/photos/{photo_id}/file",
    url_name="api-photo-file",
    summary="Read a photo's file",
    openapi_extra={"responses": _ANSWERS},
)
def file(request: HttpRequest, photo_id: Id) -> HttpResponseBase:
    """Answer what a photo shows now, whole or the range that is asked for; of one that was cropped or turned, the largest copy.

    If-Range and If-None-Match take the ETag. `file.copies` of `/nodes/ID` has the addresses of smaller ones.
    """
    photo, for_all = visible(principals.of(request), ObjectId(photo_id))
    # The router has called HEAD a GET; nothing is read for a body that is not sent.
    request.method = request.META["REQUEST_METHOD"]
    try:
        response = send_current(request, photo, cache=FOR_ALL if for_all else FOR_SOME)
    except TooBusy as error:
        raise Problem("unavailable", str(error), headers={"Retry-After": "5"}) from error
    if not for_all:
        patch_vary_headers(response, ["Authorization", "Cookie"])
    return response
