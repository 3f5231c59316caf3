"""Saves, moves and drafts stopped after each of their writes: the node is whole, and the next merge has its base."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from bson import ObjectId

from cms.testing.build import node, nonce, stored
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.models import tree
from nodes.services import drafts, editing, integrity, scheduled, trash, write
from nodes.types import Actor, TagChange
from tests.support.crashing import killed_after_writes

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("mongo")]

ANN, BOB = Actor(None, "Ann"), Actor(None, "Bob")


@pytest.fixture
def soon_over(mongo):
    """Let the server end a dead client's transaction after ten seconds instead of sixty."""
    admin = mongo.client.admin
    before = admin.command("setParameter", 1, transactionLifetimeLimitSeconds=10)["was"]
    yield
    admin.command("setParameter", 1, transactionLifetimeLimitSeconds=before)


def audit() -> None:
    """Assert that only faults that check_nodes repairs exist, and that every node has the base of its next merge."""
    database()["cms.revisions"].update_many({}, {"$set": {"saved_at": now() - timedelta(days=2)}})
    database()["cms.redirects"].update_many({}, {"$set": {"kept_at": now() - timedelta(days=2)}})
    assert {finding.kind for finding in integrity.check(fix=True)} <= {integrity.ORPHAN, integrity.REDIRECT}
    assert list(integrity.check()) == []
    for name in ("cms.nodes", "cms.trash"):
        for document in database()[name].find():
            assert write.load_base(document["_id"], document["metadata"]["nonce"]) is not None


def killed_at_each_write(work: Callable[[], Any], check: Callable[[], None]) -> int:
    """Stop `work` after 0, 1, 2… writes, each time followed by `check`. Return the number of its writes."""
    writes = 0
    while killed_after_writes(writes, work):
        writes += 1
        check()
        audit()
    return writes


def test_save_killed_after_any_write_keeps_the_node_whole():
    node_id = node(slug="page", title="Old", text="one\n\ntwo", tags=("a",))
    seen = nonce(node_id)
    mine = {"title": "New", "detail.text": "one of Ann\n\ntwo", "slug": "renamed"}
    tags = TagChange.between("a", "b")

    def check() -> None:
        metadata = stored(node_id)
        whole = metadata["title"], metadata["detail"]["text"], metadata["slug"], metadata["tags"]
        assert whole in (("Old", "one\n\ntwo", "page", ["a"]), ("New", "one of Ann\n\ntwo", "renamed", ["b"]))
        # An editor whose form is as old as Ann's still merges.
        editing.save(BOB, node_id, seen, {"detail.text": "one\n\ntwo of Bob"})
        editing.save(BOB, node_id, nonce(node_id), {"detail.text": whole[1]})

    assert killed_at_each_write(lambda: editing.save(ANN, node_id, seen, mine, tags), check) >= 4
    assert stored(node_id)["title"] == "New"
    assert stored(node_id)["tags"] == ["b"]
    assert database()["cms.redirects"].find_one()["node_id"] == node_id


def test_creation_killed_after_any_write_is_whole_or_absent():
    chosen = ObjectId()

    def make() -> None:
        editing.create(ANN, type="basic-page", parent_id=None, slug="made", title="Made", node_id=chosen)

    def check() -> None:
        made = database()["cms.nodes"].find_one()
        assert made is None or made["metadata"]["title"] == "Made"

    assert killed_at_each_write(make, check) >= 2
    assert database()["cms.nodes"].count_documents({}) == 1


@pytest.mark.usefixtures("soon_over")
def test_move_killed_after_any_write_leaves_one_place():
    outer, section = node("folder", "outer"), node("folder", "section")
    inside = node(slug="inside", parent=section)

    def check() -> None:
        assert stored(section)["parent_id"] in (None, outer)
        assert tree.load().ancestors(section) is not None
        assert stored(inside)["parent_id"] == section

    def move() -> None:
        editing.save(ANN, section, nonce(section), {"parent_id": outer})

    assert killed_at_each_write(move, check) >= 4
    assert stored(section)["parent_id"] == outer


def test_draft_killed_after_any_write_is_old_or_new():
    node_id = node(title="Live", text="text")
    first = drafts.save_draft(ANN, node_id, nonce(node_id), {"title": "First"}).nonce

    def check() -> None:
        document = database()["cms.nodes"].find_one()
        assert document["metadata"]["title"] == "Live"
        assert document["draft"]["metadata"]["title"] in ("First", "Second")

    assert killed_at_each_write(lambda: drafts.save_draft(ANN, node_id, first, {"title": "Second"}), check) >= 2

    def published() -> None:
        document = database()["cms.nodes"].find_one()
        assert ("draft" in document, document["metadata"]["title"]) in ((True, "Live"), (False, "Second"))

    def publish() -> None:
        draft = database()["cms.nodes"].find_one()["draft"]
        drafts.publish_draft(ANN, node_id, draft["nonce"])

    assert killed_after_writes(0, publish)
    published()
    assert killed_after_writes(1, publish)
    published()
    assert killed_after_writes(2, publish), "the site's version is set last"
    published()
    assert stored(node_id)["title"] == "Second"


def test_schedule_killed_after_any_write_publishes_once():
    node_id = node(title="Live", text="text")
    draft = drafts.save_draft(ANN, node_id, nonce(node_id), {"title": "New"}).nonce

    def is_whole() -> None:
        document = database()["cms.nodes"].find_one()
        assert (document["metadata"]["title"], document["draft"]["metadata"]["title"]) == ("Live", "New")
        assert ("due" in document["draft"]) == ("derived" in document["draft"])

    def schedule() -> None:
        drafts.schedule(ANN, node_id, draft, now() - timedelta(seconds=1))

    for writes in range(3):  # the revision, the draft, and finally the site's version
        assert killed_after_writes(writes, schedule)
        is_whole()

    def published() -> None:
        document = database()["cms.nodes"].find_one()
        assert ("draft" in document, document["metadata"]["title"]) in ((True, "Live"), (False, "New"))

    assert killed_at_each_write(scheduled.publish_due, published) >= 2
    assert stored(node_id)["title"] == "New"


@pytest.mark.usefixtures("soon_over")
def test_trash_killed_after_any_write_keeps_one_copy():
    node_id = node(slug="page", text="text")

    def one() -> None:
        found = [d for name in ("cms.nodes", "cms.trash") for d in database()[name].find({"_id": node_id})]
        assert [d["metadata"]["detail"]["text"] for d in found] == ["text"]

    def back() -> None:
        if database()["cms.trash"].find_one():
            trash.restore(ANN, node_id)

    def away() -> None:
        trash.trash(ANN, node_id, nonce(node_id))

    writes = 0
    while killed_after_writes(writes, away):
        writes += 1
        one()
        back()
        audit()
    one()
    writes = 0
    while killed_after_writes(writes, lambda: trash.restore(ANN, node_id, slug="other")):
        writes += 1
        one()
        if database()["cms.nodes"].find_one({"_id": node_id}):
            away()
    assert stored(node_id)["slug"] == "other"
    audit()
