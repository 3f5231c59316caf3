"""unique_together_in_section: pages of a type that can't have equal values in the same section."""

from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import models
from django.test import Client

from api.rights import tokens
from api.rights.scopes import Scope
from cms.testing.build import EDITOR, node, nonce, save, stored
from marginalia.mongo import indexes, sharding
from marginalia.mongo.clock import now
from marginalia.mongo.collections import declared_collections
from marginalia.tasks import worker
from nodes.checks import check_content
from nodes.content import MarkdownField, NodeField, Page, Section, uniqueness
from nodes.errors import NotUnique
from nodes.selectors import stored_nodes
from nodes.services import drafts, duplicating, rules, scheduled, trash
from tests.support.concurrency import run_concurrently
from tests.support.doctor import findings
from tests.support.nodes.content import registered
from transfer import exported
from transfer.importing_nodes import import_node

EIGHT = datetime(2999, 5, 1, 20, tzinfo=UTC)
MESSAGE = "Another page in this section already has the same start and room. Choose different values."


class Venue(Section):
    """A section for shows."""


class Show(Page):
    """Something in a room at a certain time."""

    stands_in = [Venue]
    unique_together_in_section = [("starts", "room"), ("code",)]

    starts = models.DateTimeField("start", null=True, blank=True)
    room = models.CharField("room", max_length=50, blank=True)
    code = models.IntegerField("code", null=True, blank=True)


class Lecture(Show):
    """A show with a speaker."""


@pytest.fixture
def venue(mongo):
    with registered(Venue, Show, Lecture):
        indexes.ensure()
        yield node("venue", "venue")
    for change in indexes.plan():
        indexes.apply_change(change)


def show(venue, slug="show", room="Hall", starts=EIGHT, type="show", **fields):
    return node(type, slug, parent=venue, **{"detail.room": room, "detail.starts": starts, **fields})


def refused(work, *args, **kwargs):
    with pytest.raises(NotUnique) as caught:
        work(*args, **kwargs)
    return dict(caught.value.errors)


@pytest.fixture
def without_query(monkeypatch):
    """Only the index prevents duplicates, as if both saves had looked for duplicates before either was stored."""
    monkeypatch.setattr(rules, "check_unique", lambda *args, **kwargs: None)


BOTH = {"detail.starts": MESSAGE, "detail.room": MESSAGE}


def test_second_page_with_the_same_values_is_rejected(venue):
    show(venue)
    assert refused(show, venue, "other") == BOTH
    for room, starts in (("Attic", EIGHT), ("Hall", EIGHT + timedelta(hours=1))):
        show(venue, room.lower() + str(starts.hour), room, starts)


def test_single_field_can_be_unique(venue):
    show(venue, "a", "A", **{"detail.code": 7})
    assert list(refused(show, venue, "b", "B", **{"detail.code": 7})) == ["detail.code"]


def test_unique_index_rejects_what_the_query_missed(venue, without_query):
    first = show(venue)
    assert refused(show, venue, "other") == BOTH
    other = show(venue, "other", "Attic")
    assert refused(save, other, nonce(other), detail__room="Hall") == BOTH
    moved = show(node("venue", "elsewhere"))
    assert refused(save, moved, nonce(moved), parent_id=venue, slug="moved") == BOTH
    trash.trash(EDITOR, first, nonce(first))
    show(venue, "third")
    assert refused(trash.restore, EDITOR, first) == BOTH


def test_one_of_many_concurrent_pages_is_created(venue):
    def create(number):
        try:
            return show(venue, f"show-{number}")
        except NotUnique as error:
            return dict(error.errors)

    results = run_concurrently(8, create)
    assert [result for result in results if result != BOTH] == [
        one["_id"] for one in (stored_nodes.database()["cms.nodes"].find({"metadata.type": "show"}))
    ]


def test_one_of_two_concurrent_saves_wins(venue):
    ids = [show(venue, "a", "A"), show(venue, "b", "B")]

    def move(number):
        try:
            save(ids[number], nonce(ids[number]), detail__room="Hall")
        except NotUnique:
            return 0
        return 1

    assert sum(run_concurrently(2, move)) == 1
    assert sorted(stored(id)["detail"]["room"] for id in ids) in (["A", "Hall"], ["B", "Hall"])


def test_empty_values_are_not_compared(venue):
    for number in range(2):
        show(venue, f"empty-{number}", "", EIGHT)
        show(venue, f"never-{number}", "Hall", None)


def test_other_sections_and_types_are_not_compared(venue):
    show(venue)
    show(node("venue", "elsewhere"))
    show(venue, "talk", type="lecture")
    refused(show, venue, "talk-2", type="lecture")


