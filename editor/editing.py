"""The views that create and change a node. If a save fails, the form is shown again, and no typed text is lost."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from editor import (
    conflict,
    differences,
    edit_form,
    outcomes,
    panels,
    presence,
    sent_forms,
    sharing,
    text_warnings,
    uses,
    working_copies,
)
from editor.edit_form import PublicationState
from editor.forms import FIELDS, NodeForm, form_class
from editor.photos.forms import RowForm
from editor.site import admin_url, get_actor, render_page
from marginalia.mongo.clock import now
from nodes import access, content
from nodes.access import TOP, NodePermission, section_choices
from nodes.actions import CreateNode, PublishDraft, SaveDraft, SaveNode, ScheduleDraft
from nodes.errors import (
    EditConflict,
    IdTaken,
    NodeError,
    NodeGone,
    Published,
)
from nodes.models import Node
from nodes.selectors import editable_nodes, lists, slugs
from nodes.selectors.editable_nodes import Editable, Version
from nodes.selectors.lists import Filters
from nodes.services.rules import NOT_DRAFTED
from nodes.types import Act, Saved

# The value of the button that publishes a text despite its warnings.
DESPITE_WARNINGS = "despite-warnings"
# How many of a user's newest pages are searched for the section that they last used.
NEWEST = 20


@require_http_methods(["GET", "HEAD", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """Show the choice of types, then the form. When the form is submitted, create a node.

    If the same form is submitted twice, only one node is created.
    """
    chosen = content.get(request.GET.get("type", ""))
    if not chosen.is_installed:
        if not any(access.may_create(request.user, type.type_name) for type in content.types()):
            raise PermissionDenied
        types = [type for type in content.types_to_write() if access.may_add(request.user, type.type_name)]
        # The type that the user wrote last comes first, unless it is a section.
        last = {row.node.metadata.type for row in _last_written(request.user, 1)}
        types.sort(key=lambda type: type.is_section or type.type_name not in last)
        return render_page(request, "choose_type", _("Add"), types=types, section=request.GET.get("section", ""))
    type = chosen.type_name
    if not access.may_create(request.user, type):
        raise PermissionDenied
    working_copies.restore(request, None)
    if request.method != "POST":
        if not section_choices(request.user, type):
            return _show_missing_section(request, type)
        initial: dict[str, Any] = {"author": get_actor(request).as_document()}
        if "section" in request.GET:
            initial["section"] = _id_or_none(request.GET["section"])
        else:
            initial |= _last_section(request.user, type)
        return _show_new(request, type, form_class(type)(user=request.user, type=type, initial=initial))
    return _save_new(request, type)


def _last_section(user: Any, type: str) -> dict[str, Any]:
    """Return the section of the page of this type that `user` last wrote, as an initial value, or an empty dictionary.

    Only the newest pages are searched. If none of them has this type, the form proposes the first section.
    """
    rows = _last_written(user, NEWEST)
    return next(({"section": row.node.metadata.parent_id} for row in rows if row.node.metadata.type == type), {})


def _last_written(user: Any, size: int) -> Sequence[lists.Row]:
    """Return the rows of the pages that `user` wrote and that were changed last."""
    return lists.page(Filters(author=user.pk), now(), size=size).rows


def _show_missing_section(request: HttpRequest, type: str) -> HttpResponse:
    """Offer to add a section that can contain nodes of `type`."""
    types = [section for section in content.types_to_write() if content.may_hold(section.type_name, type)]
    types = [section for section in types if access.may_add(request.user, section.type_name)]
    return render_page(request, "choose_type", _("Add a section first"), types=types, wanted=content.get(type))


def _save_new(request: HttpRequest, type: str) -> HttpResponse:
    data = conflict.read_decisions(request.POST, form_class(type)).data
    form = form_class(type)(data, user=request.user, type=type)
    if not sent_forms.validate(request.POST, form, conflict.Decisions(request.POST)):
        return _show_new(request, type, form)
    form_id = form.cleaned_data["form"]
    submitted = _submitted_fields(request, form)
    if warnings_context := _warn_before_publishing(request, form, submitted, {}):
        return _show_new(request, type, form, **warnings_context)
    action = CreateNode(
        user=request.user,
        type=type,
        fields=submitted,
        tags=form.cleaned_data["tags"],
        node_id=form_id,
    )
    try:
        saved = action.execute()
    except (EditConflict, Published):
        # This form has already created its node, and since then, the node has been changed or published. The form
        # contains newer values, so process them like a change to the node.
        return change(request, form_id)
    except NodeGone:
        return _show_gone(request)
    except IdTaken as error:
        form = _renumber_form(request, type)
        form.add_error(None, f"{error} {renumbered_message()}")
        return _show_new(request, type, form)
    except NodeError as error:
        sent_forms.add_error(form, error)
        return _show_new(request, type, form)
    working_copies.forget_saved(request)
    return _redirect_saved(request, saved, form)


def renumbered_message() -> str:
    """Return the message for a form that got a new id because a page with the old id already exists."""
    return _("This form was updated. Submit it again.")


def _renumber_form(request: HttpRequest, type: str) -> NodeForm:
    """Return the submitted form with a new id, so that saving the form creates a separate page."""
    data = conflict.read_decisions(request.POST, form_class(type)).data
    data["form"] = str(ObjectId())
    form = form_class(type)(data, user=request.user, type=type)
    form.is_valid()
    return form


def _submitted_fields(request: HttpRequest, form: NodeForm) -> dict[str, Any]:
    """Return the submitted fields, keyed by path.

    If the publish button was pressed, the fields include dates that make the node public.
    """
    return form.to_publish() if "_publish" in request.POST else form.mine()


def _show_new(request: HttpRequest, type: str, form: NodeForm, **context: Any) -> HttpResponse:
    title = _("Add: %(type)s") % {"type": content.get(type).label}
    may_publish = request.user.has_perm("nodes.publish_node")
    if not form.is_bound:
        form.fields["title"].widget.attrs["autofocus"] = True
    return _render_form(
        request,
        title,
        form,
        bar=edit_form.build_new_bar(may_publish=may_publish),
        content_type=content.get(type),
        is_new=True,
        **context,
    )


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show a node's form. If the form was submitted, process it according to the button that was pressed."""
    working_copies.restore(request, node_id)
    editable = _load(request, node_id)
    if editable is None:
        return _show_gone(request)
    if not editable.node.content_type.is_installed or (editable.is_newer and request.method != "POST"):
        return _show_read_only(request, editable)
    drafting = _is_drafting(request, editable)
    if request.method == "POST":
        return _save(request, editable, drafting)
    seen = editable.draft if drafting and editable.draft else editable.live
    return _show(request, editable, _form(request, editable, seen, drafting=drafting), drafting)


