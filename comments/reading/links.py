"""The scheme and host for URLs in emails and feeds."""

from django.http import HttpRequest

from marginalia.comments import conf


def origin(request: HttpRequest) -> str:
    """Return the scheme and host for links, such as "https://example.org". COMMENTS["ORIGIN"] determines them."""
    return str(conf.load("ORIGIN")(request)).rstrip("/")


def requested(request: HttpRequest) -> str:
    """Return the scheme and host of the request. This function is the default for COMMENTS["ORIGIN"].

    Using the host of the request is safe if ALLOWED_HOSTS contains only the site's own hosts.

    Raises:
        DisallowedHost: The host is not in ALLOWED_HOSTS. Django then returns a 400 response.
    """
    return f"{request.scheme}://{request.get_host()}"
