"""Who else is editing a page. This is derived from other editors' working copies, so polling only reads.

The form shows the other editors, and its script requests them again every few seconds.
"""

from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from nodes import access
from nodes.access import NodePermission
from nodes.selectors import working_copies
from nodes.selectors.working_copies import Presence


@require_safe
def show(request: HttpRequest, node_id: ObjectId) -> HttpResponse:
    """Show the other editors of a page. If the user can't edit the page, show no one.

    While no one else edits the page, this view sends a single command, because permissions matter only if there is
    something to show.
    """
    if not access.may_write(request.user):
        raise PermissionDenied
    present = others(request, node_id)
    if present and not _may_edit(request, node_id):
        present = []
    return render(request, "editor/_presence.html", {"others": present})


def others(request: HttpRequest, node_id: ObjectId) -> list[Presence]:
    """Return the other editors of a page, without checking permissions."""
    return working_copies.others(node_id, request.user.pk)


def _may_edit(request: HttpRequest, node_id: ObjectId) -> bool:
    try:
        access.node(request.user, node_id, NodePermission.DRAFT)
    except (Http404, PermissionDenied):
        return False
    return True
