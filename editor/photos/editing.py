"""A photo's page in the admin, with its form, its current and previous files, and its uses."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from bson import ObjectId
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from editor import bulk_forms, conflict, sent_forms, undo, uses, working_copies
from editor.conflict import Clash, ConflictForms, TextClash
from editor.forms import NodeForm
from editor.history import list_saves
from editor.photos import describing, library
from editor.photos.forms import PhotoForm
from editor.photos.site import render_page
from marginalia.mongo.clock import now
from nodes import access
from nodes.access import NodePermission
from nodes.actions import SaveNode, Trash
from nodes.content import PHOTO
from nodes.errors import EditConflict, NodeError, NodeGone
from nodes.models import Photo, tree
from nodes.selectors import stored_photos
from nodes.selectors.editable_nodes import Version
from nodes.selectors.listing import is_public
from nodes.types import SelectedNode
from photos import addresses, labels
from photos.actions import RestoreContent

# Text fields that are shown even if the photo was deleted, because editors may have spent a long time on this text.
TEXT_FIELDS = ("title", "alt", "summary", "tags")


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, photo_id: ObjectId) -> HttpResponse:
    """Show a photo's form. If the form was submitted, save it.

    After a conflict, show both versions, including the typed text.
    """
    working_copies.restore(request, photo_id)
    is_sent = request.method == "POST"
    try:
        editable = access.photo(request.user, photo_id, NodePermission.EDIT if is_sent else NodePermission.VIEW)
    except Http404:
        if is_sent and access.may_see_photos(request.user):
            return _show_gone(request)
        raise
    if is_sent:
        return _process(request, editable.node, editable.live)
    return _show(request, editable.node, PhotoForm(user=request.user, seen=editable.live))


def _process(request: HttpRequest, photo: Photo, present: Version) -> HttpResponse:
    """Save a submitted form. If the form can't be saved, show it again with everything that was typed."""
    make = partial(PhotoForm, user=request.user)
    decisions = conflict.read_decisions(request.POST, PhotoForm)
    form = make(decisions.data, seen=sent_forms.seen_version(request.POST, photo.pk) or present)
    if not sent_forms.validate(request.POST, form, decisions):
        return _show(request, photo, form, **sent_forms.describe_conflict(request.POST, form, decisions, make))
    if leaving := uses.find_if_unpublished(request.user, photo, form, request.POST):
        return _show(request, photo, form, leaving=leaving)
    try:
        return _save(request, photo.pk, form, form.cleaned_data["nonce"] or ObjectId())
    except EditConflict as error:
        return _show_conflict(request, photo, form, error, make)
    except (NodeGone, Http404):
        return _show_gone(request)
    except NodeError as error:
        sent_forms.add_error(form, error)
        return _show(request, photo, form, **sent_forms.describe_conflict(request.POST, form, decisions, make))


def _save(request: HttpRequest, photo_id: ObjectId, form: PhotoForm, nonce: ObjectId) -> HttpResponse:
    """Save the form, and redirect to the photo or the library, depending on the button that was pressed.

    Raises:
        NodeError: The form can't be saved.
    """
    fields = form.to_publish() if "_publish" in request.POST else form.mine()
    saved = SaveNode(
        user=request.user,
        node_id=photo_id,
        seen=nonce,
        fields=fields,
        tags=form.tag_change(),
        form=form.cleaned_data["form"],
    ).execute()
    working_copies.forget_saved(request)
    link = format_html("<a href='{}'>{}</a>", addresses.admin_path(photo_id), form.cleaned_data["title"])
    message = _("Saved: {}.")
    if "_publish" in request.POST:
        message = _("Published: {}.")
    if saved.merged:
        message = _("Saved: {}. Merged with another editor's changes.")
    messages.success(request, format_html(message, link))
    stays = "_continue" in request.POST
    return HttpResponseRedirect(
        addresses.admin_path(photo_id) if stays else addresses.library_path(fields["parent_id"])
    )


