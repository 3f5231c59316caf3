"""A page of another site that embeds a discussion, and clients that send what its script sends."""

import json
from typing import Any

import pytest
from django.test import Client

from api.models import EmbeddedPage
from marginalia.comments.targets import target_for
from marginalia.comments.types import Target

ORIGIN = "https://blog.example.org"
PAGE = f"{ORIGIN}/posts/7/"
KEY = "0e8bd5a6-7f0a-4c7e-9c39-4d1f5c6f1b60"


def target() -> Target:
    """Return the target of the only embedded page."""
    return target_for(EmbeddedPage.objects.get())


class Browser:
    """A browser on another site. It stores the list of its own comments, and sends no cookies."""

    def __init__(self, origin: str = ORIGIN, token: str = "") -> None:
        self.client, self.origin, self.token, self.own = Client(), origin, token, ""

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Return the response to a request for /api/v1/embed and `path`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            named["Authorization"] = f"Bearer {self.token}"
        data = b"" if body is None else json.dumps(body).encode()
        return self.client.generic(
            method,
            f"/api/v1/embed{path}",
            data,
            "application/json",
            headers={"Origin": self.origin, "Comments-Own": self.own, **named},
        )

    def post(self, text: str = "Hello", *, page: str = PAGE, key: str = KEY, **fields: Any) -> Any:
        """Post a comment, and store the list of own comments."""
        body = {"page": page, "title": "Seven", "name": "Ann", "text": text, **fields}
        response = self.send("POST", "/comments", body, Idempotency_Key=key)
        if response.status_code == 201:
            self.own = response.json()["own"]
        return response

    def read(self, page: str = PAGE, **query: str) -> Any:
        """Return the discussion of a page."""
        response = self.client.get(
            "/api/v1/embed/comments",
            {"page": page, **query},
            headers={"Origin": self.origin, "Comments-Own": self.own}
            | ({"Authorization": f"Bearer {self.token}"} if self.token else {}),
        )
        assert response.status_code == 200, response.content
        return response.json()


@pytest.fixture
def embed(settings, mongo, rules) -> None:
    """Register the other site. Comments need no approval."""
    settings.EMBED = {"ORIGINS": [ORIGIN], "KEYS": []}


@pytest.fixture
def browser(embed) -> Browser:
    return Browser()
