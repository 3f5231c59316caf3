"""Making and changing a node: the form, what its buttons do, and what becomes of a refusal. Nothing typed is ever lost."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from editor import conflict, differences, edit_form, outcomes, sent_forms, sharing, uses, working_copies
from editor.edit_form import PublicationState
from editor.forms import FIELDS, NodeForm, form_of
from editor.photos.forms import RowForm
from editor.site import actor, admin_url, page
from marginalia.mongo.clock import now
from nodes import access, content
from nodes.access import TOP, Action, section_choices
from nodes.errors import (
    EditConflict,
    IdTaken,
    NodeError,
    NodeGone,
    Published,
)
from nodes.models import Node
from nodes.selectors import editable_nodes, slugs
from nodes.selectors.editable_nodes import Editable, Version
from nodes.services import drafts, editing
from nodes.services.write import NOT_DRAFTED
from nodes.types import Act, Actor, Saved


@require_http_methods(["GET", "HEAD", "POST"])
def add(request: HttpRequest) -> HttpResponse:
    """Choose a type, then write; one form makes one node, however often it is sent."""
    chosen = content.get(request.GET.get("type", ""))
    if not chosen.is_installed:
        if not any(access.may_create(request.user, type.type_name) for type in content.types()):
            raise PermissionDenied
        types = [type for type in content.types() if _can_add(request.user, type.type_name)]
        return page(request, "choose_type", _("Add"), types=types, section=request.GET.get("section", ""))
    type = chosen.type_name
    if not access.may_create(request.user, type):
        raise PermissionDenied
    working_copies.put_back(request, None)
    if request.method != "POST":
        given: dict[str, Any] = {"author": actor(request).as_document()}
        if "section" in request.GET:
            given["section"] = _id_or_none(request.GET["section"])
        return _show_new(request, type, form_of(type)(user=request.user, type=type, initial=given))
    return _sent_new(request, type)


def _sent_new(request: HttpRequest, type: str) -> HttpResponse:
    form = form_of(type)(request.POST, user=request.user, type=type)
    if not sent_forms.is_to_be_saved(request.POST, form, conflict.Decided(request.POST)):
        return _show_new(request, type, form)
    form_id = form.cleaned_data["form"]
    made = editable_nodes.load(form_id)
    if made and not access.allowed(request.user, made.node, Action.EDIT):
        # This form has made a page, which is not its author's alone any more: published, say.
        return change(request, form_id)
    try:
        saved = _create(request, type, form)
    except (EditConflict, Published):
        # This form has made its node, another editor changed it since, and now it says something else again.
        return change(request, form_id)
    except NodeGone:
        return _show_gone(request)
    except IdTaken as error:
        form = _renumbered(request, type)
        form.add_error(None, f"{error} {again_under_another()}")
        return _show_new(request, type, form)
    except NodeError as error:
        sent_forms.refuse(form, error)
        return _show_new(request, type, form)
    working_copies.saved(request)
    return _done(request, saved, form)


def again_under_another() -> str:
    """Return what a form says that was given another id in place of one that was taken."""
    return _("The form has another number now: press the button again.")


def _renumbered(request: HttpRequest, type: str) -> NodeForm:
    """Return the form as it was sent, under another id: what it saves is a page of its own."""
    data = request.POST.copy()
    data["form"] = str(ObjectId())
    form = form_of(type)(data, user=request.user, type=type)
    form.is_valid()
    return form


def _can_add(user: Any, type: str) -> bool:
    return access.may_create(user, type) and bool(section_choices(user, type))


def _create(request: HttpRequest, type: str, form: NodeForm) -> Saved:
    if "_publish" in request.POST and not request.user.has_perm("nodes.publish_node"):
        raise PermissionDenied
    fields = _said(request, form)
    title, slug, parent_id = (fields.pop(name) for name in ("title", "slug", "parent_id"))
    who = actor(request)
    fields["author"] = fields.get("author") or who.as_document()
    return editing.create(
        who,
        type=type,
        parent_id=parent_id,
        slug=slug,
        title=title,
        fields=fields,
        tags=form.cleaned_data["tags"],
        node_id=form.cleaned_data["form"],
        only_unpublished=access.changes_unpublished_only(request.user),
    )


def _said(request: HttpRequest, form: NodeForm, found: Editable | None = None) -> dict[str, Any]:
    """Return what the form says, by path, made public where its button says so; a date ahead of what is public stays."""
    mine = form.to_publish() if "_publish" in request.POST and "published" in form.fields else form.mine()
    at = form.cleaned_data.get("published")
    return {**mine, "published": at} if found and edit_form.changes_due(found.node, at) else mine


def _show_new(request: HttpRequest, type: str, form: NodeForm) -> HttpResponse:
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
    )


@require_http_methods(["GET", "HEAD", "POST"])
def change(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show a node's form, or do what its buttons say."""
    working_copies.put_back(request, node_id)
    found = _find(request, node_id)
    if found is None:
        return _show_gone(request)
    if not found.node.content_type.is_installed or (found.is_newer and request.method != "POST"):
        return _show_kept(request, found)
    drafting = _is_drafting(request, found)
    if request.method == "POST":
        return _sent(request, found, drafting)
    seen = found.draft if drafting and found.draft else found.live
    return _show(request, found, _form(request, found, seen, drafting=drafting), drafting)


