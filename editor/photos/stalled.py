"""The page that lists stalled uploads, with a button that deletes them."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from editor.differences import section_name
from editor.photos.site import render_page
from marginalia.mongo.clock import now
from nodes import access
from nodes.content import PHOTO
from photos import stalled_uploads
from photos.services import sweeping


@require_http_methods(["GET", "HEAD", "POST"])
def stalled(request: HttpRequest) -> HttpResponse:
    """List the stalled uploads. If the form was submitted, delete them.

    If the upload of a replacement stalls, the photo doesn't change.
    """
    if not access.may_change_photos(request.user):
        raise PermissionDenied
    if request.method == "POST":
        swept = sweeping.sweep_stalled()
        count = swept.stalled + swept.unlocked
        message = ngettext("%(n)d upload was deleted.", "%(n)d uploads were deleted.", count) % {"n": count}
        messages.success(request, message)
        return HttpResponseRedirect(request.path)
    rows = [
        {"upload": upload, "gallery": section_name(upload.gallery_id, PHOTO)}
        for upload in stalled_uploads.list_stalled(now())
    ]
    return render_page(request, "stalled", _("Stalled uploads"), rows=rows)