def _save(request: HttpRequest, editable: Editable, drafting: bool) -> HttpResponse:
    """Save a submitted form. If the form can't be saved, show it again with everything that was typed."""
    decisions = conflict.read_decisions(request.POST, form_class(editable.node.metadata.type))
    # If the form's base version is no longer known, use the current version instead. Fields that are equal in the form
    # and in this version are not changed.
    seen = sent_forms.seen_version(request.POST, editable.node.pk) or editable.live
    form = _form(request, editable, seen, decisions.data, drafting=drafting)
    if not sent_forms.validate(request.POST, form, decisions):
        return _show(request, editable, form, drafting, decisions)
    asks = _confirm_takedown(request, editable, form, drafting) or _confirm_warnings(request, editable, form, drafting)
    if asks:
        return _render_node(request, editable, form, drafting, **asks)
    try:
        response = _write(request, editable, form, drafting)
    except EditConflict as error:
        data = form.cleaned_data
        return show_conflict(request, editable, error, form_id=data["form"], seen=data["nonce"], drafting=drafting)
    except (NodeGone, Http404):
        return _show_gone(request)
    except Published:
        # The page was published while this form was being processed. Process the form again, as a draft.
        return change(request, editable.node.pk)
    except NodeError as error:
        sent_forms.add_error(form, error)
        return _show(request, editable, form, drafting, decisions)
    working_copies.forget_saved(request)
    return response


