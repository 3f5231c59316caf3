"""Endpoints that apps add under /api/v1/x/, with an API of this test, and mistakes in their declarations."""

import json
from datetime import datetime
from typing import Any

import ninja
import pytest
from django.http import HttpRequest
from django.test import Client
from django.urls import path, reverse

from api import extensions
from api.checks import check_extensions
from api.extensions import ACCOUNTS, Problem, Router, Scope, Shape, require_scope
from api.http.routing import Api, StrictParser
from api.rights.scopes import Scope as TokenScope
from api.schemas import openapi
from cms.testing import build
from reader.page_cache.cacheable import CACHED_ROUTES
from tests.api.conftest import Asker

pytestmark = pytest.mark.urls(__name__)


class Order(Shape):
    item: str
    count: int = 1


class Receipt(Shape):
    item: str
    ordered_by: str
    at: datetime


router = Router(tags=["Shop"])
nested = Router()


@router.get("/orders/{number}", response=Receipt)
def node(request: HttpRequest, number: int) -> dict[str, Any]:
    if number > 1:
        raise Problem("gone", "This order is no longer stored.")
    return {"item": "ink", "ordered_by": request.auth.get_username(), "at": build.PAST}


@router.post("/orders", auth=ACCOUNTS, response=Receipt, url_name="home", operation_id="place_order")
def place(request: HttpRequest, order: Order) -> dict[str, Any]:
    principal = require_scope(request, Scope.PUBLISH)
    return {"item": order.item, "ordered_by": principal.get_username(), "at": build.PAST}


@nested.get("/shelves", response=list[str])
def shelves(request: HttpRequest) -> list[str]:
    return ["paper"]


router.add_router("/store", nested)


def mounted(*routers: tuple[str, Any]) -> Api:
    """Return an API with only these routers, and forget their registration."""
    api = Api(urls_namespace="test-x", docs_url=None, openapi_url=None, parser=StrictParser())
    registered = extensions._registered[:]
    extensions._registered[:] = []
    try:
        for name, own in routers:
            extensions.register(name, own)
        extensions.mount(api)
    finally:
        extensions._registered[:] = registered
    return api


own_api = mounted(("the-shop", router))
urlpatterns = [path("api/v1/", own_api.urls)]


def test_endpoint_returns_the_declared_response(visitor, account, asker):
    answer = visitor.get("/x/the-shop/orders/1")
    assert json.loads(answer.content) == {"item": "ink", "ordered_by": "", "at": build.PAST.isoformat()[:19] + "Z"}
    assert answer["Cache-Control"] == "no-cache"
    assert visitor.get("/x/the-shop/orders/1", If_None_Match=answer["ETag"]).status_code == 304
    ann = asker(account("ann", "Authors"), TokenScope.READ).get("/x/the-shop/orders/1")
    assert (json.loads(ann.content)["ordered_by"], ann["Cache-Control"]) == ("ann", "private, no-cache")
    assert visitor.read("/x/the-shop/store/shelves") == ["paper"]


def test_errors_have_the_format_of_the_api(visitor, account, asker):
    for answer, status, kind in (
        (visitor.get("/x/the-shop/orders/2"), 410, "gone"),
        (visitor.get("/x/the-shop/orders/one"), 422, "invalid"),
        (visitor.get("/x/the-shop/orders/1?color=blue"), 422, "invalid"),
        (visitor.send("POST", "/x/the-shop/orders", {"item": "ink"}), 401, "unauthorized"),
        (visitor.send("PUT", "/x/the-shop/orders", {"item": "ink"}), 405, "method-not-allowed"),
        (Asker("mrg_wrong").get("/x/the-shop/orders/1"), 401, "unauthorized"),
    ):
        assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
        assert json.loads(answer.content)["type"] == f"/api/v1/#{kind}"
    editor = asker(account("ed", "Editors"), TokenScope.PUBLISH)
    answer = editor.send("POST", "/x/the-shop/orders", {"item": "ink", "color": "blue"})
    assert json.loads(answer.content)["errors"] == [{"field": "body.color", "message": "This field doesn't exist."}]


def test_tokens_need_the_scope_and_are_limited(account, asker, settings):
    user = account("ed", "Editors")
    assert asker(user, TokenScope.WRITE).send("POST", "/x/the-shop/orders", {"item": "ink"}).status_code == 403
    settings.API = {**settings.API, "WRITES_PER_MINUTE": 1}
    editor = asker(user, TokenScope.PUBLISH)
    first = editor.send("POST", "/x/the-shop/orders", {"item": "ink"})
    assert (first.status_code, json.loads(first.content)["ordered_by"]) == (200, "ed")
    assert first["RateLimit-Limit"] == "1"
    assert editor.send("POST", "/x/the-shop/orders", {"item": "ink"}).status_code == 429


def test_session_needs_a_csrf_token(mongo, account):
    client = Client(enforce_csrf_checks=True)
    client.force_login(account("ed", "Editors"))
    answer = client.post("/api/v1/x/the-shop/orders", {"item": "ink"}, content_type="application/json")
    assert answer.status_code == 403


def test_names_cannot_be_those_of_built_in_endpoints():
    assert reverse("test-x:x-the-shop-node", kwargs={"number": 1}) == "/api/v1/x/the-shop/orders/1"
    names = {pattern.name for pattern in own_api.urls[0] if pattern.name}
    assert names == {"x-the-shop-node", "x-the-shop-home", "x-the-shop-shelves", "api-root"}
    assert not names & set(CACHED_ROUTES)
    paths = openapi._Document(own_api)["paths"]
    ids = {one["operationId"] for path in paths.values() for one in path.values()}
    assert ids == {"the_shop_node", "the_shop_place_order", "the_shop_shelves"}


def test_checks_report_routers_that_cannot_be_added(monkeypatch):
    monkeypatch.setattr(extensions, "_registered", [])
    assert check_extensions() == []
    mixed = Router()
    mixed.add_router("/plain", ninja.Router())
    for name, own in (("shop", Router()), ("Shop", Router()), ("shop", Router()), ("a", ninja.Router()), ("b", mixed)):
        extensions.register(name, own)
    assert [(message.id, message.msg) for message in check_extensions()] == [
        ("api.E002", "The API router “Shop” has an invalid name."),
        ("api.E002", "Two API routers have the name “shop”."),
        ("api.E003", "The API router “a” or a router in it isn't of the class api.extensions.Router."),
        ("api.E003", "The API router “b” or a router in it isn't of the class api.extensions.Router."),
    ]


def test_routers_with_mistakes_are_not_mounted():
    api = mounted(("Shop", Router()), ("plain", ninja.Router()))
    assert openapi._Document(api)["paths"] == {}


def test_checks_report_schemas_and_operations_with_the_same_name(monkeypatch):
    first, second = Router(), Router()

    class Page(Shape):
        number: int

    class OtherPage(Shape):
        __qualname__ = "Page"
        text: str

    OtherPage.__name__ = "Page"
    first.get("/one", response=Page)(node)
    first.get("/two", response=OtherPage)(node)
    second.get("/", response=Page)(node)
    api = mounted(("shop", first), ("shop-two", second))
    assert openapi.conflicts(api) == {"Page", "shop_node"}
    monkeypatch.setattr("api.urls.api", api)
    monkeypatch.setattr(extensions, "_registered", [("shop", first)])
    assert [message.id for message in check_extensions()] == ["api.E004", "api.E004"]
