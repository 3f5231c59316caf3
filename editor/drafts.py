"""What is done with drafts beside the form: publishing, discarding, previews, and links to show others."""

from collections.abc import Callable
from datetime import datetime
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

from editor import differences, edit_form
from editor.editing import publish_draft
from editor.fields import MomentField
from editor.site import admin_url, page
from marginalia.mongo.clock import now
from nodes import access
from nodes.access import Action
from nodes.errors import NodeError
from nodes.selectors.editable_nodes import Editable, Version
from nodes.services import drafts
from photos import texts
from reader.views import previews
from reader.views.previews import Preview

# In CSS pixels, as readers' screens are wide.
WIDTHS = ((360, gettext_lazy("Phone")), (768, gettext_lazy("Tablet")), (1200, gettext_lazy("Desktop")))


class DraftForm(forms.Form):
    """The draft as it was shown."""

    draft = ObjectIdField(widget=forms.HiddenInput)


def _form(request: HttpRequest, draft: Version) -> DraftForm:
    return DraftForm(request.POST if request.method == "POST" else None, initial={"draft": draft.nonce})


def _with_draft(request: HttpRequest, node_id: ObjectId, action: Action) -> tuple[Editable, Version]:
    found = access.node(request.user, node_id, action)
    if found.draft is None:
        raise Http404(_("There is no draft of this page any more."))
    return found, found.draft


@require_http_methods(["GET", "HEAD", "POST"])
def publish(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show what a draft changes; make it the live version."""
    found, draft = _with_draft(request, node_id, Action.PUBLISH)
    form = _form(request, draft)
    if request.method == "POST" and form.is_valid():
        try:
            return publish_draft(request, found, form.cleaned_data["draft"])
        except NodeError as error:
            form.add_error(None, str(error))
    dates = {**found.live.fields, **draft.fields}
    question = edit_form.takedown_warning(found.node, dates["published"], dates["expires"])
    title = _("Schedule changes") if edit_form.changes_due(found.node, dates["published"]) else _("Publish changes")
    return _show(request, found, draft, form, title, question)


class ScheduleForm(DraftForm):
    """The draft as it was shown, and when readers are to see it."""

    due = MomentField(label=gettext_lazy("Changes appear"))

    def clean_due(self) -> datetime:
        due: datetime = self.cleaned_data["due"]
        if due <= now():
            raise forms.ValidationError(_("Choose a time ahead. To show the changes at once, publish them."))
        return due


@require_http_methods(["GET", "HEAD", "POST"])
def schedule(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show what a draft changes; have readers see it from a time ahead on."""
    found, draft = _with_draft(request, node_id, Action.PUBLISH)
    given = {"draft": draft.nonce, "due": draft.due}
    form = ScheduleForm(request.POST if request.method == "POST" else None, initial=given, label_suffix="")
    if request.method == "POST" and form.is_valid():
        try:
            return publish_draft(request, found, form.cleaned_data["draft"], due=form.cleaned_data["due"])
        except NodeError as error:
            form.add_error(None, str(error))
    return _show(request, found, draft, form, _("Schedule changes"))


@require_http_methods(["GET", "HEAD", "POST"])
def unschedule(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show what was scheduled; make a mere draft of it again."""
    told = _("Not scheduled any more. The changes are kept as a draft.")
    return _confirmed(request, node_id, Action.PUBLISH, drafts.unschedule, _("Cancel the schedule"), told)


@require_http_methods(["GET", "HEAD", "POST"])
def discard(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show what a draft changes; remove it."""
    told = _("The draft was discarded. The live version is as it was.")
    return _confirmed(request, node_id, Action.DRAFT, drafts.discard_draft, _("Discard the draft"), told)


def _confirmed(
    request: HttpRequest,
    node_id: ObjectId,
    action: Action,
    service: Callable[[ObjectId, ObjectId], None],
    title: str,
    told: str,
) -> HttpResponse:
    """Show what a draft changes; do to it, once that is confirmed, what `service` does, and say so: `told`."""
    found, draft = _with_draft(request, node_id, action)
    form = _form(request, draft)
    if request.method == "POST" and form.is_valid():
        try:
            service(node_id, form.cleaned_data["draft"])
        except NodeError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, told)
            return HttpResponseRedirect(admin_url("change", node_id))
    return _show(request, found, draft, form, title)


def _show(
    request: HttpRequest, found: Editable, draft: Version, form: DraftForm, title: str, question: str = ""
) -> HttpResponse:
    if form.errors:
        form.data = {**form.data.dict(), "draft": str(draft.nonce)}
    live = {path: found.live.fields.get(path) for path in draft.fields}
    changes = differences.changes(
        {**live, "tags": sorted(found.live.tags)},
        {**draft.fields, "tags": sorted(draft.tags)},
        found.node.metadata.type,
        request.user,
    )
    return page(request, "draft", title, found=found, form=form, changes=changes, question=question)


@require_safe
def preview_frame(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show the preview in a frame as wide as a phone, a tablet or a desktop, as ?width= says; else as what asks is."""
    found = access.node(request.user, node_id, Action.VIEW)
    width = request.GET.get("width", "")
    live = {"version": "live"} if request.GET.get("version") == "live" else {}
    # Seen on a phone a desktop is too small to read.
    own = WIDTHS[0] if "Mobi" in request.headers.get("User-Agent", "") else WIDTHS[-1]
    shown = int(width) if width in {str(known) for known, _label in WIDTHS} else own[0]
    sizes = [
        {"label": label, "url": "?" + urlencode({"width": w, **live}), "is_shown": w == shown} for w, label in WIDTHS
    ]
    address_shown = admin_url("preview", node_id, **live)
    return page(request, "preview_frame", _("Preview"), found=found, sizes=sizes, width=shown, preview=address_shown,
        is_nav_sidebar_enabled=False,
    )  # fmt: skip


@require_safe
@xframe_options_sameorigin
@csp_replace({"frame-ancestors": ["'self'"]})  # type: ignore[arg-type]
def preview(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show an editor the page as it would be, with its draft if there is one; ?version=live without. What readers would not get
    of its text is marked."""
    found = access.node(request.user, node_id, Action.VIEW)
    shown = found.node if request.GET.get("version") == "live" else found.drafted()
    sees_photos = access.may_see_photos(request.user)
    sees_all = access.sees_all(request.user)
    return previews.show(request, shown, texts.render_for_editor(shown, sees_photos=sees_photos, sees_all=sees_all))


@require_POST
def preview_link(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Make a link that shows others the page as it would be."""
    found = access.node(request.user, node_id, Action.DRAFT)
    path = previews.link(Preview(node_id, (found.draft or found.live).nonce))
    return page(
        request, "preview_link", _("Preview for others"), found=found, link=request.build_absolute_uri(path),
        days=previews.DAYS,
    )  # fmt: skip
