"""Moving, copying, throwing away, restoring, deleting permanently: a page that says what will happen, then one POST."""

from typing import Any

from bson import ObjectId
from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe
from django_mongodb_backend.forms import ObjectIdField

from editor import edit_form, outcomes, undo, uses
from editor.editing import again_under_another
from editor.fields import SectionField
from editor.site import actor, admin_url, page
from nodes import access
from nodes.access import Action
from nodes.errors import EditConflict, IdTaken, NodeError, SlugTaken
from nodes.selectors import editable_nodes
from nodes.selectors import trash as selectors
from nodes.selectors.editable_nodes import Editable
from nodes.services import duplicating, editing, trash
from nodes.types import NEVER, Act
from photos import addresses


class Confirmation(forms.Form):
    """What is confirmed: the node as it was shown, and more if the operation needs it."""

    nonce = ObjectIdField(widget=forms.HiddenInput)

    def __init__(self, request: HttpRequest, found: Editable, **more: forms.Field) -> None:
        nonce = found.live.nonce
        super().__init__(request.POST if request.method == "POST" else None, initial={"nonce": nonce})
        self.fields.update(more)


def _section(request: HttpRequest, found: Editable) -> SectionField:
    metadata = found.node.metadata
    field = SectionField(request.user, metadata.type, metadata.parent_id, label=_("Section"))
    field.initial = metadata.parent_id
    return field


def _confirm(request: HttpRequest, found: Editable, form: forms.Form, title: str, **context: Any) -> HttpResponse:
    if form.errors:
        # What is shown now is what the next press confirms.
        form.data = form.data.copy()
        form.data["nonce"] = str(found.live.nonce)
    return page(request, "confirm", title, form=form, found=found, **context)


def _refuse(form: forms.Form, error: NodeError) -> None:
    if isinstance(error, EditConflict):
        form.add_error(None, _("This page has changed since. Look at it again, then confirm once more."))
    elif isinstance(error, IdTaken):
        form.add_error(None, f"{error} {again_under_another()}")
        form.data = form.data.copy()
        form.data["new_id"] = str(ObjectId())
    else:
        form.add_error("slug" if isinstance(error, SlugTaken) and "slug" in form.fields else None, str(error))


def _goes_with(found: Editable) -> str:
    """Say what an operation on a section means for what stands in it."""
    return _("What stands in it goes with it.") if found.node.content_type.is_section else ""


