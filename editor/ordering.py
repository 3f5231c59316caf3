"""The page where editors put a section's contents in order, by typing positions, pressing buttons, or dragging rows."""

import math
from typing import Any

from bson import ObjectId
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from editor.lists import node_state
from editor.site import admin_url, parse_id, render_page
from marginalia.mongo.clock import now
from nodes import content
from nodes.actions import Order, SortByName
from nodes.errors import InvalidPlace, NodeError
from nodes.models import tree
from nodes.selectors import by_hand

# Number of rows per page. The buttons for moving a node to the start or end can move the node to another page.
SIZE = 300
UP = "up"
DOWN = "down"
START = "start"
END = "end"
BY_NAME = "by_name"


@require_http_methods(["GET", "HEAD", "POST"])
def order(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show a section's contents in order. If the form was submitted, change the order as specified in the form."""
    try:
        editable = Order(user=request.user, node_id=node_id).check()
    except InvalidPlace as error:
        messages.info(request, str(error))
        return HttpResponseRedirect(admin_url("change", node_id))
    if BY_NAME in request.POST:
        return _sort_by_name(request, node_id)
    if request.method == "POST":
        return _arrange(request, node_id)
    moment = now()
    cursor = request.GET.get("from", "")
    try:
        nodes, after = by_hand.all_nodes(node_id, size=SIZE, cursor=cursor)
    except ValueError as error:
        raise Http404(_("This page of the list doesn't exist.")) from error
    rows = [{"node": node, "place": place, "state": node_state(node, moment)} for place, node in enumerate(nodes, 1)]
    context: dict[str, Any] = {
        "rows": rows,
        "seen": ",".join(str(node.pk) for node in nodes),
        "after": after,
        "is_part": bool(after or cursor),
        "is_sorted_by_name": not (is_by_hand := tree.current().is_by_hand(node_id)),
        "can_sort_by_name": is_by_hand and editable.node.content_type.lists == content.BY_NAME,
    }
    return render_page(request, "order", _("Order"), editable=editable, **context)


def _sort_by_name(request: HttpRequest, section_id: ObjectId) -> HttpResponse:
    """List a section by name again, and redirect to the list."""
    try:
        SortByName(user=request.user, node_id=section_id).execute()
    except NodeError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("This section is sorted by name again."))
    return HttpResponseRedirect(admin_url("order", section_id))


def _arrange(request: HttpRequest, section_id: ObjectId) -> HttpResponse:
    """Change a section's order as specified in the form.

    Redirect to the list. If a button moved a node, the URL contains a fragment that scrolls to this node.
    """
    posted = request.POST
    fragment = ""
    seen = [parse_id(text) for text in posted.get("seen", "").split(",")[:SIZE] if text]
    to_start, to_end = ([parse_id(posted[button])] if button in posted else [] for button in (START, END))
    action = Order(
        user=request.user,
        node_id=section_id,
        seen=seen,
        wanted=_new_order(posted, seen),
        to_start=to_start,
        to_end=to_end,
    )
    try:
        missing = action.execute()
    except NodeError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("The order was saved."))
        if missing:
            text = ngettext(
                "%(n)d page is no longer in this section.", "%(n)d pages are no longer in this section.", missing
            )
            messages.warning(request, text % {"n": missing})
        fragment = next((f"#node-{parse_id(posted[button])}" for button in (UP, DOWN) if button in posted), "")
    return HttpResponseRedirect(request.get_full_path() + fragment)


def _new_order(posted: QueryDict, seen: list[ObjectId]) -> list[ObjectId]:
    """Apply the typed positions and the button that was pressed, and return the ids in the new order.

    A node moves to the position that was typed for it. If another node already has this position, the other node moves
    up or down, toward the moved node's old position.
    """

    def place(node_id: ObjectId) -> tuple[float, int]:
        current = seen.index(node_id) + 1
        typed = _number(posted.get(f"place-{node_id}", ""), current)
        return typed, (typed > current) - (typed < current)

    new_order = sorted(dict.fromkeys(seen), key=place)
    for button, step in ((UP, -1), (DOWN, 1)):
        if button in posted and (node_id := parse_id(posted[button])) in new_order:
            index = new_order.index(node_id)
            new_order.insert(max(index + step, 0), new_order.pop(index))
    return new_order


def _number(text: str, default: float) -> float:
    """Return the number that `text` represents, or `default` if it isn't a finite number."""
    try:
        number = float(text)
    except ValueError:
        return default
    return number if math.isfinite(number) else default
