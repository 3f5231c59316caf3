"""Valid and invalid requests by the schema: no response fails, and every response matches the schema.

Schemathesis generates the requests from the served schema: its examples, the limits of every parameter, random values, and
chains of operations. It runs all its checks as every kind of account, with sessions and with tokens of every scope.
"""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from bson import ObjectId
from django.contrib.auth import get_user_model
from django.core.wsgi import get_wsgi_application
from django.test import Client

from api.changes.relay import relay
from api.rights import tokens
from api.rights.scopes import Scope
from cms.testing import build
from nodes.services import drafts, editing
from tests.support.nodes import photo_build

EXAMPLES, SEED = 6, 20
# The client: an account and its scopes, or None for a session.
ACCOUNTS: dict[str, tuple[str, tuple[Scope, ...] | None]] = {
    "anonymous": ("", ()),
    "author, session": ("Authors", None),
    "editor, session": ("Editors", None),
    "editor, no scope": ("Editors", ()),
    "author, writing": ("Authors", (Scope.WRITE,)),
    "editor, reading": ("Editors", (Scope.READ,)),
    "editor, publishing": ("Editors", (Scope.PUBLISH,)),
    "moderator, moderating": ("Moderators", (Scope.MODERATE,)),
    "administrator, administering": ("Administrators", (Scope.ADMINISTER,)),
    "administrator, every scope": ("Administrators", tuple(Scope)),
}
# The limits of parameters behave alike for all permitted clients: one anonymous, one with a session, one with a token.
WITH_EDGES = ("anonymous", "editor, session", "administrator, every scope")
# Rules that a schema cannot express: the object exists, has the expected version and accepts the change, and the
# maximum size of a file.
DECIDED_BY_WHAT_IS_STORED = ["2xx", "3xx", "401", "403", "404", "409", "410", "412", "413", "422"]
# Reading operations with more rules than the schema, in addition to those with a list cursor.
FILTERED = ("GET /api/v1/nodes/facets", "GET /api/v1/changes")
BULK = "POST /api/v1/bulk"
CHECKS = {
    # 428 is for a missing If-Match (RFC 6585), 412 for an If-Match without a version, 413 for a file that is too large.
    "negative_data_rejection": {
        "expected-statuses": ["400", "401", "403", "404", "405", "409", "412", "413", "415", "422", "428"]
    },
    "missing_required_header": {"expected-statuses": ["401", "403", "413", "422", "428"]},
    "positive_data_acceptance": {"expected-statuses": DECIDED_BY_WHAT_IS_STORED},
}
KEY = ObjectId("6565f1e2a3b4c5d6e7f80910")  # the id of the schema's examples


@pytest.fixture
def known(mongo, settings) -> dict[str, list[str]]:
    """A small site, and the ids and versions in it."""
    settings.API = {**settings.API, "READS_PER_MINUTE": 1_000_000, "WRITES_PER_MINUTE": 1_000_000}
    relay()
    blog, gallery = build.node("blog", "news"), photo_build.gallery()
    fields = {"published": build.PAST, "detail.text": "Words"}
    post = editing.create(
        build.EDITOR,
        type="blog-entry",
        parent_id=blog,
        slug="one",
        title="One",
        fields=fields,
        tags=("spring",),
        node_id=KEY,
    )
    relay()
    drafted = drafts.save_draft(build.EDITOR, KEY, post.nonce, {"title": "Two"})
    photo = photo_build.upload(gallery)
    nonces = [post.nonce, drafted.nonce, photo_build.document(photo)["metadata"]["nonce"]]
    return {"ids": [str(one) for one in (KEY, blog, photo, gallery)], "versions": [f'"{one}"' for one in nonces]}


def headers(group: str, scopes: tuple[Scope, ...] | None) -> dict[str, str]:
    """Return the credentials of an account of a group. A group always has the same account."""
    if not group:
        return {}
    user = get_user_model()._default_manager.create_user("asker", "asker@example.org", "pw", is_staff=True)
    user.groups.set(type(user).groups.rel.model.objects.filter(name=group))
    if scopes is None:
        session, csrf = Client(), "a" * 32
        session.force_login(user)
        return {"Cookie": f"sessionid={session.cookies['sessionid'].value}; csrftoken={csrf}", "X-CSRFToken": csrf}
    return {"Authorization": f"Bearer {tokens.create(user, 'test', scopes)[1]}"}