@require_http_methods(["GET", "HEAD", "POST"])
def move(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Move a node to another section; its old addresses lead to the new one."""
    found = access.node(request.user, node_id, Action.MOVE)
    form = Confirmation(request, found, section=_section(request, found))
    if request.method == "POST" and form.is_valid():
        try:
            moved = {"parent_id": form.cleaned_data["section"]}
            bound = access.changes_unpublished_only(request.user)
            saved = editing.save(actor(request), node_id, form.cleaned_data["nonce"], moved, only_unpublished=bound)
        except NodeError as error:
            _refuse(form, error)
        else:
            outcomes.tell(request, saved, found.node, Act.MOVED, seen=form.cleaned_data["nonce"])
            return HttpResponseRedirect(admin_url("change", node_id))
    text = [_goes_with(found), _("Old addresses go on working: they lead to the new place.")]
    return _confirm(request, found, form, _("Move"), button=_("Move"), text=" ".join(text).strip())


@require_http_methods(["GET", "HEAD", "POST"])
def unpublish(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Take a page from the public, or keep it from appearing."""
    found = access.node(request.user, node_id, Action.PUBLISH)
    form = Confirmation(request, found)
    if request.method == "POST" and form.is_valid():
        try:
            saved = editing.save(actor(request), node_id, form.cleaned_data["nonce"], {"published": None})
        except NodeError as error:
            _refuse(form, error)
        else:
            outcomes.tell(request, saved, found.node, seen=form.cleaned_data["nonce"])
            return HttpResponseRedirect(admin_url("change", node_id))
    text = edit_form.takedown_warning(found.node, None, NEVER) or _(
        "The page becomes a draft: it will not appear by itself."
    )
    used = uses.of_leaving(request.user, [node_id])
    text = " ".join([text, _("Its text, history and comments stay."), _goes_with(found)]).strip()
    return _confirm(request, found, form, _("Unpublish"), button=_("Unpublish"), text=text, uses=used)


@require_http_methods(["GET", "HEAD", "POST"])
def duplicate(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Copy a node into a section; one form makes one copy."""
    found = access.node(request.user, node_id, Action.VIEW)
    if not access.may_create(request.user, found.node.metadata.type):
        raise PermissionDenied
    new_id = ObjectIdField(widget=forms.HiddenInput, initial=ObjectId)
    form = Confirmation(request, found, section=_section(request, found), new_id=new_id)
    if request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        if editable_nodes.load(said["new_id"]):
            # A form sent again goes on with the copy that it made, if that is still for this user to change.
            access.node(request.user, said["new_id"], Action.EDIT)
        try:
            bound = access.changes_unpublished_only(request.user)
            saved = duplicating.duplicate(
                actor(request), node_id, parent_id=said["section"], new_id=said["new_id"], only_unpublished=bound
            )
        except NodeError as error:
            _refuse(form, error)
        else:
            messages.success(request, _("This is the copy. It is not published."))
            return HttpResponseRedirect(admin_url("change", saved.id))
    text = _("The copy is not published, and has no comments.")
    return _confirm(request, found, form, _("Duplicate"), button=_("Duplicate"), text=text)


@require_http_methods(["GET", "HEAD", "POST"])
def throw_away(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Move a node to the trash."""
    found = access.node(request.user, node_id, Action.TRASH)
    form = Confirmation(request, found)
    if request.method == "POST" and form.is_valid():
        try:
            trash.trash(actor(request), node_id, form.cleaned_data["nonce"])
        except NodeError as error:
            _refuse(form, error)
        else:
            told = format_html(_("“{}” is in the trash."), found.node.metadata.title)
            messages.success(request, format_html("{} {}", told, undo.button([(node_id, form.cleaned_data["nonce"])])))
            return HttpResponseRedirect(admin_url("changelist"))
    text = " ".join([_("Readers do not see it any more. You can restore it from the trash."), _goes_with(found)])
    used = uses.of_leaving(request.user, [node_id])
    return _confirm(request, found, form, _("Move to the trash"), button=_("Move to the trash"), text=text, uses=used)


@require_safe
def trash_list(request: HttpRequest) -> HttpResponse:
    """List what is in the trash and the user may see."""
    among = access.trash_seen_by(request.user)
    if among is None:
        raise PermissionDenied
    after = request.GET.get("after", "")
    shown, has_older = selectors.newest(among, ObjectId(after) if ObjectId.is_valid(after) else None)
    rows = [
        {
            "item": item,
            "type": item.node.type_label,
            "may_restore": access.allowed(request.user, item.node, Action.TRASH),
            "may_delete": access.allowed(request.user, item.node, Action.DELETE),
        }
        for item in shown
    ]
    return page(request, "trash", _("Trash"), rows=rows, older=shown[-1].node.pk if has_older else None)


@require_http_methods(["GET", "HEAD", "POST"])
def restore(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Put a node from the trash back into its place, or into another."""
    found = access.trashed(request.user, node_id, Action.TRASH)
    slug = forms.CharField(label=gettext_lazy("Slug"), max_length=200, initial=found.node.metadata.slug)
    form = Confirmation(request, found, section=_section(request, found), slug=slug)
    if request.method == "POST" and form.is_valid():
        said = form.cleaned_data
        try:
            was_due = trash.restore(
                actor(request), node_id, said["nonce"], slug=said["slug"], parent_id=said["section"]
            )
        except NodeError as error:
            _refuse(form, error)
        else:
            is_photo = found.node.content_type.is_file
            page_of = addresses.admin_path(node_id) if is_photo else admin_url("change", node_id)
            link = format_html("<a href='{}'>{}</a>", page_of, found.node.metadata.title)
            told = format_html(_("Restored: {}."), link)
            if was_due:
                told = format_html("{} {}", told, undo.DUE)
            messages.success(request, told)
            return HttpResponseRedirect(admin_url("trash"))
    return _confirm(request, found, form, _("Restore"), button=_("Restore"), text="", in_trash=True)


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Delete a node in the trash permanently."""
    found = access.trashed(request.user, node_id, Action.DELETE)
    form = Confirmation(request, found)
    if request.method == "POST" and form.is_valid():
        try:
            trash.delete(node_id, form.cleaned_data["nonce"])
        except NodeError as error:
            _refuse(form, error)
        else:
            messages.success(request, _("Deleted permanently."))
            return HttpResponseRedirect(admin_url("trash"))
    text = _("Its text, its history and its comments are deleted. This cannot be undone.")
    return _confirm(
        request, found, form, _("Delete permanently"), button=_("Delete permanently"), text=text, in_trash=True, is_final=True,
        uses=uses.of(request.user, [node_id]),
    )  # fmt: skip
