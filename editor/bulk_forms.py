"""What can be done with many nodes at once: asked by name, checked for each node, told with a summary."""

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

from editor import bulk_progress, undo, uses
from editor.site import actor, page, title_link
from marginalia.mongo.clock import now
from nodes import access, tags
from nodes.access import TOP, Action, section_choices
from nodes.models import tree
from nodes.selectors import lists
from nodes.services import bulk_actions
from nodes.services.bulk_actions import Refused, SelectedNode, Summary
from nodes.types import TagChange

PUBLISH = "publish"
UNPUBLISH = "unpublish"
TAG = "tag"
UNTAG = "untag"
MOVE = "move"
TRASH = "trash"
LABELS = {
    PUBLISH: gettext_lazy("Publish"),
    UNPUBLISH: gettext_lazy("Unpublish"),
    TAG: gettext_lazy("Add tags"),
    UNTAG: gettext_lazy("Remove tags"),
    MOVE: gettext_lazy("Move to a section"),
    TRASH: gettext_lazy("Move to the trash"),
}
NEEDED = {
    PUBLISH: Action.PUBLISH,
    UNPUBLISH: Action.PUBLISH,
    TAG: Action.EDIT,
    UNTAG: Action.EDIT,
    MOVE: Action.MOVE,
    TRASH: Action.TRASH,
}
# Conflicts that are named; of more, their number.
NAMED = 20


class BulkForm(forms.Form):
    """An action and what it needs."""

    action = forms.ChoiceField(label=gettext_lazy("Action"))
    tags = forms.CharField(label=gettext_lazy("Tags"), required=False)
    target = forms.ChoiceField(label=gettext_lazy("To section"), required=False)

    def __init__(self, user: Any, data: Any = None) -> None:
        super().__init__(data, auto_id="bulk-%s")
        may_publish = user.has_perm("nodes.publish_node")
        actions = [(name, label) for name, label in LABELS.items() if may_publish or NEEDED[name] is not Action.PUBLISH]
        self.fields["action"].choices = [("", "---------"), *actions]
        self.fields["target"].choices = [("", "---------"), *section_choices(user)]
        self.fields["tags"].widget.attrs["placeholder"] = _("news, spring")

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or {}
        if said.get("action") == MOVE and not said.get("target"):
            self.add_error("target", _("Choose the section to move to."))
        if said.get("action") in (TAG, UNTAG) and not tags.parse(said.get("tags", "")):
            self.add_error("tags", _("Type the tags, separated by commas."))
        return said


def run(request: HttpRequest) -> HttpResponse:
    """Do what the list's form asks for; return to the list."""
    form = BulkForm(request.user, request.POST)
    back = HttpResponseRedirect(request.get_full_path())
    if not form.is_valid():
        for reasons in form.errors.values():
            messages.error(request, " ".join(str(reason) for reason in reasons))
        return back
    action = form.cleaned_data["action"]
    before = bulk_progress.so_far(request)
    chosen, denied = _chosen(request, NEEDED[action])
    if not chosen and not denied and before == bulk_progress.Outcome():
        messages.warning(request, _("Nothing was chosen, so nothing was changed."))
        return back
    if asked := _asked(request, action, chosen):
        return asked
    outcome = before.with_batch(chosen, _do(request, form.cleaned_data, chosen), denied)
    if bulk_progress.MORE in request.POST:
        return bulk_progress.answer(request, outcome)
    _tell(request, action, outcome)
    return back


def _asked(request: HttpRequest, action: str, chosen: list[SelectedNode]) -> HttpResponse | None:
    """Show what would go out of sight, with what stands in it and where it is used; the page sends the same again.

    None where that was confirmed, and for what is done without asking.
    """
    if action not in (TRASH, UNPUBLISH) or not chosen or uses.CONFIRMED in request.POST:
        return None
    ids = [one.id for one in chosen]
    count = len(chosen)
    used = uses.of_leaving(request.user, ids, NAMED)
    if action == UNPUBLISH and not used.is_used:
        return None
    if action == TRASH:
        title = ngettext("Move %(n)d page to the trash?", "Move %(n)d pages to the trash?", count)
    else:
        title = ngettext("Unpublish %(n)d page?", "Unpublish %(n)d pages?", count)
    below = [section.id for one in ids for section in tree.current().descendants(one)]
    inside = lists.count_children([*ids, *below])
    return page(
        request, "bulk_confirm", title % {"n": count}, chosen=chosen, named=chosen[:NAMED], inside=inside,
        is_more=inside > lists.COUNTED, uses=used, action=action, button=LABELS[action],
    )  # fmt: skip


def _chosen(request: HttpRequest, needed: Action) -> tuple[list[SelectedNode], list[Refused]]:
    """Return the nodes that are ticked, each under the nonce that its row showed, and those that the user may not change."""
    found = []
    denied = []
    for text in request.POST.getlist("chosen"):
        nonce = request.POST.get(f"nonce-{text}", "")
        if not (ObjectId.is_valid(text) and ObjectId.is_valid(nonce)):
            raise Http404
        one = SelectedNode(ObjectId(text), ObjectId(nonce), text)
        try:
            title = access.node(request.user, one.id, needed).node.metadata.title
        except Http404:
            denied.append(Refused(one, _("It is not there (any more).")))
        except PermissionDenied:
            denied.append(Refused(one, _("Your account does not allow this.")))
        else:
            found.append(replace(one, title=title))
    return found, denied


def _do(request: HttpRequest, said: dict[str, Any], chosen: list[SelectedNode]) -> Summary:
    who = actor(request)
    typed = frozenset(tags.parse(said["tags"]))
    bound = access.changes_unpublished_only(request.user)
    match said["action"]:
        case "publish":
            return bulk_actions.publish(who, chosen, now())
        case "unpublish":
            return bulk_actions.change(who, chosen, {"published": None})
        case "tag":
            return bulk_actions.tag(chosen, TagChange(added=typed), only_unpublished=bound)
        case "untag":
            return bulk_actions.tag(chosen, TagChange(removed=typed), only_unpublished=bound)
        case "move":
            target = None if said["target"] == TOP else ObjectId(said["target"])
            return bulk_actions.change(who, chosen, {"parent_id": target}, only_unpublished=bound)
    return bulk_actions.move_to_trash(who, chosen)


def _tell(request: HttpRequest, action: str, outcome: bulk_progress.Outcome) -> None:
    done = len(outcome.done)
    text = ngettext("%(action)s: %(done)d page done.", "%(action)s: %(done)d pages done.", done)
    told = text % {"action": LABELS[action], "done": done}
    if action == TRASH and done:
        told = format_html("{} {}", told, undo.button(outcome.done))
    messages.success(request, told)
    if outcome.refused:
        named = format_html_join(
            "; ", "{}: {}", ((title_link(r.chosen.id, r.chosen.title), r.reason) for r in outcome.refused[:NAMED])
        )
        count = len(outcome.refused)
        text = ngettext("%(count)d was left as it is:", "%(count)d were left as they are:", count) % {"count": count}
        messages.warning(request, format_html_join(" ", "{}", ((text,), (named,))))
