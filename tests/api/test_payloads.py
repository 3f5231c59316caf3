"""Payloads of known script injections, written through the API: none survives in JSON or on the page."""

import json
import re
from html import escape

import pytest

from api.rights.scopes import Scope
from cms.testing import build
from reader.templatetags.typography import smart
from tests.markup.policy import violations
from tests.support.payloads import ALL, as_received

# Changes per request.
TOGETHER = 100


@pytest.fixture
def blog(mongo):
    return build.node("blog", "news", title="News")


@pytest.fixture
def editor(account, asker):
    return asker(account("ed", "Editors"), Scope.PUBLISH)


def done(asker, operations, status):
    """Send operations to /bulk in batches, and return their results, which must all have this status."""
    found = []
    for first in range(0, len(operations), TOGETHER):
        answer = asker.send("POST", "/bulk", {"operations": operations[first : first + TOGETHER]})
        assert answer.status_code == 200, answer.content
        found += json.loads(answer.content)["results"]
    assert [one for one in found if one["status"] != status] == []
    return found


def said(payload):
    """Return a request body in which every field is a payload."""
    word = " ".join(payload.split())[:190] or "x"
    detail = {"text": payload, "seo_title": word, "seo_description": payload[:200]}
    return {"title": word, "summary": payload, "detail": detail}


# Parts that the site itself adds to a text.
LINK_TO_HEADING = re.compile(r'<a class="anchor" href="#[^"<>]*" aria-label="[^"<>]*"></a>')


@pytest.mark.slow
@pytest.mark.parametrize("way", ["created", "changed"])
def test_payloads_written_by_the_api_never_run(editor, visitor, blog, way, settings):
    settings.API = {**settings.API, "WRITES_PER_MINUTE": 100_000}
    payloads = [as_received(payload) for payload in ALL]
    place = {"type": "blog-entry", "section": str(blog), "published": "2021-01-01T00:00:00Z"}
    first = [said(payload) if way == "created" else {"title": "Before"} for payload in payloads]
    made = [{"do": "create", "body": {**place, **one, "slug": f"p{at}"}} for at, one in enumerate(first)]
    results = done(editor, made, 201)
    if way == "changed":
        changes = [
            {"do": "change", "id": one["id"], "if_match": one["etag"], "body": said(payload)}
            for one, payload in zip(results, payloads, strict=True)
        ]
        done(editor, changes, 200)
    build.node("blog-entry", "plain", parent=blog)
    plain = visitor.client.get("/news/plain").content.decode()
    for at, (result, payload) in enumerate(zip(results, payloads, strict=True)):
        answer = visitor.get(f"/nodes/{result['id']}?include=body_html")
        told = json.loads(answer.content)
        assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == ("application/json", "nosniff")
        assert violations(LINK_TO_HEADING.sub("", told["body_html"]), "article") == [], payload
        page = visitor.client.get(f"/news/p{at}").content.decode()
        assert told["body_html"] in page, payload
        assert escape(smart(told["title"])) in page, payload
        around = page.replace(told["body_html"], "")
        # Some payloads start like a tag that every page has.
        assert "<" not in payload or payload in plain or payload not in around, payload
