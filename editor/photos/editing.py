"""The admin page of a photo or file, with its form, its current and previous bytes, and its uses."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from bson import ObjectId
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from editor import bulk_forms, conflict, sent_forms, undo, uses, working_copies
from editor.conflict import Clash, ConflictForms, TextClash
from editor.forms import NodeForm
from editor.history import list_saves
from editor.photos import describing, library
from editor.photos.forms import ASSET_FORMS, FileForm, PhotoForm
from editor.photos.site import render_page
from editor.site import parse_id
from marginalia.mongo.clock import now
from nodes import access
from nodes.access import NodePermission
from nodes.actions import SaveNode, Trash
from nodes.content import PHOTO
from nodes.errors import EditConflict, NodeError, NodeGone
from nodes.models import File, Photo, tree
from nodes.selectors import stored_photos
from nodes.selectors.editable_nodes import Version
from nodes.selectors.listing import is_public
from nodes.types import SelectedNode
from photos import addresses, labels
from photos.actions import RestoreContent

# Text fields that are shown even if the photo was deleted, because editors may have spent a long time on this text.
TEXT_FIELDS = ("title", "alt", "summary", "tags")


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, photo_id: ObjectId, type: str = PHOTO) -> HttpResponse:
    """Show the form of a photo, or of a file if `type` is FILE. If the form was submitted, save it.

    After a conflict, show both versions, including the typed text.
    """
    working_copies.restore(request, photo_id)
    is_sent = request.method == "POST"
    try:
        editable = access.asset(
            request.user, photo_id, NodePermission.EDIT if is_sent else NodePermission.VIEW, type=type
        )
    except Http404:
        if is_sent and access.may_see_photos(request.user):
            return _show_gone(request, type)
        raise
    if is_sent:
        return _process(request, editable.node, editable.live)
    return _show(request, editable.node, ASSET_FORMS[type](user=request.user, seen=editable.live))


def _process(request: HttpRequest, photo: Photo | File, present: Version) -> HttpResponse:
    """Save a submitted form. If the form can't be saved, show it again with everything that was typed."""
    form_class = ASSET_FORMS[photo.metadata.type]
    make = partial(form_class, user=request.user)
    decisions = conflict.read_decisions(request.POST, form_class)
    form = make(decisions.data, seen=sent_forms.seen_version(request.POST, photo.pk) or present)
    if not sent_forms.validate(request.POST, form, decisions):
        return _show(request, photo, form, **sent_forms.describe_conflict(request.POST, form, decisions, make))
    if leaving := uses.find_if_unpublished(request.user, photo, form, request.POST):
        return _show(request, photo, form, leaving=leaving)
    try:
        return _save(request, photo, form, form.cleaned_data["nonce"] or ObjectId())
    except EditConflict as error:
        return _show_conflict(request, photo, form, error, make)
    except (NodeGone, Http404):
        return _show_gone(request, photo.metadata.type)
    except NodeError as error:
        sent_forms.add_error(form, error)
        return _show(request, photo, form, **sent_forms.describe_conflict(request.POST, form, decisions, make))


def _save(request: HttpRequest, photo: Photo | File, form: PhotoForm | FileForm, nonce: ObjectId) -> HttpResponse:
    """Save the form, and redirect to its page or to the list, depending on the button that was pressed.

    Raises:
        NodeError: The form can't be saved.
    """
    fields = form.to_publish() if "_publish" in request.POST else form.mine()
    saved = SaveNode(
        user=request.user,
        node_id=photo.pk,
        seen=nonce,
        fields=fields,
        tags=form.tag_change(),
        form=form.cleaned_data["form"],
    ).execute()
    working_copies.forget_saved(request)
    page = addresses.admin_path(photo.pk, photo.metadata.type)
    link = format_html("<a href='{}'>{}</a>", page, form.cleaned_data["title"])
    message = _("Saved: {}.")
    if "_publish" in request.POST:
        message = _("Published: {}.")
    if saved.merged:
        message = _("Saved: {}. Merged with another editor's changes.")
    messages.success(request, format_html(message, link))
    stays = "_continue" in request.POST
    return HttpResponseRedirect(page if stays else addresses.library_path(fields["parent_id"], photo.metadata.type))


def _show_conflict(
    request: HttpRequest, photo: Photo | File, form: PhotoForm | FileForm, error: EditConflict, make: Any
) -> HttpResponse:
    """Show the changes that both sides made, so that the editor can choose between them. The form keeps its id."""
    forms = ConflictForms.after(error, form.cleaned_data["form"], make)
    context: dict[str, Any] = sent_forms.describe_saves(request, photo.pk, form.cleaned_data["nonce"], error)
    context |= conflict.as_context(forms.clashes({}))
    return _show(request, photo, forms.form, status=409, **context)


