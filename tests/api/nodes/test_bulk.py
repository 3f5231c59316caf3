"""Many changes in one request. Each has its own result."""

import json

import pytest
from bson import ObjectId
from pymongo.errors import AutoReconnect

from api.nodes import operations
from api.problems import RETRY_AFTER
from api.rights import tokens
from api.rights.scopes import Scope
from cms.testing import build
from cms.testing.build import nonce, stored
from nodes.errors import TooBusy
from tests.api.conftest import Asker
from tests.support.interrupting import before_command, stopped_before_command


@pytest.fixture
def editor(account, asker):
    return asker(account("ed", "Editors"), Scope.WRITE, Scope.PUBLISH)


@pytest.fixture
def blog(mongo):
    return build.node("blog", "news", title="News")


def new(blog, title):
    return {"do": "create", "body": {"type": "blog-entry", "section": str(blog), "title": title}}


def results(answer):
    assert answer.status_code == 200, answer.content
    return json.loads(answer.content)["results"]


def test_failed_change_does_not_stop_the_others(editor, blog, mongo):
    pages = [build.node("basic-page", f"page{number}", tags=("a",)) for number in range(7)]

    def one(do, number, body=None, **said):
        seen = {"if_match": f'"{nonce(pages[number])}"', **said}
        return {"do": do, "id": str(pages[number]), "body": body or {}, **seen}

    sent = [
        new(blog, "Made"),
        {"do": "create", "body": {"type": "blog-entry", "title": "", "$x": 1}},
        one("change", 0, {"title": "Changed"}),
        one("change", 1, {"title": "Stale"}, if_match=f'"{ObjectId()}"'),
        one("change", 1, {"title": "Unread"}, if_match=""),
        one("change", 1, {"title": "Draft"}, version="draft"),
        one("unpublish", 2),
        one("unpublish", 2, {"x": 1}),
        one("trash", 3),
        {"do": "tag", "id": str(pages[4]), "body": {"add": ["b"], "remove": ["a"]}},
        {"do": "trash", "id": str(ObjectId()), "if_match": f'"{ObjectId()}"'},
        {"do": "publish", "if_match": "x"},
        one("move", 5, {"slug": "moved"}),
        one("unpublish", 6),
        one("schedule", 6, {"at": "2999-01-01T00:00:00Z"}, if_match=""),
    ]
    found = results(editor.send("POST", "/bulk", {"operations": sent}))
    assert [one["status"] for one in found] == [
        201,
        422,
        200,
        412,
        428,
        200,
        200,
        422,
        204,
        200,
        404,
        422,
        200,
        200,
        428,
    ]
    assert [one["field"] for one in found[1]["problem"]["errors"]] == ["body.title", "body.$x"]
    assert found[3]["problem"]["stored"] == {"title": "Page1"}
    assert found[0]["etag"] == f'"{nonce(ObjectId(found[0]["id"]))}"'
    assert [stored(pages[0])["title"], stored(pages[1])["title"], stored(pages[2])["published"]] == [
        "Changed",
        "Page1",
        None,
    ]
    draft = mongo["cms.nodes"].find_one({"_id": pages[1]})["draft"]
    assert (draft["metadata"]["title"], found[5]["etag"]) == ("Draft", f'"{draft["nonce"]}"')
    assert mongo["cms.trash"].find_one({"_id": pages[3]}) is not None
    assert (stored(pages[4])["tags"], stored(pages[5])["slug"], stored(pages[6])["published"]) == (["b"], "moved", None)


def test_version_draft_without_a_draft_is_refused(editor, blog, mongo):
    page, before = build.node("basic-page", "page"), list(mongo["cms.nodes"].find().sort("_id"))
    seen = {"id": str(page), "if_match": f'"{nonce(page)}"', "version": "draft"}
    sent = [{"do": do, **seen} for do in ("unpublish", "tag", "trash", "restore")]
    sent += [{"do": "move", **seen, "body": {"slug": "moved"}}, {**new(blog, "Post"), "version": "draft"}]
    found = results(editor.send("POST", "/bulk", {"operations": sent}))
    assert [(one["status"], one["problem"]["errors"][0]["field"]) for one in found] == [(422, "version")] * 6
    assert list(mongo["cms.nodes"].find().sort("_id")) == before


def test_etag_is_valid_for_the_next_change(editor, mongo):
    page, draft = build.node("basic-page", "page"), {"version": "draft"}

    def do(what, seen, body=None, **said):
        sent = {"do": what, "id": str(page), "if_match": seen, "body": body or {}, **said}
        (found,) = results(editor.send("POST", "/bulk", {"operations": [sent]}))
        assert found["status"] == 200, found
        return found["etag"]

    live = f'"{nonce(page)}"'
    etag = do("change", live, {"title": "Drafted"}, **draft)
    etag = do("schedule", etag, {"at": "2999-01-01T00:00:00Z"}, **draft)
    assert do("unschedule", etag) == etag != live
    assert do("discard", do("change", etag, {"title": "Again"}, **draft), **draft) == live


def test_interrupted_bulk_resumes_where_it_stopped(account, blog, mongo):
    secret = tokens.create(account("ed", "Editors"), "test", (Scope.WRITE,))[1]
    sent = {"operations": [new(blog, f"Post {number}") for number in range(3)]}

    def send():
        return Asker(secret).send("POST", "/bulk", sent, Idempotency_Key="bulk")

    def is_third(command):
        return command["documents"][0]["metadata"]["title"] == "Post 2"

    with stopped_before_command("insert", "cms.nodes", is_third):
        send()
    assert mongo["cms.nodes"].count_documents({"metadata.type": "blog-entry"}) == 2
    first = send()
    assert [one["status"] for one in results(first)] == [201] * 3
    assert mongo["cms.nodes"].count_documents({"metadata.type": "blog-entry"}) == 3
    assert send().content == first.content


