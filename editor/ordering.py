"""The order by hand of what stands in a section: a place to type for each, buttons, and dragging where there is JavaScript."""

import math
from typing import Any

from bson import ObjectId
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from editor.lists import state_of
from editor.site import admin_url, page
from marginalia.mongo.clock import now
from nodes import access
from nodes.access import Action
from nodes.content import BY_HAND
from nodes.errors import NodeError
from nodes.selectors import by_hand
from nodes.services import ordering

# Rows of one page: what is beyond is reached by the buttons to the start and to the end.
SIZE = 300
UP = "up"
DOWN = "down"
START = "start"
END = "end"


@require_http_methods(["GET", "HEAD", "POST"])
def order(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show what stands in a section in its order; arrange it as the form says."""
    found = access.node(request.user, node_id, Action.PUBLISH)
    if found.node.content_type.lists != BY_HAND:
        messages.info(request, _("What stands here is not arranged by hand."))
        return HttpResponseRedirect(admin_url("change", node_id))
    if request.method == "POST":
        return _arrange(request, node_id)
    moment = now()
    cursor = request.GET.get("from", "")
    try:
        nodes, after = by_hand.all_nodes(node_id, size=SIZE, cursor=cursor)
    except ValueError as error:
        raise Http404(_("There is no such page of this list.")) from error
    rows = [{"node": node, "place": place, "state": state_of(node, moment)} for place, node in enumerate(nodes, 1)]
    context: dict[str, Any] = {
        "rows": rows,
        "seen": ",".join(str(node.pk) for node in nodes),
        "after": after,
        "is_part": bool(after or cursor),
    }
    return page(request, "order", _("Order"), found=found, **context)


def _arrange(request: HttpRequest, section_id: ObjectId) -> HttpResponse:
    """Do what the form says, and go back to the list, at the node that a button moved."""
    said = request.POST
    moved = ""
    seen = [_id(text) for text in said.get("seen", "").split(",")[:SIZE] if text]
    try:
        missed = ordering.arrange(section_id, seen, _wanted(said, seen))
        for button, put in ((START, ordering.move_to_start), (END, ordering.move_to_end)):
            if button in said:
                missed += not put(section_id, _id(said[button]))
    except NodeError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("The order was saved."))
        if missed:
            text = ngettext("%(n)d page is not here any more.", "%(n)d pages are not here any more.", missed)
            messages.warning(request, text % {"n": missed})
        moved = next((f"#node-{_id(said[button])}" for button in (UP, DOWN) if button in said), "")
    return HttpResponseRedirect(request.get_full_path() + moved)


def _wanted(said: QueryDict, seen: list[ObjectId]) -> list[ObjectId]:
    """Return the ids in the order of the places that were typed, and of the button that was pressed after that.

    What was given the place of another takes it: the other moves on, or back where it comes from above.
    """

    def place(one: ObjectId) -> tuple[float, int]:
        own = seen.index(one) + 1
        typed = _number(said.get(f"place-{one}", ""), own)
        return typed, (typed > own) - (typed < own)

    wanted = sorted(dict.fromkeys(seen), key=place)
    for button, step in ((UP, -1), (DOWN, 1)):
        if button in said and (one := _id(said[button])) in wanted:
            at = wanted.index(one)
            wanted.insert(max(at + step, 0), wanted.pop(at))
    return wanted


def _number(text: str, otherwise: float) -> float:
    try:
        number = float(text)
    except ValueError:
        return otherwise
    return number if math.isfinite(number) else otherwise


def _id(text: str) -> ObjectId:
    if not ObjectId.is_valid(text):
        raise Http404(_("There is no such page, or you may not see it."))
    return ObjectId(text)
