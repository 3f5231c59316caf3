"""`manage.py check_links`."""

import io
import json
from datetime import timedelta

import pytest
from bson import ObjectId
from django.core.management import CommandError, call_command

from cms.testing.build import EDITOR, PAST, node, nonce, save
from marginalia.mongo.clock import now
from nodes.models import tree
from nodes.selectors import editable_nodes, references
from nodes.services import drafts, trash
from tests.support.commands import explain, stages
from tests.support.nodes.photo_build import gallery, upload

pytestmark = pytest.mark.usefixtures("mongo")


def checked(*options: str) -> tuple[int, str]:
    """Return the exit code and the output."""
    printed = io.StringIO()
    try:
        call_command("check_links", *options, stdout=printed)
    except CommandError as error:
        return error.returncode, printed.getvalue()
    return 0, printed.getvalue()


def draft_nonce(node_id: ObjectId) -> ObjectId:
    return editable_nodes.load(node_id).draft.nonce


def test_working_links_are_no_findings():
    photo_id, target = upload(gallery("lakes")), node(slug="target")
    node(slug="page", text=f"[a](node:{target}) ![](photo:{photo_id}) [elsewhere](/nowhere)")
    node(slug="none")
    assert checked() == (0, "Checked 1 public pages and 0 drafts with references: 0 broken.\n")


def test_broken_link_is_reported_with_page_and_words():
    gone, thrown, hidden = ObjectId(), node(slug="thrown"), node(slug="hidden", published=None)
    folder = node("folder", "folder")
    photo_id = upload(gallery("lakes"), name="one.jpg", fields={"published": None})
    typed = f"[a](node:{gone}#x) [b *c*](node:{thrown}) <a href='node:{hidden}'>d</a> [e](node:{gone})\n\n![f](photo:lakes/one)"
    node("basic-page", "page", parent=folder, title="On lakes", text=typed)
    trash.trash(EDITOR, thrown, nonce(thrown))
    code, printed = checked()
    assert code == 1
    assert set(printed.splitlines()) == {
        f"On lakes (/folder/page): “a”, “e” → {gone}, gone",
        f"On lakes (/folder/page): “b c” → {thrown}, trashed",
        f"On lakes (/folder/page): “d” → {hidden}, hidden",
        f"On lakes (/folder/page): “f” → {photo_id}, hidden",
        "Checked 1 public pages and 0 drafts with references: 4 broken.",
    }
    code, printed = checked("--json")
    said = json.loads(printed)
    assert (code, said["counts"]) == (1, {"pages": 1, "drafts": 0, "broken": 4})
    assert {finding["address"] for finding in said["findings"]} == {"/folder/page"}


def test_hidden_pages_are_not_checked():
    gone = ObjectId()
    hidden = node("folder", "hidden", published=None)
    node(slug="page", text=f"[a](node:{gone})", published=None)
    node("basic-page", "inside", parent=hidden, text=f"[a](node:{gone})")
    assert checked()[0] == 0
    save(hidden, nonce(hidden), published=nonce(hidden).generation_time)
    assert checked()[0] == 1


def test_drafts_are_checked_after_the_pages():
    gone, target = ObjectId(), node(slug="target")
    page = node(slug="page", title="On lakes", text=f"[a](node:{target})")
    drafts.save_draft(EDITOR, page, nonce(page), {"detail.text": f"[a](node:{target}) [b](node:{gone})"})
    unpublished = node(slug="new", title="New", published=None)
    drafts.save_draft(EDITOR, unpublished, nonce(unpublished), {"detail.text": f"[c](node:{gone})"})
    code, printed = checked()
    assert (code, printed.splitlines()) == (
        1,
        [
            f"New (/new, draft): “c” → {gone}, gone",
            f"On lakes (/page, draft): “b” → {gone}, gone",
            "Checked 1 public pages and 2 drafts with references: 2 broken.",
        ],
    )
    code, printed = checked("--json")
    said = json.loads(printed)
    assert (said["counts"], [one["draft"] for one in said["findings"]]) == (
        {"pages": 1, "drafts": 2, "broken": 2},
        [True, True],
    )
    drafts.discard_draft(unpublished, draft_nonce(unpublished))
    drafts.publish_draft(EDITOR, page, draft_nonce(page))
    assert checked()[1].splitlines() == [
        f"On lakes (/page): “b” → {gone}, gone",
        "Checked 1 public pages and 0 drafts with references: 1 broken.",
    ]


def test_many_drafts_are_checked_in_batches(mongo, commands, monkeypatch):
    monkeypatch.setattr(references, "LOOKED_AT_ONCE", 3)
    gone, pages = ObjectId(), [node(slug=f"page-{n}") for n in range(8)]
    for page in pages:
        drafts.save_draft(EDITOR, page, nonce(page), {"detail.text": f"[a](node:{gone})"})
    # Drafts saved at the same time are distinguished by their ids.
    at = mongo["cms.nodes"].find_one({"_id": pages[0]})["draft"]["saved_at"]
    mongo["cms.nodes"].update_many({"_id": {"$in": pages[:5]}}, {"$set": {"draft.saved_at": at}})
    with commands.recorded():
        found = [one.node.pk for look in references.check_all(tree.current(), now()) for one in look.broken]
    assert sorted(found) == sorted(pages)
    for event in commands.sent:
        if event.command.get("find") == "cms.nodes":
            assert not stages(explain(mongo, event)) & {"COLLSCAN", "SORT"}
    with pytest.raises(ValueError):
        references.check_batch(tree.current(), now(), "drafts-of-none")


def test_repaired_links_are_no_longer_reported():
    target = node(slug="target")
    page = node(slug="page", text=f"[a](node:{target})")
    trash.trash(EDITOR, target, nonce(target))
    assert checked()[0] == 1
    trash.restore(EDITOR, target)
    assert checked()[0] == 0
    trash.trash(EDITOR, target, nonce(target))
    save(page, nonce(page), detail__text="No link.")
    assert checked()[0] == 0


def test_check_uses_indexes_and_reads_only_pages_with_links(mongo, commands, monkeypatch):
    monkeypatch.setattr(references, "LOOKED_AT_ONCE", 10)
    target = node(slug="target")
    for n in range(25):
        node(slug=f"page-{n}", text=f"[a](node:{target})", published=PAST + timedelta(days=n))
        node(slug=f"none-{n}")
    with commands.recorded():
        assert checked() == (0, "Checked 25 public pages and 0 drafts with references: 0 broken.\n")
    plans = [
        explain(mongo, event) for event in commands.sent if event.command.get("find") in ("cms.nodes", "cms.trash")
    ]
    read = 0
    for plan in plans:
        assert not stages(plan) & {"COLLSCAN", "SORT"}
        read += plan["executionStats"]["totalDocsExamined"]
    # Each page once, those at the edges of a batch again, and the target once per batch.
    assert read <= 25 + 2 * 3 + 3
