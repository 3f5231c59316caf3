"""Middleware that adds CORS and RateLimit headers to API responses, and returns 304 Not Modified where possible.

The middleware runs outside the page cache, because its results depend on the client.
"""

from collections.abc import Callable, Collection

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers

from api.rights import limits

PREFIX = "/api/"
EMBED_PREFIX = "/api/v1/embed/"
# Methods and headers that scripts from other origins can use. Such scripts can never send cookies, so they get the same
# responses as anonymous readers. Embedded discussions also accept comments.
ALLOWED_METHODS = "GET, HEAD"
ALLOWED_HEADERS = "Accept, If-None-Match"
EMBED_METHODS = "GET, HEAD, POST, PATCH, DELETE"
EMBED_HEADERS = (
    f"{ALLOWED_HEADERS}, Authorization, Comments-Guest, Comments-Own, Content-Type, Idempotency-Key, If-Match"
)
EXPOSED_HEADERS = "ETag, Link, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After"
PREFLIGHT_SECONDS = 86_400


class ApiMiddleware:
    """Middleware that returns 304 if the client already has the response, and allows scripts from registered origins."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_api_request(request):
            return self.get_response(request)
        is_embed = request.path_info.startswith(EMBED_PREFIX)
        origins = settings.EMBED["ORIGINS"] if is_embed else settings.API["ORIGINS"]
        origin = _allowed_origin(request, origins)
        if origin and request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
            response = HttpResponse(status=204)
            response["Access-Control-Allow-Methods"] = EMBED_METHODS if is_embed else ALLOWED_METHODS
            response["Access-Control-Allow-Headers"] = EMBED_HEADERS if is_embed else ALLOWED_HEADERS
            response["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
        else:
            response = self.get_response(request)
            if request.method in ("GET", "HEAD") and response.status_code == 200 and response.has_header("ETag"):
                response = get_conditional_response(request, response["ETag"], None, response) or response
        limits.add_headers(request, response)
        if origin:
            response["Access-Control-Allow-Origin"] = origin
            response["Access-Control-Expose-Headers"] = EXPOSED_HEADERS
        if origins and "*" not in origins:
            patch_vary_headers(response, ["Origin"])
        return response


def is_api_request(request: HttpRequest) -> bool:
    """Return whether a request is for the API.

    Errors in API requests are returned as problem+json, because API clients can't parse HTML.
    """
    return request.path_info.startswith(PREFIX)


def _allowed_origin(request: HttpRequest, allowed: Collection[str]) -> str:
    """Return the origin whose scripts can read the response, or "" if scripts from other origins can't read it."""
    origin = request.headers.get("Origin", "")
    # If all origins are allowed, send the header even if the request has no Origin header, because a CDN stores one
    # response for all clients.
    return "*" if "*" in allowed else origin if origin in allowed else ""
