"""Idempotency-Key: a repeated request is executed once and gets the same response, also after a crash."""

import json
from datetime import timedelta
from functools import partial

import pytest
from bson import ObjectId

from api.rights import tokens
from api.rights.scopes import Scope
from cms.testing import build
from cms.testing.build import stored
from marginalia.mongo.clock import now
from nodes.services import editing
from nodes.types import Actor
from tests.api.conftest import Asker
from tests.support.concurrency import run_concurrently
from tests.support.crashing import killed_after_writes
from tests.support.interrupting import stopped_before_command

KEY = "8e03978e-40d5-43dd-bc93-6894a57f9324"


@pytest.fixture
def secret(account, mongo):
    return tokens.create(account("ed", "Editors"), "test", (Scope.WRITE, Scope.PUBLISH))[1]


@pytest.fixture
def new(mongo):
    blog = build.node("blog", "news", title="News")
    return {"type": "blog-entry", "section": str(blog), "title": "Post", "tags": ["a"], "detail": {"text": "Words"}}


def make(secret, new, key=KEY):
    return Asker(secret).send("POST", "/nodes", new, Idempotency_Key=key)


def posts(mongo):
    return mongo["cms.nodes"].count_documents({"metadata.type": "blog-entry"})


def test_twenty_concurrent_requests_with_one_key_create_one_node(secret, new, mongo):
    answers = run_concurrently(20, lambda number: make(secret, new))
    assert {(answer.status_code, answer.content, answer["ETag"], answer["Location"]) for answer in answers} == {
        (201, answers[0].content, answers[0]["ETag"], answers[0]["Location"])
    }
    assert posts(mongo) == 1
    kept = mongo["cms.nodes"].find_one({"metadata.type": "blog-entry"})["metadata"]
    said = json.loads(answers[0].content)
    assert (kept["tags"], kept["slug"], str(kept["nonce"])) == (["a"], said["slug"], said["nonce"])


def test_key_is_bound_to_one_account_and_one_request(secret, new, account, mongo):
    first = make(secret, new)
    reused = make(secret, {**new, "title": "Other"})
    assert (reused.status_code, json.loads(reused.content)["type"]) == (422, "/api/v1/#key-reused")
    other = tokens.create(account("other", "Editors"), "test", (Scope.WRITE,))[1]
    second = make(other, {**new, "title": "Other"})
    assert second.status_code == 201
    assert json.loads(first.content)["id"] != json.loads(second.content)["id"]
    assert make(secret, new, "x" * 256).status_code == 400
    assert make(tokens.create(account("third", "Authors"), "test", (Scope.READ,))[1], new).status_code == 403
    assert posts(mongo) == 2


def test_repeated_creation_returns_the_page_published_since(new, account, mongo):
    author = tokens.create(account("own", "Authors"), "test", (Scope.WRITE,))[1]
    first = make(author, new)
    mongo["api.answers"].delete_many({})
    key = ObjectId(json.loads(first.content)["id"])
    editing.save(Actor(None, "Bob"), key, stored(key)["nonce"], {"published": now()})
    again = make(author, new)
    assert (again.status_code, json.loads(again.content)["id"], posts(mongo)) == (201, str(key), 1)


def test_repeated_request_returns_the_stored_response(secret, new, mongo):
    first = make(secret, new)
    key, asker = json.loads(first.content)["id"], Asker(secret)
    changed = asker.send("PATCH", f"/nodes/{key}", {"title": "New"}, If_Match=first["ETag"], Idempotency_Key="change")
    assert changed.status_code == 200
    editing.save(Actor(None, "Bob"), ObjectId(key), stored(ObjectId(key))["nonce"], {"title": "Newer"})
    kept = mongo["cms.nodes"].find_one({"_id": ObjectId(key)})
    again = asker.send("PATCH", f"/nodes/{key}", {"title": "New"}, If_Match=first["ETag"], Idempotency_Key="change")
    assert (again.status_code, again.content, again["ETag"]) == (200, changed.content, changed["ETag"])
    assert (make(secret, new).content, make(secret, new)["ETag"]) == (first.content, first["ETag"])
    assert mongo["cms.nodes"].find_one({"_id": ObjectId(key)}) == kept


