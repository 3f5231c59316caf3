"""The form for describing many photos, for example after an upload. Each row is saved separately."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from bson import ObjectId
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from editor import differences
from editor.lists import node_state
from editor.photos.forms import RowForm
from editor.photos.site import render_page
from editor.sent_forms import SHOW_ONLY
from marginalia.mongo.clock import now
from nodes import access
from nodes.actions import REFUSALS, PublishListed, SaveNode, execute_all, reason_of
from nodes.content import PHOTO
from nodes.errors import EditConflict
from nodes.models import Photo
from nodes.selectors import stored_photos
from nodes.types import SelectedNode
from photos import addresses

# Maximum number of photos in a form.
MOST = 60
# A photo's text fields in this form.
WORDS = ("alt", "title", "tags")

# The text that was typed for a photo, as (label, text) pairs.
TypedTexts = list[tuple[str, str]]


@dataclass
class Row:
    """A photo in the form.

    Attributes:
        problem: The reason why the photo wasn't saved or published.
        saved: The photo's new nonce if the photo was saved.
    """

    photo: Photo
    form: RowForm
    problem: str = ""
    saved: ObjectId | None = None

    @property
    def picture(self) -> str:
        """Return the path of the uncropped photo. Editors click the photo to set the focal point."""
        return addresses.uncut_path(self.photo, 320)

    @property
    def state(self) -> tuple[str, Any]:
        """Return the photo's state as (name, label)."""
        return node_state(self.photo, now())

    @property
    def is_done(self) -> bool:
        return self.saved is not None and not self.problem


def address(photo_ids: Iterable[Any]) -> str:
    """Return the path of the page where editors describe these photos."""
    return f"{reverse('admin:nodes_photo_describe')}?{urlencode([('photo', str(photo_id)) for photo_id in photo_ids])}"


@require_http_methods(["GET", "HEAD", "POST"])
def describe(request: HttpRequest) -> HttpResponse:
    """Show a row for each photo in the query string. If the form was submitted, save each row separately."""
    photos = _load_photos(request, request.POST if request.method == "POST" else request.GET)
    lost = _lost(request.POST, photos)
    if not photos and not lost:
        raise Http404(_("This photo doesn't exist, or you don't have permission to view it."))
    if request.method != "POST":
        return _show(request, [Row(photo, RowForm(photo=photo)) for photo in photos])
    if SHOW_ONLY in request.POST:
        return _show(request, [Row(photo, RowForm(request.POST, photo=photo)) for photo in photos], lost)
    rows = [_save(request, photo) for photo in photos]
    published = _publish(request, rows) if "_publish" in request.POST else 0
    if lost or not all(row.is_done for row in rows):
        return _show(request, rows, lost, status=409 if lost else 422)
    count = len(rows)
    message = ngettext("%(n)d photo was saved.", "%(n)d photos were saved.", count) % {"n": count}
    if published:
        message = ngettext("%(n)d photo was published.", "%(n)d photos were published.", count) % {"n": count}
    messages.success(request, message)
    galleries = {row.photo.metadata.parent_id for row in rows}
    return HttpResponseRedirect(addresses.library_path(galleries.pop() if len(galleries) == 1 else None))


def _load_photos(request: HttpRequest, data: QueryDict) -> list[Photo]:
    """Return the form's photos that the user is allowed to describe, in the form's order. Load at most MOST photos."""
    ids = _photo_ids(data)[:MOST]
    by_id = {photo.pk: photo for photo in stored_photos.by_ids(ids)}
    photos = [by_id[photo_id] for photo_id in ids if photo_id in by_id]
    return [photo for photo in photos if access.may_describe(request.user, photo)]


def _lost(posted: QueryDict, loaded: Iterable[Photo]) -> list[TypedTexts]:
    """Return the text that was typed for photos that aren't in `loaded`, as one list per photo."""
    loaded_ids = {photo.pk for photo in loaded}
    fields = [(name, RowForm.base_fields[name].label) for name in WORDS]
    typed = [
        [(label, text) for name, label in fields if (text := posted.get(f"{photo_id}-{name}", ""))]
        for photo_id in _photo_ids(posted)
        if photo_id not in loaded_ids
    ]
    return [texts for texts in typed if texts]


def _photo_ids(data: QueryDict) -> list[ObjectId]:
    return list(dict.fromkeys(ObjectId(text) for text in data.getlist("photo") if ObjectId.is_valid(text)))


def _save(request: HttpRequest, photo: Photo) -> Row:
    """Save a photo's row, merged with other editors' changes. Return the row to show."""
    form = RowForm(request.POST, photo=photo)
    if not form.is_valid():
        return Row(photo, form)
    action = SaveNode(
        user=request.user,
        node_id=photo.pk,
        seen=form.cleaned_data["nonce"] or ObjectId(),
        fields=form.mine(),
        tags=form.tag_change(),
    )
    try:
        saved = action.execute()
    except EditConflict as error:
        present = stored_photos.get(photo.pk) or photo
        clashes = {conflict.path: conflict for conflict in error.merge.conflicts}
        shown = {**error.merge.changes, **{path: clash.mine for path, clash in clashes.items()}}
        theirs = "; ".join(
            f"{differences.label(path, PHOTO)}: “{differences.display(path, clash.theirs, PHOTO)}”"
            for path, clash in clashes.items()
        )
        problem = _(
            "Another editor changed this photo while you were editing it (%(theirs)s). Save again to replace those "
            "changes with yours."
        ) % {"theirs": theirs}
        return Row(present, RowForm(photo=present, shown=shown, change=error.tags), problem)
    except REFUSALS as error:
        return Row(photo, form, reason_of(error))
    present = stored_photos.get(photo.pk) or photo
    return Row(present, RowForm(photo=present), saved=saved.nonce)


def _publish(request: HttpRequest, rows: Sequence[Row]) -> int:
    """Publish the saved photos, and return how many were published.

    If a photo can't be published, the reason is added to its row.
    """
    if not access.may_change_photos(request.user):
        return 0
    summary = execute_all(
        (
            SelectedNode(row.photo.pk, row.saved, row.photo.metadata.title),
            PublishListed(user=request.user, node_id=row.photo.pk, seen=row.saved),
        )
        for row in rows
        if row.saved
    )
    reasons = {refused.selected.id: refused.reason for refused in summary.refused}
    for row in rows:
        row.problem = reasons.get(row.photo.pk, row.problem)
        if row.saved:
            row.photo = stored_photos.get(row.photo.pk) or row.photo
            row.form = RowForm(photo=row.photo)
    return summary.done


def _show(
    request: HttpRequest, rows: Sequence[Row], lost: Sequence[TypedTexts] = (), *, status: int = 200
) -> HttpResponse:
    """Show the rows. Above the rows, show the text that was typed for photos without a row."""
    may_publish = access.may_change_photos(request.user)
    title = _("Describe photos")
    return render_page(request, "photos_describe", title, rows=rows, lost=lost, may_publish=may_publish, status=status)
