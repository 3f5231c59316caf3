"""Files of photos: whether this visitor may have them, and then the bytes."""

from bson import ObjectId
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from marginalia.mongo.clock import now
from nodes.access import may_see_photos
from nodes.errors import TooBusy
from nodes.models import Photo, tree
from nodes.selectors import stored_photos
from nodes.selectors.listing import is_public
from photos import addresses
from photos.addresses import FORMER, ORIGINAL
from photos.assets import contents, reader, renditions
from photos.assets.errors import BadPicture
from photos.assets.framing import WHOLE, Cut
from photos.assets.responses import FOR_EVER, FOR_NOW, NOT_KEPT, File, FileRequest, answer

# While no copy is made yet, a picture of at most so many bytes is sent itself: a page just published shows its pictures.
IN_PLACE_OF_COPIES = 2 * 2**20
SHOWN_EVERYWHERE = frozenset({"image/jpeg", "image/png", "image/gif"})


@require_safe
def file(
    request: HttpRequest, photo_id: ObjectId, content_id: ObjectId, spec: str, gallery_id: ObjectId | None = None
) -> HttpResponseBase:
    """Send a photo's file or a copy of it to those who may see the photo; to others there is none."""
    photo = stored_photos.get(photo_id, gallery_id)
    for_all = photo is not None and is_public(photo, tree.current(), now())
    # Who asks is looked at also where there is no photo: the refusal of a hidden one differs from that in no header.
    if not for_all and (not may_see_photos(request.user) or photo is None):
        raise Http404
    assert photo is not None
    shown = _shown(photo, spec)
    is_present = (photo.metadata.content_id, shown) == (content_id, spec)
    if not is_present and not (request.GET.get(FORMER) and may_see_photos(request.user)):
        # Replaced or cut since the page was made: what it shows now.
        response = HttpResponseRedirect(addresses.file_path(photo, shown))
        response["Cache-Control"] = NOT_KEPT
        return response
    try:
        stored, named, is_exact = _found(photo, content_id, spec, addresses.cut(photo) if is_present else WHOLE)
    except TooBusy:
        return HttpResponse(status=503, headers={"Retry-After": "5", "Cache-Control": NOT_KEPT})
    except (BadPicture, reader.Missing) as error:
        raise Http404 from error
    # What was replaced or cut away is for editors alone, however public the photo is.
    cache = (FOR_EVER if is_exact else FOR_NOW) if for_all and is_present else NOT_KEPT
    return send(request, stored, named, cache=cache)


def send_shown(request: HttpRequest, photo: Photo, *, cache: str) -> HttpResponseBase:
    """Answer a request with what a photo shows now: its file, or of one that was cut the largest copy of that part.

    Raises Http404 where there is no such file, TooBusy while a copy is not made yet.
    """
    try:
        stored, named, _is_exact = _found(
            photo, photo.metadata.content_id, addresses.original_name(photo), addresses.cut(photo)
        )
    except (BadPicture, reader.Missing) as error:
        raise Http404 from error
    return send(request, stored, named, cache=cache)


def _shown(photo: Photo, spec: str) -> str:
    """Return what shows the present part of a photo in the place of a copy of another part, or of the whole file."""
    if spec == ORIGINAL:
        return addresses.original_name(photo)
    present = renditions.present(spec, addresses.focal(photo), addresses.cut(photo))
    return str(present) if present else spec


def _found(photo: Photo, content_id: ObjectId, spec: str, cut: Cut) -> tuple[contents.Stored, File, bool]:
    """Return the file asked for, what to say of it, and whether it is that one, not the nearest that is there.

    Raises Http404, and what renditions.get raises.
    """
    source = contents.find(photo.pk, content_id, photo.parent_id)
    detail = photo.metadata.detail
    if source is None:
        raise Http404
    original = File(source.length, str(source.id), source.uploaded, detail.content_type, detail.filename)
    if spec == ORIGINAL:
        return source, original, True
    wanted = renditions.parse(spec, addresses.focal(photo), cut)
    if wanted is None:
        raise Http404
    try:
        made = renditions.get(source, detail.content_type, wanted)
        shown = wanted
    except TooBusy:
        nearest = renditions.nearest(source, wanted)
        is_light = source.length <= IN_PLACE_OF_COPIES and detail.content_type in SHOWN_EVERYWHERE
        if nearest is None and is_light and cut == WHOLE:
            return source, original, False
        if nearest is None:
            raise
        made, shown = nearest
    name = f"{detail.filename.rpartition('.')[0] or detail.filename}-{shown.width}.{shown.extension}"
    return made, File(made.length, str(made.id), made.uploaded, shown.content_type, name), shown == wanted


def send(request: HttpRequest, stored: contents.Stored, named: File, *, cache: str) -> HttpResponseBase:
    """Answer a request for a stored file, a few chunks in memory at a time. Raises Http404 where its chunks are missing."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    given = answer(
        FileRequest(request.method or "GET", headers), named, cache=cache, download="download" in request.GET
    )
    if given.start == given.stop:
        response: HttpResponseBase = HttpResponse(status=given.status)
        del response.headers["Content-Type"]
    else:
        try:
            parts = reader.opened(stored.bucket, stored.id, stored.chunk_size, given.start, given.stop)
        except reader.Missing as error:
            raise Http404 from error
        response = StreamingHttpResponse(parts, status=given.status)
    for name, value in given.headers.items():
        response.headers[name] = value
    return response
