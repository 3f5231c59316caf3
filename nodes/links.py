"""URLs of authors, and absolute URLs.

Absolute URLs begin with SITE_URL if it is set, or else with the requested host, which ALLOWED_HOSTS checks.
"""

from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from marginalia.markup.text import slugify


def origin(request: HttpRequest) -> str:
    """Return the origin of the site, such as "https://example.org", without a trailing slash.

    Raises:
        DisallowedHost: The host isn't in ALLOWED_HOSTS. The response is 400.
    """
    return settings.SITE_URL or f"{request.scheme}://{request.get_host()}"


def canonical(request: HttpRequest, query: str = "") -> str:
    """Return the canonical URL of the requested page: its path, `query`, and the request's place in a list (`from`)."""
    place = request.GET.get("from")
    query = "&".join(filter(None, (query, f"from={quote(place, safe='')}" if place else "")))
    return origin(request) + quote(request.path) + (f"?{query}" if query else "")


def author(name: str) -> str:
    """Return the path of the page of the author `name`, or "" if the name makes no slug."""
    slug = slugify(name)
    return reverse("author", args=[slug]) if slug else ""