def wrong(known: dict[str, list[str]], sent: dict[str, str], seed: int, *, edges: bool) -> Iterator[str]:
    """Send the requests that the schema suggests, with `edges` also the limits of every parameter.

    Yield wrong responses.
    """
    import schemathesis  # slow, so the quick tests omit it
    from schemathesis.config import SchemathesisConfig
    from schemathesis.engine import events, from_schema

    ids = {"dictionary": "ids", "probability": 0.5}
    config = SchemathesisConfig.from_dict(
        {
            "seed": seed,
            "headers": sent,
            "continue-on-failure": True,
            "checks": CHECKS,
            "generation": {"max-examples": EXAMPLES, "no-shrink": True},
            "phases": {"coverage": {"enabled": edges}},
            "dictionaries": {name: {"values": values} for name, values in known.items()},
            "parameters": {
                "path.node_id": ids,
                "path.photo_id": ids,
                "query.section": ids,
                "query.gallery": ids,
                "header.If-Match": {"dictionary": "versions", "probability": 0.5},
            },
        }
    )
    schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", get_wsgi_application(), config=config)
    asked = set()
    for event in from_schema(schema).execute():
        if isinstance(event, events.NonFatalError):
            yield f"{event.label}: {event.value!r}"
        elif isinstance(event, events.FatalError):
            yield repr(event.exception)
        elif isinstance(event, events.ScenarioFinished):
            asked |= {node.value.operation.label for node in event.recorder.cases.values()}
            yield from _failures(event.recorder)
    assert asked >= {one.ok().label for one in schema.get_all_operations()}, "every operation was asked"


def _failures(recorder: Any) -> Iterator[str]:
    for key, checks in recorder.checks.items():
        case, answer = recorder.cases[key].value, recorder.interactions[key].response
        for check in checks:
            if found := check.failure_info:
                yield f"{check.name}: {found.failure}\n{found.code_sample}\n{answer and answer.content[:500]}"
        if answer and answer.status_code == 200 and case.operation.label == BULK:
            yield from (str(one) for one in json.loads(answer.content)["results"] if one["status"] >= 500)
        is_promised = case.meta and case.meta.generation.mode.is_positive
        if answer and answer.status_code == 422 and is_promised:
            # The request is valid by the schema, but conflicts with stored data.
            said = json.loads(answer.content)
            has_cursor = any(parameter.name == "cursor" for parameter in case.operation.query)
            is_decided = case.operation.method.upper() != "GET" or has_cursor or case.operation.label in FILTERED
            if not is_decided or not (said.get("errors") or said["type"].endswith("#key-reused")):
                yield f"{case.operation.label}: {case.query} {case.body!r}: {said}"


@pytest.fixture(autouse=True)
def _in_process(monkeypatch):
    """Schemathesis sends unauthenticated requests with options that its in-process transport does not support."""
    from schemathesis.transport.wsgi import WSGITransport

    send = WSGITransport.send

    def sent(self: Any, case: Any, **options: Any) -> Any:
        for name in ("max_redirects", "verify", "cert", "proxies"):
            options.pop(name, None)
        return send(self, case, **options)

    monkeypatch.setattr(WSGITransport, "send", sent)


@pytest.mark.slow
@pytest.mark.parametrize("account", ACCOUNTS)
def test_every_response_matches_the_schema(known, account):
    found = list(wrong(known, headers(*ACCOUNTS[account]), SEED, edges=account in WITH_EDGES))
    assert not found, "\n\n".join(found[:60])


@pytest.mark.slow
@pytest.mark.parametrize("account", ["anonymous", "administrator, every scope"])
def test_every_response_matches_the_schema_for_random_requests(known, account):
    seed = random.randrange(2**32)
    found = list(wrong(known, headers(*ACCOUNTS[account]), seed, edges=False))
    assert not found, f"seed {seed}:\n" + "\n\n".join(found[:60])
