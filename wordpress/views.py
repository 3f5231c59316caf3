"""Old addresses of imported posts, pages and pictures lead to where they are now."""

import re
from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.urls import reverse

from marginalia.comments.reading.lists import ANCHOR
from marginalia.mongo.clock import now
from nodes.models import Node, Photo, tree
from nodes.selectors import stored_nodes
from reader.views import finding
from wordpress import old_links

__all__ = ["OldNumberMiddleware", "moved", "not_found"]

# Endings that WordPress and its plugins added to the URL of a page.
FEED = re.compile(r"/feed(?:/(atom|rss2?|rdf))?/?\Z")
ENDING = re.compile(r"/(?:amp|embed|trackback|(?:page/)?\d{1,4}|(comment-page-\d{1,6}))/?\Z")
COMMENTS = re.compile(r"/comments/?\Z")


def moved(request: HttpRequest) -> HttpResponse | None:
    """Return the redirect of an old address to the live node that stands for it now; None for any other address.

    What WordPress added to addresses leads there too: to a feed, to the page, to its discussion.
    """
    if request.method not in ("GET", "HEAD"):
        return None
    path = request.path_info
    asked = request.GET.get("feed")
    # Sites without permalinks asked for feeds so.
    address = _address(request, path, _feed) or _site_feed(path, asked) if asked else _address(request, path)
    if not address and (feed := FEED.search(path)):
        path = path[: feed.start()]
        address = _address(request, path, _feed) or _site_feed(path, feed[1])
    elif not address and (ending := ENDING.search(path)):
        address = _address(request, path[: ending.start()])
        address += f"#{ANCHOR}" if address and ending[1] else ""
    # Browsers would keep it for ever, and the node may be moved.
    return HttpResponsePermanentRedirect(address, headers={"Cache-Control": "no-cache"}) if address else None


def _address(request: HttpRequest, path: str, address: Callable[[Node | Photo], str] = Node.get_absolute_url) -> str:
    """Return the present URL of an old path; "" if readers can see nothing there."""
    node_id = old_links.find(request.get_host(), path, request.GET)
    node = stored_nodes.live_by_id(tree.current(), node_id, now()) if node_id else None
    return address(node) if node else ""


def _feed(node: Node | Photo) -> str:
    """Return the URL of the comments feed of a page or photo, or of a section itself, which has no discussion."""
    if node.content_type.is_section:
        return node.get_absolute_url()
    return reverse("comments-feed", args=[node._meta.label_lower, node.pk])


def _site_feed(path: str, form: str | None) -> str:
    """Return the URL of the site's feed if the old site had its own, or that of its comments, below this path; otherwise ""."""
    is_one = old_links.is_front(COMMENTS.sub("", path))
    return reverse("site-feed", args=["atom" if "atom" in (form or "") else "rss"]) if is_one else ""


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Redirect an old address; answer 404 for any other."""
    return moved(request) or finding.not_found(request, exception)


class OldNumberMiddleware:
    """Redirect "/?p=7" and "/?feed=rss2", which are the address of the front page otherwise; answer 404 for a number that
    leads nowhere."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        has_number = any(name in request.GET for name in old_links.NUMBERS)
        is_feed = request.path_info == "/" and "feed" in request.GET
        if request.method not in ("GET", "HEAD") or not (has_number or is_feed):
            return self.get_response(request)
        if answer := moved(request):
            return answer
        if has_number and request.path_info == "/" and old_links.there_are_any():
            return finding.not_found(request, Http404())
        return self.get_response(request)
