"""Bulk actions on nodes: the form, the confirmation page, and the summary."""

from collections.abc import Mapping
from typing import Any

from bson import ObjectId
from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from editor import bulk_progress, extensions, text_warnings, undo, uses
from editor.site import render_page, title_link
from nodes import content, tags
from nodes.access import NodePermission, chosen_section, section_choices
from nodes.actions import (
    Move,
    NodeAction,
    PublishListed,
    Refused,
    SelectedNode,
    Tag,
    Trash,
    Unpublish,
    check_all,
    execute_all,
)
from nodes.models import tree
from nodes.selectors import editable_nodes, lists
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
    MOVE: gettext_lazy("Move to section"),
    TRASH: gettext_lazy("Move to trash"),
}
ACTIONS: dict[str, type[NodeAction]] = {
    PUBLISH: PublishListed,
    UNPUBLISH: Unpublish,
    TAG: Tag,
    UNTAG: Tag,
    MOVE: Move,
    TRASH: Trash,
}
# Maximum number of rows whose titles are listed in a message or on a confirmation page. Other rows are only counted.
NAMED = 20


class BulkForm(forms.Form):
    """A form for a bulk action and its arguments."""

    # The actions that users may have to confirm.
    confirmed_actions: tuple[str, ...] = (PUBLISH, TRASH, UNPUBLISH)

    action = forms.ChoiceField(label=gettext_lazy("Action"))
    tags = forms.CharField(label=gettext_lazy("Tags"), required=False)
    target = forms.ChoiceField(label=gettext_lazy("New section"), required=False)

    def __init__(self, user: Any, data: Any = None, *, type: str = "") -> None:
        super().__init__(data, auto_id="bulk-%s")
        # The bulk actions that the project has registered for this content type.
        self.own = extensions.actions(listed_type(type), user)
        may_publish = user.has_perm("nodes.publish_node")
        actions = [
            (name, label)
            for name, label in LABELS.items()
            if may_publish or ACTIONS[name].needs is not NodePermission.PUBLISH
        ]
        own = [(name, action.label) for name, action in self.own.items()]
        self.fields["action"].choices = [("", "---------"), *actions, *own]
        self.fields["target"].choices = [("", "---------"), *section_choices(user)]
        self.fields["tags"].widget.attrs["placeholder"] = _("news, spring")

    @property
    def asks(self) -> list[str]:
        """The names of the actions that users may have to confirm, including the project's own actions."""
        return [*self.confirmed_actions, *(name for name, action in self.own.items() if action.confirmation)]

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if data.get("action") == MOVE and not data.get("target"):
            self.add_error("target", _("Choose a section."))
        if data.get("action") in (TAG, UNTAG) and not tags.parse(data.get("tags", "")):
            self.add_error("tags", _("Enter tags, separated by commas."))
        return data


def listed_type(name: str) -> type[content.Content]:
    """Return the content type `name` by which a list is filtered, or Content if the list isn't filtered by type."""
    found = content.get(name)
    return found if found.is_installed else content.Content


def run(request: HttpRequest) -> HttpResponse:
    """Perform the bulk action that was submitted with the list's form, and redirect to the list."""
    form = BulkForm(request.user, request.POST, type=request.GET.get("type", ""))
    back = HttpResponseRedirect(request.get_full_path())
    if not form.is_valid():
        for reasons in form.errors.values():
            messages.error(request, " ".join(str(reason) for reason in reasons))
        return back
    action = form.cleaned_data["action"]
    before = bulk_progress.so_far(request)
    own = form.own.get(action)
    rows = selected_rows(request)
    if own:
        allowed, denied = _check_own(request.user, own, rows)
    else:
        allowed, denied = check_all((row, make_action(request.user, row, form.cleaned_data)) for row in rows)
    if not allowed and not denied and before == bulk_progress.Outcome():
        messages.warning(
            request, _("Nothing was changed, because you didn't select anything. Select one or more items first.")
        )
        return back
    chosen = [row for row, _action in allowed]
    confirmation_page = _confirm_own(request, own, chosen) if own else _confirmation_page(request, action, chosen)
    if confirmation_page:
        return confirmation_page
    outcome = before.with_batch(chosen, execute_all(allowed), denied)
    if bulk_progress.MORE in request.POST:
        return bulk_progress.respond(request, outcome)
    _report(request, own.label if own else LABELS[action], outcome, can_undo=action == TRASH)
    return back


def _check_own(
    user: Any, own: type[extensions.BulkAction], rows: list[SelectedNode]
) -> tuple[list[tuple[SelectedNode, NodeAction]], list[Refused]]:
    """Check a project's action for each row. Return the permitted actions and the refused nodes.

    The action is refused for nodes of types for which it isn't registered. Only forged requests contain such nodes.
    """
    allowed, refused = check_all((row, own().make_action(user, row)) for row in rows)
    name = extensions.name_of(own)
    fitting = [(row, action) for row, action in allowed if name in extensions.actions(content.get(row.type), user)]
    others = [row for row, _action in allowed if name not in extensions.actions(content.get(row.type), user)]
    reason = _("This action isn't available for this type.")
    return fitting, [*refused, *(Refused(row, reason) for row in others)]


