"""How endpoints are declared: ninja's routers, stricter, and the API that they make up.

    router = Router(tags=["Nodes"])

    @router.get("/nodes/{node_id}", url_name="api-node", response=Node)
    def node(request: HttpRequest, node_id: Id) -> HttpResponse: ...

Anyone may ask for what only reads. A method that changes something says who may: `auth=ACCOUNTS`, or `ANYONE`.
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
from api.problems import Problem
from api.rights.limits import JSON_TYPES
from api.rights.principals import ANYONE, SAFE


class StrictParser(Parser):
    """Reads JSON as its specification has it: said to be JSON, and each name once in an object."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Return what a body says. Raises Problem: 415, 400."""
        if request.content_type not in JSON_TYPES:
            raise Problem("unsupported-media-type", f"Send {' or '.join(sorted(JSON_TYPES))}.")
        try:
            said = json.loads(
                request.body.decode(), parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_object
            )
            if rb"\u" in request.body:
                # Half a pair of surrogates, as escapes may say it, is no character: no encoding has it.
                json.dumps(said, ensure_ascii=False).encode()
            return said
        except (ValueError, RecursionError) as error:
            raise Problem("bad-request", "The body is no JSON.") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number in JSON")


def _finite(digits: str) -> float:
    """Return a number. Raises ValueError for one that is too large: Python would read it as infinite."""
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("A name stands there twice")
    return found


class Router(ninja.Router):
    """A router whose operations refuse parameters that they do not read."""

    def api_operation(self, methods: list[str], path: str, *, auth: Any = NOT_SET, **kwargs: Any) -> Any:
        """Declare an operation, as ninja does. Raises ImproperlyConfigured for one that writes and says not who may."""
        if auth is NOT_SET:
            if not SAFE.issuperset(methods):
                raise ImproperlyConfigured(f"{methods} {path} does not say who may: give it `auth`.")
            auth = ANYONE
        declared = super().api_operation(methods, path, auth=auth, **kwargs)

        def declare(view: Callable[..., Any]) -> Any:
            contribute_operation_callback(view, _refuse_other_parameters)
            return declared(view)

        return declare


def _refuse_other_parameters(operation: Operation) -> None:
    known: set[str] = set()
    several: set[str] = set()
    for model in operation.models:
        if model.__ninja_param_source__ == "query":
            known.update(getattr(model, "__ninja_flatten_map__", None) or model.model_fields)
            several.update(getattr(model, "__ninja_collection_fields__", ()))

    def strict(run: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(run)
        def checked(request: HttpRequest, **kwargs: Any) -> Any:
            other = dict.fromkeys(set(request.GET) - known, "There is no such parameter.")
            # Of two values the last would count, and the page cache does not know which that is.
            twice = {name: "It stands there twice." for name in known - several if len(request.GET.getlist(name)) > 1}
            if wrong := sorted((other | twice).items())[:10]:
                errors = [(f"query.{name[:100]}", message) for name, message in wrong]
                return problems.answer(Problem("invalid", errors=errors))
            return run(request, **kwargs)

        return checked

    _apply_decorators((strict,), operation)


class Api(ninja.NinjaAPI):
    """The API: its problems are problem+json, HEAD is answered wherever GET is."""

    def _get_urls(self) -> list[URLResolver | URLPattern]:
        patterns: list[URLResolver | URLPattern] = super()._get_urls()
        for pattern in patterns:
            if isinstance(pattern, URLPattern):
                pattern.callback = _served(pattern.callback)
        return patterns

    def on_exception(self, request: HttpRequest, exc: Any) -> HttpResponse:
        """Answer an exception of an operation with its problem."""
        return problems.answer(problems.of(exc))


def _served(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
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
            told = f"This address takes {', '.join(allowed)}."
            response = problems.answer(Problem("method-not-allowed", told, headers={"Allow": ", ".join(allowed)}))
        return response

    served.csrf_exempt = True  # type: ignore[attr-defined] # Session looks at the CSRF token itself
    return served
