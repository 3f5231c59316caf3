"""The views that receive new photos or files, or replace their bytes.

For scripts, the response is JSON. Otherwise, it is a redirect.

The files are streamed from the request body into GridFS. They are never written to temporary files or kept in memory as
a whole.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bson import ObjectId
from django.contrib import messages
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_POST

from editor.photos import describing
from editor.photos.forms import RowForm
from editor.site import parse_id
from marginalia.mongo.clock import now
from nodes import access
from nodes.content import PHOTO
from nodes.errors import NodeError
from nodes.models import Photo
from nodes.selectors import stored_assets, stored_photos
from nodes.types import Saved
from photos import addresses
from photos.actions import ReplaceFile, UploadFile, UploadPhoto
from photos.services import photos
from photos.services.photos import Replacement, Upload, Uploaded

Results = list[dict[str, Any]]
Finish = Callable[[HttpRequest, "PictureUploadHandler"], Results]
# A function that returns the URL to redirect to if no script is used. The argument contains the ids of the stored
# photos.
RedirectURL = Callable[[list[str]], str]


@dataclass
class ReceivedFile:
    """A file in a form: its upload, whose format hasn't been checked yet, or the reason why the file was rejected."""

    name: str
    upload: Upload | Replacement | None = None
    refusal: str = ""


class PictureUploadHandler(FileUploadHandler):
    """An upload handler for forms with files.

    For each file, the handler calls `begin(filename)`, and writes the file to the returned object.

    This must be the request's only upload handler, and it must be set before anything reads POST, including the CSRF
    check. The view that sets the handler is therefore exempt from the CSRF check. This view first checks permissions,
    and then calls a second view, to which the CSRF check applies. The first view must also call `discard` in a
    `finally` block, to delete all uploads that weren't finished.
    """

    chunk_size = 256 * 1024

    def __init__(self, request: HttpRequest, begin: Callable[[str], Upload | Replacement]) -> None:
        super().__init__(request)
        self.files: list[ReceivedFile] = []
        self._begin = begin
        self._current: ReceivedFile | None = None

    def new_file(self, field_name: str, file_name: str, *args: Any, **kwargs: Any) -> None:
        super().new_file(field_name, file_name, *args, **kwargs)
        self._current = current = ReceivedFile(photos.clean_filename(file_name))
        self.files.append(current)
        try:
            current.upload = self._begin(file_name)
        except NodeError as error:
            self._refuse(current, error)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        current = self._current
        if current and current.upload:
            try:
                current.upload.feed(raw_data)
            except NodeError as error:
                self._refuse(current, error)

    def file_complete(self, file_size: int) -> None:
        self._current = None

    def upload_interrupted(self) -> None:
        # Django also calls this method if the last file was rejected. In that case, there is no current upload to
        # abort.
        if self._current and self._current.upload:
            self._current.upload.abort()
            self._current.upload = None
            self._current.refusal = _("The connection was lost. This file was not saved. Please upload it again.")

    def discard(self) -> None:
        """Delete all uploads that weren't finished."""
        for file in self.files:
            if file.upload:
                file.upload.abort()
                file.upload = None

    def _refuse(self, current: ReceivedFile, error: NodeError) -> None:
        current.upload = None
        current.refusal = str(error)
        self._current = None
        raise SkipFile from error


@csrf_exempt
@require_POST
def upload(request: HttpRequest, gallery_id: ObjectId | None = None, type: str = PHOTO) -> HttpResponse:
    """Store new photos in a gallery or the library, and redirect to the page where editors describe them.

    If `type` is FILE, store files in a section or the library, and redirect to their list. The view checks permissions,
    receives the files, and checks the CSRF token before it creates anything.
    """
    action = (UploadPhoto if type == PHOTO else UploadFile)(user=request.user, gallery_id=gallery_id, filename="")
    action.check()

    def redirect_url(photo_ids: list[str]) -> str:
        if photo_ids and type == PHOTO:
            return describing.address(photo_ids)
        return addresses.library_path(gallery_id, type)

    return _receive(
        request, lambda name: replace(action, filename=name).begin(), partial(_finish_uploads, action), redirect_url
    )


