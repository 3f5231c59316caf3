"""The permission request that a proxy sends before it accepts the body of an upload."""

import pytest
from django.test import Client

from api.rights.scopes import Scope
from tests.api.conftest import Asker

PATH = "/photos/may-send"


def test_visitors_and_invalid_tokens_cannot_upload(visitor):
    answer = visitor.get(PATH)
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")
    assert Asker("mrg_unknown").get(PATH).status_code == 401


@pytest.mark.parametrize(
    ("group", "scope", "status"),
    [
        ("", Scope.WRITE, 403),
        ("Moderators", Scope.MODERATE, 403),
        ("Authors", Scope.READ, 403),
        ("Authors", Scope.WRITE, 204),
        ("Editors", Scope.PUBLISH, 204),
    ],
)
def test_token_uploads_only_with_the_right_scope(account, asker, group, scope, status):
    answer = asker(account("ann", group), scope).get(PATH)
    assert (answer.status_code, answer.content) == (status, b"")
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.parametrize(("group", "status"), [("", 403), ("Moderators", 403), ("Authors", 204)])
def test_session_uploads_only_with_the_right_permission(mongo, account, group, status):
    client = Client()
    client.force_login(account("ann", group))
    assert client.get(f"/api/v1{PATH}").status_code == status


def test_closed_account_cannot_upload(account, asker):
    ann = account("ann", "Editors")
    token = asker(ann, Scope.PUBLISH)
    ann.is_active = False
    ann.save()
    assert token.get(PATH).status_code == 401
