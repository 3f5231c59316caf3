"""The views that move, unpublish, copy, trash, restore and delete nodes. Each view shows a confirmation page first."""

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

from editor import edit_form, outcomes, sent_forms, undo, uses
from editor.editing import renumbered_message
from editor.site import admin_url, render_page
from nodes import access
from nodes.actions import Delete, Duplicate, Move, Restore, Trash, Unpublish
from nodes.content import FILE, PHOTO
from nodes.errors import EditConflict, IdTaken, NodeError
from nodes.form_fields import SectionField
from nodes.selectors import trash as selectors
from nodes.selectors.editable_nodes import Editable
from nodes.types import NEVER, Act
from photos import addresses


class Confirmation(forms.Form):
    """The form on a confirmation page.

    The form contains the operation's fields, and the nonce of the version that the page shows.
    """

    nonce = ObjectIdField(widget=forms.HiddenInput)

    def __init__(self, request: HttpRequest, editable: Editable, **fields: forms.Field) -> None:
        nonce = editable.live.nonce
        super().__init__(request.POST if request.method == "POST" else None, initial={"nonce": nonce})
        self.fields.update(fields)


def _section_field(request: HttpRequest, editable: Editable) -> SectionField:
    metadata = editable.node.metadata
    field = SectionField(request.user, metadata.type, metadata.parent_id, label=_("Section"))
    field.initial = metadata.parent_id
    return field


def _render_confirmation(
    request: HttpRequest, editable: Editable, form: forms.Form, title: str, **context: Any
) -> HttpResponse:
    if form.errors:
        # The page now shows the current version. If the editor presses the button again, this confirms the operation
        # for the current version.
        form.data = form.data.copy()
        form.data["nonce"] = str(editable.live.nonce)
    return render_page(request, "confirm", title, form=form, editable=editable, **context)


def _add_error(form: forms.Form, error: NodeError) -> None:
    if isinstance(error, EditConflict):
        form.add_error(
            None,
            _("This page has changed since you opened it, so no action was taken. Check the page, then confirm again."),
        )
    elif isinstance(error, IdTaken):
        form.add_error(None, f"{error} {renumbered_message()}")
        form.data = form.data.copy()
        form.data["new_id"] = str(ObjectId())
    else:
        sent_forms.add_error(form, error)


def _contents_notice(editable: Editable) -> str:
    """Return a notice about the effect on a section's contents, or "" if the node isn't a section."""
    return _("This also affects everything in this section.") if editable.node.content_type.is_section else ""