@csrf_exempt
@require_POST
def replace_file(request: HttpRequest, photo_id: ObjectId, type: str = PHOTO) -> HttpResponse:
    """Replace the bytes of a photo or file in the version ?seen=, and redirect to its page."""
    action = ReplaceFile(user=request.user, photo_id=photo_id, filename="")
    action.check()
    seen = parse_id(request.GET.get("seen", ""))
    page_url = addresses.admin_path(photo_id, type)
    return _receive(
        request,
        lambda name: replace(action, filename=name, seen=seen).begin(),
        _finish_replacement,
        lambda _photo_ids: page_url,
    )


def _receive(
    request: HttpRequest, begin: Callable[[str], Upload | Replacement], finish: Finish, redirect_url: RedirectURL
) -> HttpResponse:
    handler = PictureUploadHandler(request, begin)
    request.upload_handlers = [handler]

    def protected(checked: HttpRequest) -> HttpResponse:
        # Usually, the CSRF check reads the body through the handler. Tests may skip this check, so read the body here.
        checked.FILES  # noqa: B018
        return _respond(checked, finish(checked, handler), redirect_url)

    try:
        return csrf_protect(protected)(request)
    finally:
        handler.discard()


def _finish_uploads(action: UploadPhoto, request: HttpRequest, handler: PictureUploadHandler) -> Results:
    if isinstance(action, UploadFile):
        fields = {"published": now()} if request.POST.get("publish") and access.may_change_photos(request.user) else {}
        return [_result(file, lambda upload: action.finish(upload, fields)) for file in handler.files]
    form = RowForm(request.POST)
    if not form.is_valid():
        reason = " ".join(str(error) for errors in form.errors.values() for error in errors)
        return [{"name": file.name, "ok": False, "reason": file.refusal or reason} for file in handler.files]
    fields = {path: value for path, value in form.mine().items() if value}
    if request.POST.get("publish") and access.may_change_photos(request.user):
        fields["published"] = now()
    tags = form.cleaned_data["tags"]
    return [_result(file, lambda upload: action.finish(upload, fields, tags)) for file in handler.files]


def _finish_replacement(request: HttpRequest, handler: PictureUploadHandler) -> Results:
    return [_result(file, lambda replacement: replacement.finish()) for file in handler.files[:1]]


def _result(file: ReceivedFile, finish: Callable[[Any], Uploaded | Saved]) -> dict[str, Any]:
    """Finish a file's upload, and return its outcome, which is sent to the script or shown in a message."""
    if file.upload is None:
        return {"name": file.name, "ok": False, "reason": file.refusal}
    try:
        saved = finish(file.upload)
    except NodeError as error:
        return {"name": file.name, "ok": False, "reason": str(error)}
    asset = stored_assets.get(saved.id)
    if asset is None:
        return {"name": file.name, "ok": False, "reason": _("This file was deleted during the upload.")}
    result = {
        "name": file.name,
        "ok": True,
        "id": str(asset.pk),
        "title": asset.metadata.title,
        "url": addresses.admin_path(asset.pk, asset.metadata.type),
    }
    if isinstance(asset, Photo):
        result |= {
            "describe": describing.address([asset.pk]),
            "thumbnail": addresses.smallest_path(asset),
            "markdown": addresses.markdown(asset),
        }
    if isinstance(saved, Uploaded) and saved.duplicates:
        twins = [twin for twin in (stored_photos.get(photo_id) for photo_id in saved.duplicates) if twin]
        result["note"] = _("The same photo already exists: %(titles)s.") % {
            "titles": ", ".join(f"“{twin.metadata.title}”" for twin in twins)
        }
    return result


def _respond(request: HttpRequest, results: Results, redirect_url: RedirectURL) -> HttpResponse:
    if not results:
        results = [{"name": "", "ok": False, "reason": _("No file was selected. Choose a file to upload.")}]
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse({"results": results}, status=200 if any(r["ok"] for r in results) else 422)
    for result in results:
        if result["ok"]:
            link = format_html("<a href='{}'>{}</a>", result["url"], result["title"])
            messages.success(request, format_html(_("{} was uploaded. {}"), link, result.get("note", "")))
        else:
            messages.error(request, f"{result['name']}: {result['reason']}" if result["name"] else result["reason"])
    photo_ids = [result["id"] for result in results if result["ok"]]
    return HttpResponseRedirect(redirect_url(photo_ids))
