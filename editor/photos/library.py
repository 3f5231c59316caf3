"""The lists of photos and of files: filters, a drop area for new files, and bulk actions."""

from dataclasses import replace
from typing import Any

from bson import ObjectId
from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from editor import bulk_forms, bulk_progress, undo, uses
from editor.lists import STATES, chips, format_total, node_state, page_url
from editor.photos import describing
from editor.photos.site import render_page
from marginalia.mongo.clock import now
from nodes import access
from nodes.access import TOP, chosen_section, section_choices
from nodes.actions import execute_all
from nodes.collections import ASSET_FILES
from nodes.content import FILE, PHOTO
from nodes.models import stored_site
from nodes.selectors import lists, stored_assets, stored_photos
from nodes.selectors.lists import Filters
from nodes.types import SelectedNode
from photos import addresses
from photos.assets.limits import limits

# Number of photos per page.
SIZE = 60
LIST = "list"
# The id for which scripts substitute a section in the URL for uploads.
ANY_SECTION = "0" * 24
# Number of seconds that the lists of cameras and lenses are cached. Some changes, such as restoring a photo, don't
# invalidate these lists.
KNOWN = 600


class FileFilterForm(forms.Form):
    """The filters of the list of files, as query parameters."""

    type = FILE

    q = forms.CharField(
        label=gettext_lazy("Search"),
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"type": "search", "placeholder": gettext_lazy("Search")}),
    )
    section = forms.ChoiceField(label=gettext_lazy("Section"), required=False)
    state = forms.ChoiceField(label=gettext_lazy("State"), required=False)
    tag = forms.CharField(label=gettext_lazy("Tag"), required=False, max_length=100)

    def __init__(self, data: Any, user: Any) -> None:
        super().__init__(data)
        self.fields["section"].choices = [*_ALL, *section_choices(user, self.type)]
        states = [(name, label) for name, label in STATES.items() if name not in (lists.DRAFTED, lists.DUE)]
        self.fields["state"].choices = [*_ALL, *states]
        self.fields["tag"].widget = forms.TextInput(attrs={"list": "tags-in-use"})

    def filters(self) -> Filters:
        """Return the filters, without unknown values."""
        self.is_valid()
        data = {name: value for name, value in self.cleaned_data.items() if value}
        filters = Filters(type=self.type, tag=data.get("tag", ""), state=data.get("state", ""))
        filters = replace(filters, search=data.get("q", ""))
        return replace(filters, section=chosen_section(data["section"])) if "section" in data else filters

    @property
    def gallery(self) -> str:
        """The choice of the section by which the list is filtered, or "" if it isn't filtered by section."""
        return str(self.cleaned_data.get("section", ""))


