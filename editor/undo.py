"""Undo after throwing away: a button in the message puts back what it names, each into its own place."""

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

from editor.site import actor, admin_url
from nodes import access
from nodes.access import Action
from nodes.content import PHOTO
from nodes.errors import NodeError
from nodes.services import trash
from photos import addresses

# Between the id and the nonce of one node, and between nodes.
INNER, OUTER = ":", " "
# Put back at once: more than a list shows on a page.
MOST = 100
# Of what was scheduled for a time that has passed since.
DUE = gettext_lazy("It was to appear while it was in the trash: now it is a draft.")


def button(thrown_away: Iterable[tuple[ObjectId, ObjectId]]) -> SafeString:
    """Return the button that puts (id, nonce) back. It sends the form "undo" that every page of ours has."""
    items = OUTER.join(f"{node_id}{INNER}{nonce}" for node_id, nonce in list(thrown_away)[:MOST])
    return format_html(
        '<button type="submit" form="undo" formaction="{}" name="items" value="{}" class="button undo">{}</button>',
        admin_url("undo"),
        items,
        _("Undo"),
    )


@require_POST
def undo(request: HttpRequest) -> HttpResponse:
    """Put back what was thrown away, but for what was changed since; go to the list of what it was."""
    done = 0
    was_photo = False
    was_due = False
    # What stands in a section that comes back as well waits for that.
    items = deque(_items(request.POST.get("items", "")))
    waiting = set[ObjectId]()
    while items:
        node_id, nonce = items.popleft()
        try:
            found = access.trashed(request.user, node_id, Action.TRASH)
            if found.node.parent_id in {other for other, _nonce in items} and node_id not in waiting:
                waiting.add(node_id)
                items.append((node_id, nonce))
                continue
            waiting.clear()
            was_due |= trash.restore(actor(request), node_id, nonce)
        except (Http404, PermissionDenied):
            messages.error(request, _("One is not in the trash any more, or you may not restore it."))
        except NodeError as error:
            title = found.node.metadata.title
            messages.error(request, _("“%(title)s” could not be restored: %(why)s") % {"title": title, "why": error})
        else:
            done += 1
            was_photo = found.node.metadata.type == PHOTO
    if done:
        told = ngettext("Restored.", "%(n)d restored.", done) % {"n": done}
        messages.success(request, format_html("{} {}", told, DUE) if was_due else told)
    return HttpResponseRedirect(addresses.library_path() if was_photo else admin_url("changelist"))


def _items(text: str) -> list[tuple[ObjectId, ObjectId]]:
    pairs = [item.split(INNER) for item in text.split(OUTER)[:MOST] if item]
    if not pairs or not all(len(pair) == 2 and all(ObjectId.is_valid(part) for part in pair) for pair in pairs):
        raise Http404
    return [(ObjectId(node_id), ObjectId(nonce)) for node_id, nonce in pairs]
