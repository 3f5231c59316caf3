"""What every request begins with."""

from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation

from nodes.selectors import site as site_selectors


class SiteMiddleware:
    """Read the site once, before anything else is read, and speak its language and keep its time.

    Everything that the request shows is then at least as new as the version that it will be kept under.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        site = site_selectors.begin_request()
        try:
            with timezone.override(ZoneInfo(site.settings.time_zone)), translation.override(site.settings.language):
                response = self.get_response(request)
                response.headers.setdefault("Content-Language", site.settings.language)
                return response
        finally:
            site_selectors.forget()
