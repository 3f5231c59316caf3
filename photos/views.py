"""The views that send photos and files to users with permission to see them."""

from bson import ObjectId
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from marginalia.mongo.clock import now
from nodes.access import may_see_photos
from nodes.errors import TooBusy
from nodes.models import File, Photo, tree
from nodes.selectors import stored_assets, stored_photos
from nodes.selectors.listing import is_public
from photos import addresses
from photos.addresses import FORMER, ORIGINAL
from photos.assets import contents, reader, renditions
from photos.assets.blobs import SHOWN_TYPES, TEXT, UNKNOWN
from photos.assets.errors import BadPicture
from photos.assets.framing import WHOLE, Cut
from photos.assets.renditions import Spec
from photos.assets.responses import FOR_EVER, FOR_NOW, NO_STORE, REVALIDATED, FileRequest, plan_response
from photos.assets.responses import File as FileResponse

# Until a copy has been made, the photo's file is sent instead if it has at most this many bytes. Photos are therefore
# visible as soon as a page is published.
MAX_INSTEAD_OF_COPY = 2 * 2**20
SUPPORTED_EVERYWHERE = frozenset({"image/jpeg", "image/png", "image/gif"})


@require_safe
def file(
    request: HttpRequest, photo_id: ObjectId, content_id: ObjectId, spec: str, gallery_id: ObjectId | None = None
) -> HttpResponseBase:
    """Send a photo's file, or a copy, to users who can see the photo. Return a 404 response to other users."""
    photo = stored_photos.get(photo_id, gallery_id)
    public = photo is not None and is_public(photo, tree.current(), now())
    # `request.user` is read even if there is no photo, so that the response headers are the same for hidden and missing
    # photos.
    if not public and (not may_see_photos(request.user) or photo is None):
        raise Http404
    assert photo is not None
    current_spec = _current_spec(photo, spec)
    is_current = (photo.metadata.content_id, current_spec) == (content_id, spec)
    if not is_current and not (request.GET.get(FORMER) and may_see_photos(request.user)):
        # The photo has been replaced or cropped since the page was rendered.
        response = HttpResponseRedirect(addresses.file_path(photo, current_spec))
        response["Cache-Control"] = NO_STORE
        return response
    try:
        stored, served, is_exact = _find_file(photo, content_id, spec, addresses.cut(photo) if is_current else WHOLE)
    except TooBusy:
        return HttpResponse(status=503, headers={"Retry-After": "5", "Cache-Control": NO_STORE})
    except (BadPicture, reader.MissingChunk) as error:
        raise Http404 from error
    # Even if the photo is public, only editors can download replaced files and the parts that were cropped away.
    cache = (FOR_EVER if is_exact else FOR_NOW) if public and is_current else NO_STORE
    return send(request, stored, served, cache=cache)


def send_current(request: HttpRequest, photo: Photo, *, cache: str) -> HttpResponseBase:
    """Send a photo's current file or, if the photo is cropped, the largest copy of the visible part.

    Raises:
        Http404: There is no such file.
        TooBusy: The copy hasn't been made yet.
    """
    try:
        stored, served, _is_exact = _find_file(
            photo, photo.metadata.content_id, addresses.original_name(photo), addresses.cut(photo)
        )
    except (BadPicture, reader.MissingChunk) as error:
        raise Http404 from error
    return send(request, stored, served, cache=cache)


@require_safe
def download(request: HttpRequest, file_id: ObjectId, filename: str) -> HttpResponseBase:
    """Send a file to users who can see it. Return a 404 response to other users.

    `filename` is only the name that readers see in the URL. The URL still works after the file has been replaced.
    """
    file = stored_assets.get_file(file_id)
    public = file is not None and is_public(file, tree.current(), now())
    # As in the view above, `request.user` is always read.
    if not public and (not may_see_photos(request.user) or file is None):
        raise Http404
    assert file is not None
    content_id = file.metadata.content_id
    if (former := request.GET.get(FORMER, "")) and ObjectId.is_valid(former) and may_see_photos(request.user):
        content_id = ObjectId(former)
    is_current = content_id == file.metadata.content_id
    return send_file(request, file, content_id, cache=REVALIDATED if public and is_current else NO_STORE)


