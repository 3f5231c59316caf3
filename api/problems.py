"""Errors as problem+json (RFC 9457): {type, title, status, detail, errors: [{field, message}]}.

`type` is a URL on the API's reference page. Programs can use it to distinguish problems with the same status.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.core.exceptions import BadRequest, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.utils.cache import add_never_cache_headers
from django.views.decorators.csrf import csrf_exempt
from ninja.errors import HttpError, ValidationError

from marginalia.mongo.servers import is_outage

logger = logging.getLogger("api")

CONTENT_TYPE = "application/problem+json"
# The prefix of a problem's `type`, which is a URL.
TYPE_PREFIX = "/api/v1/"
# Number of seconds that a client should wait before trying again if the database is unavailable. An election takes
# about this long.
RETRY_AFTER = 15
# The status code and meaning of each kind of problem. The reference page lists the kinds.
KINDS: dict[str, tuple[int, str]] = {
    "bad-request": (400, "The request can't be read."),
    "unauthorized": (
        401,
        "This request needs a valid token (`Authorization: Bearer mrg_…`) or a session.",
    ),
    "forbidden": (403, "The account or the token's scopes don't allow this request."),
    "not-found": (404, "The resource doesn't exist, or you don't have permission to view it."),
    "method-not-allowed": (405, "This URL doesn't support this method."),
    "conflict": (409, "The request conflicts with stored data."),
    "gone": (410, "The requested data is no longer stored."),
    "stale": (412, "The stored version has changed since you read it."),
    "too-large": (413, "The request is too large."),
    "unsupported-media-type": (415, "This URL doesn't accept a body of this type."),
    "invalid": (422, "The request contains invalid values. See `errors` for the fields."),
    "key-reused": (422, "This Idempotency-Key was already used for another request. Use a new one."),
    "if-match-needed": (
        428,
        "Changes need an If-Match header. Send the ETag of the version that you read.",
    ),
    "too-many-requests": (429, "Too many requests. Try again after the number of seconds in Retry-After."),
    "failed": (500, "An error occurred on the site and was logged."),
    "unavailable": (503, "The database isn't available. Try again after the number of seconds in Retry-After."),
}
# Messages that replace pydantic's own messages, keyed by error type.
_MESSAGES = {"extra_forbidden": "This field doesn't exist.", "missing": "This field is required."}
_BY_STATUS = {status: kind for kind, (status, _meaning) in reversed(KINDS.items())}


class Problem(Exception):
    """The exception that endpoints raise to return a problem: `raise Problem("stale", "…", base=…)`.

    Attributes:
        errors: (field, message) pairs for invalid fields. A field is a path such as "body.detail.servings".
        more: Additional members for the JSON document.

    Raises:
        KeyError: KINDS does not contain the kind.
    """

    def __init__(
        self,
        kind: str,
        detail: str = "",
        *,
        errors: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        self.kind = kind
        self.detail = detail
        self.status, self.meaning = KINDS[kind]
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        self.more = more
        super().__init__(f"{self.status} {kind}: {detail}")

    def as_document(self) -> dict[str, Any]:
        """Return the problem as a JSON-compatible dictionary."""
        document = {
            "type": f"{TYPE_PREFIX}#{self.kind}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
        }
        errors = [{"field": field, "message": message} for field, message in self.errors]
        return {
            **document,
            "detail": self.detail or self.meaning,
            **({"errors": errors} if errors else {}),
            **self.more,
        }


def problem_response(problem: Problem) -> HttpResponse:
    """Return the response for a problem. Its headers tell caches not to store it."""
    response = HttpResponse(json.dumps(problem.as_document(), default=str), status=problem.status)
    response["Content-Type"] = CONTENT_TYPE
    for name, value in problem.headers.items():
        response[name] = value
    add_never_cache_headers(response)
    return response


def read_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Restrict a view to GET and HEAD.

    Requests with other methods get a problem response. The view doesn't check CSRF tokens, because Django would return
    an HTML page for a request without a valid token.
    """

    @wraps(view)
    def safe(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method in ("GET", "HEAD"):
            return view(request, *args, **kwargs)
        return problem_response(
            Problem("method-not-allowed", "This URL supports GET, HEAD.", headers={"Allow": "GET, HEAD"})
        )

    return csrf_exempt(safe)


def from_exception(error: Exception) -> Problem:
    """Return the problem for an exception.

    Unexpected exceptions are logged, and the problem for such an exception reveals no details.
    """
    if isinstance(error, Problem):
        return error
    # ninja wraps exceptions that are raised while it parses a request body, so look for a Problem in the cause.
    if isinstance(error.__cause__, Problem):
        return error.__cause__
    if isinstance(error, ValidationError):
        return Problem("invalid", errors=[(_path(item["loc"]), message(item)) for item in error.errors])
    if isinstance(error, HttpError):
        return _from_status(error.status_code, "" if error.status_code == 401 else f"{error.message}.")
    if isinstance(error, Http404):
        return Problem("not-found")
    if isinstance(error, PermissionDenied):
        return Problem("forbidden")
    if isinstance(error, RequestDataTooBig):
        return Problem("too-large")
    if isinstance(error, BadRequest | MultiPartParserError | SuspiciousOperation | UnreadablePostError):
        return Problem("bad-request")
    if is_outage(error):
        return unavailable()
    logger.error("A request to the API failed", exc_info=error)
    return Problem("failed")


def message(error: Mapping[str, Any]) -> str:
    """Return the message for a pydantic error."""
    return _MESSAGES.get(error["type"], error["msg"].removeprefix("Value error, "))


def unavailable() -> Problem:
    """Return the problem for an unavailable database."""
    return Problem("unavailable", headers={"Retry-After": str(RETRY_AFTER)})


def _from_status(status: int, detail: str) -> Problem:
    kind = _BY_STATUS.get(status, "bad-request")
    return Problem(kind, detail, headers={"WWW-Authenticate": "Bearer"} if kind == "unauthorized" else None)


def _path(location: Sequence[Any]) -> str:
    """Return the path of a value: ("query", "filters", "limit") becomes "query.limit".

    The second name is a parameter of the view function, "filters" in this example. It is omitted, unless it is the only
    name after "query" or "path". ("query", "limit") becomes "query.limit", but ("body", "data") becomes "body".
    """
    source, *rest = map(str, location)
    return ".".join([source, *(rest[1:] if len(rest) > 1 or source == "body" else rest)])
