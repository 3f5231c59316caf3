"""Addresses of authors, and absolute ones: of the site where SITE_URL names it, else of the host that was asked, which
ALLOWED_HOSTS checks."""

from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from marginalia.markup.text import slugify


def origin(request: HttpRequest) -> str:
    """Return "https://example.org", without a slash at its end.

    Raises DisallowedHost (answered with 400) for a host that ALLOWED_HOSTS does not name.
    """
    return settings.SITE_URL or f"{request.scheme}://{request.get_host()}"


def canonical(request: HttpRequest, kept: str = "") -> str:
    """Return the one address of the page that was asked for: of its query only the place in a list counts, after `kept`."""
    place = request.GET.get("from")
    query = "&".join(filter(None, (kept, f"from={quote(place, safe='')}" if place else "")))
    return origin(request) + quote(request.path) + (f"?{query}" if query else "")


def author(name: str) -> str:
    """Return the path of the page of an author, as readers know the name; "" for a name that makes no address."""
    slug = slugify(name)
    return reverse("author", args=[slug]) if slug else ""
