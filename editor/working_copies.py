"""Working copies of forms with unsaved changes.

Each form sends a working copy every few seconds, and offers earlier copies to its editor.

If an editor continues with a working copy, the form is shown as it was sent, with its original nonce. When the form is
saved later, its changes are therefore merged from the version that the editor started with.
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
from editor.forms import FIELDS, NodeForm, form_class
from editor.photos.forms import ASSET_FORMS
from editor.site import admin_url, get_actor, render_page
from marginalia.mongo import rate_limit
from marginalia.mongo.clock import now
from nodes import access, content, merging
from nodes.content import MARKDOWN
from nodes.selectors import editable_nodes, stored_assets, working_copies
from nodes.selectors.editable_nodes import Version
from nodes.selectors.working_copies import WorkingCopy
from nodes.services.rules import NOT_DRAFTED
from nodes.services.working_copies import mark_closed, mark_saved, store
from nodes.types import NEVER, NO_TAGS, Actor
from photos import addresses

# Each account can send LIMIT requests within SECONDS. Each open tab sends a request every few seconds.
LIMIT, SECONDS = 120, 60
# Maximum number of characters of a heading that other editors see.
LONGEST_HEADING = 100
# The largest integer that JavaScript represents exactly.
_LAST = 2**53 - 1
# Keys that forms send in addition to the keys of fields.
_EXTRA_KEYS = frozenset({"type", "version", "publishing", "due", "conflict", "_proposed"}) | sent_forms.DESCRIPTION_KEYS
_SIDES = ("", f"{MINE}-", f"{THEIRS}-", "choice-")


class _CopyForm(forms.Form):
    """The data that identifies a working copy: the copy's id and number, the user, the node and the node's type."""

    _copy = ObjectIdField()
    _seq = forms.IntegerField(min_value=1, max_value=_LAST)
    _user = ObjectIdField()
    _node = ObjectIdField(required=False)
    type = forms.CharField()


@dataclass(frozen=True)
class Unsaved:
    """A working copy that is offered to its editor.

    Attributes:
        node_id: The id of the node, or None for a new page.
        old: The stored values that saving the copy would change, keyed by path.
        new: The values that saving the copy would store instead, keyed by path.
        has_more: Whether the copy contains values that no field accepts. Only the form can show such values.
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
def keep_typed(request: HttpRequest) -> JsonResponse:
    """Store a form's working copy, which only its editor can see. Return {"state": …} with text for the form's bar.

    Other editors of the node see the editor's name, until the form is saved or closed. When a form is closed, its script
    sends its fields with "_closed" if they haven't been stored yet, and "_leave" without the fields.
    """
    if not (access.may_list(request.user) or access.may_see_photos(request.user)):
        raise PermissionDenied
    form = _CopyForm(request.POST)
    if not form.is_valid() or not content.get(form.cleaned_data["type"]).is_installed:
        return JsonResponse({}, status=400)
    copy_id, seq, user_id, node_id, type = form.cleaned_data.values()
    if user_id != request.user.pk:
        # The form, or the copy in the browser's storage, belongs to another user, who was logged in earlier.
        raise PermissionDenied
    access.check_may_type(request.user, type, node_id)
    if not rate_limit.allow(f"nodes.typed:{user_id}", limit=LIMIT, seconds=SECONDS, token=secrets.token_hex(8)):
        return JsonResponse({}, status=429, headers={"Retry-After": str(SECONDS)})
    if "_leave" in request.POST:
        mark_closed(user_id, copy_id, seq)
        return JsonResponse({})
    is_closed = "_closed" in request.POST
    store(
        user_id,
        copy_id,
        seq,
        _fields(request.POST, _form_class(type)),
        type=type,
        node_id=node_id,
        editor="" if is_closed else get_actor(request).name,
        heading=" ".join(request.POST.get("_heading", "")[:LONGEST_HEADING].split()),
    )
    _settle(request, "_continued")
    html = {"html": _render_offers(request, type, node_id)} if "_offer" in request.POST else {}
    return JsonResponse({"state": edit_form.describe_working_copy(now()), **html})


