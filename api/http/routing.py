"""Declare endpoints: a stricter version of ninja's router, and the API class that combines the routers.

    router = Router(tags=["Nodes"])

    @router.get("/nodes/{node_id}", operation_id="nodes_get", url_name="api-node", response=Node)
    def node(request: HttpRequest, node_id: Id) -> HttpResponse: ...

Generated clients name their functions after `operation_id`, so it must never change.

Any client can call an operation whose method is safe. For all other methods, specify `auth=ACCOUNTS` or `auth=ANYONE`
to set who can call the operation.
"""

import json
import math
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

import ninja
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver
from ninja.constants import NOT_SET
from ninja.decorators import _apply_decorators
from ninja.operation import Operation
from ninja.parser import Parser
from ninja.utils import contribute_operation_callback

from api import problems
from api.http import responses
from api.problems import Problem
from api.rights.limits import JSON_TYPES
from api.rights.principals import ANYONE, SAFE_METHODS


class StrictParser(Parser):
    """A parser that accepts only JSON bodies, and rejects JSON objects that contain the same name twice."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Return the parsed body.

        Raises:
            Problem: 415 if the body is not declared as JSON, 400 if the JSON is malformed.
        """
        if request.content_type not in JSON_TYPES:
            raise Problem("unsupported-media-type", f"Send the body as {' or '.join(sorted(JSON_TYPES))}.")
        try:
            data = json.loads(
                request.body.decode(), parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_object
            )
            if rb"\u" in request.body:
                # Reject unpaired surrogates, which escape sequences can represent, but which can't be encoded.
                json.dumps(data, ensure_ascii=False).encode()
            return data
        except (ValueError, RecursionError) as error:
            raise Problem("bad-request", "The body is not valid JSON.") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a number in JSON")


def _finite(digits: str) -> float:
    """Parse a floating-point number.

    Raises:
        ValueError: The number is so large that Python would parse it as infinity.
    """
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("An object has a name twice")
    return members


class Router(ninja.Router):
    """A router whose operations reject unknown query parameters."""

    def api_operation(self, methods: list[str], path: str, *, auth: Any = NOT_SET, **kwargs: Any) -> Any:
        """Declare an operation, as in ninja's router.

        Raises:
            ImproperlyConfigured: An operation with an unsafe method has no `auth`.
        """
        if auth is NOT_SET:
            if not SAFE_METHODS.issuperset(methods):
                raise ImproperlyConfigured(f"{methods} {path} has no `auth`. Set it.")
            auth = ANYONE
        declared = super().api_operation(methods, path, auth=auth, **kwargs)

        def declare(view: Callable[..., Any]) -> Any:
            contribute_operation_callback(view, _refuse_other_parameters)
            return declared(view)

        return declare


def _refuse_other_parameters(operation: Operation) -> None:
    known: set[str] = set()
    list_names: set[str] = set()
    for model in operation.models:
        if model.__ninja_param_source__ == "query":
            known.update(getattr(model, "__ninja_flatten_map__", None) or model.model_fields)
            list_names.update(getattr(model, "__ninja_collection_fields__", ()))

    def strict(run: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(run)
        def checked(request: HttpRequest, **kwargs: Any) -> Any:
            unknown = dict.fromkeys(set(request.GET) - known, "This parameter doesn't exist.")
            # If a parameter is repeated, ninja uses the last value, but the page cache might use a different one.
            repeated = {
                name: "This parameter was sent more than once."
                for name in known - list_names
                if len(request.GET.getlist(name)) > 1
            }
            if invalid := sorted((unknown | repeated).items())[:10]:
                errors = [(f"query.{name[:100]}", message) for name, message in invalid]
                return problems.problem_response(Problem("invalid", errors=errors))
            return run(request, **kwargs)

        return checked

    _apply_decorators((strict,), operation)


class Api(ninja.NinjaAPI):
    """An API that returns errors as problem+json, and allows HEAD wherever GET is allowed."""

    def _get_urls(self) -> list[URLResolver | URLPattern]:
        patterns: list[URLResolver | URLPattern] = super()._get_urls()
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                pattern.callback = _with_head(pattern.callback)
        return patterns

    def create_response(
        self, request: HttpRequest, data: Any, *, status: int | None = None, temporal_response: Any = None
    ) -> HttpResponse:
        """Return the JSON response for the value that an operation returned."""
        response = super().create_response(request, data, status=status, temporal_response=temporal_response)
        return responses.add_cache_headers(request, response)

    def on_exception(self, request: HttpRequest, exc: Any) -> HttpResponse:
        """Return the problem response for an exception raised in an operation."""
        return problems.problem_response(problems.from_exception(exc))


def _with_head(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    @wraps(view)
    def served(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        method = request.method
        request.method = "GET" if request.method == "HEAD" else request.method
        try:
            response = view(request, *args, **kwargs)
        finally:
            request.method = method
        if response.status_code == 405 and response["Content-Type"] != problems.CONTENT_TYPE:
            allowed = sorted({*response["Allow"].split(", "), *(["HEAD"] if "GET" in response["Allow"] else [])})
            message = f"This URL supports {', '.join(allowed)}."
            response = problems.problem_response(
                Problem("method-not-allowed", message, headers={"Allow": ", ".join(allowed)})
            )
        return response

    served.csrf_exempt = True  # type: ignore[attr-defined] # Session checks the CSRF token itself
    return served
