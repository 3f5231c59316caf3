"""Absolute URLs, and the URLs of authors.

If SITE_URL is set, absolute URLs begin with it. Otherwise, they begin with the requested host, which must be in
ALLOWED_HOSTS.
"""

from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest

from marginalia.cached_urls import cached_reverse
from marginalia.markup.text import slugify


def origin(request: HttpRequest) -> str:
    """Return the site's origin without a trailing slash, such as "https://example.org".

    Raises:
        DisallowedHost: The host isn't in ALLOWED_HOSTS. Django then returns 400.
    """
    return settings.SITE_URL or f"{request.scheme}://{request.get_host()}"


def canonical(request: HttpRequest, query: str = "") -> str:
    """Return the canonical URL of the requested page, including `query` and the position in a list (`from`)."""
    place = request.GET.get("from")
    query = "&".join(filter(None, (query, f"from={quote(place, safe='')}" if place else "")))
    return origin(request) + quote(request.path) + (f"?{query}" if query else "")


def author(name: str) -> str:
    """Return the URL path of the author `name`, or "" if the name can't be converted to a slug."""
    slug = slugify(name)
    return cached_reverse("author", slug) if slug else ""
