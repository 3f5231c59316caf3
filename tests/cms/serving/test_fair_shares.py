"""Readers during bulk requests: the running server keeps threads free for them."""

import http.client
import json
from collections import Counter

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group

from api.rights import tokens
from api.rights.scopes import Scope
from cms.testing import build
from tests.support.concurrency import run_concurrently
from tests.support.running import Web, served

BULKS, READERS, CHANGES = 24, 4, 4
TEXT = "Some *words* of a [longer](https://example.org) text, with `code` and others.\n\n" * 1_900  # 150 kB
# Maximum seconds that a reader waits. The other requests need minutes.
PATIENCE = 15


@pytest.fixture
def web(tmp_path, mongo):
    with served(tmp_path, REQUESTS_AT_ONCE="8") as web:
        yield web


def secrets_of(count: int) -> list[str]:
    """Return tokens of the given number of authors."""
    found = []
    for number in range(count):
        user = get_user_model()._default_manager.create_user(f"author{number}", "", "pw", is_staff=True)
        user.groups.set(Group.objects.filter(name="Editors"))
        found.append(tokens.create(user, "test", (Scope.WRITE,))[1])
    return found


def bulk(web: Web, secret: str, section: str, number: int) -> int:
    """Send one bulk request with long texts, and return its status."""
    new = {"type": "blog-entry", "section": section, "detail": {"text": TEXT}}
    made = [{"do": "create", "body": {**new, "title": f"Post {number} {i}"}} for i in range(CHANGES)]
    asked = http.client.HTTPConnection("127.0.0.1", web.port, timeout=300)
    try:
        headers = {
            "Host": f"localhost:{web.port}",
            "Authorization": f"Bearer {secret}",
            "Content-Type": "application/json",
        }
        asked.request("POST", "/api/v1/bulk", json.dumps({"operations": made}), headers)
        return asked.getresponse().status
    finally:
        asked.close()


def read(web: Web, number: int) -> int:
    """Read an uncached page, and return its status."""
    asked = http.client.HTTPConnection("127.0.0.1", web.port, timeout=PATIENCE)
    try:
        asked.request("GET", f"/search?q=word{number}", headers={"Host": f"localhost:{web.port}"})
        return asked.getresponse().status
    finally:
        asked.close()


@pytest.mark.slow
@pytest.mark.parametrize("authors", [1, BULKS])
def test_readers_are_served_during_bulk_requests(web, authors):
    section, secrets = str(build.node("blog", "news", title="News")), secrets_of(authors)
    ended: list[int] = []

    def part(number: int) -> Counter[int]:
        found: Counter[int] = Counter()
        if number < BULKS:
            found[bulk(web, secrets[number % authors], section, number)] += 1
            ended.append(number)
        while number >= BULKS and len(ended) < BULKS:
            found[read(web, number * 1_000 + found.total())] += 1
        return found

    answers = run_concurrently(BULKS + READERS, part)
    bulks, readers = sum(answers[:BULKS], Counter()), sum(answers[BULKS:], Counter())
    assert set(readers) == {200}, readers
    assert bulks[200] >= 1
    assert set(bulks) <= {200, 429, 503}, bulks
