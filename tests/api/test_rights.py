"""Permissions in the API: by account and state of a node, and reduced by each scope."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Permission
from django.http import Http404
from django.test import Client

from api.problems import Problem
from api.rights import principals, tokens
from api.rights.principals import Principal
from api.rights.scopes import Scope
from api.rights.tokens import Token
from cms.testing import build
from marginalia.mongo.clock import now
from nodes import access
from nodes.access import NodePermission
from nodes.selectors import editable_nodes
from nodes.services import drafts, editing, trash
from nodes.types import Actor
from tests.api.conftest import Asker

PAST = datetime(2021, 1, 1, tzinfo=UTC)
EVERY = tuple(Scope)


def things(owner):
    """Create a post of an author in every state, and return {state: id}."""
    blog, dark = build.node("blog", "news"), build.node("blog", "dark", published=None)
    made = {}
    for state in ("live", "drafted", "draft", "scheduled", "expired", "private", "trashed"):
        fields = {"author": Actor.of(owner).as_document(), "published": PAST}
        fields |= {"draft": {"published": None}, "scheduled": {"published": now() + timedelta(days=9)}}.get(state, {})
        fields |= {"expires": datetime(2022, 1, 1, tzinfo=UTC)} if state == "expired" else {}
        post = editing.create(
            build.EDITOR,
            type="blog-entry",
            parent_id=dark if state == "private" else blog,
            slug=f"s{state}",
            title=f"zq{state}",
            fields=fields,
        )
        if state == "drafted":
            drafts.save_draft(build.EDITOR, post.id, post.nonce, {"title": "zqsecret"})
        if state == "trashed":
            trash.trash(build.EDITOR, post.id, post.nonce)
        made[state] = post.id
    return made


# The accounts with the most error-prone permissions. The quick tests use only these.
QUICK = ("visitor", "owner, no scope", "owner, reading", "author, every scope", "editor, reading")


@pytest.mark.parametrize("is_quick", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_each_role_sees_the_right_nodes_in_each_state(account, asker, mongo, is_quick):
    owner, other, editor = account("own", "Authors"), account("oth", "Authors"), account("ed", "Editors")
    reader, administrator = account("rea"), account("adm", "Administrators")
    found = things(owner)
    public = {"live", "drafted"}
    every = set(found) - {"trashed"}
    session = Asker()
    session.client.force_login(editor)
    askers = {
        "visitor": (Asker(), public, False),
        "owner, no scope": (asker(owner), public, False),
        "owner, moderating": (asker(owner, Scope.MODERATE), public, False),
        "owner, reading": (asker(owner, Scope.READ), every, True),
        "owner, writing": (asker(owner, Scope.WRITE), every, True),
        "author, every scope": (asker(other, *EVERY), public, False),
        "editor, no scope": (asker(editor), public, False),
        "editor, reading": (asker(editor, Scope.READ), every, True),
        "editor, session": (session, every, True),
        "reader, every scope": (asker(reader, *EVERY), public, False),
        "administrator, administering": (asker(administrator, Scope.ADMINISTER), public, False),
        "administrator, reading": (asker(administrator, Scope.READ), every, True),
    }
    assert set(QUICK) < set(askers)
    for name, (one, sees, sees_draft) in askers.items():
        if (name in QUICK) is not is_quick:
            continue
        answers = {state: one.get(f"/nodes/{key}") for state, key in found.items()}
        assert {state for state, answer in answers.items() if answer.status_code == 200} == sees, name
        assert {answer.status_code for answer in answers.values()} <= {200, 404}, name
        assert ("draft" in json.loads(answers["drafted"].content)) is sees_draft, name
        assert (b"zqsecret" in one.get(f"/nodes/{found['drafted']}?version=draft").content) is sees_draft, name
        # A missing and a hidden node get the same response.
        assert one.get(f"/nodes/{found['trashed']}").content == one.get("/nodes/" + "0" * 24).content, name
        listed = {node["title"] for node in one.read("/nodes?limit=100")["items"]}
        assert listed == {"zqlive", "zqdrafted"}, name
        states = one.get("/nodes?state=any&limit=100")
        mine = {node["title"] for node in json.loads(states.content).get("items", ())} - {"News", "Dark"}
        if sees_draft:
            assert mine == {f"zq{state}" for state in every}, name
        else:
            assert mine == set(), name
            assert states.status_code == (200 if name.startswith("author") else 403), name


# Actions allowed by a token of each owner on the author's post: letters of the actions below, when published and as a
# draft.
LETTERS = {
    "v": NodePermission.VIEW,
    "e": NodePermission.EDIT,
    "d": NodePermission.DRAFT,
    "p": NodePermission.PUBLISH,
    "t": NodePermission.TRASH,
    "x": NodePermission.DELETE,
}


# (owner of the token, its scopes, allowed actions on a published post of "own", and on a draft)
LEFT = [
    ("own", (), "", ""),
    ("own", (Scope.READ,), "", ""),
    ("own", (Scope.WRITE,), "vd", "vedt"),
    ("own", EVERY, "vd", "vedt"),
    ("oth", EVERY, "", ""),
    ("ed", (Scope.READ,), "v", "v"),
    ("ed", (Scope.WRITE,), "v", "v"),
    ("ed", (Scope.PUBLISH,), "vedpt", "vedpt"),
    ("ed", (Scope.ADMINISTER,), "", ""),
    ("adm", (Scope.ADMINISTER,), "x", "x"),
    ("adm", EVERY, "vedptx", "vedptx"),
    ("rea", EVERY, "", ""),
]


def test_change_needs_permission_and_scope(account, mongo):
    groups = {"own": "Authors", "oth": "Authors", "ed": "Editors", "adm": "Administrators", "rea": ""}
    users = {name: account(name, group) for name, group in groups.items()}
    found = things(users["own"])
    nodes = {state: editable_nodes.load(found[state]).node for state in ("live", "draft")}
    for who, scopes, published, unpublished in LEFT:
        token = Token(found["live"], "t", users[who].pk, who, scopes, now())
        principal = Principal(users[who], token, is_reading=False)
        for node, letters in ((nodes["live"], published), (nodes["draft"], unpublished)):
            may = {letter for letter, action in LETTERS.items() if access.allowed(principal, node, action)}
            assert may == set(letters), (who, scopes, letters)
            # Never more than the owner without a token.
            assert all(access.allowed(users[who], node, LETTERS[letter]) for letter in may)
        if "v" not in published:
            # Permanent deletion doesn't include viewing: `access.node` requires both.
            with pytest.raises(Http404):
                access.node(principal, found["live"], NodePermission.DELETE)
        assert access.may_set_up(principal) == (who == "adm" and Scope.ADMINISTER in scopes)


def test_missing_scope_is_named(account, rf):
    request = rf.post("/")
    request.auth = Principal(
        account("ed", "Editors"), Token(None, "t", None, "ed", (Scope.READ,), now()), is_reading=False
    )
    assert principals.require_scope(request, Scope.READ) is request.auth
    with pytest.raises(Problem) as raised:
        principals.require_scope(request, Scope.WRITE)
    assert (raised.value.status, raised.value.more) == (403, {"scope": "write"})


def test_invalid_token_is_refused(account, mongo):
    editor = account("ed", "Editors")
    good, secret = tokens.create(editor, "good", (Scope.READ,))
    _old, expired = tokens.create(editor, "old", (Scope.READ,), now() - timedelta(seconds=1))
    gone, revoked = tokens.create(editor, "gone", (Scope.READ,))
    assert tokens.revoke(gone.id, editor.pk)
    for header in (
        f"Bearer {expired}",
        f"Bearer {revoked}",
        f"Bearer {secret}x",
        "Bearer ",
        "Bearer",
        secret,
        "Basic eDp5",
        "Bearer \x00",
    ):
        answer = Client().get("/api/v1/tree", headers={"Authorization": header})
        assert (answer.status_code, answer["Content-Type"]) == (401, "application/problem+json"), header
        assert answer["WWW-Authenticate"].startswith("Bearer"), header
    assert Client().get("/api/v1/tree", headers={"Authorization": f"bearer {secret}"}).status_code == 200
    editor.is_active = False
    editor.save()
    assert Asker(secret).get("/tree").status_code == 401
    editor.delete()
    assert Asker(secret).get("/tree").status_code == 401
    assert good.id


def test_token_is_stored_as_a_hash_and_its_use_hourly(account, mongo, commands):
    token, secret = tokens.create(account("ed", "Editors"), "mirror", (Scope.READ, Scope.WRITE))
    assert len(secret) >= 40
    stored = mongo["api.tokens"].find_one()
    assert secret not in repr(stored)
    assert secret.removeprefix(tokens.PREFIX) not in repr(stored)
    assert stored["scopes"] == ["read", "write"]
    asker = Asker(secret)
    asker.get("/tree")
    used = mongo["api.tokens"].find_one()["used"]
    assert used is not None
    with commands.recorded() as log:
        assert asker.get("/tree").status_code == 200
    assert log.written == {"rate_limits"}
    mongo["api.tokens"].update_one({"_id": token.id}, {"$set": {"used": used - timedelta(minutes=61)}})
    asker.get("/tree")
    assert mongo["api.tokens"].find_one()["used"] > used - timedelta(minutes=1)


def test_token_over_the_rate_limit_is_refused(account, asker, settings, mongo, commands):
    settings.API = {**settings.API, "READS_PER_MINUTE": 2}
    one, other = asker(account("ed", "Editors"), Scope.READ), Asker()
    answers = [one.get("/tree") for _number in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [answer["RateLimit-Remaining"] for answer in answers] == ["1", "0", "0"]
    assert 1 <= int(answers[2]["Retry-After"]) <= 60
    assert answers[2]["RateLimit-Limit"] == "2"
    known = asker(account("own", "Authors"), Scope.READ)
    unchanged = [known.get("/tree", If_None_Match=answers[0]["ETag"]) for _number in range(2)]
    assert [(answer.status_code, answer["RateLimit-Remaining"]) for answer in unchanged] == [(304, "1"), (304, "0")]
    with commands.recorded() as log:
        assert [other.get("/tree").status_code for _number in range(3)] == [200] * 3
    assert not log.written


def test_creation_is_refused_without_permission_to_view(account, asker, group, mongo):
    user, blog = account("new", "Authors"), build.node("blog", "news")
    only = group("Only adding")
    only.permissions.set(Permission.objects.filter(codename="add_node"))
    user.groups.set([only])
    made = {"type": "blog-entry", "section": str(blog), "title": "Made"}
    assert asker(user, *EVERY).send("POST", "/nodes", made).status_code == 403
    assert mongo["cms.nodes"].count_documents({"metadata.title": "Made"}) == 0
    only.permissions.add(*Permission.objects.filter(codename="change_node"))
    assert asker(user, *EVERY).send("POST", "/nodes", made).status_code == 201


def test_api_is_closed_to_accounts_without_the_admin(account, asker, mongo, client):
    """The account is in a group without access to the admin."""
    blog = build.node("blog", "news")
    build.node("blog-entry", "hidden", parent=blog, published=None)
    made = {"type": "blog-entry", "section": str(blog), "title": "Made", "published": "2020-01-01T00:00:00Z"}
    for group in ("Editors", "Administrators"):
        user = account(group.lower(), group)
        user.is_staff = False
        user.save()
        client.force_login(user)
        by_session = Asker()
        by_session.client = client
        for who in (asker(user, *EVERY), by_session):
            assert who.get("/nodes?state=any").status_code == 403
            assert who.send("POST", "/nodes", made).status_code == 403
            assert who.send("PATCH", "/site/settings", {"name": "Mine"}).status_code == 403
    assert mongo["cms.nodes"].count_documents({"metadata.title": "Made"}) == 0


@pytest.mark.parametrize("kind", ["multipart/form-data", "application/x-www-form-urlencoded; charset=utf-16"])
def test_unreadable_form_returns_a_problem(mongo, account, kind):
    """The check of a session's CSRF token reads the form."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(account("ed", "Editors"))
    client.cookies["csrftoken"] = "x" * 32
    answer = client.post("/api/v1/nodes", b"a=b", content_type=kind)
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
