"""The page tree: all pages and posts, with sections that editors open and close.

The URL lists the open sections. A script loads further levels one at a time, from this same page.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from editor.lists import node_state
from editor.site import render_page
from marginalia.mongo.clock import now
from nodes import access
from nodes.models import Node, tree
from nodes.selectors import levels
from nodes.selectors.lists import COUNTED

# Maximum number of sections that the page opens. Each one needs a query.
MOST_OPEN = 30

Levels = dict[ObjectId | None, tuple[list[Node], str]]


@require_safe
def page_tree(request: HttpRequest) -> HttpResponse:
    """Show the tree below a section, or from the top level, with the sections in `open` opened."""
    if not access.sees_all(request.user):
        raise PermissionDenied
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
    texts = [*request.GET.getlist("open"), *request.GET.getlist("toggle")[:1]]
    ids = [ObjectId(text) for text in texts if ObjectId.is_valid(text)]
    known = tree.current().sections
    wanted = dict.fromkeys(node_id for node_id in ids if node_id in known)
    toggled = request.GET.get("toggle", "")
    if toggled in request.GET.getlist("open") and ObjectId.is_valid(toggled):
        wanted.pop(ObjectId(toggled), None)
    return list(wanted)[-MOST_OPEN:]


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
    rows = []
    for node in nodes:
        inside = contents.get(node.pk, levels.Contents())
        row = {
            "node": node,
            "state": node_state(node, moment),
            "opens": bool(inside.nodes),
            "pages": _counted(inside.nodes, ngettext("%(n)s page", "%(n)s pages", inside.nodes)),
            "photos": _counted(inside.photos, ngettext("%(n)s photo", "%(n)s photos", inside.photos)),
            "level": _level(read, node.pk, contents, moment) if node.pk in read else None,
        }
        rows.append(row)
    query = {"section": section_id, "from": after} if section_id else {"from": after}
    return {"rows": rows, "more": f"?{urlencode(query)}" if after else ""}


def _counted(number: int, text: str) -> str:
    """Return a count as text, or "" for zero."""
    return text % {"n": f"{COUNTED:,}+" if number > COUNTED else f"{number:,}"} if number else ""
