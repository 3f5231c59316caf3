"""Many photos described in one form, such as those that were just uploaded: a row for each, saved and told by itself."""

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
from editor.lists import state_of
from editor.photos.forms import RowForm
from editor.photos.site import page
from editor.sent_forms import KEPT
from editor.site import actor
from marginalia.mongo.clock import now
from nodes import access
from nodes.collections import ASSET_FILES
from nodes.content import PHOTO
from nodes.errors import EditConflict, NodeError
from nodes.models import Photo
from nodes.selectors import stored_photos
from nodes.services import bulk_actions
from nodes.services.bulk_actions import SelectedNode
from photos import addresses
from photos.services import photos

# Photos in a form.
MOST = 60
# What is typed of one in words.
WORDS = ("alt", "title", "tags")

Typed = list[tuple[str, str]]


@dataclass
class Row:
    """A photo in the form: what is typed of it, why it was not saved or published as asked, and the nonce it was saved as."""

    photo: Photo
    form: RowForm
    problem: str = ""
    saved: ObjectId | None = None

    @property
    def picture(self) -> str:
        """The path of all of the picture, for the focal point."""
        return addresses.uncut_path(self.photo, 320)

    @property
    def state(self) -> tuple[str, Any]:
        """The name of how it stands towards readers, and how that is called."""
        return state_of(self.photo, now())

    @property
    def is_done(self) -> bool:
        return self.saved is not None and not self.problem


def address(photo_ids: Iterable[Any]) -> str:
    """Return the path of the page that describes these photos."""
    return f"{reverse('admin:nodes_photo_describe')}?{urlencode([('photo', str(one)) for one in photo_ids])}"


@require_http_methods(["GET", "HEAD", "POST"])
def describe(request: HttpRequest) -> HttpResponse:
    """Show a row for each photo that the address names, or save them all, each by itself."""
    found = _photos(request, request.POST if request.method == "POST" else request.GET)
    lost = _lost(request.POST, found)
    if not found and not lost:
        raise Http404(_("There is no such photo, or you may not see it."))
    if request.method != "POST":
        return _show(request, [Row(photo, RowForm(photo=photo)) for photo in found])
    if KEPT in request.POST:
        return _show(request, [Row(photo, RowForm(request.POST, photo=photo)) for photo in found], lost)
    rows = [_saved(request, photo) for photo in found]
    published = _published(request, rows) if "_publish" in request.POST else 0
    if lost or not all(row.is_done for row in rows):
        return _show(request, rows, lost, status=409 if lost else 422)
    count = len(rows)
    told = ngettext("%(n)d photo was saved.", "%(n)d photos were saved.", count) % {"n": count}
    if published:
        told = ngettext("%(n)d photo is published.", "%(n)d photos are published.", count) % {"n": count}
    messages.success(request, told)
    galleries = {row.photo.metadata.parent_id for row in rows}
    return HttpResponseRedirect(addresses.library_path(galleries.pop() if len(galleries) == 1 else None))


def _photos(request: HttpRequest, said: QueryDict) -> list[Photo]:
    """Return the photos that are named and that the user may describe, in this order: the first MOST of them."""
    ids = _named(said)[:MOST]
    there = {photo.pk: photo for photo in stored_photos.by_ids(ids)}
    return [there[one] for one in ids if one in there and access.may_describe(request.user, there[one])]


def _lost(posted: QueryDict, found: Iterable[Photo]) -> list[Typed]:
    """Return what was typed of photos that are named and not among those found: each word under its label, by photo."""
    kept = {photo.pk for photo in found}
    fields = [(name, RowForm.base_fields[name].label) for name in WORDS]
    typed = [
        [(label, text) for name, label in fields if (text := posted.get(f"{one}-{name}", ""))]
        for one in _named(posted)
        if one not in kept
    ]
    return [words for words in typed if words]


def _named(said: QueryDict) -> list[ObjectId]:
    return list(dict.fromkeys(ObjectId(text) for text in said.getlist("photo") if ObjectId.is_valid(text)))


def _saved(request: HttpRequest, photo: Photo) -> Row:
    """Save what was typed of a photo, merged with what others saved; return its row."""
    form = RowForm(request.POST, photo=photo)
    if not form.is_valid():
        return Row(photo, form)
    mine = form.mine()
    tags = form.tag_change()
    is_own = not access.may_change_photos(request.user)
    try:
        nonce = form.cleaned_data["nonce"] or ObjectId()
        saved = photos.save(actor(request), photo.pk, nonce, mine, tags, only_unpublished=is_own)
    except EditConflict as error:
        there = stored_photos.get(photo.pk) or photo
        clashes = {conflict.path: conflict for conflict in error.merge.conflicts}
        shown = {**error.merge.changes, **{path: clash.mine for path, clash in clashes.items()}}
        theirs = "; ".join(
            f"{differences.label(path, PHOTO)}: “{differences.display(path, clash.theirs, PHOTO)}”"
            for path, clash in clashes.items()
        )
        told = _("Changed since by another editor (%(theirs)s). Save again to keep what stands here.") % {
            "theirs": theirs
        }
        return Row(there, RowForm(photo=there, said=shown, change=error.tags), told)
    except NodeError as error:
        return Row(photo, form, str(error))
    there = stored_photos.get(photo.pk) or photo
    return Row(there, RowForm(photo=there), saved=saved.nonce)


def _published(request: HttpRequest, rows: Sequence[Row]) -> int:
    """Publish the photos that were saved; note at the others' rows why not. Return how many are published now."""
    if not access.may_change_photos(request.user):
        return 0
    chosen = {
        row.photo.pk: SelectedNode(row.photo.pk, row.saved, row.photo.metadata.title) for row in rows if row.saved
    }
    summary = bulk_actions.publish(actor(request), chosen.values(), now(), collection=ASSET_FILES)
    reasons = {refused.chosen.id: refused.reason for refused in summary.refused}
    for row in rows:
        row.problem = reasons.get(row.photo.pk, row.problem)
        if row.saved:
            row.photo = stored_photos.get(row.photo.pk) or row.photo
            row.form = RowForm(photo=row.photo)
    return summary.done


def _show(request: HttpRequest, rows: Sequence[Row], lost: Sequence[Typed] = (), *, status: int = 200) -> HttpResponse:
    """Show the rows, and above them what was typed of photos that have none."""
    may_publish = access.may_change_photos(request.user)
    title = _("Describe these photos")
    return page(request, "photos_describe", title, rows=rows, lost=lost, may_publish=may_publish, status=status)
