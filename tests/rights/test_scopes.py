"""The permissions of a token: those of its owner, limited by its scopes."""

import json
from collections.abc import Iterator

import pytest
from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.test import Client

from api.rights import tokens
from api.rights.principals import Principal
from api.rights.scopes import Scope
from api.rights.tokens import Token
from cms.testing import build
from cms.testing.build import PAST
from marginalia.mongo.clock import now
from nodes.access import FieldForbidden
from nodes.actions import CreateNode, Order
from nodes.errors import InvalidPlace
from tests.rights.by_action import ACTIONS, Case
from tests.rights.world import LETTERS, Row, Thing, World, stored, table
from tests.support.nodes.content import Handbook, registered

# The accounts that can act with a token of one scope, or of all scopes (letters as in `world`).
RIGHTS = """
                               read  write  publish  moderate  administer  all
create                         -     owea   owea     -         -           owea
copy: live                     -     oea    oea      -         -           oea
edit: draft                    -     o      oea      -         -           oea
edit: live                     -     -      ea       -         -           ea
edit the draft: live           -     o      oea      -         -           oea
move: draft                    -     o      oea      -         -           oea
move: live                     -     -      ea       -         -           ea
tag: draft                     -     o      oea      -         -           oea
tag: live                      -     -      ea       -         -           ea
trash: draft                   -     o      oea      -         -           oea
trash: live                    -     -      ea       -         -           ea
put back: trashed              -     -      ea       -         -           ea
discard the draft: drafted     -     o      oea      -         -           oea
publish: draft                 -     -      ea       -         -           ea
publish in bulk: draft         -     -      ea       -         -           ea
schedule: draft                -     -      ea       -         -           ea
unpublish: live                -     -      ea       -         -           ea
publish the draft: drafted     -     -      ea       -         -           ea
schedule the draft: drafted    -     -      ea       -         -           ea
unschedule the draft: drafted  -     -      ea       -         -           ea
order                          -     -      ea       -         -           ea
delete for good: trashed       -     -      -        -         -           a
"""
SCOPES = ("read", "write", "publish", "moderate", "administer", "all")
# The writing operations of the API: method, rest of the URL, body.
REQUESTS = {
    "change": ("PATCH", "", {"title": "x"}),
    "change the draft": ("PATCH", "?version=draft", {"title": "x"}),
    "move": ("POST", "/move", {"slug": "x"}),
    "tag": ("POST", "/tags", {}),
    "publish": ("POST", "/publish", {}),
    "unpublish": ("POST", "/unpublish", {}),
    "schedule": ("POST", "/schedule", {"at": "2999-01-01T00:00:00Z"}),
    "unschedule": ("POST", "/unschedule", {}),
    "discard": ("DELETE", "/draft", {}),
    "trash": ("POST", "/trash", {}),
    "restore": ("POST", "/restore", {}),
}


@pytest.fixture(scope="module")
def things(world: World) -> dict[str, Thing]:
    return {state: world.thing(state) for state in ("live", "draft", "drafted", "trashed")}


@pytest.fixture(scope="module")
def handbook(world: World) -> Iterator[ObjectId]:
    """Return the id of a section that is ordered by hand."""
    with registered(Handbook):
        yield build.node("handbook", "book")


def principal(world: World, kind: str, scopes: tuple[str, ...]) -> Principal:
    user = world.user(kind)
    token = Token(ObjectId(), "test", user.pk, kind, scopes, now())
    return Principal(user, token if kind in world.users else None, is_reading=False)


def scope_rows() -> list:
    rows: dict[str, list] = {}
    for name, scope, who in table(RIGHTS, SCOPES):
        letters = {LETTERS[letter] for letter in who.strip("-")}
        rows.setdefault(name, []).extend((scope, kind, kind in letters) for kind in LETTERS.values())
    return [pytest.param(name, Row(tuple(cells)), id=name) for name, cells in rows.items()]


@pytest.mark.parametrize(("name", "row"), scope_rows())
def test_token_has_the_permissions_of_its_scopes_and_owner(world, things, handbook, name, row):
    def ask(scope, kind, may):
        user = principal(world, kind, tuple(Scope) if scope == "all" else (scope,))
        action, _, state = name.partition(": ")
        if action == "create":
            fields = {"title": "New", "slug": "", "parent_id": world.blog}
            made = CreateNode(user=user, type="blog-entry", fields=fields)
        elif action == "order":
            made = Order(user=user, node_id=handbook)
        else:
            made = ACTIONS[action](Case(world, things[state], user, stored(things[state].id)))
        if may:
            made.check()
        else:
            with pytest.raises((Http404, PermissionDenied)):
                made.check()

    row.ask(ask)


@pytest.mark.parametrize("kind", ["owner", "editor", "administrator"])
def test_writing_token_creates_drafts_in_public_sections(world, kind):
    user = principal(world, kind, (Scope.READ, Scope.WRITE))
    fields = {"title": "New", "slug": "", "parent_id": world.blog}
    with pytest.raises(FieldForbidden):
        CreateNode(user=user, type="blog-entry", fields={**fields, "published": PAST}).check()
    with pytest.raises(InvalidPlace):
        CreateNode(user=user, type="blog-entry", fields={**fields, "parent_id": world.hidden}).check()
    with pytest.raises(PermissionDenied):
        CreateNode(user=user, type="blog", fields={**fields, "parent_id": None}).check()


@pytest.mark.parametrize("kind", ["owner", "editor"])
def test_reading_token_cannot_write_with_any_operation(world, things, kind):
    before = {state: stored(thing.id) for state, thing in things.items()}
    headers = {"Authorization": f"Bearer {tokens.create(world.users[kind], 'test', (Scope.READ,))[1]}"}
    for name, (method, rest, said) in REQUESTS.items():
        path = f"/api/v1/nodes/{things['draft'].id}{rest}"
        nonce = before["draft"]["metadata"]["nonce"]
        answer = Client().generic(
            method, path, json.dumps(said), "application/json", headers={**headers, "If-Match": f'"{nonce}"'}
        )
        assert answer.status_code == 403, name
    assert {state: stored(thing.id) for state, thing in things.items()} == before
