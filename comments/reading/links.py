"""Absolute URLs for emails and feeds. They begin with the origin that the project sets."""

from django.http import HttpRequest

from marginalia.comments import conf


def origin(request: HttpRequest) -> str:
    """Return "https://example.org", without a trailing slash, from COMMENTS["ORIGIN"]."""
    return str(conf.load("ORIGIN")(request)).rstrip("/")


def requested(request: HttpRequest) -> str:
    """Return the scheme and host of the request: the default of COMMENTS["ORIGIN"], safe if ALLOWED_HOSTS is narrow.

    Raises DisallowedHost, which becomes a 400 response, for a host that is not in ALLOWED_HOSTS.
    """
    return f"{request.scheme}://{request.get_host()}"