def _show_conflict(request: HttpRequest, photo: Photo, form: PhotoForm, error: EditConflict, make: Any) -> HttpResponse:
    """Show the changes that both sides made, so that the editor can choose between them. The form keeps its id."""
    forms = ConflictForms.after(error, form.cleaned_data["form"], make)
    context: dict[str, Any] = sent_forms.describe_saves(request, photo.pk, form.cleaned_data["nonce"], error)
    context |= conflict.as_context(forms.clashes({}))
    return _show(request, photo, forms.form, status=409, **context)


def _show_gone(request: HttpRequest) -> HttpResponse:
    """Show the text that was typed for a deleted photo, so that the editor can copy the text."""
    form = PhotoForm(conflict.read_decisions(request.POST, PhotoForm).data, user=request.user)
    form.is_valid()
    typed = [
        (field.label, field.value()) for field in form.visible_fields() if field.name in TEXT_FIELDS and field.value()
    ]
    return render_page(request, "photo_gone", _("This photo no longer exists"), typed=typed, status=409)


def _show(
    request: HttpRequest,
    photo: Photo,
    form: NodeForm,
    *,
    status: int = 200,
    clashes: Sequence[Clash | TextClash] = (),
    **more: Any,
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
        "uses": uses.find(request.user, [photo.pk]),
        "twins": [stored_photos.get(twin_id) for twin_id in stored_photos.same_bytes(detail.sha256, photo.pk)],
        "former": stored_photos.former_contents(photo),
        "is_live": is_public(photo, tree.current(), now()),
        "may_change": access.may_change_photos(request.user),
        "describing": describing.address([photo.pk]) if access.may_describe(request.user, photo) else "",
        "markdown": addresses.markdown(photo),
        **working_copies.context(request, PHOTO, photo.pk),
    }
    return render_page(request, "photo", title, form=form, status=status, **context, **more)


@require_safe
def history(request: HttpRequest, photo_id: ObjectId) -> HttpResponse:
    """List a photo's saves, newest first.

    Saves from one sitting share a row, unless the query contains ?each=.
    """
    photo = access.photo(request.user, photo_id, NodePermission.VIEW).node
    context = list_saves(request, photo_id, photo.metadata.nonce, PHOTO)
    return render_page(request, "photo_history", _("History"), photo=photo, **context)


@require_POST
def go_back(request: HttpRequest, photo_id: ObjectId) -> HttpResponse:
    """Restore one of a photo's previous files."""
    content_id = request.POST.get("content", "")
    if not ObjectId.is_valid(content_id):
        raise Http404
    try:
        RestoreContent(user=request.user, node_id=photo_id, content_id=ObjectId(content_id)).execute()
        messages.success(request, _("The previous file was restored."))
    except NodeError as error:
        messages.error(request, str(error))
    return HttpResponseRedirect(addresses.admin_path(photo_id))


@require_POST
def move_to_trash(request: HttpRequest, photo_id: ObjectId) -> HttpResponse:
    """Move a photo to the trash, unless the photo has changed since its page was shown.

    If the photo is used, show a confirmation page first.
    """
    photo = access.photo(request.user, photo_id, NodePermission.TRASH).node
    nonce = request.POST.get("nonce") or request.POST.get(f"nonce-{photo_id}", "")
    if not ObjectId.is_valid(nonce):
        raise Http404
    photo_uses = uses.find(request.user, [photo_id])
    if photo_uses.is_used and uses.CONFIRMED not in request.POST:
        chosen = SelectedNode(photo_id, ObjectId(nonce), photo.metadata.title)
        back = addresses.admin_path(photo_id)
        return library.render_confirmation(request, bulk_forms.TRASH, [chosen], photo_uses, back=back)
    try:
        Trash(user=request.user, node_id=photo_id, seen=ObjectId(nonce)).execute()
        message = format_html(_("“{}” was moved to the trash."), photo.metadata.title)
        messages.success(request, format_html("{} {}", message, undo.button([(photo_id, ObjectId(nonce))])))
    except NodeError as error:
        messages.error(request, str(error))
        return HttpResponseRedirect(addresses.admin_path(photo_id))
    return HttpResponseRedirect(addresses.library_path(photo.metadata.parent_id))
