"""The admin pages on which administrators upload an export, check it, and import it."""

from datetime import timedelta
from typing import Any

from bson import ObjectId
from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.files.uploadhandler import FileUploadHandler, StopUpload
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from editor.site import render_page
from marginalia.mongo.clock import now
from marginalia.tasks.compat import tasks
from transfer import uploads
from transfer.collections import RUNNING
from transfer.tasks import run_import
from transfer.uploads import PIECE, UploadedImport, UploadRefused

# The largest file that a form without a script can send. Proxies reject larger bodies.
MOST_WITHOUT_SCRIPT = 16 << 20
# If an import still has no job after this time, its job couldn't be stored.
JOB_DELAY = timedelta(minutes=1)


class UploadForm(forms.Form):
    """The options of an import. The script sends the name and the size of the file, and then its pieces."""

    section = forms.SlugField(
        label=gettext_lazy("Folder"),
        required=False,
        allow_unicode=True,
        help_text=gettext_lazy("Slug of a top-level folder. If empty, the content is imported at the top level."),
    )
    downloads = forms.BooleanField(
        label=gettext_lazy("Download pictures from the old site"),
        required=False,
        help_text=gettext_lazy("The old site must still be online."),
    )
    filename = forms.CharField(required=False, widget=forms.HiddenInput)
    size = forms.IntegerField(required=False, widget=forms.HiddenInput)


class PieceUploadHandler(FileUploadHandler):
    """An upload handler for forms that are sent without a script. It keeps the file, which must be small, in memory."""

    chunk_size = PIECE

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request)
        self.pieces: list[bytes] = []
        self.name = ""

    def new_file(self, field_name: str, file_name: str, *args: Any, **kwargs: Any) -> None:
        super().new_file(field_name, file_name, *args, **kwargs)
        self.name = file_name

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        if start + len(raw_data) > MOST_WITHOUT_SCRIPT:
            raise StopUpload(connection_reset=True)
        self.pieces.append(raw_data)

    def file_complete(self, file_size: int) -> None:
        """Return None, because the file isn't stored as a Django file."""


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def import_list(request: HttpRequest) -> HttpResponse:
    """Show the upload form and the newest imports. A POST request creates an import."""
    _check_rights(request)
    handler = PieceUploadHandler(request)
    request.upload_handlers = [handler]

    def protected(checked: HttpRequest) -> HttpResponse:
        return _create(checked, handler) if checked.method == "POST" else _show(checked, UploadForm())

    return csrf_protect(protected)(request)


def _create(request: HttpRequest, handler: PieceUploadHandler) -> HttpResponse:
    form = UploadForm(request.POST, request.FILES)
    if not form.is_valid():
        return _show(request, form)
    data = form.cleaned_data
    content = b"".join(handler.pieces)
    try:
        upload = uploads.create(
            request.user,
            data["filename"] or handler.name,
            data["size"] or len(content),
            section=data["section"],
            downloads=data["downloads"],
        )
        if data["filename"]:
            page = reverse("admin:import", args=[upload.id])
            return JsonResponse({"page": page, "pieces": f"{page}pieces/", "size": PIECE})
        for number in range(upload.pieces):
            uploads.add_piece(upload, number, content[number * PIECE : (number + 1) * PIECE])
        _start(upload, is_dry_run=True)
    except UploadRefused as error:
        form.add_error(None, str(error))
        return _show(request, form)
    return HttpResponseRedirect(reverse("admin:import", args=[upload.id]))


def _show(request: HttpRequest, form: UploadForm) -> HttpResponse:
    status = 422 if form.is_bound else 200
    return render_page(request, "imports", _("Import"), form=form, imports=uploads.newest(), status=status)


@require_POST
def add_piece(request: HttpRequest, import_id: ObjectId, number: int) -> HttpResponse:
    """Store a piece of the file, which is the body of the request."""
    upload = _upload(request, import_id)
    try:
        uploads.add_piece(upload, number, request.body)
    except UploadRefused as error:
        return JsonResponse({"reason": str(error)}, status=409)
    return HttpResponse(status=204)


@require_safe
def show_import(request: HttpRequest, import_id: ObjectId) -> HttpResponse:
    """Show the progress of an import, or its report."""
    upload = _upload(request, import_id)
    has_crashed = _has_crashed(upload)
    return render_page(
        request,
        "import",
        _("Import of %(name)s") % {"name": upload.filename},
        upload=upload,
        has_crashed=has_crashed,
        is_running=upload.state == RUNNING and not has_crashed,
        may_start=(has_crashed or upload.state != RUNNING) and uploads.is_complete(upload),
    )


@require_POST
def start(request: HttpRequest, import_id: ObjectId) -> HttpResponse:
    """Start the import or, if `dry_run` is set, only check the file."""
    upload = _upload(request, import_id)
    try:
        if upload.state == RUNNING and not _has_crashed(upload):
            raise UploadRefused(_("This import is already running."))
        _start(upload, is_dry_run="dry_run" in request.POST)
    except UploadRefused as error:
        messages.error(request, str(error))
    return HttpResponseRedirect(reverse("admin:import", args=[import_id]))


@require_POST
def delete(request: HttpRequest, import_id: ObjectId) -> HttpResponse:
    """Delete an import and its file. If it is running, it stops."""
    uploads.delete(_upload(request, import_id).id)
    messages.success(request, _("The import and its file were deleted. Imported content was kept."))
    return HttpResponseRedirect(reverse("admin:imports"))


def _start(upload: UploadedImport, *, is_dry_run: bool) -> None:
    begun = uploads.begin(upload, is_dry_run=is_dry_run)
    uploads.set_job(begun, run_import.enqueue(str(begun.id), str(begun.nonce), get_language() or "").id)


def _has_crashed(upload: UploadedImport) -> bool:
    """Return whether the import stopped without a report, because it has no job or its job failed permanently."""
    if upload.state != RUNNING:
        return False
    if not upload.job:
        return now() - upload.nonce.generation_time > JOB_DELAY
    try:
        return bool(run_import.get_result(upload.job).status == tasks.TaskResultStatus.FAILED)
    except tasks.exceptions.TaskResultDoesNotExist:
        return True


def _upload(request: HttpRequest, import_id: ObjectId) -> UploadedImport:
    _check_rights(request)
    upload = uploads.get(import_id)
    if upload is None:
        raise Http404(_("This import doesn't exist."))
    return upload


def _check_rights(request: HttpRequest) -> None:
    if not uploads.may_import(request.user):
        raise PermissionDenied