def test_refused_request_can_be_retried_with_its_key(secret, new, mongo):
    taken = build.node("blog-entry", "taken", parent=ObjectId(new["section"]))
    assert make(secret, {**new, "slug": "taken"}).status_code == 422
    editing.save(Actor(None, "Bob"), taken, stored(taken)["nonce"], {"slug": "free"})
    assert make(secret, {**new, "slug": "taken"}).status_code == 201


def test_unanswered_change_is_not_applied_twice(secret, new, mongo):
    with stopped_before_command("update", "api.answers"):
        make(secret, new)
    key = mongo["cms.nodes"].find_one({"metadata.type": "blog-entry"})["_id"]
    first = make(secret, new)
    assert (first.status_code, json.loads(first.content)["id"], posts(mongo)) == (201, str(key), 1)

    def change():
        said = {"detail": {"text": "Changed"}, "tags": ["b"]}
        return Asker(secret).send("PATCH", f"/nodes/{key}", said, If_Match=first["ETag"], Idempotency_Key="change")

    with stopped_before_command("update", "api.answers"):
        change()
    kept = stored(key)
    assert (kept["detail"]["text"], kept["tags"]) == ("Changed", ["b"])
    # Others change fields that the request doesn't change, and fields that it changes.
    editing.save(Actor(None, "Bob"), key, kept["nonce"], {"title": "Newer", "detail.text": "Changed, newer"})
    newer = stored(key)
    answer = change()
    assert (answer.status_code, json.loads(answer.content)["nonce"]) == (200, str(newer["nonce"]))
    assert stored(key) == newer


def test_responses_are_stored_for_at_least_a_day(secret, new, mongo):
    make(secret, new)
    (index,) = [one for one in mongo["api.answers"].list_indexes() if "expireAfterSeconds" in one]
    assert index["expireAfterSeconds"] >= timedelta(days=1).total_seconds()
    assert now() - mongo["api.answers"].find_one()["created"] < timedelta(minutes=1)


def test_forgotten_key_creates_what_the_new_request_asks(secret, new, mongo):
    first = make(secret, new)
    mongo["api.answers"].delete_many({})
    other = make(secret, {**new, "title": "Other"})
    assert (other.status_code, json.loads(other.content)["title"]) == (201, "Other")
    assert posts(mongo) == 2
    mongo["api.answers"].delete_many({})
    assert json.loads(make(secret, new).content)["id"] == json.loads(first.content)["id"]
    assert posts(mongo) == 2


@pytest.mark.slow  # one process per write
def test_killed_request_sent_again_is_applied_once(secret, new, mongo):
    writes = 0
    while killed_after_writes(writes, partial(make, secret, new, f"make {writes}")):
        assert make(secret, new, f"make {writes}").status_code == 201
        writes += 1
        assert posts(mongo) == writes
    assert writes >= 4
    key = mongo["cms.nodes"].find_one({"metadata.type": "blog-entry"})["_id"]
    writes = 0

    def change(seen, attempt):
        said, key_of_it = {"title": f"Title {attempt}", "tags": [f"tag{attempt}"]}, f"change {attempt}"
        return Asker(secret).send("PATCH", f"/nodes/{key}", said, If_Match=f'"{seen}"', Idempotency_Key=key_of_it)

    while killed_after_writes(writes, partial(change, seen := stored(key)["nonce"], writes)):
        assert change(seen, writes).status_code == 200
        kept = stored(key)
        assert (kept["title"], kept["tags"]) == (f"Title {writes}", [f"tag{writes}"])
        # One save. Revisions of a killed save are in no history.
        assert mongo["cms.revisions"].find_one({"_id": kept["nonce"]})["parent"] == seen
        writes += 1
    assert writes >= 4
