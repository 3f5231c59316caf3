"""Old addresses of imported posts, pages and pictures lead to where they are now."""

from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect

from mongo.clock import now
from nodes.models import tree
from nodes.selectors import nodes as selectors
from nodes.views import finding
from wordpress import old_links

__all__ = ["OldNumberMiddleware", "moved", "not_found"]


def moved(request: HttpRequest) -> HttpResponse | None:
    """Return the redirect of an old address to the live node that stands for it now; None for any other address."""
    if request.method not in ("GET", "HEAD"):
        return None
    node_id = old_links.find(request.get_host(), request.path_info, request.GET)
    node = selectors.live_by_id(tree.current(), node_id, now()) if node_id else None
    if node is None:
        return None
    # Browsers would keep it for ever, and the node may be moved.
    return HttpResponsePermanentRedirect(node.get_absolute_url(), headers={"Cache-Control": "no-cache"})


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Redirect an old address; answer 404 for any other."""
    return moved(request) or finding.not_found(request, exception)


class OldNumberMiddleware:
    """Redirect "/?p=7", or answer 404 for a number that leads nowhere: without it, it is the address of the front page."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method not in ("GET", "HEAD") or not any(name in request.GET for name in old_links.NUMBERS):
            return self.get_response(request)
        if answer := moved(request):
            return answer
        if request.path_info == "/" and old_links.there_are_any():
            return finding.not_found(request, Http404())
        return self.get_response(request)