def _confirm_takedown(request: HttpRequest, editable: Editable, form: NodeForm, drafting: bool) -> dict[str, Any]:
    """Return the template context for asking whether saving should hide a live page from readers.

    Return {} if saving the form doesn't hide the page, or if the editor has already confirmed this.
    """
    is_live = "_publish" in request.POST or not (drafting or _is_draft_sent(request, editable))
    # Saving writes only the fields that this editor changed. The others keep their stored values, which another editor
    # may have changed since the form was opened.
    before = form.seen.fields if form.seen else {}
    submitted = _submitted_fields(request, form)
    changed = {path: value for path, value in submitted.items() if value != before.get(path)}
    fields = {**editable.live.fields, **changed}
    question = edit_form.takedown_warning(editable.node, fields["published"], fields["expires"])
    if not is_live or not question or uses.CONFIRMED in request.POST:
        return {}
    return {
        "question": question,
        "pressed": _pressed(request),
        "leaving": uses.find_with_contents(request.user, [editable.node.pk]),
    }


def _pressed(request: HttpRequest) -> str:
    return next((name for name in ("_publish", "_save") if name in request.POST), "_continue")


def _confirm_warnings(request: HttpRequest, editable: Editable, form: NodeForm, drafting: bool) -> dict[str, Any]:
    """Return the template context for showing warnings about a text that saving the form would publish.

    Return {} if readers won't see the text, if the live version has the same warnings, or if the editor has already
    confirmed them.
    """
    if "_publish" not in request.POST and (drafting or _is_draft_sent(request, editable)):
        return {}
    live = editable.live.fields if editable.node.metadata.published else {}
    return _warn_before_publishing(request, form, _submitted_fields(request, form), live)


