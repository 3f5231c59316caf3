"""Undo for nodes that were moved to the trash.

A button in the message restores the nodes to their previous locations.
"""

from collections import deque
from collections.abc import Iterable

from bson import ObjectId
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST

from editor.site import admin_url
from nodes import content
from nodes.actions import Restore
from nodes.errors import NodeError
from photos import addresses

# The separator between a node's id and nonce, and the separator between nodes.
INNER, OUTER = ":", " "
# Maximum number of nodes restored by one request. Each page of a list shows fewer nodes, so one request is enough.
MOST = 100
# The message about restored nodes whose scheduled time passed while they were in the trash.
DUE_MESSAGE = gettext_lazy("Items whose publication date passed while they were in the trash are now drafts.")


def button(trashed: Iterable[tuple[ObjectId, ObjectId]]) -> SafeString:
    """Return a button that restores nodes, given as (id, nonce) pairs. The button submits the page's "undo" form."""
    items = OUTER.join(f"{node_id}{INNER}{nonce}" for node_id, nonce in list(trashed)[:MOST])
    return format_html(
        '<button type="submit" form="undo" formaction="{}" name="items" value="{}" class="button undo">{}</button>',
        admin_url("undo"),
        items,
        _("Undo"),
    )


@require_POST
def undo(request: HttpRequest) -> HttpResponse:
    """Restore nodes from the trash, unless they have changed since they were moved there.

    Redirect to the list of pages, photos or files.
    """
    done = 0
    type = ""
    was_due = False
    # Restore sections before the nodes in them.
    items = deque(_parse_items(request.POST.get("items", "")))
    waiting = set[ObjectId]()
    while items:
        node_id, nonce = items.popleft()
        action = Restore(user=request.user, node_id=node_id, seen=nonce)
        try:
            editable = action.check()
            if editable.node.parent_id in {other for other, _nonce in items} and node_id not in waiting:
                waiting.add(node_id)
                items.append((node_id, nonce))
                continue
            waiting.clear()
            was_due |= action.execute()
        except (Http404, PermissionDenied):
            messages.error(
                request, _("One of the items is no longer in the trash, or you don't have permission to restore it.")
            )
        except NodeError as error:
            title = editable.node.metadata.title
            messages.error(request, _("“%(title)s” could not be restored: %(why)s") % {"title": title, "why": error})
        else:
            done += 1
            type = editable.node.metadata.type
    if done:
        message = ngettext("Restored.", "%(n)d items restored.", done) % {"n": done}
        messages.success(request, format_html("{} {}", message, DUE_MESSAGE) if was_due else message)
    is_asset = content.get(type).is_file
    return HttpResponseRedirect(addresses.library_path(type=type) if is_asset else admin_url("changelist"))


def _parse_items(text: str) -> list[tuple[ObjectId, ObjectId]]:
    """Return the (id, nonce) of each node in the value of an undo button.

    Raises:
        Http404: The value is malformed.
    """
    pairs = [item.split(INNER) for item in text.split(OUTER)[:MOST] if item]
    if not pairs or not all(len(pair) == 2 and all(ObjectId.is_valid(part) for part in pair) for pair in pairs):
        raise Http404
    return [(ObjectId(node_id), ObjectId(nonce)) for node_id, nonce in pairs]