@require_safe
def show(request: HttpRequest, copy_id: ObjectId) -> HttpResponse:
    """Show the changes that saving a working copy would make."""
    copy = _own(request, copy_id)
    unsaved = _unsaved(request.user, copy)
    title = _("Unsaved changes")
    if copy.node_id is None and not any(unsaved.old.values()):
        label = differences.label
        display = differences.display
        rows = [(label(path, copy.type), display(path, value, copy.type)) for path, value in unsaved.new.items()]
        return render_page(request, "typed", title, copy=unsaved, rows=rows)
    changes = differences.changes(unsaved.old, unsaved.new, copy.type, request.user)
    return render_page(request, "typed", title, copy=unsaved, changes=changes)


@require_POST
def discard(request: HttpRequest, copy_id: ObjectId) -> HttpResponse:
    """Discard a working copy, unless an open tab has sent newer text since the copy was shown."""
    copy = _own(request, copy_id)
    mark_saved(request.user.pk, copy_id, min(_number(request.POST.get("_seq", "")), copy.seq))
    return HttpResponseRedirect(_form_url(copy))


def restore(request: HttpRequest, node_id: ObjectId | None) -> None:
    """Replace request.POST with the working copy that "_put_back" refers to.

    The form then shows the copy without saving it.

    Args:
        request: The request. If the request doesn't contain "_put_back", it isn't changed.
        node_id: The id of the form's node, or None for a new page.

    Raises:
        Http404: There is no such copy, or it belongs to another form.
        PermissionDenied: The user can't edit the copy's node.
    """
    requested_id = request.POST.get("_put_back", "")
    if not requested_id:
        return
    copy = _own(request, ObjectId(requested_id) if ObjectId.is_valid(requested_id) else None)
    if copy.node_id != node_id:
        raise Http404
    posted = _posted(copy)
    posted[sent_forms.SHOW_ONLY] = "1"
    posted["_continued"] = f"{copy.id}:{copy.seq}"
    request.POST = posted


def context(request: HttpRequest, type: str, node_id: ObjectId | None) -> dict[str, Any]:
    """Return the template context that forms need to send working copies and to offer earlier ones."""
    copy_id = request.POST.get("_copy", "")
    typed = {
        "copy": copy_id if ObjectId.is_valid(copy_id) else ObjectId(),
        "continued": request.POST.get("_continued", ""),
        "node": node_id or "",
    }
    return {"typed": typed, "unsaved": offered(request.user, type, node_id) if request.method != "POST" else []}


def forget_saved(request: HttpRequest) -> None:
    """Discard the working copy of a saved form, and the earlier copy that the editor continued with."""
    _settle(request, "_copy")
    _settle(request, "_continued")


def offered(user: Any, type: str, node_id: ObjectId | None) -> list[Unsaved]:
    """Return a user's working copies of a node, newest first, except copies that are equal to the stored node."""
    unsaved_copies = [_unsaved(user, copy) for copy in working_copies.newest(user.pk, type, node_id)]
    return [unsaved for unsaved in unsaved_copies if unsaved.new or unsaved.has_more]


def list_unsaved(user: Any) -> list[WorkingCopy]:
    """Return a user's working copies of all forms, newest first, except copies that are equal to the stored node."""
    copies = [copy for copy in working_copies.unsaved(user.pk) if content.get(copy.type).is_installed]
    return [copy for copy in copies if any(_difference(user, copy)[1:])]


def _render_offers(request: HttpRequest, type: str, node_id: ObjectId | None) -> str:
    return render_to_string("editor/_unsaved.html", {"unsaved": offered(request.user, type, node_id)}, request)


def _own(request: HttpRequest, copy_id: ObjectId | None) -> WorkingCopy:
    """Return the user's working copy with the id `copy_id`.

    Raises:
        Http404: There is no such copy.
        PermissionDenied: The user can't edit the copy's node.
    """
    copy = working_copies.get(request.user.pk, copy_id) if copy_id else None
    if copy is None or not content.get(copy.type).is_installed:
        raise Http404(_("These changes no longer exist. They were saved or discarded."))
    access.check_may_type(request.user, copy.type, copy.node_id)
    return copy


def _settle(request: HttpRequest, name: str) -> None:
    """Discard the working copy that the field `name` identifies.

    The field contains "ID:NUMBER", or only the id. In the second case, the number is in "_seq".
    """
    copy_id, _colon, number = request.POST.get(name, "").partition(":")
    seq = _number(number or request.POST.get("_seq", ""))
    if seq and ObjectId.is_valid(copy_id):
        mark_saved(request.user.pk, ObjectId(copy_id), seq)