def send_file(request: HttpRequest, file: File, content_id: ObjectId, *, cache: str) -> HttpResponseBase:
    """Send the bytes of a file. Types that could contain scripts are always downloaded.

    Raises:
        Http404: There are no such bytes.
    """
    stored = contents.find(file.pk, content_id, file.parent_id)
    if stored is None:
        raise Http404
    detail = file.metadata.detail
    # Only the type of the current bytes is known.
    content_type = detail.content_type if content_id == file.metadata.content_id else UNKNOWN
    header = f"{content_type}; charset=utf-8" if content_type == TEXT else content_type
    served = FileResponse(stored.length, str(stored.id), stored.uploaded, header, detail.filename)
    return send(request, stored, served, cache=cache, download=content_type not in SHOWN_TYPES)


def _current_spec(photo: Photo, spec: str) -> str:
    """Return the spec that replaces `spec`, if `spec` is for the uncropped file or for an outdated part of the photo.

    Otherwise, return `spec`.
    """
    if spec == ORIGINAL:
        return addresses.original_name(photo)
    current = renditions.current_spec(spec, addresses.focal(photo), addresses.cut(photo))
    return str(current) if current else spec


def _find_file(
    photo: Photo, content_id: ObjectId, spec: str, cut: Cut
) -> tuple[contents.StoredFile, FileResponse, bool]:
    """Return the stored file, its description, and whether it is the requested file (True) or the nearest copy.

    This function can raise Http404 and the exceptions of renditions.get_or_make.
    """
    source = contents.find(photo.pk, content_id, photo.parent_id)
    detail = photo.metadata.detail
    if source is None:
        raise Http404
    original = FileResponse(source.length, str(source.id), source.uploaded, detail.content_type, detail.filename)
    if spec == ORIGINAL:
        return source, original, True
    requested = renditions.parse(spec, addresses.focal(photo), cut)
    if requested is None:
        raise Http404
    try:
        copy = renditions.get_or_make(source, detail.content_type, requested)
        copy_spec = requested
    except TooBusy:
        nearest = renditions.find_nearest(source, requested)
        is_small = source.length <= MAX_INSTEAD_OF_COPY
        if nearest is None and is_small and cut == WHOLE and _can_show(detail.content_type, requested):
            return source, original, False
        if nearest is None:
            raise
        copy, copy_spec = nearest
    name = f"{detail.filename.rpartition('.')[0] or detail.filename}-{copy_spec.width}.{copy_spec.extension}"
    served = FileResponse(copy.length, str(copy.id), copy.uploaded, copy_spec.content_type, name)
    return copy, served, copy_spec == requested


def _can_show(content_type: str, requested: Spec) -> bool:
    """Return whether a client that asks for the copy `requested` can also show images of `content_type`."""
    extensions = (requested.extension, *renditions.ALSO_SUPPORTED[requested.extension])
    formats = {renditions.FORMATS[extension][1] for extension in extensions}
    return content_type in SUPPORTED_EVERYWHERE | formats


def send(
    request: HttpRequest, stored: contents.StoredFile, served: FileResponse, *, cache: str, download: bool = False
) -> HttpResponseBase:
    """Return a response that streams a stored file, with only a few chunks in memory. `served` describes the file.

    The browser downloads the file if `download` is true or the request has the parameter `download`.

    Raises:
        Http404: Chunks are missing.
    """
    headers = {name.lower(): value for name, value in request.headers.items()}
    plan = plan_response(
        FileRequest(request.method or "GET", headers),
        served,
        cache=cache,
        download=download or "download" in request.GET,
    )
    if plan.start == plan.stop:
        response: HttpResponseBase = HttpResponse(status=plan.status)
        del response.headers["Content-Type"]
    else:
        try:
            parts = reader.open_range(stored.bucket, stored.id, stored.chunk_size, plan.start, plan.stop)
        except reader.MissingChunk as error:
            raise Http404 from error
        response = StreamingHttpResponse(parts, status=plan.status)
    for name, value in plan.headers.items():
        response.headers[name] = value
    return response
