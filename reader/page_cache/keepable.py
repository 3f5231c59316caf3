"""Which answers the page cache may keep, and under what."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from marginalia.comments.reading import paging
from nodes.content import registry

# The routes whose answers are kept, each with the parameters that it reads. A request with any other is answered anew.
KEPT: Mapping[str, frozenset[str]] = {
    "home": frozenset({"from"}),
    "node": frozenset({"from", paging.PARAMETER}),
    "tag": frozenset({"from"}),
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
# Parts of the key of an address without parameters, of a host that the settings name: scheme, host and path. Of others a
# stranger can make any number.
PLAIN = 3
# Of a request's bytes: longer addresses are not worth a place.
LONGEST_KEY = 2_000


def is_personal(request: HttpRequest) -> bool:
    """Return whether the request may be one visitor's own: a page made without a session or messages is made for all."""
    return settings.SESSION_COOKIE_NAME in request.COOKIES or "messages" in request.COOKIES


def key_of(request: HttpRequest) -> tuple[str, ...] | None:
    """Return what an answer to the request is kept under, or None where it must not come from the cache.

    Parameters that no kept route reads, and that are no facet, make it None, so that a stranger cannot fill the cache with one
    page; so do a parameter that stands there twice and a prefix.
    """
    if request.method not in ("GET", "HEAD") or is_personal(request) or "Authorization" in request.headers:
        return None
    # What is made under a prefix has it in every address; the key has not.
    if request.META.get("SCRIPT_NAME"):
        return None
    query = request.META.get("QUERY_STRING", "")
    # Of bytes that were not escaped WSGI makes Latin-1 and a view UTF-8: another address would have the same key.
    if len(request.path_info) + len(query) > LONGEST_KEY or not query.isascii():
        return None
    parameters = sorted(parse_qsl(query, keep_blank_values=True)) if query else []
    # Of facets a view reads all values, in any order.
    names = [name for name, _value in parameters if name not in registry.facet_names()]
    # Of two values of another parameter a view reads the last: the key, which is sorted, does not say which that was.
    if not _ALL_PARAMETERS.issuperset(names) or len(set(names)) < len(names):
        return None
    host = request.get_host()
    # In any letters, with a dot at its end, with any port.
    spelt = () if _is_own(host) else ("spelt",)
    # Not the language: it is one of the settings, and these are under the site's version.
    return (request.scheme or "", host, request.path_info, *spelt, *(part for pair in parameters for part in pair))


def _is_own(host: str) -> bool:
    """Return whether the settings name a host, and so; to a local site all are."""
    return not settings.SITE_URL or host in settings.ALLOWED_HOSTS or settings.SITE_URL.endswith(f"//{host}")


def is_for_all(request: HttpRequest, response: HttpResponse) -> bool:
    """Return whether an answer may be shown to every reader who has no session."""
    match = request.resolver_match
    if match is None or match.url_name not in KEPT:
        return False
    # The view says which facets its list was narrowed by.
    if set(request.GET) - KEPT[match.url_name] - getattr(request, "facets_read", set()):
        return False
    return (
        response.status_code == 200
        and not response.streaming
        and not response.cookies
        and "cookie" not in response.get("Vary", "").lower()
        and not {"private", "no-store"} & {part.strip() for part in response.get("Cache-Control", "").split(",")}
    )


_ALL_PARAMETERS = frozenset().union(*KEPT.values())
