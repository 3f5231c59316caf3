"""What every request begins with."""

from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation
from django.utils.cache import patch_cache_control, patch_vary_headers

from cms.context_processors import is_personal
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
                if is_personal(request) and not response.has_header("Cache-Control"):
                    patch_cache_control(response, private=True)
                    patch_vary_headers(response, ["Cookie"])
                return response
        finally:
            site_selectors.forget()
