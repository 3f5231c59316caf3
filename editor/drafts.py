"""The views for drafts, apart from the edit form: publishing, scheduling, discarding, previews and preview links."""

from typing import Any
from urllib.parse import urlencode

from bson import ObjectId
from csp.decorators import csp_replace
from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_mongodb_backend.forms import ObjectIdField

from editor import differences, edit_form, sent_forms, text_warnings
from editor.editing import publish_draft
from editor.fields import MomentField
from editor.site import admin_url, render_page
from nodes import access
from nodes.access import NodePermission
from nodes.actions import DiscardDraft, PublishDraft, ScheduleDraft, UnscheduleDraft
from nodes.errors import NodeError
from nodes.selectors.editable_nodes import Editable, Version
from photos import texts
from reader.views import previews
from reader.views.previews import Preview

# Typical widths of readers' screens, in CSS pixels.
WIDTHS = ((360, gettext_lazy("Phone")), (768, gettext_lazy("Tablet")), (1200, gettext_lazy("Desktop")))


class DraftForm(forms.Form):
    """The form on a page that shows a draft. The form contains the nonce of this draft."""

    draft = ObjectIdField(widget=forms.HiddenInput)


def _form(request: HttpRequest, draft: Version) -> DraftForm:
    return DraftForm(request.POST if request.method == "POST" else None, initial={"draft": draft.nonce})


def _load_with_draft(request: HttpRequest, node_id: ObjectId, permission: NodePermission) -> tuple[Editable, Version]:
    """Return a node and its draft.

    Raises:
        Http404: There is no such node, or it has no draft.
        PermissionDenied: The user doesn't have `permission` for the node.
    """
    editable = access.node(request.user, node_id, permission)
    if editable.draft is None:
        raise Http404(_("This page no longer has a draft. The draft was published or discarded."))
    return editable, editable.draft


