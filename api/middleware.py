"""Middleware that adds CORS and RateLimit headers to API responses, and returns 304 Not Modified where possible.

The middleware runs outside the page cache, because its results depend on the client.
"""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers

from api.rights import limits

PREFIX = "/api/"
# Headers that scripts from other origins can send. Such scripts can never send cookies, so they get the same responses
# as anonymous readers.
ALLOWED_HEADERS = "Accept, If-None-Match"
EXPOSED_HEADERS = "ETag, Link, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After"
PREFLIGHT_SECONDS = 86_400


class ApiMiddleware:
    """Middleware that returns 304 if the client already has the response, and allows scripts from API["ORIGINS"]."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_api_request(request):
            return self.get_response(request)
        origin = _allowed_origin(request)
        if origin and request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
            response = HttpResponse(status=204)
            response["Access-Control-Allow-Methods"] = "GET, HEAD"
            response["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
            response["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
        else:
            response = self.get_response(request)
            if request.method in ("GET", "HEAD") and response.status_code == 200 and response.has_header("ETag"):
                response = get_conditional_response(request, response["ETag"], None, response) or response
        limits.add_headers(request, response)
        if origin:
            response["Access-Control-Allow-Origin"] = origin
            response["Access-Control-Expose-Headers"] = EXPOSED_HEADERS
        if settings.API["ORIGINS"] and "*" not in settings.API["ORIGINS"]:
            patch_vary_headers(response, ["Origin"])
        return response


def is_api_request(request: HttpRequest) -> bool:
    """Return whether a request is for the API.

    Errors in API requests are returned as problem+json, because API clients can't parse HTML.
    """
    return request.path_info.startswith(PREFIX)


def _allowed_origin(request: HttpRequest) -> str:
    """Return the origin whose scripts can read the response, or "" if scripts from other origins can't read it."""
    origin = request.headers.get("Origin", "")
    allowed = settings.API["ORIGINS"]
    # If all origins are allowed, send the header even if the request has no Origin header, because a CDN stores one
    # response for all clients.
    return "*" if "*" in allowed else origin if origin in allowed else ""
