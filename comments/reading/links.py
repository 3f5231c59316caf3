"""Absolute URLs, for mails and feeds: they begin with what the project calls itself, not with what a request says."""

from django.http import HttpRequest

from marginalia.comments import conf


def origin(request: HttpRequest) -> str:
    """Return "https://example.org", without a slash at its end, as COMMENTS["ORIGIN"] has it."""
    return str(conf.imported("ORIGIN")(request)).rstrip("/")


def requested(request: HttpRequest) -> str:
    """Return scheme and host that were asked: the stock COMMENTS["ORIGIN"], as good as ALLOWED_HOSTS is narrow.

    Raises DisallowedHost (answered with 400) for a host that ALLOWED_HOSTS does not name.
    """
    return f"{request.scheme}://{request.get_host()}"
