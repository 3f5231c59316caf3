"""Decide which responses the page cache can store, and compute their keys."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from marginalia.comments.reading import paging
from nodes.content import registry
from nodes.content.routes import Route

# The URL names of the cached routes, with the query parameters that each view reads. Requests with other parameters
# bypass the cache.
CACHED_ROUTES: Mapping[str, frozenset[str]] = {
    "home": frozenset({"from"}),
    "node": frozenset({"from", paging.PARAMETER}),
    "photo": frozenset({paging.PARAMETER}),
    "tag": frozenset({"from"}),
    "tags": frozenset(),
    "author": frozenset({"from"}),
    "archive": frozenset(),
    "archive-year": frozenset({"from"}),
    "archive-month": frozenset({"from"}),
    "site-feed": frozenset(),
    "blog-feed": frozenset(),
    "tag-feed": frozenset(),
    "author-feed": frozenset(),
    "sitemap": frozenset(),
    "api-nodes": frozenset({"section", "type", "tag", "author", "cursor", "limit", "fields", "include"}),
    "api-facets": frozenset({"section", "type"}),
    "api-node": frozenset({"fields", "include"}),
    "api-node-by-path": frozenset({"path", "fields", "include"}),
    "api-comments": frozenset({"order", "cursor", "limit"}),
    "api-comment": frozenset({"order", "limit"}),
    "api-thread": frozenset({"cursor", "limit"}),
    "api-site": frozenset(),
    "api-tree": frozenset(),
    "api-tags": frozenset(),
    "api-authors": frozenset(),
    "api-reference": frozenset(),
    "api-schema": frozenset(),
}
# Maximum length of the path and query, in characters. Longer URLs are too rare to be worth caching.
MAX_KEY_LENGTH = 2_000


def is_personal(request: HttpRequest) -> bool:
    """Return whether the request has a session or messages. If so, the response can depend on the visitor."""
    return settings.SESSION_COOKIE_NAME in request.COOKIES or "messages" in request.COOKIES


def cache_key(request: HttpRequest) -> tuple[str, ...] | None:
    """Return the cache key of the request, or None if the response must not come from the cache.

    Return None if a parameter is neither a facet nor read by a cached route. Otherwise, anyone could fill the cache
    with copies of the same page. Also return None if a parameter is repeated, or if there is a script prefix.
    """
    if request.method not in ("GET", "HEAD") or is_personal(request) or "HTTP_AUTHORIZATION" in request.META:
        return None
    # If there is a script prefix, all URLs on the page contain the prefix, but the key doesn't.
    if request.META.get("SCRIPT_NAME"):
        return None
    query = request.META.get("QUERY_STRING", "")
    # WSGI decodes unescaped bytes as Latin-1, but views decode them as UTF-8, so two different URLs could share a key.
    if len(request.path_info) + len(query) > MAX_KEY_LENGTH or not query.isascii():
        return None
    parameters = sorted(parse_qsl(query, keep_blank_values=True)) if query else []
    # Facets can be repeated, because views read all their values, and the order doesn't matter.
    names = [name for name, _value in parameters if name not in registry.facet_names()]
    # Other parameters must not be repeated. Views read only the last value, but the key is sorted, so it doesn't show
    # which value is last.
    if not (_ALL_PARAMETERS | registry.route_parameters()).issuperset(names) or len(set(names)) < len(names):
        return None
    # The key doesn't contain the language. The language is a site setting, and changing a setting updates the site's
    # version.
    return (
        request.scheme or "",
        request.get_host(),
        request.path_info,
        *(part for pair in parameters for part in pair),
    )


def is_unbounded(request: HttpRequest) -> bool:
    """Return whether anyone can create any number of cacheable URLs like the one of this request.

    Such URLs have query parameters, or values in the path of a route. The host can also be written in another form, for
    example with capitals, a trailing dot or a port. Call this function after the view.
    """
    route: Route | None = getattr(request, "node_route", None)
    has_values = route is not None and bool(route.pattern.pattern.converters)
    return has_values or bool(request.GET) or not _is_known_host(request.get_host())


def _is_known_host(host: str) -> bool:
    """Return whether the settings contain `host` exactly as it is written.

    Local sites without SITE_URL accept any host.
    """
    return not settings.SITE_URL or host in settings.ALLOWED_HOSTS or settings.SITE_URL.endswith(f"//{host}")


def is_shareable(request: HttpRequest, response: HttpResponse) -> bool:
    """Return whether the response is the same for all readers without a session."""
    match = request.resolver_match
    if match is None or match.url_name not in CACHED_ROUTES:
        return False
    route: Route | None = getattr(request, "node_route", None)
    parameters = CACHED_ROUTES[match.url_name] if route is None else frozenset(route.parameters)
    # List views set `facets_read` to the facets that they used.
    if set(request.GET) - parameters - getattr(request, "facets_read", set()):
        return False
    # Routes read only the last value of a parameter. If it is also the name of a facet, it can be in the key repeatedly.
    if route and (not route.reads or any(len(values) > 1 for _name, values in request.GET.lists())):
        return False
    return (
        response.status_code == 200
        and not response.streaming
        and not response.cookies
        # The key contains no request headers, so a response that depends on one of them would be served to everyone.
        and _names(response.get("Vary", "")) <= {"accept-encoding"}
        and not {"private", "no-store"} & _names(response.get("Cache-Control", ""))
    )


def _names(header: str) -> set[str]:
    """Return the names in a comma-separated header, in lower case and without their values."""
    return {part.partition("=")[0].strip().lower() for part in header.split(",")} - {""}


_ALL_PARAMETERS = frozenset().union(*CACHED_ROUTES.values())
