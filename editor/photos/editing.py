"""The page of one photo: what editors say of it, its file, what was its file before, and where it is used."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from bson import ObjectId
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from editor import bulk_forms, conflict, sent_forms, undo, uses, working_copies
from editor.conflict import Clash, Decided, Deciding
from editor.forms import NodeForm
from editor.history import saves
from editor.photos import describing, library
from editor.photos.forms import PhotoForm
from editor.photos.site import page
from editor.site import actor
from marginalia.mongo.clock import now
from nodes import access
from nodes.content import PHOTO
from nodes.errors import EditConflict, NodeError, NodeGone
from nodes.models import Photo, tree
from nodes.selectors import stored_photos
from nodes.selectors.editable_nodes import Version
from nodes.selectors.listing import is_public
from nodes.services.bulk_actions import SelectedNode
from photos import addresses, labels
from photos.services import photos

# What an editor may have thought about for long.
KEPT_WORDS = ("title", "alt", "summary", "tags")


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, photo_id: ObjectId) -> HttpResponse:
    """Show a photo's form, or save it; after a conflict show both sides, with nothing typed lost."""
    working_copies.put_back(request, photo_id)
    try:
        photo = _photo(request, photo_id, access.may_see_photos)
        present = Version.of(stored_photos.metadata(photo_id), photo.metadata.updated)
    except (Http404, LookupError) as error:
        if request.method == "POST" and access.may_see_photos(request.user):
            return _show_gone(request)
        raise Http404(str(error)) from error
    if request.method != "POST":
        return _show(request, photo, PhotoForm(user=request.user, seen=present))
    _photo(request, photo_id, access.may_change_photos)
    return _sent(request, photo, present)


def _sent(request: HttpRequest, photo: Photo, present: Version) -> HttpResponse:
    """Save what a sent form says; show it again, with all that was typed, where that cannot be."""
    make = partial(PhotoForm, user=request.user)
    decided = conflict.decide(request.POST, PhotoForm)
    form = make(decided.data, seen=sent_forms.seen(request.POST, photo.pk) or present)
    if not sent_forms.is_to_be_saved(request.POST, form, decided):
        return _show(request, photo, form, clashes=_clashes_again(request, form, decided, make))
    if leaving := uses.of_taken_back(request.user, photo, form, request.POST):
        return _show(request, photo, form, leaving=leaving)
    try:
        return _save(request, photo.pk, form, form.cleaned_data["nonce"] or ObjectId())
    except EditConflict as error:
        return _show_conflict(request, photo, form, error, make)
    except NodeGone:
        return _show_gone(request)
    except NodeError as error:
        sent_forms.refuse(form, error)
        return _show(request, photo, form, clashes=_clashes_again(request, form, decided, make))


def _save(request: HttpRequest, photo_id: ObjectId, form: PhotoForm, nonce: ObjectId) -> HttpResponse:
    """Save what the form says, and go on to where its button leads. Raises NodeError."""
    fields = form.to_publish() if "_publish" in request.POST else form.mine()
    saved = photos.save(actor(request), photo_id, nonce, fields, form.tag_change(), form=form.cleaned_data["form"])
    working_copies.saved(request)
    link = format_html("<a href='{}'>{}</a>", addresses.admin_path(photo_id), form.cleaned_data["title"])
    told = _("Saved: {}.")
    if "_publish" in request.POST:
        told = _("Published: {}.")
    if saved.merged:
        told = _("Saved: {}, merged with another editor's changes.")
    messages.success(request, format_html(told, link))
    stays = "_continue" in request.POST
    return HttpResponseRedirect(
        addresses.admin_path(photo_id) if stays else addresses.library_path(fields["parent_id"])
    )


def _clashes_again(request: HttpRequest, form: PhotoForm, decided: Decided, make: Any) -> list[Clash]:
    """Return what is to be decided still on a conflict page that was posted; nothing on another page."""
    return Deciding.again(form, decided, make).clashes(request.POST) if decided.names else []


def _show_conflict(request: HttpRequest, photo: Photo, form: PhotoForm, error: EditConflict, make: Any) -> HttpResponse:
    """Show what both sides changed, to be decided; the form stays the same one."""
    deciding = Deciding.after(error, form.cleaned_data["form"], make)
    context = sent_forms.told_of(request, photo.pk, form.cleaned_data["nonce"], error)
    return _show(request, photo, deciding.form, status=409, clashes=deciding.clashes({}), **context)