def test_page_keeps_its_values_when_saved_again(venue):
    made = show(venue)
    save(made, nonce(made), title="New")
    save(made, nonce(made), detail__room="Hall", summary="Again")
    assert stored(made)["summary"] == "Again"


def test_move_into_a_section_with_the_same_values_is_rejected(venue):
    show(venue)
    moved = show(node("venue", "elsewhere"), "moved")
    assert refused(save, moved, nonce(moved), parent_id=venue) == BOTH


def test_trash_does_not_count_but_restoring_does(venue):
    first = show(venue)
    trash.trash(EDITOR, first, nonce(first))
    second = show(venue, "second")
    assert refused(trash.restore, EDITOR, first) == BOTH
    save(second, nonce(second), detail__room="Attic")
    trash.restore(EDITOR, first)
    assert stored(first)["detail"]["room"] == "Hall"


def test_unpublished_page_counts(venue):
    node("show", "soon", parent=venue, published=None, **{"detail.room": "Hall", "detail.starts": EIGHT})
    refused(show, venue)


def test_draft_counts_when_it_is_published(venue):
    show(venue)
    other = show(venue, "other", "Attic")
    draft = drafts.save_draft(EDITOR, other, nonce(other), {"detail.room": "Hall"})
    assert refused(drafts.publish_draft, EDITOR, other, draft.nonce) == BOTH
    assert stored(other)["detail"]["room"] == "Attic"


def test_scheduled_changes_count(venue):
    show(venue, "first")
    other = show(venue, "other", "Attic")
    draft = drafts.save_draft(EDITOR, other, nonce(other), {"detail.room": "Hall"})
    assert refused(drafts.schedule, EDITOR, other, draft.nonce, now() + timedelta(days=1)) == BOTH
    draft = drafts.save_draft(EDITOR, other, draft.nonce, {"detail.room": "Cellar"})
    drafts.schedule(EDITOR, other, draft.nonce, now() + timedelta(days=1))
    assert refused(show, venue, "third", "Cellar") == BOTH
    show(venue, "fourth", "Garden")


def test_scheduled_changes_are_published_without_conflict(venue, mongo):
    made = show(venue)
    draft = drafts.save_draft(EDITOR, made, nonce(made), {"detail.room": "Attic"})
    drafts.schedule(EDITOR, made, draft.nonce, now() + timedelta(days=1))
    mongo["cms.nodes"].update_one({"_id": made}, {"$set": {"draft.due": now() - timedelta(minutes=1)}})
    assert scheduled.publish_due() == 1
    assert stored(made)["detail"]["room"] == "Attic"


@pytest.mark.slow
def test_scheduled_changes_that_cannot_be_published_are_reported(venue, mongo, without_query):
    made = show(venue)
    draft = drafts.save_draft(EDITOR, made, nonce(made), {"detail.room": "Attic"})
    drafts.schedule(EDITOR, made, draft.nonce, now() + timedelta(days=1))
    other = show(venue, "other", "Attic")
    mongo["cms.nodes"].update_one({"_id": made}, {"$set": {"draft.due": now() - timedelta(minutes=11)}})
    assert findings("draft-stuck") == []  # No worker is running.
    worker.tend()
    scheduled.publish_due()
    (finding,) = findings("draft-stuck")
    assert str(made) in finding.message
    save(other, nonce(other), detail__room="Cellar")
    scheduled.publish_due()
    assert findings("draft-stuck") == []


def test_copy_leaves_the_first_field_empty(venue):
    made = show(venue, **{"detail.code": 3})
    copied = stored(duplicating.duplicate(EDITOR, made, parent_id=venue).id)["detail"]
    assert (copied.get("starts"), copied["room"], copied.get("code")) == (None, "Hall", None)


def test_import_of_the_same_values_is_skipped(venue, mongo):
    made = show(venue)
    record = exported.as_exported(mongo["cms.nodes"].find_one({"_id": made})) | {"history": []}
    trash.trash(EDITOR, made, nonce(made))
    trash.delete(made)
    show(venue, "other")
    result = import_node(record)
    assert (result.outcome.name, MESSAGE in result.reason) == ("SKIPPED", True)


def test_import_explains_a_violated_index(venue, mongo, without_query):
    made = show(venue)
    record = exported.as_exported(mongo["cms.nodes"].find_one({"_id": made})) | {"history": []}
    trash.trash(EDITOR, made, nonce(made))
    trash.delete(made)
    show(venue, "other")
    assert import_node(record).reason == "another page in its section has the same values in fields that must be unique"


def test_form_shows_the_error_at_each_field(venue, editor):
    show(venue)
    other = show(venue, "other", "Attic")
    ann = editor()
    address = f"/admin/nodes/node/{other}/change/"
    form = ann.open(address)
    answer = ann.send(address, form, room="Hall", title="Kept")
    assert answer.status_code == 200
    errors = answer.context["form"].errors
    assert {name: list(errors[name]) for name in errors} == {"starts": [MESSAGE], "room": [MESSAGE]}
    assert "Kept" in answer.content.decode()
    assert ann.send(address, form, room="Cellar").status_code == 302


