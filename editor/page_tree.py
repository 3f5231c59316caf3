"""The page tree: all pages and posts, with sections that editors open and close, and pages that they move.

The URL lists the open sections. A script loads further levels one at a time, from this same page.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from bson import ObjectId
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from editor.lists import node_state
from editor.site import parse_id, render_page
from marginalia.mongo.clock import now
from nodes import access
from nodes.access import TOP, NodePermission
from nodes.actions import REFUSALS, Move, PlaceNextTo, SortByName, reason_of
from nodes.models import Node, tree
from nodes.selectors import by_hand, editable_nodes, levels
from nodes.selectors.lists import COUNTED

# Maximum number of sections that the page opens. Each one needs a query.
MOST_OPEN = 30
BEFORE, AFTER, INTO = "before", "after", "into"
BY_NAME = "by-name"

Levels = dict[ObjectId | None, tuple[list[Node], str]]


@require_http_methods(["GET", "HEAD", "POST"])
def page_tree(request: HttpRequest) -> HttpResponse:
    """Show the tree below a section, or from the top level, with the sections in `open` opened. Move a node."""
    if not access.sees_all(request.user):
        raise PermissionDenied
    if request.method == "POST":
        return _move(request)
    top_id = _section_id(request.GET.get("section", ""))
    open_ids = _open_ids(request)
    moment = now()
    try:
        read = _read(top_id, request.GET.get("from", ""), open_ids, moment)
    except ValueError as error:
        raise Http404(_("This page of the list doesn't exist.")) from error
    sections = [node.pk for nodes, _after in read.values() for node in nodes if node.content_type.is_section]
    level = _level(read, top_id, levels.count_contents(sections), moment)
    chain = tree.current().ancestors(top_id) or []
    context: dict[str, Any] = {"level": level, "open_ids": open_ids, "top_id": top_id, "chain": chain, "has_tree": True}
    context["may_move"] = not access.changes_unpublished_only(request.user)
    return render_page(request, "tree", _("Pages and posts"), **context)


def _section_id(text: str) -> ObjectId | None:
    """Return the id of a section, or None for the top level.

    Raises:
        Http404: There is no such section.
    """
    if not text:
        return None
    if not ObjectId.is_valid(text) or ObjectId(text) not in tree.current().sections:
        raise Http404(_("This page doesn't exist, or you don't have permission to view it."))
    return ObjectId(text)


def _open_ids(request: HttpRequest) -> list[ObjectId]:
    """Return the ids of the open sections. The section in `toggle` is opened or closed."""
    known = tree.current().sections
    opened = dict.fromkeys(request.GET.getlist("open"))
    if toggled := request.GET.get("toggle"):
        opened = {text: None for text in opened if text != toggled} if toggled in opened else {**opened, toggled: None}
    wanted = [ObjectId(text) for text in opened if ObjectId.is_valid(text) and ObjectId(text) in known]
    return wanted[-MOST_OPEN:]


def _read(top_id: ObjectId | None, cursor: str, open_ids: Sequence[ObjectId], moment: datetime) -> Levels:
    """Return the nodes of the top level and of the open sections below it, and the cursor of each next page.

    Raises:
        ValueError: The cursor is invalid.
    """
    read: Levels = {top_id: levels.level(top_id, moment, cursor=cursor)}
    pending = [top_id]
    while pending:
        for node in read[pending.pop()][0]:
            if node.pk in open_ids and node.content_type.is_section:
                read[node.pk] = levels.level(node.pk, moment)
                pending.append(node.pk)
    return read


def _level(
    read: Levels, section_id: ObjectId | None, contents: Mapping[ObjectId, levels.Contents], moment: datetime
) -> dict[str, Any]:
    """Return a level for the template. The rows of open sections contain the next level."""
    nodes, after = read[section_id]
    section = tree.current().sections.get(section_id) if section_id else None
    is_arrangeable = section is not None and section.content_type.is_arrangeable()
    ids = [node.pk for node in nodes] if is_arrangeable else [None] * len(nodes)
    rows = []
    for node, previous, following in zip(nodes, [None, *ids], [*ids[1:], None], strict=False):
        inside = contents.get(node.pk, levels.Contents())
        row = {
            "node": node,
            "state": node_state(node, moment),
            "previous": previous,
            "following": following,
            "opens": bool(inside.nodes),
            "level": _level(read, node.pk, contents, moment) if node.pk in read else None,
        }
        rows.append(row | _counts(inside))
    query = {"section": section_id, "from": after} if section_id else {"from": after}
    return {"rows": rows, "more": f"?{urlencode(query)}" if after else ""}


def _counts(inside: levels.Contents) -> dict[str, str]:
    """Return the numbers of pages, photos and files in a section as texts, without zeros."""
    if inside == levels.Contents():
        return {}
    return {
        "pages": _counted(inside.nodes, ngettext("%(n)s page", "%(n)s pages", inside.nodes)),
        "photos": _counted(inside.photos, ngettext("%(n)s photo", "%(n)s photos", inside.photos)),
        "files": _counted(inside.files, ngettext("%(n)s file", "%(n)s files", inside.files)),
    }


def _counted(number: int, text: str) -> str:
    """Return a count as text, or "" for zero."""
    return text % {"n": f"{COUNTED:,}+" if number > COUNTED else f"{number:,}"} if number else ""


def _move(request: HttpRequest) -> HttpResponse:
    """Move a node as specified in `move`: NODE:NONCE:PLACE:TARGET, with the place "before", "after" or "into".

    If BY_NAME follows, the move undoes the first move in a section that was sorted by name before.
    """
    parts = request.POST.get("move", "").split(":")
    node_text, nonce_text, place, target_text, flag = (*parts, "", "", "", "", "")[:5]
    target_id = None if (place, target_text) == (INTO, TOP) else parse_id(target_text)
    node_id, seen = parse_id(node_text), parse_id(nonce_text)
    if place not in (BEFORE, AFTER, INTO):
        raise Http404
    user = request.user
    undone = ""
    try:
        before = access.node(user, node_id, NodePermission.VIEW).node
        undone = _present_place(before, target_id)
        if place == INTO:
            Move(user=user, node_id=node_id, seen=seen, place={"parent_id": target_id}).execute()
        elif target_id:
            PlaceNextTo(user=user, node_id=node_id, seen=seen, anchor_id=target_id, is_before=place == BEFORE).execute()
            if flag == BY_NAME and before.metadata.parent_id:
                SortByName(user=user, node_id=before.metadata.parent_id, if_unchanged=True).execute()
    except REFUSALS as error:
        messages.error(request, format_html(_("The page wasn't moved. {}"), reason_of(error)))
    else:
        _report(request, before, undone)
    return HttpResponseRedirect(f"{request.get_full_path()}#node-{node_id}")


def _present_place(node: Node, target_id: ObjectId | None) -> str:
    """Return the place to which "Undo" moves a node back, as PLACE:TARGET or PLACE:TARGET:BY_NAME."""
    section_id = node.metadata.parent_id
    if section_id is None:
        return f"{INTO}:{TOP}"
    target = editable_nodes.load(target_id) if target_id else None
    is_within = target is not None and target.node.metadata.parent_id == section_id
    is_by_hand = tree.current().is_by_hand(section_id)
    if is_within or is_by_hand:
        previous, following = by_hand.sibling_ids(section_id, node.pk)
        if previous or following:
            sibling = f"{AFTER}:{previous}" if previous else f"{BEFORE}:{following}"
            return sibling if is_by_hand else f"{sibling}:{BY_NAME}"
    return f"{INTO}:{section_id}"


def _report(request: HttpRequest, before: Node, undone: str) -> None:
    """Add a message about a move, with a button that moves the node back."""
    moved = access.node(request.user, before.pk, NodePermission.VIEW)
    if moved.node.metadata.parent_id == before.metadata.parent_id:
        text = _("“{}” was moved.")
        message = format_html(text, before.metadata.title)
    else:
        text = _("“{}” was moved to {}. Old URLs redirect there.")
        message = format_html(text, before.metadata.title, moved.node.get_absolute_url())
    button = _undo_button(request, f"{before.pk}:{moved.live.nonce}:{undone}")
    messages.success(request, format_html("{} {}", message, button))


def _undo_button(request: HttpRequest, move: str) -> SafeString:
    """Return a button that submits a move with the page's "undo" form."""
    return format_html(
        '<button type="submit" form="undo" formaction="{}" name="move" value="{}" class="button undo">{}</button>',
        request.get_full_path(),
        move,
        _("Undo"),
    )