def _sent(request: HttpRequest, found: Editable, drafting: bool) -> HttpResponse:
    """Do what a sent form says; show it again, with all that was typed, where that cannot be."""
    decided = conflict.decide(request.POST, form_of(found.node.metadata.type))
    # What is not known any more is taken for the present version, so that what was left alone is given back as it is.
    seen = sent_forms.seen(request.POST, found.node.pk) or found.live
    form = _form(request, found, seen, decided.data, drafting=drafting)
    if not sent_forms.is_to_be_saved(request.POST, form, decided):
        return _show(request, found, form, drafting, decided)
    if asked := _taking_down(request, found, form, drafting):
        return _page(request, found, form, drafting, **asked)
    try:
        written = _write(request, found, form, drafting)
    except EditConflict as error:
        data = form.cleaned_data
        return show_conflict(request, found, error, form_id=data["form"], seen=data["nonce"], drafting=drafting)
    except NodeGone:
        return _show_gone(request)
    except Published:
        # What it says becomes a draft, as if it had been sent a moment later.
        return change(request, found.node.pk)
    except NodeError as error:
        sent_forms.refuse(form, error)
        return _show(request, found, form, drafting, decided)
    working_copies.saved(request)
    return written


def _taking_down(request: HttpRequest, found: Editable, form: NodeForm, drafting: bool) -> dict[str, Any]:
    """Return what is asked before readers get a public page no more; nothing if they do, or it was answered already."""
    is_live = "_publish" in request.POST or not (drafting or _is_draft_sent(request, found))
    # What was left alone stays as another editor has made it.
    before = form.seen.fields if form.seen else {}
    changed = {path: value for path, value in _said(request, form, found).items() if value != before.get(path)}
    said = {**found.live.fields, **changed}
    question = edit_form.takedown_warning(found.node, said["published"], said["expires"])
    if not is_live or not question or uses.CONFIRMED in request.POST:
        return {}
    pressed = next((name for name in ("_publish", "_save") if name in request.POST), "_continue")
    return {
        "question": question,
        "pressed": pressed,
        "leaving": uses.of_leaving(request.user, [found.node.pk]),
    }


def _find(request: HttpRequest, node_id: ObjectId) -> Editable | None:
    """Return the node; None if it went while its form was being filled in: what was typed must not go with it."""
    try:
        return access.node(request.user, node_id, Action.VIEW)
    except Http404:
        if request.method == "POST" and editable_nodes.load(node_id) is None:
            return None
        raise


def _is_drafting(request: HttpRequest, found: Editable) -> bool:
    """Return whether the form is over the draft: where there is one, unless the live version is asked for."""
    if not access.allowed(request.user, found.node, Action.EDIT):
        return True
    asked = (request.POST if request.method == "POST" else request.GET).get("version")
    return asked == "draft" or (asked != "live" and request.method != "POST" and found.draft is not None)


def _is_draft_sent(request: HttpRequest, found: Editable) -> bool:
    """Return whether the pressed button saves a draft: a preview of what is public does, too."""
    return "_draft" in request.POST or ("_preview" in request.POST and found.node.is_live(now()))


