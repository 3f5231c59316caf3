"""What is done around every answer of the API, outside of the page cache: other origins may read it, 304, and how often who
asked may ask again."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers

from api.rights import limits

PREFIX = "/api/"
# What scripts of other origins may send and read. Never cookies: what they get is what every reader gets.
SENT = "Accept, If-None-Match"
READ = "ETag, Link, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After"
KEPT_SECONDS = 86_400


class ApiMiddleware:
    """Answer 304 where the asking program has the bytes, and name the origins that may read (API["ORIGINS"])."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_of_api(request):
            return self.get_response(request)
        origin = _allowed(request)
        if origin and request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
            response = HttpResponse(status=204)
            response["Access-Control-Allow-Methods"] = "GET, HEAD"
            response["Access-Control-Allow-Headers"] = SENT
            response["Access-Control-Max-Age"] = str(KEPT_SECONDS)
        else:
            response = self.get_response(request)
            if request.method in ("GET", "HEAD") and response.status_code == 200 and response.has_header("ETag"):
                response = get_conditional_response(request, response["ETag"], None, response) or response
        limits.tell(request, response)
        if origin:
            response["Access-Control-Allow-Origin"] = origin
            response["Access-Control-Expose-Headers"] = READ
        if settings.API["ORIGINS"] and "*" not in settings.API["ORIGINS"]:
            patch_vary_headers(response, ["Origin"])
        return response


def is_of_api(request: HttpRequest) -> bool:
    """Return whether a request is for the API, whose programs read no pages: what goes wrong is told as problem+json."""
    return request.path_info.startswith(PREFIX)


def _allowed(request: HttpRequest) -> str:
    """Return the origin that a script may read the answer from, "" for none."""
    origin = request.headers.get("Origin", "")
    allowed = settings.API["ORIGINS"]
    # Without an origin too: a cache in front has one answer for all.
    return "*" if "*" in allowed else origin if origin in allowed else ""