def _show_gone(request: HttpRequest) -> HttpResponse:
    """Show what was typed of a photo that is not there any more, to be copied."""
    form = PhotoForm(request.POST, user=request.user)
    form.is_valid()
    typed = [
        (field.label, field.value()) for field in form.visible_fields() if field.name in KEPT_WORDS and field.value()
    ]
    return page(request, "photo_gone", _("This photo is gone"), typed=typed, status=409)


def _show(
    request: HttpRequest, photo: Photo, form: NodeForm, *, status: int = 200, clashes: Sequence[Clash] = (), **more: Any
) -> HttpResponse:
    title = photo.metadata.title
    detail = photo.metadata.detail
    names = {clash.name for clash in clashes}
    context: dict[str, Any] = {
        "clashes": clashes,
        "fields": [field for field in form.visible_fields() if field.name not in names],
        "photo": photo,
        "picture": addresses.picture(photo, sizes="(min-width: 60rem) 40rem, 100vw"),
        "original": addresses.uncut_path(photo),
        "whole": addresses.uncut_path(photo, addresses.DEFAULT_WIDTH),
        "exif": labels.facts(photo),
        "uses": uses.of(request.user, [photo.pk]),
        "twins": [stored_photos.get(i) for i in stored_photos.same_bytes(detail.sha256, photo.pk)],
        "former": stored_photos.former_contents(photo),
        "is_live": is_public(photo, tree.current(), now()),
        "may_change": access.may_change_photos(request.user),
        "describing": describing.address([photo.pk]) if access.may_describe(request.user, photo) else "",
        "markdown": addresses.markdown(photo),
        **working_copies.context(request, PHOTO, photo.pk),
    }
    return page(request, "photo", title, form=form, status=status, **context, **more)


@require_safe
def history(request: HttpRequest, photo_id: ObjectId) -> HttpResponse:
    """List the saves of a photo, newest first: those of one sitting as one, unless ?each= is given."""
    photo = _photo(request, photo_id, access.may_see_photos)
    listed = saves(request, photo_id, photo.metadata.nonce, PHOTO)
    return page(request, "photo_history", _("History"), photo=photo, **listed)


@require_POST
def go_back(request: HttpRequest, photo_id: ObjectId) -> HttpResponse:
    """Show a former content of a photo again."""
    _photo(request, photo_id, access.may_change_photos)
    content_id = request.POST.get("content", "")
    if not ObjectId.is_valid(content_id):
        raise Http404
    try:
        photos.restore_content(actor(request), photo_id, ObjectId(content_id))
        messages.success(request, _("The former picture is shown again."))
    except NodeError as error:
        messages.error(request, str(error))
    return HttpResponseRedirect(addresses.admin_path(photo_id))


@require_POST
def throw_away(request: HttpRequest, photo_id: ObjectId) -> HttpResponse:
    """Move a photo to the trash, unless it was changed since its page was shown; ask before where it is used."""
    photo = _photo(request, photo_id, access.may_change_photos)
    nonce = request.POST.get("nonce") or request.POST.get(f"nonce-{photo_id}", "")
    if not ObjectId.is_valid(nonce):
        raise Http404
    used = uses.of(request.user, [photo_id])
    if used.is_used and uses.CONFIRMED not in request.POST:
        chosen = SelectedNode(photo_id, ObjectId(nonce), photo.metadata.title)
        return library.ask(request, bulk_forms.TRASH, [chosen], used, back=addresses.admin_path(photo_id))
    try:
        photos.move_to_trash(actor(request), photo_id, ObjectId(nonce))
        told = format_html(_("“{}” is in the trash."), photo.metadata.title)
        messages.success(request, format_html("{} {}", told, undo.button([(photo_id, ObjectId(nonce))])))
    except NodeError as error:
        messages.error(request, str(error))
        return HttpResponseRedirect(addresses.admin_path(photo_id))
    return HttpResponseRedirect(addresses.library_path(photo.metadata.parent_id))


def _photo(request: HttpRequest, photo_id: ObjectId, may: Any) -> Photo:
    """Return the photo for a user who may do that. Raises Http404, PermissionDenied."""
    photo = stored_photos.get(photo_id) if access.may_see_photos(request.user) else None
    if photo is None:
        raise Http404(_("There is no such photo, or you may not see it."))
    if not may(request.user):
        raise PermissionDenied
    return photo