def test_publish_page_of_a_draft_shows_the_error_once(venue, editor):
    show(venue)
    other = show(venue, "other", "Attic")
    draft = drafts.save_draft(EDITOR, other, nonce(other), {"detail.room": "Hall"})
    ann = editor()
    answer = ann.client.post(f"/admin/nodes/node/{other}/publish/", {"draft": str(draft.nonce)})
    assert answer.content.decode().count(MESSAGE) == 1


def test_api_rejects_the_same_values_field_by_field(venue):
    show(venue)
    user = get_user_model().objects.create_superuser("ann", "ann@example.org", "pw")
    secret = tokens.create(user, "test", [Scope.READ, Scope.WRITE, Scope.PUBLISH])[1]
    body = {
        "type": "show",
        "section": str(venue),
        "title": "Other",
        "detail": {"room": "Hall", "starts": EIGHT.isoformat()},
    }
    answer = Client().post("/api/v1/nodes", body, "application/json", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 422
    problems = {error["field"]: error["message"] for error in answer.json()["errors"]}
    assert problems == {"body.detail.starts": MESSAGE, "body.detail.room": MESSAGE}


def test_queries_use_the_index(venue, mongo):
    for number in range(20):
        made = show(venue, f"show-{number}", f"Room {number}")
    (fields, _code) = uniqueness.combinations("show")
    query = uniqueness.same_values(fields, stored(made)["detail"])
    plan = mongo["cms.nodes"].find({"metadata.parent_id": venue, "metadata.type": "show", **query}).explain()
    assert "unique_show_starts_room" in str(plan["queryPlanner"]["winningPlan"])


@pytest.mark.slow
def test_setup_indexes_lists_existing_duplicates(venue, mongo, without_query):
    mongo["cms.nodes"].drop_index("unique_show_starts_room")
    made = [show(venue), show(venue, "other")]
    out = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("setup_indexes", "--plan", stdout=out, stderr=out)
    (finding,) = findings("values-not-unique")
    for node_id in made:
        assert str(node_id) in f"{out.getvalue()}{caught.value}"
        assert str(node_id) in finding.message
    save(made[1], nonce(made[1]), detail__room="Attic")
    assert findings("values-not-unique") == []
    indexes.ensure()
    refused(show, venue, "third")


def test_page_with_stored_duplicate_can_still_be_corrected(venue, mongo, monkeypatch):
    mongo["cms.nodes"].drop_index("unique_show_starts_room")
    with monkeypatch.context() as patch:
        patch.setattr(rules, "check_unique", lambda *args, **kwargs: None)
        made = [show(venue), show(venue, "other")]
    save(made[0], nonce(made[0]), title="New title")
    assert stored(made[0])["title"] == "New title"
    save(made[0], nonce(made[0]), detail__room="Attic")
    assert refused(save, made[0], nonce(made[0]), detail__room="Hall") == BOTH


@pytest.mark.slow
def test_index_is_left_out_on_a_cluster(venue, mongo, monkeypatch):
    for module in ("marginalia.mongo.indexes.planning", "nodes.doctor"):
        monkeypatch.setattr(f"{module}.is_mongos", lambda alias: True)
    dropped = [change for change in indexes.plan() if "index unique_" in change.description]
    assert [(change.sign, change.optional) for change in dropped] == [("-", False)] * 4
    assert findings("unique-not-enforced") == []
    indexes.ensure()
    assert [finding.message for finding in findings("unique-not-enforced")] == [
        f"No unique index enforces that {names} of each {type} are unique in their section."
        for type in ("show", "lecture")
        for names in ("starts, room", "code")
    ]
    show(venue)
    refused(show, venue, "other")
    nodes = next(item.collection for item in declared_collections() if item.collection.name == "cms.nodes")
    assert sharding.shard_key_problems(nodes) == []


def test_checks_report_fields_that_cannot_be_unique():
    class Wrong(Page):
        unique_together_in_section = [("words",), ("method", "title"), "number", ("target", "number")]
        words = models.TextField(blank=True)
        method = MarkdownField(blank=True)
        number = models.IntegerField(default=0)
        target = NodeField(null=True, blank=True)

    with registered(Wrong):
        messages = [message for message in check_content() if message.id == "nodes.E020"]
    assert [message.msg.partition("contains ")[2] for message in messages] == [
        "“words”, whose values can't be unique.",
        "“method”, whose values can't be unique.",
        "“title”, whose values can't be unique.",
        "'number', which is not a tuple of field names.",
    ]
