"""What programs may send by the schema, and what they may not: no answer fails, and each is as the schema says.

Schemathesis makes the requests, from the schema as it is served: its examples, the edges of every parameter, random ones, and
chains of operations whose answers lead to each other. It asks with every check that it has, as every kind of account, by
sessions and by tokens of every scope.
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
from nodes.services import drafts, editing
from tests.support.nodes import build, photo_build

EXAMPLES, SEED = 6, 20
# Who asks: an account, and its scopes; None for its session.
WHO: dict[str, tuple[str, tuple[Scope, ...] | None]] = {
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
# What the edges of a parameter do is the same for all who may come so far: one without credentials, by a session, by a token.
OF_EVERY_KIND = ("anonymous", "editor, session", "administrator, every scope")
# What a schema cannot say: whether the thing is there, is still the version that was seen, and takes this beside all else; and
# how large a file the site's settings let in.
DECIDED_BY_WHAT_IS_STORED = ["2xx", "3xx", "401", "403", "404", "409", "410", "412", "413", "422"]
# Of what only reads, the operations that have more rules than a schema has, beside those that take the cursor of a list.
FILTERED = ("GET /api/v1/nodes/facets", "GET /api/v1/changes")
BULK = "POST /api/v1/bulk"
CHECKS = {
    # 428 is what a missing If-Match is for (RFC 6585); 412 is for one that names no version; 413 for a file that is too large,
    # beside all else that is wrong.
    "negative_data_rejection": {
        "expected-statuses": ["400", "401", "403", "404", "405", "409", "412", "413", "415", "422", "428"]
    },
    "missing_required_header": {"expected-statuses": ["401", "403", "413", "422", "428"]},
    "positive_data_acceptance": {"expected-statuses": DECIDED_BY_WHAT_IS_STORED},
}
KEY = ObjectId("6565f1e2a3b4c5d6e7f80910")  # the id of the schema's examples


@pytest.fixture
def known(mongo, settings) -> dict[str, list[str]]:
    """A small site; ids and versions that are there."""
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
    """Return what an account of a group sends to be known; the same account each time."""
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
    """Ask the API whatever its schema suggests, with `edges` the edges of every parameter too; yield what is wrong about
    answers."""
    import schemathesis  # takes long: the quick tests do without
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
            # What the schema allows is refused by what is stored: by the name of what does not go with it.
            said = json.loads(answer.content)
            has_cursor = any(parameter.name == "cursor" for parameter in case.operation.query)
            is_decided = case.operation.method.upper() != "GET" or has_cursor or case.operation.label in FILTERED
            if not is_decided or not (said.get("errors") or said["type"].endswith("#key-reused")):
                yield f"{case.operation.label}: {case.query} {case.body!r}: {said}"


@pytest.fixture(autouse=True)
def _in_process(monkeypatch):
    """Without credentials Schemathesis asks by options of a network's client, which its way within a process does not know."""
    from schemathesis.transport.wsgi import WSGITransport

    send = WSGITransport.send

    def sent(self: Any, case: Any, **options: Any) -> Any:
        for name in ("max_redirects", "verify", "cert", "proxies"):
            options.pop(name, None)
        return send(self, case, **options)

    monkeypatch.setattr(WSGITransport, "send", sent)


@pytest.mark.slow
@pytest.mark.parametrize("who", WHO)
def test_every_response_matches_the_schema(known, who):
    found = list(wrong(known, headers(*WHO[who]), SEED, edges=who in OF_EVERY_KIND))
    assert not found, "\n\n".join(found[:60])


@pytest.mark.slow
@pytest.mark.parametrize("who", ["anonymous", "administrator, every scope"])
def test_every_response_matches_the_schema_for_random_requests(known, who):
    seed = random.randrange(2**32)
    found = list(wrong(known, headers(*WHO[who]), seed, edges=False))
    assert not found, f"seed {seed}:\n" + "\n\n".join(found[:60])