def _warn_before_publishing(
    request: HttpRequest, form: NodeForm, submitted: Mapping[str, Any], live: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the template context for warnings about the form's text that don't apply to the `live` fields."""
    pressed = _pressed(request)
    stored = form.seen.fields if form.seen else {}
    will_be_published = submitted.get("published", stored.get("published"))
    if not will_be_published or request.POST.get(pressed) == DESPITE_WARNINGS:
        return {}
    warnings = form.text_warnings().since(text_warnings.in_version(live, request.user))
    return {"warnings": warnings, "pressed": pressed, "despite_warnings": DESPITE_WARNINGS} if warnings else {}


def _load(request: HttpRequest, node_id: ObjectId) -> Editable | None:
    """Return the node, or None if the node was deleted while its form was being edited.

    Raises:
        Http404: The node doesn't exist, and the request doesn't contain a form whose text can be saved.
        PermissionDenied: The user can't view the node.
    """
    try:
        return access.node(request.user, node_id, NodePermission.VIEW)
    except Http404:
        if request.method == "POST" and editable_nodes.load(node_id) is None:
            return None
        raise


def _is_drafting(request: HttpRequest, editable: Editable) -> bool:
    """Return whether the form edits the draft.

    By default, the form edits the draft if there is one. The `version` parameter can select the other version. Editors
    without permission to change the live version always edit the draft.
    """
    if not access.allowed(request.user, editable.node, NodePermission.EDIT):
        return True
    version = (request.POST if request.method == "POST" else request.GET).get("version")
    return version == "draft" or (version != "live" and request.method != "POST" and editable.draft is not None)


def _is_draft_sent(request: HttpRequest, editable: Editable) -> bool:
    """Return whether the button that was pressed saves a draft. For a live node, this includes the preview button."""
    return "_draft" in request.POST or ("_preview" in request.POST and editable.node.is_live(now()))


def _form(
    request: HttpRequest, editable: Editable, seen: Version | None, data: QueryDict | None = None, *, drafting: bool
) -> NodeForm:
    return _remove_undrafted(_form_factory(request, editable)(data, seen=seen), drafting)


def _form_factory(request: HttpRequest, editable: Editable) -> Callable[..., NodeForm]:
    type = editable.node.metadata.type
    return partial(form_class(type), user=request.user, type=type)


def _remove_undrafted(form: NodeForm, drafting: bool) -> NodeForm:
    """If the form edits the draft, remove the fields that a draft can't change. Return the form."""
    for path in NOT_DRAFTED if drafting else ():
        del form.fields[FIELDS[path]]
    return form


def _write(request: HttpRequest, editable: Editable, form: NodeForm, drafting: bool) -> HttpResponse:
    """Save, schedule or publish the form, depending on the button that was pressed. Return the response.

    Raises:
        NodeError: The action was rejected.
    """
    user = request.user
    node_id = editable.node.pk
    mine = _submitted_fields(request, form)
    tags = form.tag_change()
    seen = form.cleaned_data["nonce"] or ObjectId()
    form_id = form.cleaned_data["form"]
    if draft_nonce := _id_or_none(request.POST.get("publishing", "")):
        due = sent_forms.parse_due(request.POST)
        saved = _publishing(user, node_id, draft_nonce, due, decided_on=seen, decided=mine, tags=tags).execute()
        return _redirect_saved(request, saved, form, editable.node, _publishing_act(due))
    if drafting or _is_draft_sent(request, editable):
        fields = _remove_unchanged_place(form, mine)
        draft = SaveDraft(
            user=user, node_id=node_id, seen=seen, fields=fields, tags=tags, form=form_id, shows_draft=drafting
        )
        saved = draft.execute()
        if "_publish" in request.POST:
            drafted = access.node(user, node_id, PublishDraft.needs)
            return publish_draft(request, drafted, saved.nonce)
        return _redirect_saved(request, saved, form, editable.node, drafted=True)
    mine["slug"] = mine["slug"] or slugs.find_free(mine["title"], mine["parent_id"], among={"_id": {"$ne": node_id}})
    saved = SaveNode(user=user, node_id=node_id, seen=seen, fields=mine, tags=tags, form=form_id).execute()
    return _redirect_saved(request, saved, form, editable.node)


def _remove_unchanged_place(form: NodeForm, mine: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields for a draft, without the slug and the section if the editor hasn't changed them in the form."""
    seen = form.seen.fields if form.seen else {}
    return {path: value for path, value in mine.items() if path not in NOT_DRAFTED or value != seen.get(path)}


def publish_draft(
    request: HttpRequest, editable: Editable, draft_nonce: ObjectId, due: datetime | None = None
) -> HttpResponse:
    """Publish the stored draft, or schedule it for publication at `due`, and redirect to the form.

    If the draft conflicts with later changes to the live version, show the conflict page.

    Raises:
        NodeError: The action was rejected for another reason.
    """
    try:
        saved = _publishing(request.user, editable.node.pk, draft_nonce, due).execute()
    except EditConflict as error:
        seen = editable.draft.base_nonce if editable.draft else None
        return show_conflict(
            request, editable, error, form_id=ObjectId(), seen=seen, drafting=True, publishing=draft_nonce, due=due
        )
    outcomes.report(request, saved, editable.node, _publishing_act(due))
    return HttpResponseRedirect(admin_url("change", saved.id))


def _publishing(
    user: Any, node_id: ObjectId, draft_nonce: ObjectId, due: datetime | None, **decided: Any
) -> PublishDraft:
    """Return the action that publishes a draft, or schedules it for publication at `due`."""
    if due:
        return ScheduleDraft(user=user, node_id=node_id, seen=draft_nonce, at=due, **decided)
    return PublishDraft(user=user, node_id=node_id, seen=draft_nonce, **decided)


def _publishing_act(due: datetime | None) -> Act:
    return Act.SCHEDULED if due else Act.CHANGES_PUBLISHED


def _redirect_saved(
    request: HttpRequest,
    saved: Saved,
    form: NodeForm,
    before: Node | None = None,
    act: Act = Act.SAVED,
    *,
    drafted: bool = False,
) -> HttpResponse:
    """Add a message about the save, and redirect to the preview or back to the form."""
    seen = form.cleaned_data["nonce"]
    slug = form.data.get("slug")
    outcomes.report(request, saved, before, act, drafted=drafted, seen=seen, slug=slug)
    return HttpResponseRedirect(admin_url("preview_frame" if "_preview" in request.POST else "change", saved.id))


def _show(
    request: HttpRequest,
    editable: Editable,
    form: NodeForm,
    drafting: bool,
    decisions: conflict.Decisions | None = None,
) -> HttpResponse:
    context = sent_forms.describe_conflict(request.POST, form, decisions, _form_factory(request, editable))
    return _render_node(request, editable, form, drafting, **context)


def show_conflict(
    request: HttpRequest,
    editable: Editable,
    error: EditConflict,
    *,
    form_id: ObjectId,
    seen: ObjectId | None,
    drafting: bool,
    **context: Any,
) -> HttpResponse:
    """Show the changes that both sides made since the version `seen`, so that the editor can choose between them."""
    forms = conflict.ConflictForms.after(error, form_id, _form_factory(request, editable))
    context |= sent_forms.describe_saves(request, editable.node.pk, seen, error)
    context |= conflict.as_context(forms.clashes({}))
    return _render_node(request, editable, _remove_undrafted(forms.form, drafting), drafting, status=409, **context)


def _render_node(
    request: HttpRequest, editable: Editable, form: NodeForm, drafting: bool, **context: Any
) -> HttpResponse:
    can = {action.value: access.allowed(request.user, editable.node, action) for action in NodePermission}
    # The submitted form can come from a conflict page for publishing a draft. If so, the form on this page also
    # publishes or schedules the draft, unless the draft has changed. Due times in the past are dropped.
    draft_nonce = _id_or_none(request.POST.get("publishing", ""))
    if "publishing" not in context and draft_nonce and editable.draft and editable.draft.nonce == draft_nonce:
        due = sent_forms.parse_due(request.POST)
        context |= {"publishing": draft_nonce, "due": due if due and due > now() else None}
    unsaved = form.is_bound or "clashes" in context
    publishing = "publishing" in context
    is_due = context.get("due") is not None
    bar = edit_form.build_bar(editable, can, drafting=drafting, publishing=publishing, unsaved=unsaved, due=is_due)
    return _render_form(
        request, editable.node.metadata.title, form, editable=editable, bar=bar, can=can, drafting=drafting,
        content_type=editable.node.content_type, uses=uses.find(request.user, [editable.node.pk]),
        is_public=bar.publication_state is PublicationState.LIVE,
        others=presence.others(request, editable.node.pk) if can["draft"] else [], **context,
    )  # fmt: skip


def _render_form(request: HttpRequest, title: str, form: NodeForm, **context: Any) -> HttpResponse:
    """Render a form, with its main fields, the panel next to them, and the bar above them."""
    clashing = [clash.name for clash in context.get("clashes", ())]
    main = form.main_fields(clashing)
    groups = list(form.groups(clashing))
    node = context["editable"].node if "editable" in context else None
    own = panels.arrange(form, node, request.user, clashing)
    shared = sharing.preview(request, form, node)
    working_copy = working_copies.context(request, form.type, node.pk if node else None)
    form_parts = {"main": main, "groups": groups, "own": own, "shared": shared, "new_photo": RowForm()}
    context = {**working_copy, **context, **form_parts}
    return render_page(request, "form", title, form=form, **context)


def _show_read_only(request: HttpRequest, editable: Editable) -> HttpResponse:
    """Show the stored fields of a node that can't be edited because its type or some of its fields are unknown."""
    if request.method == "POST":
        raise PermissionDenied
    type = editable.node.metadata.type
    can_trash = access.allowed(request.user, editable.node, NodePermission.TRASH)
    rows = [
        (differences.label(path, type), differences.display(path, value, type))
        for path, value in {**editable.live.fields, "tags": editable.live.tags}.items()
    ]
    return render_page(request, "read_only", editable.node.metadata.title, editable=editable, rows=rows, can_trash=can_trash,
        is_declared=content.get(type).is_installed,
    )  # fmt: skip


def _show_gone(request: HttpRequest) -> HttpResponse:
    """Show the text that was typed into the form of a deleted node, so that the editor can save it as a new page."""
    type = request.POST.get("type", "")
    if not access.may_create(request.user, type):
        raise Http404
    form = _renumber_form(request, type)
    bar = edit_form.build_new_bar(may_publish=False, is_gone=True)
    return _render_form(
        request, _("This page no longer exists"), form, bar=bar, content_type=content.get(type), is_new=True, is_gone=True,
        status=409,
    )  # fmt: skip


def _id_or_none(text: str) -> ObjectId | None:
    return ObjectId(text) if text != TOP and ObjectId.is_valid(text) else None
