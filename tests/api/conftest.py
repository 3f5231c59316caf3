"""A client of the API, and accounts with tokens."""

import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client

from api.rights import tokens
from api.rights.scopes import Scope


class Asker:
    """A client that sends requests as a visitor or with a token."""

    def __init__(self, secret: str = "") -> None:
        self.client = Client(headers={"Authorization": f"Bearer {secret}"} if secret else {})

    def get(self, path: str, **headers: str) -> Any:
        """Return the response to a GET request for /api/v1 and `path`."""
        return self.client.get(
            f"/api/v1{path}", headers={name.replace("_", "-"): said for name, said in headers.items()}
        )

    def send(self, method: str, path: str, said: Any = None, **headers: str) -> Any:
        """Return the response to a request with a JSON body."""
        return self.client.generic(
            method,
            f"/api/v1{path}",
            json.dumps(said or {}),
            "application/json",
            headers={name.replace("_", "-"): value for name, value in headers.items()},
        )

    def read(self, path: str) -> Any:
        """Return the parsed JSON of a response with status 200."""
        answer = self.get(path)
        assert answer.status_code == 200, (path, answer.content)
        return json.loads(answer.content)


@pytest.fixture
def visitor(mongo) -> Asker:
    return Asker()


@pytest.fixture
def account(mongo):
    """Create an account: account("ann", "Authors")."""

    def make(name: str, group: str = "") -> Any:
        manager = get_user_model()._default_manager
        user = manager.create_user(name, f"{name}@example.org", "pw", is_staff=bool(group))
        user.groups.set(Group.objects.filter(name=group))
        return user

    return make


@pytest.fixture
def asker(mongo):
    """Create a client with a token of an account: asker(user, Scope.READ)."""

    def make(user: Any, *scopes: Scope) -> Asker:
        return Asker(tokens.create(user, "test", scopes)[1])

    return make