def test_bulk_stops_during_an_outage_and_resumes(account, blog, mongo, monkeypatch):
    secret = tokens.create(account("ed", "Editors"), "test", (Scope.WRITE,))[1]
    sent = {"operations": [new(blog, f"Post {number}") for number in range(4)]}
    tried, create = [], operations.create

    def failing(principal, form, body):
        tried.append(body["title"])
        if tried == ["Post 0", "Post 1"]:
            raise AutoReconnect("away")
        return create(principal, form, body)

    def send():
        return Asker(secret).send("POST", "/bulk", sent, Idempotency_Key="bulk")

    monkeypatch.setattr(operations, "create", failing)
    answer = send()
    assert [one["status"] for one in results(answer)] == [201, 503, 503, 503]
    assert (answer["Retry-After"], tried) == (str(RETRY_AFTER), ["Post 0", "Post 1"])
    assert [one["status"] for one in results(send())] == [201] * 4
    assert mongo["cms.nodes"].count_documents({"metadata.type": "blog-entry"}) == 4


@pytest.mark.parametrize(("error", "status"), [(TooBusy(), 503), (RuntimeError("bug"), 500)])
def test_change_that_failed_on_the_server_is_retried(error, status, account, blog, mongo, monkeypatch):
    secret = tokens.create(account("ed", "Editors"), "test", (Scope.WRITE,))[1]
    sent, failing = {"operations": [new(blog, f"Post {number}") for number in range(3)]}, [error]
    create = operations.create

    def at_first_failing(principal, form, body):
        if failing and body["title"] == "Post 1":
            raise failing.pop()
        return create(principal, form, body)

    def send():
        return Asker(secret).send("POST", "/bulk", sent, Idempotency_Key="bulk")

    monkeypatch.setattr(operations, "create", at_first_failing)
    first = send()
    assert ([one["status"] for one in results(first)], first["Retry-After"]) == ([201, status, 201], str(RETRY_AFTER))
    assert [one["status"] for one in results(send())] == [201] * 3
    assert mongo["cms.nodes"].count_documents({"metadata.type": "blog-entry"}) == 3


def test_bulk_is_limited_to_100_changes_by_writers(editor, blog, account, asker, mongo):
    assert editor.send("POST", "/bulk", {"operations": [new(blog, "x")] * 101}).status_code == 422
    assert editor.send("POST", "/bulk", {"operations": [{"do": "drop"}]}).status_code == 422
    reader = asker(account("r", "Editors"), Scope.READ)
    assert reader.send("POST", "/bulk", {"operations": [new(blog, "x")]}).status_code == 403
    assert Asker().send("POST", "/bulk", {"operations": [new(blog, "x")]}).status_code == 401
    author = asker(account("own", "Authors"), Scope.WRITE)
    page = build.node()
    sent = [{"do": "change", "id": str(page), "if_match": f'"{nonce(page)}"', "body": {"title": "x"}}]
    assert [one["status"] for one in results(author.send("POST", "/bulk", {"operations": sent}))] == [404]
    assert mongo["cms.nodes"].count_documents({"metadata.type": "blog-entry"}) == 0


def test_each_change_counts_toward_the_rate_limit(editor, blog, settings, mongo):
    settings.API = {**settings.API, "WRITES_PER_MINUTE": 5}

    def send(count):
        return editor.send("POST", "/bulk", {"operations": [new(blog, f"Post {number}") for number in range(count)]})

    answer = send(3)
    assert (len(results(answer)), answer["RateLimit-Remaining"]) == (3, "2")
    refused = send(3)
    assert (refused.status_code, refused["RateLimit-Remaining"]) == (429, "1")
    assert mongo["cms.nodes"].count_documents({"metadata.type": "blog-entry"}) == 3
    assert len(results(send(1))) == 1


def test_bulk_over_the_limit_is_accepted_alone_in_a_minute(editor, blog, settings):
    settings.API = {**settings.API, "WRITES_PER_MINUTE": 2}
    sent = {"operations": [new(blog, f"Post {number}") for number in range(4)]}
    assert len(results(editor.send("POST", "/bulk", sent))) == 4
    assert editor.send("POST", "/bulk", {"operations": []}).status_code == 429


def test_long_texts_count_as_several_changes(editor, blog, settings):
    settings.API = {**settings.API, "WRITES_PER_MINUTE": 10}
    long = {
        "operations": [{"do": "create", "body": {**new(blog, "Long")["body"], "detail": {"text": "word " * 20_000}}}]
    }
    answer = editor.send("POST", "/bulk", long)
    assert (answer.status_code, answer["RateLimit-Remaining"]) == (200, "4")
    assert editor.send("POST", "/bulk", long).status_code == 429


def test_account_runs_one_bulk_at_a_time(account, asker, blog, mongo):
    ed, other = account("ed", "Editors"), asker(account("eve", "Editors"), Scope.WRITE)
    first, second = asker(ed, Scope.WRITE), asker(ed, Scope.WRITE)
    seen = []

    def send(who):
        answer = who.send("POST", "/bulk", {"operations": [new(blog, "Post")]})
        seen.append((answer.status_code, answer.headers.get("Retry-After")))

    def meanwhile():
        send(second)
        send(other)

    with before_command("insert", "cms.nodes", meanwhile):
        send(first)
    send(second)
    assert seen == [(429, "15"), (200, None), (200, None), (200, None)]