def _show_gone(request: HttpRequest, type: str) -> HttpResponse:
    """Show the text that was typed for a deleted photo or file, so that the editor can copy the text."""
    form_class = ASSET_FORMS[type]
    form = form_class(conflict.read_decisions(request.POST, form_class).data, user=request.user)
    form.is_valid()
    typed = [
        (field.label, field.value()) for field in form.visible_fields() if field.name in TEXT_FIELDS and field.value()
    ]
    title = _("This photo no longer exists") if type == PHOTO else _("This file no longer exists")
    return render_page(request, "photo_gone", title, type=type, typed=typed, status=409)


def _show(
    request: HttpRequest,
    photo: Photo | File,
    form: NodeForm,
    *,
    status: int = 200,
    clashes: Sequence[Clash | TextClash] = (),
    **more: Any,
) -> HttpResponse:
    type = photo.metadata.type
    names = {clash.name for clash in clashes}
    context: dict[str, Any] = {
        "clashes": clashes,
        "fields": [field for field in form.visible_fields() if field.name not in names],
        "photo": photo,
        "uses": uses.find(request.user, [photo.pk]),
        "former": stored_photos.former_contents(photo),
        "is_live": is_public(photo, tree.current(), now()),
        "may_change": access.may_change_photos(request.user),
        "urls": {
            name: reverse(f"admin:nodes_{type}_{name}", args=[photo.pk])
            for name in ("history", "replace", "go_back", "trash")
        },
        **working_copies.context(request, type, photo.pk),
    }
    if isinstance(photo, Photo):
        context |= _picture_context(request, photo)
    return render_page(request, type, photo.metadata.title, type=type, form=form, status=status, **context, **more)


def _picture_context(request: HttpRequest, photo: Photo) -> dict[str, Any]:
    """Return the variables that only a photo's page needs."""
    twin_ids = stored_photos.same_bytes(photo.metadata.detail.sha256, photo.pk)
    return {
        "picture": addresses.picture(photo, sizes="(min-width: 60rem) 40rem, 100vw"),
        "original": addresses.uncut_path(photo),
        "whole": addresses.uncut_path(photo, addresses.DEFAULT_WIDTH),
        "exif": labels.facts(photo),
        "twins": [stored_photos.get(twin_id) for twin_id in twin_ids],
        "describing": describing.address([photo.pk]) if access.may_describe(request.user, photo) else "",
        "markdown": addresses.markdown(photo),
    }


@require_safe
def history(request: HttpRequest, photo_id: ObjectId, type: str = PHOTO) -> HttpResponse:
    """List the saves of a photo or file, newest first.

    Saves from one sitting share a row, unless the query contains ?each=.
    """
    photo = access.asset(request.user, photo_id, NodePermission.VIEW, type=type).node
    context = list_saves(request, photo_id, photo.metadata.nonce, type)
    return render_page(request, "photo_history", _("History"), type=type, photo=photo, **context)


@require_POST
def go_back(request: HttpRequest, photo_id: ObjectId, type: str = PHOTO) -> HttpResponse:
    """Restore previous bytes of a photo or file, unless it has changed since its page was shown."""
    content_id = parse_id(request.POST.get("content", ""))
    seen = parse_id(request.POST.get("nonce", ""))
    try:
        RestoreContent(user=request.user, node_id=photo_id, content_id=content_id, seen=seen).execute()
        messages.success(request, _("The previous file was restored."))
    except NodeError as error:
        messages.error(request, str(error))
    return HttpResponseRedirect(addresses.admin_path(photo_id, type))


@require_POST
def move_to_trash(request: HttpRequest, photo_id: ObjectId, type: str = PHOTO) -> HttpResponse:
    """Move a photo or file to the trash, unless it has changed since its page was shown.

    If it is used, show a confirmation page first.
    """
    photo = access.asset(request.user, photo_id, NodePermission.TRASH, type=type).node
    nonce = parse_id(request.POST.get("nonce") or request.POST.get(f"nonce-{photo_id}", ""))
    photo_uses = uses.find(request.user, [photo_id])
    if photo_uses.is_used and uses.CONFIRMED not in request.POST:
        chosen = SelectedNode(photo_id, nonce, photo.metadata.title)
        back = addresses.admin_path(photo_id, type)
        return library.render_confirmation(request, bulk_forms.TRASH, [chosen], photo_uses, type, back=back)
    try:
        Trash(user=request.user, node_id=photo_id, seen=nonce).execute()
        message = format_html(_("“{}” was moved to the trash."), photo.metadata.title)
        messages.success(request, format_html("{} {}", message, undo.button([(photo_id, nonce)])))
    except NodeError as error:
        messages.error(request, str(error))
        return HttpResponseRedirect(addresses.admin_path(photo_id, type))
    return HttpResponseRedirect(addresses.library_path(photo.metadata.parent_id, type))
