"""Uploads that stopped: what they were, and a button that clears what is left of them away."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from editor.differences import section_name
from editor.photos.site import page
from marginalia.mongo.clock import now
from nodes import access
from photos import stalled_uploads
from photos.services import sweeping


@require_http_methods(["GET", "HEAD", "POST"])
def stalled(request: HttpRequest) -> HttpResponse:
    """List the uploads that stalled; clear them away. Photos that were to be replaced stay as they were."""
    if not access.may_change_photos(request.user):
        raise PermissionDenied
    if request.method == "POST":
        swept = sweeping.sweep_stalled()
        gone = swept.stalled + swept.unlocked
        told = ngettext("%(n)d upload was cleared away.", "%(n)d uploads were cleared away.", gone) % {"n": gone}
        messages.success(request, told)
        return HttpResponseRedirect(request.path)
    rows = [
        {"upload": upload, "gallery": section_name(upload.gallery_id)} for upload in stalled_uploads.list_stalled(now())
    ]
    return page(request, "stalled", _("Stalled uploads"), rows=rows)
