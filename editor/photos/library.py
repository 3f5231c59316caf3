"""The library of photos: a grid or a list, filters, a place to drop new files, and what is done in bulk."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bson import ObjectId
from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from editor import bulk_forms, bulk_progress, undo, uses
from editor.lists import STATES, address_of, state_of, total
from editor.photos import describing
from editor.photos.site import page
from editor.site import actor
from marginalia.mongo.clock import now
from nodes import access, tags
from nodes.access import section_choices
from nodes.collections import ASSET_FILES
from nodes.content import PHOTO
from nodes.models import stored_site
from nodes.selectors import lists, stored_photos
from nodes.selectors.lists import Filters
from nodes.services import bulk_actions
from nodes.services.bulk_actions import SelectedNode, Summary
from nodes.types import TagChange
from photos import addresses
from photos.assets.limits import limits

# Photos on a page of the grid.
SIZE = 60
GRID, LIST = "grid", "list"
# Seconds for which cameras and lenses are known that no photo brought which was changed last: one that was restored, say.
KNOWN = 600


class PhotoFilterForm(forms.Form):
    """What the library is narrowed to, in its address."""

    q = forms.CharField(
        label=gettext_lazy("Search"), required=False, max_length=200, widget=forms.TextInput(attrs={"type": "search"})
    )
    section = forms.ChoiceField(label=gettext_lazy("Gallery"), required=False)
    state = forms.ChoiceField(label=gettext_lazy("State"), required=False)
    tag = forms.CharField(label=gettext_lazy("Tag"), required=False, max_length=100)
    camera = forms.ChoiceField(label=gettext_lazy("Camera"), required=False)
    lens = forms.ChoiceField(label=gettext_lazy("Lens"), required=False)
    focal_length = forms.FloatField(label=gettext_lazy("Focal length (mm)"), required=False, min_value=0)
    year = forms.IntegerField(label=gettext_lazy("Year"), required=False, min_value=1800, max_value=9999)

    def __init__(self, data: Any, user: Any) -> None:
        super().__init__(data)
        every = [("", _("All"))]
        version = (stored_photos.last_change(), int(now().timestamp() // KNOWN))
        self.fields["section"].choices = [*every, *section_choices(user, PHOTO)]
        states = [(name, label) for name, label in STATES.items() if name not in (lists.DRAFTED, lists.DUE)]
        self.fields["state"].choices = [*every, *states]
        for name in ("camera", "lens"):
            known = stored_photos.values(name, version)
            self.fields[name].choices = [*every, *((value, value) for value in known)]
        self.fields["tag"].widget = forms.TextInput(attrs={"list": "tags-in-use"})

    def filters(self) -> Filters:
        """Return the filters; those that say nothing that is known are left out."""
        self.is_valid()
        said = {name: value for name, value in self.cleaned_data.items() if value}
        filters = Filters(type=PHOTO, tag=said.get("tag", ""), state=said.get("state", ""))
        filters = replace(filters, search=said.get("q", ""))
        names = ("camera", "lens", "focal_length", "year")
        filters = replace(filters, exif=tuple((name, said[name]) for name in names if name in said))
        return replace(filters, section=ObjectId(said["section"])) if "section" in said else filters

    @property
    def gallery(self) -> ObjectId | None:
        """The gallery that the library is narrowed to."""
        chosen = self.cleaned_data.get("section")
        return ObjectId(chosen) if chosen else None


class PhotoBulkForm(bulk_forms.BulkForm):
    """An action on the chosen photos, and what it needs."""

    def __init__(self, user: Any, data: Any = None) -> None:
        super().__init__(user, data)
        self.fields["action"].choices = [("", "---------"), *bulk_forms.LABELS.items()]
        self.fields["target"].choices = [("", "---------"), *section_choices(user, PHOTO)]
        self.fields["target"].label = _("To gallery")


@require_http_methods(["GET", "HEAD", "POST"])
def library(request: HttpRequest) -> HttpResponse:
    """Show a page of the library; do in bulk what is posted."""
    if not access.may_see_photos(request.user):
        raise PermissionDenied
    if request.method == "POST":
        return _run(request)
    form = PhotoFilterForm(request.GET, request.user)
    moment = now()
    version = stored_site.current().version
    filters = form.filters()
    try:
        found = lists.page(filters, moment, cursor=request.GET.get("from", ""), size=SIZE, collection=ASSET_FILES)
    except ValueError as error:
        raise Http404(_("There is no such page of this list.")) from error
    context: dict[str, Any] = {
        "rows": [{"photo": row.node, "state": state_of(row.node, moment)} for row in found.rows],
        "older": address_of(request, found.older),
        "newer": address_of(request, found.newer),
        "total": total(filters, found, version, moment, ASSET_FILES),
        "tags": lists.tags(version, ASSET_FILES),
        "layout": LIST if request.GET.get("layout") == LIST else GRID,
        "most_mb": limits().max_bytes >> 20,
        "most_described": describing.MOST,
    }
    if access.may_change_photos(request.user):
        context["bulk"] = PhotoBulkForm(request.user)
    if access.may_add_photos(request.user):
        context["galleries"] = section_choices(request.user, PHOTO)
        context["may_publish"] = access.may_change_photos(request.user)
    return page(
        request, "photos", _("Photos"), filters=form, gallery=form.gallery, narrowed=bool(request.GET), **context
    )


def _run(request: HttpRequest) -> HttpResponse:
    if not access.may_change_photos(request.user):
        raise PermissionDenied
    form = PhotoBulkForm(request.user, request.POST)
    chosen = _chosen(request)
    before = bulk_progress.so_far(request)
    if not form.is_valid():
        for reasons in form.errors.values():
            messages.error(request, " ".join(str(reason) for reason in reasons))
    elif not chosen and before == bulk_progress.Outcome():
        messages.warning(request, _("Nothing was chosen, so nothing was changed."))
    elif asked := _asked(request, form.cleaned_data["action"], chosen):
        return asked
    else:
        outcome = before.with_batch(chosen, _work(request, form.cleaned_data)(chosen), [])
        if bulk_progress.MORE in request.POST:
            return bulk_progress.answer(request, outcome)
        _tell(request, form.cleaned_data["action"], outcome)
    return HttpResponseRedirect(request.get_full_path())


def _asked(request: HttpRequest, action: str, chosen: list[SelectedNode]) -> HttpResponse | None:
    """Show what would go out of sight, and which pages use it; the page sends the same again.

    None where that was confirmed, and for what is done without asking.
    """
    if action not in (bulk_forms.TRASH, bulk_forms.UNPUBLISH) or not chosen or uses.CONFIRMED in request.POST:
        return None
    used = uses.of(request.user, [one.id for one in chosen], bulk_forms.NAMED)
    return None if action == bulk_forms.UNPUBLISH and not used.is_used else ask(request, action, chosen, used)


def ask(
    request: HttpRequest, action: str, chosen: list[SelectedNode], used: uses.Uses, *, back: str = ""
) -> HttpResponse:
    """Show the page that asks whether an action on photos is meant, and where they are used; Cancel leads `back`, to the page
    itself without it."""
    if action == bulk_forms.TRASH:
        title = ngettext("Move %(n)d photo to the trash?", "Move %(n)d photos to the trash?", len(chosen))
    else:
        title = ngettext("Unpublish %(n)d photo?", "Unpublish %(n)d photos?", len(chosen))
    return page(
        request, "photos_confirm", title % {"n": len(chosen)}, chosen=chosen, named=chosen[: bulk_forms.NAMED], uses=used,
        action=action, button=bulk_forms.LABELS[action], back=back,
    )  # fmt: skip


def _chosen(request: HttpRequest) -> list[SelectedNode]:
    found = []
    for text in request.POST.getlist("chosen"):
        nonce = request.POST.get(f"nonce-{text}", "")
        if not (ObjectId.is_valid(text) and ObjectId.is_valid(nonce)):
            raise Http404
        photo = stored_photos.get(text)
        found.append(SelectedNode(ObjectId(text), ObjectId(nonce), photo.metadata.title if photo else text))
    return found


def _work(request: HttpRequest, said: dict[str, Any]) -> Callable[[list[SelectedNode]], Summary]:
    """Return what the action does with the chosen photos."""
    who = actor(request)
    typed = frozenset(tags.parse(said["tags"]))
    if said["action"] in (bulk_forms.TAG, bulk_forms.UNTAG):
        change = TagChange(added=typed) if said["action"] == bulk_forms.TAG else TagChange(removed=typed)
        return lambda chosen: bulk_actions.tag(chosen, change, collection=ASSET_FILES)
    if said["action"] == bulk_forms.TRASH:
        return lambda chosen: bulk_actions.move_to_trash(who, chosen, collection=ASSET_FILES)
    if said["action"] == bulk_forms.PUBLISH:
        return lambda chosen: bulk_actions.publish(who, chosen, now(), collection=ASSET_FILES)
    fields = {"parent_id": ObjectId(said["target"])} if said["action"] == bulk_forms.MOVE else {"published": None}
    return lambda chosen: bulk_actions.change(who, chosen, fields, collection=ASSET_FILES)


def _tell(request: HttpRequest, action: str, outcome: bulk_progress.Outcome) -> None:
    done = len(outcome.done)
    text = ngettext("%(action)s: %(done)d photo done.", "%(action)s: %(done)d photos done.", done)
    told = text % {"action": bulk_forms.LABELS[action], "done": done}
    if action == bulk_forms.TRASH and done:
        told = format_html("{} {}", told, undo.button(outcome.done))
    messages.success(request, told)
    if outcome.refused:
        links = (
            (format_html("<a href='{}'>{}</a>", addresses.admin_path(r.chosen.id), r.chosen.title), r.reason)
            for r in outcome.refused[: bulk_forms.NAMED]
        )
        count = len(outcome.refused)
        text = ngettext("%(count)d was left as it is:", "%(count)d were left as they are:", count) % {"count": count}
        messages.warning(request, format_html("{} {}", text, format_html_join("; ", "{}: {}", links)))