@require_http_methods(["GET", "HEAD", "POST"])
def move(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Move a node to another section. The old URLs redirect to the new one."""
    editable = access.node(request.user, node_id, Move.needs)
    form = Confirmation(request, editable, section=_section_field(request, editable))
    if request.method == "POST" and form.is_valid():
        seen = form.cleaned_data["nonce"]
        place = {"parent_id": form.cleaned_data["section"]}
        try:
            saved = Move(user=request.user, node_id=node_id, seen=seen, place=place).execute()
        except NodeError as error:
            _add_error(form, error)
        else:
            outcomes.report(request, saved, editable.node, Act.MOVED, seen=seen)
            return HttpResponseRedirect(admin_url("change", node_id))
    text = [_contents_notice(editable), _("Old URLs will still work and redirect to the new URL.")]
    return _render_confirmation(request, editable, form, _("Move"), button=_("Move"), text=" ".join(text).strip())


@require_http_methods(["GET", "HEAD", "POST"])
def unpublish(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Hide a public page from readers. If the page's publication is scheduled, cancel the schedule."""
    editable = access.node(request.user, node_id, Unpublish.needs)
    form = Confirmation(request, editable)
    if request.method == "POST" and form.is_valid():
        seen = form.cleaned_data["nonce"]
        try:
            saved = Unpublish(user=request.user, node_id=node_id, seen=seen).execute()
        except NodeError as error:
            _add_error(form, error)
        else:
            outcomes.report(request, saved, editable.node, seen=seen)
            return HttpResponseRedirect(admin_url("change", node_id))
    text = edit_form.takedown_warning(editable.node, None, NEVER) or _(
        "The page will become a draft and won't be published automatically."
    )
    node_uses = uses.find_with_contents(request.user, [node_id])
    text = " ".join([text, _("The text, history and comments will be kept."), _contents_notice(editable)]).strip()
    return _render_confirmation(
        request, editable, form, _("Unpublish"), button=_("Unpublish"), text=text, uses=node_uses
    )


@require_http_methods(["GET", "HEAD", "POST"])
def duplicate(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Copy a node into a section. If the same form is submitted twice, only one copy is created."""
    editable = access.node(request.user, node_id, Duplicate.needs)
    if not access.may_create(request.user, editable.node.metadata.type):
        raise PermissionDenied
    new_id = ObjectIdField(widget=forms.HiddenInput, initial=ObjectId)
    form = Confirmation(request, editable, section=_section_field(request, editable), new_id=new_id)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            saved = Duplicate(
                user=request.user, node_id=node_id, parent_id=data["section"], new_id=data["new_id"]
            ).execute()
        except NodeError as error:
            _add_error(form, error)
        else:
            messages.success(request, _("This is the copy. It isn't published yet."))
            return HttpResponseRedirect(admin_url("change", saved.id))
    text = _("The copy is a draft without comments.")
    return _render_confirmation(request, editable, form, _("Duplicate"), button=_("Duplicate"), text=text)


@require_http_methods(["GET", "HEAD", "POST"])
def move_to_trash(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Move a node to the trash."""
    editable = access.node(request.user, node_id, Trash.needs)
    form = Confirmation(request, editable)
    if request.method == "POST" and form.is_valid():
        seen = form.cleaned_data["nonce"]
        try:
            Trash(user=request.user, node_id=node_id, seen=seen).execute()
        except NodeError as error:
            _add_error(form, error)
        else:
            message = format_html(_("“{}” was moved to the trash."), editable.node.metadata.title)
            messages.success(request, format_html("{} {}", message, undo.button([(node_id, seen)])))
            return HttpResponseRedirect(admin_url("changelist"))
    text = " ".join(
        [
            _("Readers will no longer be able to see the page. You can restore the page from the trash."),
            _contents_notice(editable),
        ]
    )
    node_uses = uses.find_with_contents(request.user, [node_id])
    return _render_confirmation(
        request, editable, form, _("Move to trash"), button=_("Move to trash"), text=text, uses=node_uses
    )


@require_safe
def trash_list(request: HttpRequest) -> HttpResponse:
    """List the nodes in the trash that the user can see."""
    visible = access.trash_seen_by(request.user)
    if visible is None:
        raise PermissionDenied
    after = request.GET.get("after", "")
    shown, has_older = selectors.newest(visible, ObjectId(after) if ObjectId.is_valid(after) else None)
    rows = [
        {
            "item": item,
            "type": item.node.type_label,
            "icon": {PHOTO: "photos", FILE: "files"}.get(item.node.metadata.type, "pages"),
            "may_restore": access.allowed(request.user, item.node, Restore.needs),
            "may_delete": access.allowed(request.user, item.node, Delete.needs),
        }
        for item in shown
    ]
    return render_page(request, "trash", _("Trash"), rows=rows, older=shown[-1].node.pk if has_older else None)


@require_http_methods(["GET", "HEAD", "POST"])
def restore(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Restore a node from the trash, to its previous location or to a different one."""
    editable = access.trashed(request.user, node_id, Restore.needs)
    slug = forms.CharField(label=gettext_lazy("Slug"), max_length=200, initial=editable.node.metadata.slug)
    form = Confirmation(request, editable, section=_section_field(request, editable), slug=slug)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        action = Restore(
            user=request.user,
            node_id=node_id,
            seen=data["nonce"],
            slug=data["slug"],
            parent_id=data["section"],
            moves=True,
        )
        try:
            was_due = action.execute()
        except NodeError as error:
            _add_error(form, error)
        else:
            type = editable.node.content_type
            edit_url = addresses.admin_path(node_id, type.type_name) if type.is_file else admin_url("change", node_id)
            link = format_html("<a href='{}'>{}</a>", edit_url, editable.node.metadata.title)
            message = format_html(_("Restored: {}."), link)
            if was_due:
                message = format_html("{} {}", message, undo.DUE_MESSAGE)
            messages.success(request, message)
            return HttpResponseRedirect(admin_url("trash"))
    return _render_confirmation(request, editable, form, _("Restore"), button=_("Restore"), text="", in_trash=True)


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Permanently delete a node that is in the trash."""
    editable = access.trashed(request.user, node_id, Delete.needs)
    form = Confirmation(request, editable)
    if request.method == "POST" and form.is_valid():
        try:
            Delete(user=request.user, node_id=node_id, seen=form.cleaned_data["nonce"]).execute()
        except NodeError as error:
            _add_error(form, error)
        else:
            messages.success(request, _("Permanently deleted."))
            return HttpResponseRedirect(admin_url("trash"))
    text = _("This will delete the text, history and comments. You can't undo this.")
    title = _("Delete permanently")
    node_uses = uses.find(request.user, [node_id])
    return _render_confirmation(
        request, editable, form, title, button=title, text=text, in_trash=True, is_final=True, uses=node_uses
    )
