"""Clients that post comments over HTTP, and discussions in every storage layout."""

import json
import re
from typing import Any

import pytest

from marginalia.comments.moderation import batches
from tests.api.conftest import Asker
from tests.support.comments.layouts import FORMS

KEY = "0e8bd5a6-7f0a-4c7e-9c39-4d1f5c6f1b60"
MISSING = "mfzwizltoq2gk3tu"


class Writer:
    """Sends JSON to the API as an asker."""

    def __init__(self, asker: Asker | None = None) -> None:
        self.asker = asker or Asker()

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Return the answer to a request; `If_Match="1"` is a header."""
        named = {name.replace("_", "-"): said for name, said in headers.items()}
        data = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
        return getattr(self.asker.client, method)(f"/api/v1{path}", headers=named, **data)

    def post(self, target: Any, text: str = "Hello", *, key: str = KEY, **said: Any) -> Any:
        """Return the response to posting a comment. `name` applies only to visitors."""
        said = {"text": text, "name": "Ann", **said}
        return self.send("post", of(target), said, Idempotency_Key=key)


def of(target: Any, slug: str = "") -> str:
    """Return the path of a discussion, or of one comment in it."""
    return f"/nodes/{target.pk}/comments" + (f"/{slug}" if slug else "")


def said(answer: Any) -> Any:
    """Return the parsed JSON of a response, which must not contain an email address."""
    assert not re.search(rb"\b(?!name@)\w+@example\.org", answer.content), answer.content
    return json.loads(answer.content)


@pytest.fixture
def patient_requests(monkeypatch):
    """Requests finish their decisions, even on a busy machine."""
    monkeypatch.setattr(batches, "SECONDS", 60)


@pytest.fixture
def writer(mongo) -> Writer:
    return Writer()


@pytest.fixture(
    params=[pytest.param(one, marks=pytest.mark.slow) if number else one for number, one in enumerate(FORMS)]
)
def discussed(request, post_page, rules):
    """A post whose discussion has a layout and an order. Only the first combination is in the quick tests."""
    layout, order = request.param
    rules(TARGETS={"nodes.node": {"LAYOUT": layout, "ORDER": str(order)}})
    return post_page
