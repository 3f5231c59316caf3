"""How endpoints are declared, with an API of this test: permissions, bodies, If-Match and problems."""

import json
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from pymongo.errors import AutoReconnect

from api.http import responses
from api.http.routing import Api, Router, StrictParser
from api.problems import Problem
from api.rights import principals
from api.rights.principals import ACCOUNTS, ANYONE
from api.rights.scopes import Scope
from api.schemas.shapes import Shape
from cms.requests import errors
from tests.api.conftest import Asker

pytestmark = pytest.mark.urls(__name__)

router = Router()
RAISED: dict[str, Exception] = {
    "gone": Http404(),
    "refused": PermissionDenied(),
    "away": AutoReconnect(),
    "broken": RuntimeError("secret words"),
    "stale": Problem("stale", "Changed.", stored={"title": "Other"}),
}


class Thing(Shape):
    name: str
    count: int = 1


@router.post("/things", auth=ACCOUNTS)
def make(request: HttpRequest, thing: Thing) -> HttpResponse:
    principals.require_scope(request, Scope.WRITE)
    return responses.json_response(request, {"name": thing.name, "nonce": responses.if_match_nonce(request)})


@router.post("/open", auth=ANYONE)
def anyone(request: HttpRequest) -> HttpResponse:
    return responses.json_response(request, {"who": principals.current(request).get_username()})


@router.get("/raise")
def raising(request: HttpRequest, which: str) -> HttpResponse:
    raise RAISED[which]


own = Api(urls_namespace="test-api", docs_url=None, openapi_url=None, parser=StrictParser())
own.add_router("", router)
urlpatterns = [path("api/v1/", own.urls)]
NONCE = "6565f1e2a3b4c5d6e7f80910"


def posted(
    client: Client, body: Any, *, to: str = "things", content_type: str = "application/json", **headers: str
) -> Any:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post(f"/api/v1/{to}", data, content_type=content_type, headers=named)


@pytest.fixture
def writer(account, asker) -> Client:
    return asker(account("own", "Authors"), Scope.WRITE).client


def test_if_match_contains_the_nonce(writer):
    for tag in (f'"{NONCE}.0a1b"', f'"{NONCE}"', f'W/"{NONCE}.0a1b"'):
        answer = posted(writer, {"name": "x"}, If_Match=tag)
        assert (answer.status_code, json.loads(answer.content)) == (200, {"name": "x", "nonce": NONCE}), tag
    for tag, status in (("", 428), ("*", 428), ('"x"', 412), (f'"{NONCE}.1", "{NONCE}.2"', 412), (NONCE, 412)):
        assert posted(writer, {"name": "x"}, If_Match=tag).status_code == status, tag


# (body, status, fields of the errors)
BODIES = [
    (b"", 422, ["body"]),
    (b"{", 400, []),
    (b'{"name": "a", "name": "b"}', 400, []),
    (b'{"name": NaN}', 400, []),
    (b'{"name": 1e999}', 400, []),
    (b'{"name": -1e999}', 400, []),
    (b'{"name": ' + b"9" * 5_000 + b"}", 400, []),
    (b"[" * 100_000, 400, []),
    (b"\xff", 400, []),
    ({"name": 3}, 422, ["body.name"]),
    ([], 422, ["body"]),
    ({"name": "x", "$set": {"a": 1}}, 422, ["body.$set"]),
    ({"name": "x", "metadata.title": "y"}, 422, ["body.metadata.title"]),
    (b'{"name": "\\ud800"}', 400, []),
    (b'{"\\ud800": 1}', 400, []),
    (b'{"name": "\xed\xa0\x80"}', 400, []),
    ('{"name": "x"}'.encode("utf-16-le"), 400, []),
]


def test_invalid_body_is_refused(writer):
    for body, status, fields in BODIES:
        answer = posted(writer, body, If_Match=f'"{NONCE}"')
        said = json.loads(answer.content)
        assert (answer.status_code, [one["field"] for one in said.get("errors", ())]) == (status, fields), body


def test_body_must_be_declared_as_json(writer):
    for kind, status in (("text/plain", 415), ("application/x-www-form-urlencoded", 415), ("application/json", 200)):
        assert posted(writer, {"name": "x"}, content_type=kind, If_Match=f'"{NONCE}"').status_code == status


def test_writing_needs_a_token_or_a_session_with_csrf(account, asker, mongo):
    author = account("own", "Authors")
    assert posted(Client(), {"name": "x"}).status_code == 401
    assert posted(Client(), {"name": "x"})["WWW-Authenticate"] == "Bearer"
    assert posted(asker(author, Scope.READ).client, {"name": "x"}, If_Match=f'"{NONCE}"').status_code == 403
    session = Client(enforce_csrf_checks=True)
    session.force_login(author)
    for to in ("things", "open"):
        assert posted(session, {"name": "x"}, to=to, If_Match=f'"{NONCE}"').status_code == 403
    session.cookies["csrftoken"] = "a" * 32
    for to in ("things", "open"):
        assert posted(session, {"name": "x"}, to=to, If_Match=f'"{NONCE}"', X_CSRFToken="a" * 32).status_code == 200
    assert json.loads(posted(Client(enforce_csrf_checks=True), {}, to="open").content) == {"who": ""}


def test_visitors_writes_are_counted_per_network(settings, mongo):
    settings.API = {**settings.API, "WRITES_PER_MINUTE": 2}
    answers = [posted(Client(), {}, to="open") for _number in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[2]["Retry-After"]) <= 60
    assert "127.0.0.1" not in repr(list(mongo["rate_limits"].find()))


def test_errors_return_problems(mongo):
    for which, status, kind in (
        ("gone", 404, "not-found"),
        ("refused", 403, "forbidden"),
        ("away", 503, "unavailable"),
        ("broken", 500, "failed"),
    ):
        answer = Asker().get(f"/raise?which={which}")
        said = json.loads(answer.content)
        assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
        assert (said["type"], said["status"]) == (f"/api/v1/#{kind}", status)
        assert "secret words" not in answer.content.decode()
        assert "no-store" in answer["Cache-Control"]
        assert answer.has_header("Retry-After") == (status == 503)


def test_problem_has_its_own_members(mongo):
    said = json.loads(Asker().get("/raise?which=stale").content)
    assert (said["status"], said["detail"], said["stored"]) == (412, "Changed.", {"title": "Other"})


def test_errors_outside_views_return_problems(rf):
    for answer, status in (
        (errors.unavailable(rf.get("/api/v1/tree")), 503),
        (errors.server_error(rf.get("/api/v1/tree")), 500),
        (errors.bad_request(rf.get("/api/v1/tree"), SuspiciousOperation()), 400),
    ):
        assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert errors.unavailable(rf.get("/"))["Content-Type"].startswith("text/html")


@pytest.mark.urls("cms.urls")
@pytest.mark.parametrize("path", ["/nowhere", "/nodes/x/comments/null/restore", "/a%0Ab", ""])
def test_unknown_url_returns_a_problem_for_any_method(mongo, path):
    client = Client(enforce_csrf_checks=True)
    for answer in (client.get(f"/api/v1{path}/x"), client.post(f"/api/v1{path}/x"), client.delete(f"/api/v2{path}/x")):
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json")