def _form(
    request: HttpRequest, found: Editable, seen: Version | None, data: QueryDict | None = None, *, drafting: bool
) -> NodeForm:
    return _drafted(_maker(request, found)(data, seen=seen), drafting)


def _maker(request: HttpRequest, found: Editable) -> Callable[..., NodeForm]:
    type = found.node.metadata.type
    return partial(form_of(type), user=request.user, type=type)


def _drafted(form: NodeForm, drafting: bool) -> NodeForm:
    for path in NOT_DRAFTED if drafting else ():
        del form.fields[FIELDS[path]]
    return form


def _write(request: HttpRequest, found: Editable, form: NodeForm, drafting: bool) -> HttpResponse:
    """Do what the button says. Raises NodeError."""
    mine = _said(request, form, found)
    node_id = found.node.pk
    data = form.cleaned_data
    tags = form.tag_change()
    seen = data["nonce"] or ObjectId()
    who = actor(request)
    due = edit_form.changes_due(found.node, mine.get("published"))
    publishing = _id_or_none(request.POST.get("publishing", ""))
    draft_sent = _is_draft_sent(request, found)
    if publishing:
        access.node(request.user, node_id, Action.PUBLISH)
        due = sent_forms.due(request.POST) or due
        saved, act = _put_live(who, node_id, publishing, due, seen_nonce=seen, mine=mine, tags=tags)
        return _done(request, saved, form, found.node, act)
    if drafting or due or draft_sent:
        access.node(request.user, node_id, Action.DRAFT)
        sent_forms.check_place_left_alone(form, mine)
        # What the form of the live version says goes into a draft that it does not show.
        may_publish = drafting and access.allowed(request.user, found.node, Action.PUBLISH)
        saved = drafts.save_draft(who, node_id, seen, mine, tags, form=data["form"], may_publish=may_publish)
        if "_publish" in request.POST or not (drafting or draft_sent):
            drafted = access.node(request.user, node_id, Action.PUBLISH)
            return publish_draft(request, drafted, saved.nonce)
        return _done(request, saved, form, found.node, drafted=True)
    access.node(request.user, node_id, Action.EDIT)
    mine["slug"] = mine["slug"] or slugs.find_free(mine["title"], mine["parent_id"], among={"_id": {"$ne": node_id}})
    if "_publish" in request.POST:
        access.node(request.user, node_id, Action.PUBLISH)
    bound = access.changes_unpublished_only(request.user)
    saved = editing.save(who, node_id, seen, mine, tags, form=data["form"], only_unpublished=bound)
    return _done(request, saved, form, found.node)


def publish_draft(
    request: HttpRequest, found: Editable, draft_nonce: ObjectId, due: datetime | None = None
) -> HttpResponse:
    """Publish the draft as stored; show what to decide where the live version has changed too.

    It is scheduled for `due`, or for a time ahead that it says itself of a page that is public. Raises NodeError.
    """
    due = due or edit_form.changes_due(found.node, found.draft.fields.get("published") if found.draft else None)
    try:
        saved, act = _put_live(actor(request), found.node.pk, draft_nonce, due)
    except EditConflict as error:
        seen = found.draft.base_nonce if found.draft else None
        return show_conflict(
            request, found, error, form_id=ObjectId(), seen=seen, drafting=True, publishing=draft_nonce, due=due
        )
    outcomes.tell(request, saved, found.node, act)
    return HttpResponseRedirect(admin_url("change", saved.id))


def _put_live(
    who: Actor, node_id: ObjectId, draft_nonce: ObjectId, due: datetime | None, **decided: Any
) -> tuple[Saved, Act]:
    """Publish a draft, or schedule it for `due`; return what that came to, and what it was. Raises NodeError."""
    if due:
        return drafts.schedule(who, node_id, draft_nonce, due, **decided), Act.SCHEDULED
    return drafts.publish_draft(who, node_id, draft_nonce, **decided), Act.CHANGES_PUBLISHED


def _done(
    request: HttpRequest,
    saved: Saved,
    form: NodeForm,
    before: Node | None = None,
    act: Act = Act.SAVED,
    *,
    drafted: bool = False,
) -> HttpResponse:
    seen = form.cleaned_data["nonce"]
    slug = form.data.get("slug")
    outcomes.tell(request, saved, before, act, drafted=drafted, seen=seen, slug=slug)
    return HttpResponseRedirect(admin_url("preview_frame" if "_preview" in request.POST else "change", saved.id))