def _confirm_own(
    request: HttpRequest, own: type[extensions.BulkAction], chosen: list[SelectedNode]
) -> HttpResponse | None:
    """Return the confirmation page of a project's action, or None if no confirmation is needed."""
    if not own.confirmation or not chosen or uses.CONFIRMED in request.POST:
        return None
    count = len(chosen)
    title = ngettext("%(action)s: %(n)d page?", "%(action)s: %(n)d pages?", count) % {"action": own.label, "n": count}
    return render_page(
        request,
        "bulk_confirm",
        title,
        chosen=chosen,
        named=chosen[:NAMED],
        warning=own.confirmation,
        action=extensions.name_of(own),
        button=own.label,
    )


def _confirmation_page(request: HttpRequest, action: str, chosen: list[SelectedNode]) -> HttpResponse | None:
    """Return the page that asks for confirmation before publishing or hiding nodes, or None if none is needed.

    The page contains the same form again, so confirming repeats the request.
    """
    if not chosen or uses.CONFIRMED in request.POST:
        return None
    if action == PUBLISH:
        return _confirm_publishing(request, chosen)
    if action in (TRASH, UNPUBLISH):
        return _confirm_hiding(request, action, chosen)
    return None


def _confirm_publishing(request: HttpRequest, chosen: list[SelectedNode]) -> HttpResponse | None:
    """Return the page that lists the warnings about the texts of nodes that aren't published, or None if there are none."""
    warned = []
    for row in chosen:
        editable = editable_nodes.load(row.id)
        if editable is None or editable.node.metadata.published:
            continue
        if warnings := text_warnings.in_version(editable.live.fields, request.user):
            warned.append((row, warnings))
    if not warned:
        return None
    count = len(chosen)
    title = ngettext("Publish %(n)d page?", "Publish %(n)d pages?", count) % {"n": count}
    return render_page(
        request,
        "bulk_confirm",
        title,
        chosen=chosen,
        named=chosen[:NAMED],
        warned=warned,
        action=PUBLISH,
        button=_("Publish anyway"),
    )


def _confirm_hiding(request: HttpRequest, action: str, chosen: list[SelectedNode]) -> HttpResponse | None:
    """Return the page that shows the nodes, their contents and their uses, or None if no confirmation is needed."""
    ids = [row.id for row in chosen]
    count = len(chosen)
    node_uses = uses.find_with_contents(request.user, ids, NAMED)
    if action == UNPUBLISH and not node_uses.is_used:
        return None
    if action == TRASH:
        title = ngettext("Move %(n)d page to trash?", "Move %(n)d pages to trash?", count)
    else:
        title = ngettext("Unpublish %(n)d page?", "Unpublish %(n)d pages?", count)
    below = [section.id for node_id in ids for section in tree.current().descendants(node_id)]
    inside = lists.count_children([*ids, *below])
    return render_page(
        request,
        "bulk_confirm",
        title % {"n": count},
        chosen=chosen,
        named=chosen[:NAMED],
        inside=inside,
        is_more=inside > lists.COUNTED,
        uses=node_uses,
        action=action,
        button=LABELS[action],
    )


def selected_rows(request: HttpRequest) -> list[SelectedNode]:
    """Return the selected rows, each with the nonce from the list. Their titles aren't known yet.

    Raises:
        Http404: An id is malformed.
    """
    rows = []
    for text in request.POST.getlist("chosen"):
        nonce = request.POST.get(f"nonce-{text}", "")
        if not (ObjectId.is_valid(text) and ObjectId.is_valid(nonce)):
            raise Http404
        rows.append(SelectedNode(ObjectId(text), ObjectId(nonce), text))
    return rows


def make_action(user: Any, row: SelectedNode, data: Mapping[str, Any]) -> NodeAction:
    """Return the action that a valid form with `data` performs on a selected row."""
    typed_tags = frozenset(tags.parse(data["tags"]))
    match data["action"]:
        case "publish":
            return PublishListed(user=user, node_id=row.id, seen=row.nonce)
        case "unpublish":
            return Unpublish(user=user, node_id=row.id, seen=row.nonce)
        case "tag":
            return Tag(user=user, node_id=row.id, tags=TagChange(added=typed_tags))
        case "untag":
            return Tag(user=user, node_id=row.id, tags=TagChange(removed=typed_tags))
        case "move":
            target = chosen_section(data["target"])
            return Move(user=user, node_id=row.id, seen=row.nonce, place={"parent_id": target})
    return Trash(user=user, node_id=row.id, seen=row.nonce)


def _report(request: HttpRequest, label: Any, outcome: bulk_progress.Outcome, *, can_undo: bool) -> None:
    done = len(outcome.done)
    text = ngettext("“%(action)s”: %(done)d page changed.", "“%(action)s”: %(done)d pages changed.", done)
    message = text % {"action": label, "done": done}
    if can_undo and done:
        message = format_html("{} {}", message, undo.button(outcome.done))
    messages.success(request, message)
    if outcome.refused:
        refusals = format_html_join(
            "; ", "{}: {}", ((title_link(r.selected.id, r.selected.title), r.reason) for r in outcome.refused[:NAMED])
        )
        count = len(outcome.refused)
        text = ngettext("%(count)d item wasn't changed:", "%(count)d items weren't changed:", count) % {"count": count}
        messages.warning(request, format_html_join(" ", "{}", ((text,), (refusals,))))
