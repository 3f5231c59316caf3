"""Endpoints that projects add under /api/v1/x/, and the classes and functions that such endpoints use.

An app registers its routers in a module named `api_extensions`:

    router = Router(tags=["Shop"])

    @router.get("/orders", response=Orders)
    def orders(request: HttpRequest) -> dict[str, Any]: ...

    register("shop", router)  # GET /api/v1/x/shop/orders

`request.auth` is the Principal, which actions and access functions accept instead of a user.
"""

import re
from collections.abc import Iterator

import ninja
from django.utils.module_loading import autodiscover_modules
from ninja.operation import Operation

from api.http.responses import json_response, list_response
from api.http.routing import Api, Router
from api.problems import Problem
from api.rights.principals import ACCOUNTS, ANYONE, Principal, require_scope
from api.rights.scopes import Scope
from api.schemas.shapes import Id, Shape

__all__ = [
    "ACCOUNTS",
    "ANYONE",
    "Id",
    "Principal",
    "Problem",
    "Router",
    "Scope",
    "Shape",
    "json_response",
    "list_response",
    "register",
    "require_scope",
]

MODULE = "api_extensions"
PREFIX = "/x/"
# Matches the names that routers can have.
NAME = re.compile("[a-z][a-z0-9-]{0,49}")

_registered: list[tuple[str, ninja.Router]] = []


def register(name: str, router: Router) -> None:
    """Add a router to the API. The URLs of its endpoints begin with /api/v1/x/ and `name`.

    `manage.py check` reports routers that can't be added.
    """
    _registered.append((name, router))


def mount(api: Api) -> None:
    """Add the routers of all installed apps to the API.

    Operation ids and URL names begin with the router's name, so they can't be the same as those of built-in endpoints.
    Routers that can't be added are skipped.
    """
    autodiscover_modules(MODULE)
    for name, router in _mountable():
        for operation in _operations(router):
            function = operation.view_func.__name__
            operation.operation_id = f"{name.replace('-', '_')}_{operation.operation_id or function}"
            # An operation has the attribute `url_name` only if the app has set it.
            operation.url_name = f"x-{name}-{getattr(operation, 'url_name', function)}"
        api.add_router(PREFIX + name, router)


def registered() -> tuple[tuple[str, ninja.Router], ...]:
    """Return the name and the router of each call to `register`."""
    return tuple(_registered)


def is_own(router: ninja.Router) -> bool:
    """Return whether a router and all routers in it are of the class Router in this module."""
    return isinstance(router, Router) and all(is_own(child) for _prefix, child, _tags in router._routers)


def _mountable() -> Iterator[tuple[str, ninja.Router]]:
    names: set[str] = set()
    for name, router in _registered:
        if name not in names and NAME.fullmatch(name) and is_own(router):
            yield name, router
        names.add(name)


def _operations(router: ninja.Router) -> Iterator[Operation]:
    for view in router.path_operations.values():
        yield from view.operations
    for _prefix, child, _tags in router._routers:
        yield from _operations(child)
