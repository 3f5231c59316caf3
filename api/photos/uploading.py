"""New photos, and other pictures for those that are there, each by one request whose body is the picture."""

from typing import Annotated

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from ninja import Query

from api.http import answers
from api.http.once import KEY
from api.photos import arriving, files
from api.photos.arriving import Arrived, Described
from api.photos.files import visible
from api.problems import Problem
from api.rights import principals
from api.rights.principals import ACCOUNTS
from api.schemas.shapes import Id
from nodes import access
from nodes.access import Action
from nodes.selectors import stored_photos
from nodes.types import Actor
from photos.services.photos import Replacement

router = files.router

PICTURE = {
    "requestBody": {
        "required": True,
        "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post(
    "/photos",
    url_name="api-photos",
    auth=ACCOUNTS,
    response={201: Arrived},
    summary="Upload a photo",
    openapi_extra={"parameters": [KEY], **PICTURE},
)
def upload(request: HttpRequest, wanted: Query[Described]) -> HttpResponse:
    """Make a photo of the picture that is the body. With an Idempotency-Key one photo comes of it, however often it is sent."""
    principal = principals.of(request)
    arriving.check_may_add(principal, wanted)
    picture = arriving.body(request)
    photo_id = arriving.key_of(request, principal)
    return arriving.told(request, arriving.add(principal, wanted, picture, photo_id), status=201)


@router.put(
    "/photos/{photo_id}/content",
    url_name="api-photo-content",
    auth=ACCOUNTS,
    response=Arrived,
    summary="Replace a photo's picture",
    openapi_extra={"parameters": [answers.IF_MATCH], **PICTURE},
)
def replace(
    request: HttpRequest,
    photo_id: Id,
    filename: Annotated[str, Query(min_length=1, max_length=200, examples=["lake.jpg"])],
) -> HttpResponse:
    """Show the picture that is the body in the place of a photo's present one, if that is still the version of If-Match.

    The photo keeps its address, words, tags and comments. The former picture can be gone back to for a while.
    """
    principal = principals.of(request)
    key = ObjectId(photo_id)
    photo, _for_all = visible(principal, key)
    if not access.allowed(principal, photo, Action.EDIT):
        raise PermissionDenied
    seen = answers.expected(request)
    picture = arriving.body(request)
    if seen != photo.metadata.nonce:
        raise Problem("stale")
    with arriving.problems():
        coming = Replacement(Actor.of(principal), key, filename, seen_nonce=seen)
    arriving.fill(coming, picture)
    return arriving.told(request, stored_photos.get(key) or photo, status=200)
