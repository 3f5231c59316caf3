"""Who changes what by the API: as in the admin, for each state of a post and kind of account, less what scopes leave out.

What is asked for names a version that is none: who may is told so, and nothing is changed.
"""

import json

import pytest
from bson import ObjectId
from django.test import Client

from api.rights import tokens
from api.rights.scopes import Scope
from tests.rights.world import KINDS, QUICK, STATES, stored

# What is asked for (method, rest of the address, body), and the page of the admin that only those get who may do that.
WRITES = {
    "change": ("PATCH", "", {"title": "x"}, "move"),
    "change the draft": ("PATCH", "?version=draft", {"title": "x"}, "change"),
    "move": ("POST", "/move", {"slug": "x"}, "move"),
    "tag": ("POST", "/tags", {}, "move"),
    "publish": ("POST", "/publish", {}, "unpublish"),
    "unpublish": ("POST", "/unpublish", {}, "unpublish"),
    "schedule": ("POST", "/schedule", {"at": "2999-01-01T00:00:00Z"}, "unpublish"),
    "trash": ("POST", "/trash", {}, "delete"),
    "restore": ("POST", "/restore", {}, "restore"),
}
NONE = f'"{ObjectId()}"'
REFUSED = (401, 403, 404)
WRITERS = (Scope.READ, Scope.WRITE, Scope.PUBLISH)


@pytest.fixture(scope="module")
def things(world):
    return {state: world.thing(state) for state in STATES}


@pytest.fixture(scope="module")
def ask(world, things):
    """Return the status of the answer to a write: ask("owner", scopes, "change", "live")."""
    secrets = {}

    def asked(kind, scopes, write, state):
        if kind != "anonymous" and (kind, scopes) not in secrets:
            secrets[kind, scopes] = tokens.create(world.users[kind], "test", scopes)[1]
        headers = {"If-Match": NONE}
        if kind != "anonymous":
            headers["Authorization"] = f"Bearer {secrets[kind, scopes]}"
        method, rest, said, _page = WRITES[write]
        path = f"/api/v1/nodes/{things[state].id}{rest}"
        return Client().generic(method, path, json.dumps(said), "application/json", headers=headers).status_code

    return asked


def compared(world, things, ask, kinds, states):
    before = {state: stored(thing.id) for state, thing in things.items()}
    wrong = []
    for kind in kinds:
        for state in states:
            for write, (_method, _rest, _said, page) in WRITES.items():
                may = world.kept(kind, things[state].admin(page)).status_code == 200
                status = ask(kind, WRITERS, write, state)
                # A write of what stands where it should be, as what is to be restored, is none of what is not there.
                is_elsewhere = (write == "restore") != (state == "trashed")
                if (status not in REFUSED) != may and not (is_elsewhere and not may):
                    wrong.append((kind, state, write, status, "may" if may else "may not"))
    assert not wrong
    assert {state: stored(thing.id) for state, thing in things.items()} == before


def test_who_may_in_the_admin_may_by_the_api(world, things, ask):
    compared(world, things, ask, QUICK, ("live", "draft", "trashed"))


@pytest.mark.slow
def test_who_may_in_the_admin_may_by_the_api_of_every_kind_and_state(world, things, ask):
    compared(world, things, ask, KINDS, STATES)


@pytest.mark.parametrize("scopes", [(), (Scope.READ,), (Scope.MODERATE, Scope.ADMINISTER)], ids=str)
def test_without_a_scope_that_writes_no_one_does(world, things, ask, scopes):
    for kind in ("owner", "editor"):
        for write in WRITES:
            assert ask(kind, scopes, write, "draft") in (403, 404), (kind, write)


def test_a_token_that_writes_and_does_not_publish_is_an_authors(world, things, ask):
    of_editor = {
        (write, state): ask("editor", (Scope.WRITE,), write, state) for write in WRITES for state in ("live", "draft")
    }
    assert set(of_editor.values()) <= {403, 404}
    of_owner = {write for write in WRITES if ask("owner", (Scope.WRITE,), write, "draft") not in REFUSED}
    assert of_owner == {"change", "change the draft", "move", "tag", "trash", "restore"}
