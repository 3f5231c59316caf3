"""Redirects that editors have added, for URLs without a page."""

from copy import copy
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit, urlunsplit

from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect, QueryDict
from django.urls import Resolver404, get_resolver, resolve

from nodes.redirects import normalized
from nodes.selectors import manual_redirects, stored_nodes
from nodes.services import redirect_hits

# The URLs that can be tried out. Other URLs belong to the site itself, such as the admin.
PUBLIC_URLS = "reader.urls"
# Maximum number of redirects to follow when trying out a URL.
MOST_STEPS = 5


def response(request: HttpRequest) -> HttpResponse | None:
    """Return the redirect for the requested URL, and count the hit. If there is no redirect, return None."""
    if request.method not in ("GET", "HEAD"):
        return None
    redirect = manual_redirects.find(normalized(request.get_full_path()))
    url = manual_redirects.target_url(redirect.target) if redirect else ""
    if redirect is None or not url:
        return None
    if not getattr(request, "is_trial", False):
        redirect_hits.record(redirect.url)
    # By default, browsers cache permanent redirects forever. However, editors can change or delete the redirect.
    return HttpResponsePermanentRedirect(url, headers={"Cache-Control": "no-cache"})


@dataclass(frozen=True)
class Step:
    """A response that a visitor gets.

    Attributes:
        url: The path and query that the visitor requests.
        status: The status of the response, or 0 if the URL belongs to the site itself, such as the admin.
        target: The URL to which the response redirects, or "".
        title: The title of the page, or "".
        is_added: Whether an editor has added a redirect for this URL.
    """

    url: str
    status: int
    target: str = ""
    title: str = ""
    is_added: bool = False


def follow(request: HttpRequest, url: str) -> list[Step]:
    """Return the responses that a visitor gets who opens the path of `url` on this site and follows all redirects."""
    parts = urlsplit(url)
    url = urlunsplit(("", "", f"/{parts.path.strip().lstrip('/')}", parts.query, ""))
    steps: list[Step] = []
    while url and len(steps) < MOST_STEPS:
        step = _step(request, url)
        steps.append(step)
        url = step.target if step.target.startswith("/") else ""
    return steps


def _step(request: HttpRequest, url: str) -> Step:
    parts = urlsplit(url)
    path = unquote(parts.path)
    try:
        match = resolve(path)
        if match.func != resolve(path, PUBLIC_URLS).func:
            return Step(url, 0)
    except Resolver404:
        match = None
    visitor = _as_visitor(request, path, parts.query)
    try:
        if match is None:
            raise Http404
        found = match.func(visitor, *match.args, **match.kwargs)
    except Http404 as error:
        found = get_resolver().resolve_error_handler(404)(visitor, exception=error)
    found.close()
    node = stored_nodes.resolve_address(url) if found.status_code == 200 else None
    return Step(
        url,
        found.status_code,
        found.get("Location", ""),
        node.metadata.title if node else "",
        manual_redirects.find(normalized(url)) is not None,
    )


def _as_visitor(request: HttpRequest, path: str, query: str) -> HttpRequest:
    """Return a request for a path from a visitor without an account, whose redirects aren't counted."""
    visitor = copy(request)
    visitor.method = "GET"
    visitor.path = visitor.path_info = path
    visitor.META = {**request.META, "PATH_INFO": path, "QUERY_STRING": query}
    visitor.GET = QueryDict(query)
    visitor.COOKIES = {}
    visitor.user = AnonymousUser()
    visitor.is_trial = True
    return visitor
