"""A page before it is public: for editors through the admin, for others by a signed link. Never kept, never indexed."""

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from mongo.connection import now
from nodes import previews, views
from nodes.models import Node
from nodes.selectors import editing


@require_safe
def by_link(request: HttpRequest, token: str) -> HttpResponse:
    """Show what a signed link names."""
    preview = previews.read(token)
    found = editing.load(preview.node_id) if preview else None
    if preview is None or found is None:
        raise Http404(_("This preview link is not valid any more."))
    if found.draft and found.draft.nonce == preview.nonce:
        return show(request, found.drafted())
    if found.live.nonce == preview.nonce:
        return show(request, found.node)
    if found.draft is None and found.node.metadata.published:
        # Published or discarded: readers' page is all there is to see, if it is public.
        return HttpResponseRedirect(found.node.get_absolute_url() or "/")
    return _private(render(request, "nodes/preview-gone.html", status=410))


def show(request: HttpRequest, node: Node) -> HttpResponse:
    """Answer a page as readers would see it if it were published now. Its address must not leak to what it links to."""
    node.metadata.published = node.metadata.published or now()
    return _private(views.show(request, node))


def _private(response: HttpResponse) -> HttpResponse:
    add_never_cache_headers(response)
    response["X-Robots-Tag"] = "noindex"
    response["Referrer-Policy"] = "no-referrer"
    return response
