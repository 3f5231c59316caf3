"""Redirects and tags in the API, for accounts that can publish."""

import json

import pytest

from api.rights.scopes import Scope
from cms.testing import build
from nodes.selectors import manual_redirects, stored_tags

PATH = "/redirects"


def told(answer, status=200):
    assert answer.status_code == status, answer.content
    return json.loads(answer.content)


@pytest.fixture
def chief(account, asker, mongo):
    build.node("blog", "news", tags=("paper",))
    return asker(account("ed", "Editors"), Scope.PUBLISH)


def test_redirect_is_added_changed_listed_and_deleted(chief, client):
    made = told(chief.send("POST", PATH, {"url": "/Old/", "target": "/news"}))
    assert (made["url"], made["target"], made["hits"]) == ("/old", "/news", 0)
    assert made["node"] == manual_redirects.get("/old").target.removeprefix("node:")
    assert told(chief.send("POST", PATH, {"url": "/old", "target": "/news"}))["etag"] == made["etag"]
    assert chief.send("PATCH", f"{PATH}?url=/old", {"target": "https://example.org/"}).status_code == 428
    changed = told(chief.send("PATCH", f"{PATH}?url=/old", {"target": "https://example.org/"}, If_Match=made["etag"]))
    assert (changed["target"], changed["node"]) == ("https://example.org/", None)
    stale = chief.send("DELETE", f"{PATH}?url=/old", If_Match=made["etag"])
    assert stale.status_code == 412
    chief.send("POST", PATH, {"url": "/older", "target": "/news"})
    first = told(chief.get(f"{PATH}?limit=1"))
    assert [item["url"] for item in first["items"]] == ["/old"]
    assert [item["url"] for item in told(chief.get(f"{PATH}?cursor={first['next']}"))["items"]] == ["/older"]
    assert chief.send("DELETE", f"{PATH}?url=/old", If_Match=changed["etag"]).status_code == 204
    assert client.get("/old").status_code == 404


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"url": "/news", "target": "https://example.org/"}, "body.url"),
        ({"url": "/old", "target": "/nowhere"}, "body.target"),
        ({"url": "/old", "target": "javascript:alert(1)"}, "body.target"),
    ],
)
def test_useless_redirects_are_refused(chief, data, path):
    problem = told(chief.send("POST", PATH, data), 422)
    assert [error["field"] for error in problem["errors"]] == [path]


def test_tag_is_described_renamed_and_merged(chief, client):
    build.node("blog", "notes", tags=("ink",))
    described = told(chief.send("POST", "/tags/change", {"tag": "paper", "description": "Sheets"}))
    assert described == {"name": "paper", "description": "Sheets", "is_complete": True}
    assert told(chief.send("POST", "/tags/change", {"tag": "paper", "name": "vellum"}))["description"] == "Sheets"
    assert chief.send("POST", "/tags/change", {"tag": "paper", "name": "x"}).status_code == 404
    assert chief.send("POST", "/tags/change", {"tag": "vellum", "name": "ink"}).status_code == 409
    assert told(chief.send("POST", "/tags/change", {"tag": "vellum", "name": "ink", "merge": True}))["name"] == "ink"
    assert told(chief.get("/tags"))["items"] == [
        {"name": "ink", "description": "Sheets", "count": 2, "path": "/tag/ink"}
    ]
    assert client.get("/tag/paper")["Location"] == "/tag/ink"


def test_merged_tag_is_returned_with_its_capitals_and_description(chief):
    build.node("blog", "notes", tags=("News",))
    chief.send("POST", "/tags/change", {"tag": "News", "description": "What is new"})
    merged = told(chief.send("POST", "/tags/change", {"tag": "paper", "name": "news", "merge": True}))
    assert merged == {"name": "News", "description": "What is new", "is_complete": True}


def test_search_for_a_null_character_succeeds(chief):
    chief.send("POST", PATH, {"url": "/old", "target": "/news"})
    assert [item["url"] for item in told(chief.get(f"{PATH}?q=ol%00d"))["items"]] == ["/old"]


def test_other_accounts_and_scopes_are_refused(chief, account, asker):
    made = told(chief.send("POST", PATH, {"url": "/old", "target": "/news"}))
    author = asker(account("jo", "Authors"), Scope.PUBLISH)
    reader = asker(account("ann", "Editors"), Scope.READ)
    assert author.get(PATH).status_code == 403
    for who in (author, reader):
        assert who.send("POST", PATH, {"url": "/x", "target": "/news"}).status_code == 403
        assert who.send("DELETE", f"{PATH}?url=/old", If_Match=made["etag"]).status_code == 403
        assert who.send("PATCH", f"{PATH}?url=/old", {"target": "/x"}, If_Match=made["etag"]).status_code == 403
        assert who.send("POST", "/tags/change", {"tag": "paper", "name": "vellum"}).status_code == 403
    assert manual_redirects.get("/old").target.startswith("node:")
    assert stored_tags.count("paper") == 1
