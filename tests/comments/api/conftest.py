"""A client of the comments app's HTTP API, which stores the signed values as the guide describes."""

import json
from typing import Any

import pytest
from django.test import Client

from marginalia.comments.types import Target

PREFIX = "/comments/api"
KEY = "0e8bd5a6-7f0a-4c7e-9c39-4d1f5c6f1b60"


class Visitor:
    """A program that reads and writes comments on one object."""

    def __init__(self, target: Target, client: Client | None = None) -> None:
        self.client = client or Client()
        self.on = f"/on/{target.label}/{target.pk}"
        self.own = self.guest = ""

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        signed = {"Comments-Own": self.own, "Comments-Guest": self.guest}
        content = b"" if body is None else json.dumps(body).encode()
        return self.client.generic(method, PREFIX + path, content, "application/json", headers={**signed, **named})

    def of(self, slug: str) -> str:
        """Return the path of a comment."""
        return f"/c{self.on.removeprefix('/on')}/{slug}"

    def post(self, text: str = "Hello", *, key: str = KEY, **fields: Any) -> Any:
        response = self.send("POST", self.on, {"name": "Ann", "text": text, **fields}, Idempotency_Key=key)
        if response.status_code == 201:
            self.own = response.json()["own"]
        return response

    def posted(self, text: str = "Hello", **fields: Any) -> str:
        """Post a comment, and return its slug."""
        response = self.post(text, **fields)
        assert response.status_code == 201, response.content
        slug: str = response.json()["comment"]["slug"]
        return slug

    def read(self, query: str = "") -> Any:
        response = self.send("GET", self.on + query)
        assert response.status_code == 200, response.content
        return response.json()


@pytest.fixture
def visitor(rules, post_page, settings) -> Visitor:
    """A visitor of a page. Comments need no approval."""
    settings.ROOT_URLCONF = "tests.support.comments.rest_urls"
    return Visitor(post_page)