def _show(
    request: HttpRequest,
    found: Editable,
    form: NodeForm,
    drafting: bool,
    decided: conflict.Decided | None = None,
) -> HttpResponse:
    context: dict[str, Any] = {}
    if decided and decided.names:
        deciding = conflict.Deciding.again(form, decided, _maker(request, found))
        context = {"clashes": deciding.clashes(request.POST)}
    return _page(request, found, form, drafting, **context)


def show_conflict(
    request: HttpRequest,
    found: Editable,
    error: EditConflict,
    *,
    form_id: ObjectId,
    seen: ObjectId | None,
    drafting: bool,
    **context: Any,
) -> HttpResponse:
    """Show what both sides changed since the nonce `seen`, to be decided; the form stays `form_id`."""
    deciding = conflict.Deciding.after(error, form_id, _maker(request, found))
    context |= sent_forms.told_of(request, found.node.pk, seen, error)
    context["clashes"] = deciding.clashes({})
    return _page(request, found, _drafted(deciding.form, drafting), drafting, status=409, **context)


def _page(request: HttpRequest, found: Editable, form: NodeForm, drafting: bool, **context: Any) -> HttpResponse:
    can = {action.value: access.allowed(request.user, found.node, action) for action in Action}
    # The page of a conflict stays one, with the time that it is about, until that is decided or the draft is another.
    sent = _id_or_none(request.POST.get("publishing", ""))
    if "publishing" not in context and sent and found.draft and found.draft.nonce == sent:
        context |= {"publishing": sent, "due": sent_forms.due(request.POST)}
    unsaved = form.is_bound or "clashes" in context
    publishing = "publishing" in context
    due = context.get("due") is not None
    bar = edit_form.build_bar(found, can, drafting=drafting, publishing=publishing, unsaved=unsaved, due=due)
    return _render_form(
        request, found.node.metadata.title, form, found=found, bar=bar, can=can, drafting=drafting,
        content_type=found.node.content_type, uses=uses.of(request.user, [found.node.pk]),
        is_public=bar.publication_state is PublicationState.LIVE, **context,
    )  # fmt: skip


def _render_form(request: HttpRequest, title: str, form: NodeForm, **context: Any) -> HttpResponse:
    """Show a form in its page: what is written, the panel beside it, the bar above."""
    elsewhere = [clash.name for clash in context.get("clashes", ())]
    main = form.main(elsewhere)
    groups = list(form.groups(elsewhere))
    shared = sharing.preview(request, form, context["found"].node if "found" in context else None)
    typed = working_copies.context(request, form.type, context["found"].node.pk if "found" in context else None)
    shown = {**typed, **context, "main": main, "groups": groups, "shared": shared, "new_photo": RowForm()}
    return page(request, "form", title, form=form, is_nav_sidebar_enabled=False, **shown)


def _show_kept(request: HttpRequest, found: Editable) -> HttpResponse:
    """Show what is stored of a node that cannot be written: its fields are not known, or not all of them."""
    if request.method == "POST":
        raise PermissionDenied
    type = found.node.metadata.type
    can_trash = access.allowed(request.user, found.node, Action.TRASH)
    said = [
        (differences.label(path, type), differences.display(path, value, type))
        for path, value in {**found.live.fields, "tags": found.live.tags}.items()
    ]
    return page(request, "kept", found.node.metadata.title, found=found, said=said, can_trash=can_trash,
        is_declared=content.get(type).is_installed,
    )  # fmt: skip


def _show_gone(request: HttpRequest) -> HttpResponse:
    """Show what was typed into the form of a node that is not there any more, to be saved as a new one."""
    type = request.POST.get("type", "")
    if not access.may_create(request.user, type):
        raise Http404
    form = _renumbered(request, type)
    bar = edit_form.build_new_bar(may_publish=False, is_gone=True)
    return _render_form(
        request, _("This page is gone"), form, bar=bar, content_type=content.get(type), is_new=True, is_gone=True,
        status=409,
    )  # fmt: skip


def _id_or_none(text: str) -> ObjectId | None:
    return ObjectId(text) if text != TOP and ObjectId.is_valid(text) else None
