"""The URLs of the HTTP API. Include them under a prefix, in addition to `marginalia.comments.urls`."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from ninja import NinjaAPI
from ninja.errors import ValidationError

from marginalia.comments.api.endpoints import router
from marginalia.comments.api.rejections import STATUS, Rejected
from marginalia.comments.views import RETRY_AFTER
from marginalia.mongo.servers import Outage

INVALID = "The request contains invalid values. See `errors` for the fields."


class _Api(NinjaAPI):
    """An API whose responses depend on the sender, so caches must not store them."""

    def create_response(self, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().create_response(*args, **kwargs)
        add_never_cache_headers(response)
        return response


api = _Api(title="Comments", version="1", docs_url=None, urls_namespace="comments-api")
api.add_router("", router)


def _problem(
    status: int,
    detail: str,
    errors: Sequence[tuple[str, str]] = (),
    headers: Mapping[str, str] | None = None,
    **more: str,
) -> HttpResponse:
    """Return an error as problem+json (RFC 9457): {title, status, detail, rule, errors: [{field, message}]}."""
    listed = [{"field": field, "message": message} for field, message in errors]
    document = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail, **more, "errors": listed}
    response = HttpResponse(
        json.dumps(document), status=status, content_type="application/problem+json", headers=headers
    )
    add_never_cache_headers(response)
    return response


@api.exception_handler(Rejected)
def rejected(request: HttpRequest, error: Rejected) -> HttpResponse:
    """Return the response for a request that the app's rules reject."""
    detail = error.message or INVALID
    return _problem(STATUS[error.kind], detail, error.errors, error.headers, kind=error.kind, rule=error.rule)


@api.exception_handler(ValidationError)
def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Return the response for a request whose data doesn't have the documented shape."""
    errors = [(_path(item["loc"]), item["msg"]) for item in error.errors]
    return _problem(422, INVALID, errors, kind="invalid")


def _path(location: Sequence[Any]) -> str:
    """Return the path of a value. The second name of a body is a parameter of the view function."""
    source, *rest = map(str, location)
    return ".".join([source, *(rest[1:] if source == "body" else rest)])


@api.exception_handler(Outage)
def unavailable(request: HttpRequest, error: Outage) -> HttpResponse:
    """Return the response during an outage of the comments database."""
    sentence = _("Comments aren't available right now. Please try again in a few seconds.")
    return _problem(503, sentence, headers={"Retry-After": str(RETRY_AFTER)}, kind="unavailable")


urlpatterns = [path("", api.urls)]
