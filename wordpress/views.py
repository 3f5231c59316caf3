"""Redirects from the old URLs of imported posts, pages and pictures to their current URLs."""

import re
from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.urls import reverse

from marginalia.comments.reading.lists import ANCHOR
from marginalia.mongo.clock import now
from nodes.models import Node, Photo, tree
from nodes.selectors import stored_nodes
from reader.views import finding, redirects
from wordpress import old_links

__all__ = ["OldNumberMiddleware", "redirect_old_url", "not_found"]

# Match suffixes that WordPress and its plugins append to the URL of a page.
FEED = re.compile(r"/feed(?:/(atom|rss2?|rdf))?/?\Z")
ENDING = re.compile(r"/(?:amp|embed|trackback|(?:page/)?\d{1,4}|(comment-page-\d{1,6}))/?\Z")
COMMENTS = re.compile(r"/comments/?\Z")


def redirect_old_url(request: HttpRequest) -> HttpResponse | None:
    """Return a redirect from an old URL to the current URL of the live node, or None for any other URL.

    URLs with WordPress's suffixes are redirected too: to a feed, to the page, or to the page's discussion.
    """
    if request.method not in ("GET", "HEAD"):
        return None
    path = request.path_info
    feed_format = request.GET.get("feed")
    # If the old site didn't use permalinks, the URLs of feeds contain the parameter `feed`.
    url = (
        _current_url(request, path, _feed) or _site_feed(path, feed_format)
        if feed_format
        else _current_url(request, path)
    )
    if not url and (feed := FEED.search(path)):
        path = path[: feed.start()]
        url = _current_url(request, path, _feed) or _site_feed(path, feed[1])
    elif not url and (ending := ENDING.search(path)):
        url = _current_url(request, path[: ending.start()])
        url += f"#{ANCHOR}" if url and ending[1] else ""
    # Add no-cache. Otherwise, browsers would cache the redirect permanently, and would not notice if the node is moved
    # later.
    return HttpResponsePermanentRedirect(url, headers={"Cache-Control": "no-cache"}) if url else None


def _current_url(
    request: HttpRequest, path: str, get_url: Callable[[Node | Photo], str] = Node.get_absolute_url
) -> str:
    """Return the current URL for an old path, or "" if the path doesn't lead to a node that readers can see."""
    node_id = old_links.find(request.get_host(), path, request.GET)
    node = stored_nodes.live_by_id(tree.current(), node_id, now()) if node_id else None
    return get_url(node) if node else ""


def _feed(node: Node | Photo) -> str:
    """Return the URL of the feed of comments on a page or photo.

    For a section, return its own URL, because sections have no discussion.
    """
    if node.content_type.is_section:
        return node.get_absolute_url()
    return reverse("comments-feed", args=[node._meta.label_lower, node.pk])


def _site_feed(path: str, feed_format: str | None) -> str:
    """Return the URL of this site's feed if `path` is the front page of an imported site, or "" otherwise.

    The feed of all comments on the old site (/comments/feed) is redirected to the same feed.
    """
    had_feed = old_links.is_front_page(COMMENTS.sub("", path))
    return reverse("site-feed", args=["atom" if "atom" in (feed_format or "") else "rss"]) if had_feed else ""


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return a redirect for an old URL, or the 404 page for any other URL.

    Redirects that editors have added take precedence over the URLs of imported posts and pages.
    """
    return redirects.response(request) or redirect_old_url(request) or finding.not_found(request, exception)


class OldNumberMiddleware:
    """Middleware that redirects old URLs such as "/?p=7" and "/?feed=rss2", which would otherwise show the front page.

    If there are old URLs, but none with the requested number, the response has status 404.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        has_number = any(name in request.GET for name in old_links.NUMBER_PARAMETERS)
        is_feed = request.path_info == "/" and "feed" in request.GET
        if request.method not in ("GET", "HEAD") or not (has_number or is_feed):
            return self.get_response(request)
        if redirect := redirect_old_url(request):
            return redirect
        if has_number and request.path_info == "/" and old_links.exist():
            return finding.not_found(request, Http404())
        return self.get_response(request)
