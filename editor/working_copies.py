"""What is typed and not saved: forms send it here every few seconds, and offer it when their editor comes back to it.

To go on with it is to send the form again as it was, only to be shown: what is saved then merges from where it was begun.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson import ObjectId
from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse, QueryDict
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django_mongodb_backend.forms import ObjectIdField

from editor import conflict, differences, edit_form, sent_forms
from editor.conflict import MINE, THEIRS
from editor.forms import FIELDS, NodeForm, form_of
from editor.photos.forms import PhotoForm
from editor.site import admin_url, page
from marginalia.mongo import rate_limit
from marginalia.mongo.clock import now
from nodes import access, content, merging
from nodes.content import MARKDOWN
from nodes.selectors import editable_nodes, stored_photos, working_copies
from nodes.selectors.editable_nodes import Version
from nodes.selectors.working_copies import WorkingCopy
from nodes.services import working_copies as services
from nodes.services.write import NOT_DRAFTED
from nodes.types import NEVER, NO_TAGS, Actor
from photos import addresses

# An account keeps at most so many times in so many seconds: several tabs, each every few seconds.
LIMIT, SECONDS = 120, 60
# The largest whole number of a browser.
_LAST = 2**53 - 1
# What forms send beside their fields.
_BESIDE = frozenset({"type", "version", "publishing", "due", "conflict", "_proposed"})
_SIDES = ("", f"{MINE}-", f"{THEIRS}-", "choice-")


class _Kept(forms.Form):
    """Which form sends what was typed into it: whose it is, and over which node."""

    _copy = ObjectIdField()
    _seq = forms.IntegerField(min_value=1, max_value=_LAST)
    _user = ObjectIdField()
    _node = ObjectIdField(required=False)
    type = forms.CharField()


@dataclass(frozen=True)
class Unsaved:
    """What was typed and not saved, as it is offered. `node_id`: None of a new page.

    `old` and `new`: what saving it would change, by path. `has_more`: there is something in it that no field takes as it is,
    and only the form can show.
    """

    id: ObjectId
    node_id: ObjectId | None
    seq: int
    updated: datetime
    form_url: str
    old: Mapping[str, Any]
    new: Mapping[str, Any]
    has_more: bool


@require_POST
def keep(request: HttpRequest) -> JsonResponse:
    """Keep what is typed into a form, for its editor alone; answer {"told": so in words}."""
    if not (access.may_list(request.user) or access.may_see_photos(request.user)):
        raise PermissionDenied
    said = _Kept(request.POST)
    if not said.is_valid() or not content.get(said.cleaned_data["type"]).is_installed:
        return JsonResponse({}, status=400)
    copy_id, seq, user_id, node_id, type = said.cleaned_data.values()
    if user_id != request.user.pk:
        # A form, or what a browser kept, of who was logged in before.
        raise PermissionDenied
    access.check_may_type(request.user, type, node_id)
    if not rate_limit.allow(f"nodes.typed:{user_id}", limit=LIMIT, seconds=SECONDS, token=secrets.token_hex(8)):
        return JsonResponse({}, status=429, headers={"Retry-After": str(SECONDS)})
    services.store(user_id, copy_id, seq, _fields(request.POST, _form_class(type)), type=type, node_id=node_id)
    _settle(request, "_continued")
    html = {"html": _offers(request, type, node_id)} if "_offer" in request.POST else {}
    return JsonResponse({"told": edit_form.describe_working_copy(now()), **html})


@require_safe
def show(request: HttpRequest, copy_id: ObjectId) -> HttpResponse:
    """Show what saving it would change."""
    copy = _own(request, copy_id)
    unsaved = _unsaved(request.user, copy)
    title = _("What you have not saved")
    if copy.node_id is None and not any(unsaved.old.values()):
        labels = differences.label
        display = differences.display
        said = [(labels(path, copy.type), display(path, value, copy.type)) for path, value in unsaved.new.items()]
        return page(request, "typed", title, copy=unsaved, said=said)
    changes = differences.changes(unsaved.old, unsaved.new, copy.type, request.user)
    return page(request, "typed", title, copy=unsaved, changes=changes)


@require_POST
def discard(request: HttpRequest, copy_id: ObjectId) -> HttpResponse:
    """Forget what was typed up to what was shown; what a tab that is open still has sent since stays."""
    copy = _own(request, copy_id)
    services.mark_saved(request.user.pk, copy_id, min(_number(request.POST.get("_seq", "")), copy.seq))
    return HttpResponseRedirect(_form_url(copy))


def put_back(request: HttpRequest, node_id: ObjectId | None) -> None:
    """Take what was typed and not saved for what was sent, only to be shown, where the request asks for it."""
    wanted = request.POST.get("_put_back", "")
    if not wanted:
        return
    copy = _own(request, ObjectId(wanted) if ObjectId.is_valid(wanted) else None)
    if copy.node_id != node_id:
        raise Http404
    posted = _posted(copy)
    posted[sent_forms.KEPT] = "1"
    posted["_continued"] = f"{copy.id}:{copy.seq}"
    request.POST = posted


def context(request: HttpRequest, type: str, node_id: ObjectId | None) -> dict[str, Any]:
    """Return what a form needs to keep what is typed into it, and what its editor typed before and has not saved."""
    copy_id = request.POST.get("_copy", "")
    typed = {
        "copy": copy_id if ObjectId.is_valid(copy_id) else ObjectId(),
        "continued": request.POST.get("_continued", ""),
        "node": node_id or "",
    }
    return {"typed": typed, "unsaved": offered(request.user, type, node_id) if request.method != "POST" else []}


def saved(request: HttpRequest) -> None:
    """Forget what a form has kept that was saved now, and what it was continued from."""
    _settle(request, "_copy")
    _settle(request, "_continued")


def offered(user: Any, type: str, node_id: ObjectId | None) -> list[Unsaved]:
    """Return what a user typed into forms over a node and did not save, newest first; nothing that is stored by now."""
    found = [_unsaved(user, copy) for copy in working_copies.newest(user.pk, type, node_id)]
    return [unsaved for unsaved in found if unsaved.new or unsaved.has_more]


def unsaved(user: Any) -> list[WorkingCopy]:
    """Return what a user typed into any form and did not save, newest first; nothing that is stored by now."""
    copies = [copy for copy in working_copies.unsaved(user.pk) if content.get(copy.type).is_installed]
    return [copy for copy in copies if any(_difference(user, copy)[1:])]


def _offers(request: HttpRequest, type: str, node_id: ObjectId | None) -> str:
    return render_to_string("editor/_unsaved.html", {"unsaved": offered(request.user, type, node_id)}, request)


def _own(request: HttpRequest, copy_id: ObjectId | None) -> WorkingCopy:
    """Return what the asker typed. Raises Http404 if there is no such, PermissionDenied if it is not his to go on with."""
    copy = working_copies.get(request.user.pk, copy_id) if copy_id else None
    if copy is None or not content.get(copy.type).is_installed:
        raise Http404(_("That is not there any more: it was saved or discarded."))
    access.check_may_type(request.user, copy.type, copy.node_id)
    return copy


def _settle(request: HttpRequest, name: str) -> None:
    """Forget a copy that a form names: under its number, or as "ID:NUMBER"."""
    copy_id, _colon, number = request.POST.get(name, "").partition(":")
    seq = _number(number or request.POST.get("_seq", ""))
    if seq and ObjectId.is_valid(copy_id):
        services.mark_saved(request.user.pk, ObjectId(copy_id), seq)


def _number(text: str) -> int:
    """Return the number that a form names; 0 for what is none."""
    return min(int(text), _LAST) if text.isascii() and text.isdecimal() and len(text) < 17 else 0


def _posted(copy: WorkingCopy) -> QueryDict:
    posted = QueryDict(mutable=True)
    for name, value in copy.fields:
        posted.appendlist(name, value)
    return posted


def _unsaved(user: Any, copy: WorkingCopy) -> Unsaved:
    old, new, has_more = _difference(user, copy)
    return Unsaved(copy.id, copy.node_id, copy.seq, copy.updated, _form_url(copy), old, new, has_more)


def _form_url(copy: WorkingCopy) -> str:
    if copy.node_id is None:
        return admin_url("add", type=copy.type)
    return addresses.admin_path(copy.node_id) if content.get(copy.type).is_file else admin_url("change", copy.node_id)


def _difference(user: Any, copy: WorkingCopy) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """Return what differs from what is stored if a copy is saved: as it is stored, and as it would be, by path; and whether
    there is more in it, that no field takes as it is."""
    posted = conflict.decide(_posted(copy), _form_class(copy.type)).data
    node_id = _node_of(copy, posted)
    drafting = posted.get("version") == "draft"
    stored = _stored(user, copy.type, node_id, drafting=drafting) if node_id else None
    seen = sent_forms.seen(posted, node_id) if node_id and stored else None
    form = _form(user, copy.type, posted, seen or stored)
    for path in NOT_DRAFTED if drafting else ():
        form.fields.pop(FIELDS[path], None)
    form.is_valid()
    mine = form.mine()
    theirs = stored.fields if stored else {}
    present = stored.tags if stored else ()
    if copy.node_id is None:
        # Of a new one what is empty says nothing, as a slug that is made from the title; nor what its form begins with.
        begun = {"author": Actor.of(user).as_document(), "expires": NEVER, "detail.format": MARKDOWN}
        mine = {path: value for path, value in mine.items() if value not in (None, "", [], begun.get(path))}
    merge = merging.merge(seen.fields if seen else None, mine, theirs, copy.type)
    new = {**merge.changes, **{one.path: one.mine for one in merge.conflicts}}
    new = {
        path: value for path, value in new.items() if not differences.is_blank(path, theirs.get(path), value, copy.type)
    }
    old = {path: theirs.get(path) for path in new}
    tags = form.tag_change() if {"tags", "tags_seen"} <= form.cleaned_data.keys() else NO_TAGS
    if tags.changes(present):
        old["tags"], new["tags"] = sorted(present), tags.applied(present)
    return (
        old,
        new,
        any(value for name in form.errors for key, value in copy.fields if key == name or key.startswith(f"{name}_")),
    )


def _node_of(copy: WorkingCopy, posted: QueryDict) -> ObjectId | None:
    """Return the id of the node that a copy is of; of a new one that which its form gives it."""
    form_id = posted.get("form", "")
    return copy.node_id or (ObjectId(form_id) if ObjectId.is_valid(form_id) else None)


def _stored(user: Any, type: str, node_id: ObjectId, *, drafting: bool) -> Version | None:
    """Return what is stored of a node; None if there is nothing that the user may see."""
    if content.get(type).is_file:
        photo = stored_photos.get(node_id)
        return Version.of(stored_photos.metadata(node_id), photo.metadata.updated) if photo else None
    found = editable_nodes.load(node_id)
    if found is None or not access.allowed(user, found.node, access.Action.VIEW):
        return None
    return found.draft if drafting and found.draft else found.live


def _form(user: Any, type: str, posted: QueryDict, seen: Version | None) -> NodeForm:
    if content.get(type).is_file:
        return PhotoForm(posted, user=user, seen=seen)
    return form_of(type)(posted, user=user, type=type, seen=seen)


def _form_class(type: str) -> type[NodeForm]:
    return PhotoForm if content.get(type).is_file else form_of(type)


def _fields(posted: QueryDict, form: type[NodeForm]) -> list[tuple[str, str]]:
    """Return what was sent of a form's fields, those of a conflict page among them."""
    return [(key, value) for key, values in posted.lists() if _is_known(key, form) for value in values]


def _is_known(key: str, form: type[NodeForm]) -> bool:
    """Return whether a form sends something under a key: a date and its time are two, those of rows many."""
    names = {*form.base_fields, *form.paths}
    for side in _SIDES:
        name = key.removeprefix(side)
        if key.startswith(side) and (name in names or any(name.startswith((f"{n}_", f"{n}-")) for n in names)):
            return True
    return key in _BESIDE