class PhotoFilterForm(FileFilterForm):
    """The library's filters, as query parameters."""

    type = PHOTO

    camera = forms.ChoiceField(label=gettext_lazy("Camera"), required=False)
    lens = forms.ChoiceField(label=gettext_lazy("Lens"), required=False)
    focal_length = forms.FloatField(label=gettext_lazy("Focal length (mm)"), required=False, min_value=0)
    year = forms.IntegerField(label=gettext_lazy("Year"), required=False, min_value=1800, max_value=9999)
    layout = forms.ChoiceField(
        label=gettext_lazy("View"), required=False, choices=[("", gettext_lazy("Grid")), (LIST, gettext_lazy("List"))]
    )

    def __init__(self, data: Any, user: Any) -> None:
        super().__init__(data, user)
        self.fields["section"].label = _("Gallery")
        version = (stored_photos.last_change(), int(now().timestamp() // KNOWN))
        for name in ("camera", "lens"):
            values = stored_photos.values(name, version)
            self.fields[name].choices = [*_ALL, *((value, value) for value in values)]

    def filters(self) -> Filters:
        """Return the filters, without unknown values."""
        filters = super().filters()
        names = ("camera", "lens", "focal_length", "year")
        properties = [(name, self.cleaned_data.get(name)) for name in names]
        return replace(filters, exif=tuple((name, value) for name, value in properties if value))


_ALL = [("", gettext_lazy("All"))]


class AssetBulkForm(bulk_forms.BulkForm):
    """A form for a bulk action on photos or files, and the action's arguments."""

    confirmed_actions = (bulk_forms.TRASH, bulk_forms.UNPUBLISH)

    def __init__(self, user: Any, data: Any = None, *, type: str = PHOTO) -> None:
        super().__init__(user, data)
        self.fields["action"].choices = [("", "---------"), *bulk_forms.LABELS.items()]
        self.fields["target"].choices = [("", "---------"), *section_choices(user, type)]
        if type == PHOTO:
            self.fields["target"].label = _("New gallery")


@require_http_methods(["GET", "HEAD", "POST"])
def library(request: HttpRequest, type: str = PHOTO) -> HttpResponse:
    """Show a page of the photos, or of the files if `type` is FILE. If a bulk action was submitted, perform it."""
    if not access.may_see_photos(request.user):
        raise PermissionDenied
    if request.method == "POST":
        return _run(request, type)
    form = (PhotoFilterForm if type == PHOTO else FileFilterForm)(request.GET, request.user)
    moment = now()
    version = stored_site.current().version
    filters = form.filters()
    try:
        list_page = lists.page(filters, moment, cursor=request.GET.get("from", ""), size=SIZE, collection=ASSET_FILES)
    except ValueError as error:
        raise Http404(_("This page of the list doesn't exist.")) from error
    context: dict[str, Any] = {
        "rows": [
            {"photo": row.node, "state": node_state(row.node, moment), "url": addresses.admin_path(row.node.pk, type)}
            for row in list_page.rows
        ],
        "older": page_url(request, list_page.older),
        "newer": page_url(request, list_page.newer),
        "total": format_total(filters, list_page, version, moment, ASSET_FILES),
        "chips": chips(request, form),
        "corrected": list_page.corrected,
        "tags": lists.tags(version, ASSET_FILES),
        "layout": form.cleaned_data.get("layout", ""),
        "most_mb": (limits().max_bytes if type == PHOTO else settings.FILES_MAX_BYTES) >> 20,
        "most_described": describing.MOST,
    }
    if access.may_change_photos(request.user):
        context["bulk"] = AssetBulkForm(request.user, type=type)
    if access.may_add_photos(request.user):
        context["galleries"] = section_choices(request.user, type)
        context["may_publish"] = access.may_change_photos(request.user)
        context["upload_url"] = _upload_url(form.gallery, type)
        context["upload_template"] = _upload_url(ANY_SECTION, type)
    template, title = ("photos", _("Photos")) if type == PHOTO else ("files", _("Files"))
    context |= {"filters": form, "gallery": form.gallery}
    return render_page(request, template, title, type=type, **context)


def _upload_url(section: str, type: str) -> str:
    """Return the URL for uploads to a section, or to the library if `section` is "" or TOP."""
    return reverse(f"admin:nodes_{type}_upload", args=[section] if section not in ("", TOP) else None)


def _run(request: HttpRequest, type: str) -> HttpResponse:
    if not access.may_change_photos(request.user):
        raise PermissionDenied
    form = AssetBulkForm(request.user, request.POST, type=type)
    chosen = _chosen(request)
    before = bulk_progress.so_far(request)
    if not form.is_valid():
        for reasons in form.errors.values():
            messages.error(request, " ".join(str(reason) for reason in reasons))
    elif not chosen and before == bulk_progress.Outcome():
        messages.warning(
            request, _("Nothing was changed, because you didn't select anything. Select one or more items first.")
        )
    elif confirmation_page := _confirmation_page(request, form.cleaned_data["action"], chosen, type):
        return confirmation_page
    else:
        summary = execute_all((row, bulk_forms.make_action(request.user, row, form.cleaned_data)) for row in chosen)
        outcome = before.with_batch(chosen, summary, [])
        if bulk_progress.MORE in request.POST:
            return bulk_progress.respond(request, outcome)
        _report(request, form.cleaned_data["action"], outcome, type)
    return HttpResponseRedirect(request.get_full_path())


def _confirmation_page(request: HttpRequest, action: str, chosen: list[SelectedNode], type: str) -> HttpResponse | None:
    """Return the page that asks for confirmation before hiding photos, or None if no confirmation is needed.

    The page contains the same form again, so confirming repeats the request.
    """
    if action not in (bulk_forms.TRASH, bulk_forms.UNPUBLISH) or not chosen or uses.CONFIRMED in request.POST:
        return None
    photo_uses = uses.find(request.user, [row.id for row in chosen], bulk_forms.NAMED)
    if action == bulk_forms.UNPUBLISH and not photo_uses.is_used:
        return None
    return render_confirmation(request, action, chosen, photo_uses, type)


def render_confirmation(
    request: HttpRequest, action: str, chosen: list[SelectedNode], photo_uses: uses.Uses, type: str, *, back: str = ""
) -> HttpResponse:
    """Return the page that asks for confirmation of an action on photos, and shows where the photos are used.

    Args:
        request: The request. The page contains the same form, so that it can be submitted again.
        action: The bulk action.
        chosen: The photos.
        photo_uses: The pages that use the photos.
        type: PHOTO or FILE.
        back: The URL of the "Cancel" link. If `back` is empty, "Cancel" links to the page itself.
    """
    count = len(chosen)
    if action == bulk_forms.TRASH and type == PHOTO:
        title = ngettext("Move %(n)d photo to trash?", "Move %(n)d photos to trash?", count)
    elif action == bulk_forms.TRASH:
        title = ngettext("Move %(n)d file to trash?", "Move %(n)d files to trash?", count)
    elif type == PHOTO:
        title = ngettext("Unpublish %(n)d photo?", "Unpublish %(n)d photos?", count)
    else:
        title = ngettext("Unpublish %(n)d file?", "Unpublish %(n)d files?", count)
    return render_page(
        request,
        "photos_confirm",
        title % {"n": count},
        type=type,
        chosen=chosen,
        named=chosen[: bulk_forms.NAMED],
        uses=photo_uses,
        action=action,
        button=bulk_forms.LABELS[action],
        back=back,
    )


def _chosen(request: HttpRequest) -> list[SelectedNode]:
    chosen = []
    for text in request.POST.getlist("chosen"):
        nonce = request.POST.get(f"nonce-{text}", "")
        if not (ObjectId.is_valid(text) and ObjectId.is_valid(nonce)):
            raise Http404
        asset = stored_assets.get(text)
        chosen.append(SelectedNode(ObjectId(text), ObjectId(nonce), asset.metadata.title if asset else text))
    return chosen


def _report(request: HttpRequest, action: str, outcome: bulk_progress.Outcome, type: str) -> None:
    done = len(outcome.done)
    if type == PHOTO:
        text = ngettext("“%(action)s”: %(done)d photo changed.", "“%(action)s”: %(done)d photos changed.", done)
    else:
        text = ngettext("“%(action)s”: %(done)d file changed.", "“%(action)s”: %(done)d files changed.", done)
    message = text % {"action": bulk_forms.LABELS[action], "done": done}
    if action == bulk_forms.TRASH and done:
        message = format_html("{} {}", message, undo.button(outcome.done))
    messages.success(request, message)
    if outcome.refused:
        links = (
            (format_html("<a href='{}'>{}</a>", addresses.admin_path(r.selected.id, type), r.selected.title), r.reason)
            for r in outcome.refused[: bulk_forms.NAMED]
        )
        count = len(outcome.refused)
        text = ngettext("%(count)d item wasn't changed:", "%(count)d items weren't changed:", count) % {"count": count}
        messages.warning(request, format_html("{} {}", text, format_html_join("; ", "{}: {}", links)))
