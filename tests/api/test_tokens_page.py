"""The admin page where tokens are created, shown once, and revoked."""

import re
from datetime import timedelta

import pytest
from django.test import Client

from api.rights import tokens
from api.rights.scopes import Scope
from marginalia.mongo.clock import now
from tests.api.conftest import Asker

PAGE = "/admin/tokens/"


@pytest.fixture
def signed_in(account):
    def make(name, group):
        client = Client()
        client.force_login(user := account(name, group))
        return client, user

    return make


def test_token_is_created_shown_once_and_revoked(signed_in, mongo):
    client, user = signed_in("ed", "Editors")
    assert f'href="{PAGE}"' in client.get("/admin/").content.decode()
    answer = client.post(PAGE, {"name": "zqmirror", "scopes": ["read", "moderate"], "days": "30"})
    secret = re.search(r'value="(mrg_[\w-]+)"', answer.content.decode())[1]
    assert "no-store" in answer["Cache-Control"]
    stored = mongo["api.tokens"].find_one()
    assert (stored["name"], stored["scopes"], stored["owner_id"]) == ("zqmirror", ["moderate", "read"], user.pk)
    (token,) = tokens.list_for(user.pk)
    assert timedelta(days=29) < token.expires - now() <= timedelta(days=30)
    listed = client.get(PAGE).content.decode()
    assert "zqmirror" in listed
    assert secret not in listed
    assert Asker(secret).get("/nodes?state=any").status_code == 200
    client.post(PAGE, {"revoke": str(token.id)})
    assert Asker(secret).get("/tree").status_code == 401
    assert "Revoked" in client.get(PAGE).content.decode()


def test_valid_tokens_are_listed_before_expired_ones(signed_in, monkeypatch):
    client, user = signed_in("ed", "Editors")
    past, ahead = now() - timedelta(days=1), now() + timedelta(days=1)
    made = [
        tokens.create(user, f"zq{n}", (), expires)[0].id for n, expires in enumerate((None, ahead, past, past, None))
    ]
    tokens.revoke(made[4], user.pk)
    for most, wanted in ((2, [1, 0, 4, 3]), (200, [1, 0, 4, 3, 2])):
        monkeypatch.setattr(tokens, "MAX_ENDED", most)
        for owner_id in (user.pk, None):
            assert [made.index(token.id) for token in tokens.list_for(owner_id)] == wanted
        assert client.get(PAGE).content.decode().count('name="revoke"') == 2
    monkeypatch.setattr(tokens, "MAX_ENDED", 1)
    assert [made.index(token.id) for token in tokens.list_for(user.pk)] == [1, 0, 4]


def test_invalid_form_creates_no_token(signed_in, mongo):
    client, _user = signed_in("ed", "Editors")
    for wrong in ({"name": ""}, {"scopes": ["root"]}, {"days": "9999"}, {"days": "x"}):
        answer = client.post(PAGE, {"name": "zqmirror", "days": "30"} | wrong)
        assert "errorlist" in answer.content.decode(), wrong
    assert mongo["api.tokens"].count_documents({}) == 0


def test_tokens_of_others_need_permission_on_accounts(signed_in, mongo):
    author, user = signed_in("own", "Authors")
    other, _user = signed_in("oth", "Authors")
    chief, _user = signed_in("adm", "Administrators")
    token, secret = tokens.create(user, "zqmirror", (Scope.READ,))
    assert "zqmirror" not in other.get(PAGE).content.decode()
    for named in (str(token.id), "x", "$ne"):
        other.post(PAGE, {"revoke": named})
    assert Asker(secret).get("/tree").status_code == 200
    assert "zqmirror" in chief.get(PAGE).content.decode()
    chief.post(PAGE, {"revoke": str(token.id)})
    assert Asker(secret).get("/tree").status_code == 401
    assert Client().get(PAGE).status_code == 302
    assert author.get(PAGE).status_code == 200