@require_http_methods(["GET", "HEAD", "POST"])
def publish(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show the changes in a draft. If the form was submitted, publish the draft as the live version."""
    editable, draft = _load_with_draft(request, node_id, PublishDraft.needs)
    form = _form(request, draft)
    if request.method == "POST" and form.is_valid():
        try:
            return publish_draft(request, editable, form.cleaned_data["draft"])
        except NodeError as error:
            sent_forms.add_error(form, error)
    dates = {**editable.live.fields, **draft.fields}
    question = edit_form.takedown_warning(editable.node, dates["published"], dates["expires"])
    warnings = text_warnings.in_version(draft.fields, request.user)
    return _show(request, editable, draft, form, _("Publish changes"), question=question, warnings=warnings)


class ScheduleForm(DraftForm):
    """The form that schedules a draft. The `due` field is the time when the draft will be published."""

    due = MomentField(label=gettext_lazy("Publish changes on"))

    # ScheduleDraft reports errors in the field `due` with the path "at".
    paths = {"due": "at"}


@require_http_methods(["GET", "HEAD", "POST"])
def schedule(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show the changes in a draft. If the form was submitted, schedule the draft for publication."""
    editable, draft = _load_with_draft(request, node_id, ScheduleDraft.needs)
    initial = {"draft": draft.nonce, "due": draft.due}
    form = ScheduleForm(request.POST if request.method == "POST" else None, initial=initial, label_suffix="")
    if request.method == "POST" and form.is_valid():
        try:
            return publish_draft(request, editable, form.cleaned_data["draft"], due=form.cleaned_data["due"])
        except NodeError as error:
            sent_forms.add_error(form, error)
    warnings = text_warnings.in_version(draft.fields, request.user)
    return _show(request, editable, draft, form, _("Schedule changes"), warnings=warnings)


@require_http_methods(["GET", "HEAD", "POST"])
def unschedule(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show the scheduled changes. If the form was submitted, cancel the schedule and keep the changes as a draft."""
    message = _("The schedule was cancelled. The changes are saved as a draft.")
    return _run_confirmed(request, node_id, UnscheduleDraft, _("Cancel schedule"), message)


@require_http_methods(["GET", "HEAD", "POST"])
def discard(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show the changes in a draft. If the form was submitted, discard the draft."""
    message = _("The draft was discarded. The live version is unchanged.")
    return _run_confirmed(request, node_id, DiscardDraft, _("Discard draft"), message)


def _run_confirmed(
    request: HttpRequest,
    node_id: ObjectId,
    action: type[DiscardDraft | UnscheduleDraft],
    title: str,
    message: str,
) -> HttpResponse:
    """Show the changes in a draft and ask for confirmation. After confirmation, execute `action` and show `message`."""
    editable, draft = _load_with_draft(request, node_id, action.needs)
    form = _form(request, draft)
    if request.method == "POST" and form.is_valid():
        try:
            action(user=request.user, node_id=node_id, seen=form.cleaned_data["draft"]).execute()
        except NodeError as error:
            sent_forms.add_error(form, error)
        else:
            messages.success(request, message)
            return HttpResponseRedirect(admin_url("change", node_id))
    return _show(request, editable, draft, form, title)


def _show(
    request: HttpRequest, editable: Editable, draft: Version, form: DraftForm, title: str, **context: Any
) -> HttpResponse:
    if form.errors:
        form.data = {**form.data.dict(), "draft": str(draft.nonce)}
    live = {path: editable.live.fields.get(path) for path in draft.fields}
    changes = differences.changes(
        {**live, "tags": sorted(editable.live.tags)},
        {**draft.fields, "tags": sorted(draft.tags)},
        editable.node.metadata.type,
        request.user,
    )
    return render_page(request, "draft", title, editable=editable, form=form, changes=changes, **context)


@require_safe
def preview_frame(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show the preview in a frame that is as wide as a phone, tablet or desktop screen.

    The ?width= parameter sets the width in CSS pixels. By default, the frame has the narrowest width on phones, and the
    widest on other devices.
    """
    editable = access.node(request.user, node_id, NodePermission.VIEW)
    width = request.GET.get("width", "")
    live = {"version": "live"} if request.GET.get("version") == "live" else {}
    # On a phone, a frame with the desktop width would be too small to read, so the default is the phone width.
    default = WIDTHS[0] if "Mobi" in request.headers.get("User-Agent", "") else WIDTHS[-1]
    shown = int(width) if width in {str(known) for known, _label in WIDTHS} else default[0]
    sizes = [
        {"label": label, "url": "?" + urlencode({"width": w, **live}), "is_shown": w == shown} for w, label in WIDTHS
    ]
    preview_url = admin_url("preview", node_id, **live)
    return render_page(request, "preview_frame", _("Preview"), editable=editable, sizes=sizes, width=shown, preview=preview_url,
    )  # fmt: skip


@require_safe
@xframe_options_sameorigin
@csp_replace({"frame-ancestors": ["'self'"]})  # type: ignore[arg-type]
def preview(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show the page as readers would see it, including its draft. For ?version=live, show the live version.

    References in the text are marked if readers can't see their targets.
    """
    editable = access.node(request.user, node_id, NodePermission.VIEW)
    node = editable.node if request.GET.get("version") == "live" else editable.drafted()
    sees_photos = access.may_see_photos(request.user)
    sees_all = access.sees_all(request.user)
    return previews.show(request, node, texts.render_for_editor(node, sees_photos=sees_photos, sees_all=sees_all))


@require_POST
def preview_link(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Create a link with which people without an account can see the page, including its draft."""
    editable = access.node(request.user, node_id, NodePermission.DRAFT)
    path = previews.link(Preview(node_id, (editable.draft or editable.live).nonce))
    return render_page(
        request, "preview_link", _("Share preview"), editable=editable, link=request.build_absolute_uri(path),
        days=previews.DAYS,
    )  # fmt: skip