def _number(text: str) -> int:
    """Return the number that `text` represents, up to _LAST, or 0 if `text` isn't a number."""
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
    if content.get(copy.type).is_file:
        return addresses.admin_path(copy.node_id, copy.type)
    return admin_url("change", copy.node_id)


def _difference(user: Any, copy: WorkingCopy) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """Return the changes that saving a copy would make, as (stored values, new values, has_more).

    The values are keyed by path. `has_more` is True if the copy contains values that no field accepts.
    """
    posted = conflict.read_decisions(_posted(copy), _form_class(copy.type)).data
    node_id = _node_of(copy, posted)
    drafting = posted.get("version") == "draft"
    stored = _stored(user, copy.type, node_id, drafting=drafting) if node_id else None
    seen = sent_forms.seen_version(posted, node_id) if node_id and stored else None
    form = _form(user, copy.type, posted, seen or stored)
    for path in NOT_DRAFTED if drafting else ():
        form.fields.pop(FIELDS[path], None)
    form.is_valid()
    mine = form.mine()
    theirs = stored.fields if stored else {}
    stored_tags = stored.tags if stored else ()
    if copy.node_id is None:
        # In the form for a new page, empty fields and initial values don't count as changes. An empty slug is derived
        # from the title.
        initial = {"author": Actor.of(user).as_document(), "expires": NEVER, "detail.format": MARKDOWN}
        mine = {path: value for path, value in mine.items() if value not in (None, "", [], initial.get(path))}
    merge = merging.merge(seen.fields if seen else None, mine, theirs, copy.type)
    new = {**merge.changes, **{conflict.path: conflict.mine for conflict in merge.conflicts}}
    new = {
        path: value for path, value in new.items() if not differences.is_blank(path, theirs.get(path), value, copy.type)
    }
    old = {path: theirs.get(path) for path in new}
    tags = form.tag_change() if {"tags", "tags_seen"} <= form.cleaned_data.keys() else NO_TAGS
    if tags.changes(stored_tags):
        old["tags"], new["tags"] = sorted(stored_tags), tags.applied(stored_tags)
    has_more = any(
        value for name in form.errors for key, value in copy.fields if key == name or key.startswith(f"{name}_")
    )
    return old, new, has_more


def _node_of(copy: WorkingCopy, posted: QueryDict) -> ObjectId | None:
    """Return the id of a copy's node, or None.

    The form for a new page already contains the id of the node to create.
    """
    form_id = posted.get("form", "")
    return copy.node_id or (ObjectId(form_id) if ObjectId.is_valid(form_id) else None)


def _stored(user: Any, type: str, node_id: ObjectId, *, drafting: bool) -> Version | None:
    """Return a node's stored version, or None if there is no version that the user can see."""
    if content.get(type).is_file:
        asset = stored_assets.load(node_id)
        return asset.live if asset else None
    editable = editable_nodes.load(node_id)
    if editable is None or not access.allowed(user, editable.node, access.NodePermission.VIEW):
        return None
    return editable.draft if drafting and editable.draft else editable.live


def _form(user: Any, type: str, posted: QueryDict, seen: Version | None) -> NodeForm:
    if content.get(type).is_file:
        return ASSET_FORMS[type](posted, user=user, seen=seen)
    return form_class(type)(posted, user=user, type=type, seen=seen)


def _form_class(type: str) -> type[NodeForm]:
    return ASSET_FORMS[type] if content.get(type).is_file else form_class(type)


def _fields(posted: QueryDict, form: type[NodeForm]) -> list[tuple[str, str]]:
    """Return the submitted (key, value) pairs for a form's fields, including the fields of a conflict page."""
    return [(key, value) for key, values in posted.lists() if _is_known(key, form) for value in values]


def _is_known(key: str, form: type[NodeForm]) -> bool:
    """Return whether a submitted key belongs to one of a form's fields.

    A field for a date and time has two keys, and a field for rows has many.
    """
    names = {*form.base_fields, *form.paths}
    for side in _SIDES:
        name = key.removeprefix(side)
        if key.startswith(side) and (
            name in names or any(name.startswith((f"{field}_", f"{field}-")) for field in names)
        ):
            return True
    return key in _EXTRA_KEYS
