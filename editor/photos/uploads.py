"""Where pictures arrive: many new ones for a gallery, or one in place of another. Answers a page, or JSON to a script.

They go out of the form's body straight into GridFS: no temporary file, no whole file in memory.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_POST

from editor.photos import describing
from editor.photos.forms import RowForm
from editor.site import actor
from marginalia.mongo.clock import now
from nodes import access
from nodes.errors import NodeError
from nodes.selectors import stored_photos
from nodes.types import Saved
from photos import addresses
from photos.services.photos import Replacement, Upload, Uploaded, clean_filename

Coming = Upload | Replacement
Results = list[dict[str, Any]]
Work = Callable[[HttpRequest, "PictureUploadHandler"], Results]
# Where a form without script leads to, by the ids of the photos that have arrived.
Then = Callable[[list[str]], str]


@dataclass
class Arrived:
    """One file of a form: what has come of it (all bytes, not judged yet), or why it was refused."""

    name: str
    coming: Coming | None = None
    refusal: str = ""


class PictureUploadHandler(FileUploadHandler):
    """Hands each file of a form to `begin(filename)`, and the bytes to what that returns, as they come.

    It must be the request's only handler, set before anything reads POST, the CSRF check included: so the view that sets it
    is exempt, checks the sender's rights first, and calls one that is not. Nothing that came is kept unless the view then
    finishes it: `discard` in a `finally`.
    """

    chunk_size = 256 * 1024

    def __init__(self, request: HttpRequest, begin: Callable[[str], Coming]) -> None:
        super().__init__(request)
        self.arrived: list[Arrived] = []
        self._begin = begin
        self._present: Arrived | None = None

    def new_file(self, field_name: str, file_name: str, *args: Any, **kwargs: Any) -> None:
        super().new_file(field_name, file_name, *args, **kwargs)
        self._present = present = Arrived(clean_filename(file_name))
        self.arrived.append(present)
        try:
            present.coming = self._begin(file_name)
        except NodeError as error:
            self._refuse(present, error)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        present = self._present
        if present and present.coming:
            try:
                present.coming.feed(raw_data)
            except NodeError as error:
                self._refuse(present, error)

    def file_complete(self, file_size: int) -> None:
        self._present = None

    def upload_interrupted(self) -> None:
        # Called also where the last file was refused: what came before is whole.
        if self._present and self._present.coming:
            self._present.coming.abort()
            self._present.coming = None
            self._present.refusal = _("The connection broke. Nothing of this file was kept.")

    def discard(self) -> None:
        """Leave nothing behind of what was not finished."""
        for one in self.arrived:
            if one.coming:
                one.coming.abort()
                one.coming = None

    def _refuse(self, present: Arrived, error: NodeError) -> None:
        present.coming, present.refusal, self._present = None, str(error), None
        raise SkipFile from error


@csrf_exempt
@require_POST
def upload(request: HttpRequest, gallery_id: ObjectId) -> HttpResponse:
    """Take new photos for a gallery. Rights first, then the bytes, then the token, and only then do they become photos.

    A page goes on to where they are described.
    """
    if not access.may_add_photos(request.user) or not access.may_place(request.user, gallery_id):
        raise PermissionDenied
    who = actor(request)

    def then(arrived: list[str]) -> str:
        return describing.address(arrived) if arrived else addresses.library_path(gallery_id)

    return _receiving(request, lambda name: Upload(who, gallery_id, name), _uploaded, then)


@csrf_exempt
@require_POST
def replace(request: HttpRequest, photo_id: ObjectId) -> HttpResponse:
    """Take one picture in the place of a photo's present one."""
    if not access.may_change_photos(request.user):
        raise PermissionDenied
    who = actor(request)
    page = addresses.admin_path(photo_id)
    return _receiving(request, lambda name: Replacement(who, photo_id, name), _replaced, lambda _arrived: page)


def _receiving(request: HttpRequest, begin: Callable[[str], Coming], work: Work, then: Then) -> HttpResponse:
    handler = PictureUploadHandler(request, begin)
    request.upload_handlers = [handler]

    def protected(checked: HttpRequest) -> HttpResponse:
        # Where the token was checked the body was read, through the handler; in a test it may not have been.
        checked.FILES  # noqa: B018
        return _answer(checked, work(checked, handler), then)

    try:
        return csrf_protect(protected)(request)
    finally:
        handler.discard()


def _uploaded(request: HttpRequest, handler: PictureUploadHandler) -> Results:
    form = RowForm(request.POST)
    if not form.is_valid():
        reason = " ".join(str(error) for errors in form.errors.values() for error in errors)
        return [{"name": one.name, "ok": False, "reason": one.refusal or reason} for one in handler.arrived]
    fields = {path: value for path, value in form.mine().items() if value}
    if request.POST.get("publish") and access.may_change_photos(request.user):
        fields["published"] = now()
    wanted = form.cleaned_data["tags"]
    return [_result(one, lambda coming: coming.finish(fields, wanted)) for one in handler.arrived]


def _replaced(request: HttpRequest, handler: PictureUploadHandler) -> Results:
    return [_result(one, lambda coming: coming.finish()) for one in handler.arrived[:1]]


def _result(one: Arrived, finish: Callable[[Any], Uploaded | Saved]) -> dict[str, Any]:
    """Return what has come of one file, for the page and for its script."""
    if one.coming is None:
        return {"name": one.name, "ok": False, "reason": one.refusal}
    try:
        done = finish(one.coming)
    except NodeError as error:
        return {"name": one.name, "ok": False, "reason": str(error)}
    photo = stored_photos.get(done.id)
    if photo is None:
        return {"name": one.name, "ok": False, "reason": _("It has been deleted since.")}
    result = {
        "name": one.name,
        "ok": True,
        "id": str(photo.pk),
        "title": photo.metadata.title,
        "url": addresses.admin_path(photo.pk),
        "describe": describing.address([photo.pk]),
        "thumbnail": addresses.square_path(photo, 160),
        "markdown": addresses.markdown(photo),
    }
    if isinstance(done, Uploaded) and done.duplicates:
        twins = [twin for twin in (stored_photos.get(i) for i in done.duplicates) if twin]
        result["note"] = _("The same picture is there already: %(titles)s.") % {
            "titles": ", ".join(f"“{twin.metadata.title}”" for twin in twins)
        }
    return result


def _answer(request: HttpRequest, results: Results, then: Then) -> HttpResponse:
    if not results:
        results = [{"name": "", "ok": False, "reason": _("No file was sent.")}]
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse({"results": results}, status=200 if any(r["ok"] for r in results) else 422)
    for result in results:
        if result["ok"]:
            link = format_html("<a href='{}'>{}</a>", result["url"], result["title"])
            messages.success(request, format_html(_("{} is there. {}"), link, result.get("note", "")))
        else:
            messages.error(request, f"{result['name']}: {result['reason']}" if result["name"] else result["reason"])
    arrived = [result["id"] for result in results if result["ok"]]
    return HttpResponseRedirect(then(arrived))
