"""Indexes that content types declare for their queries, and the doctor on queries that a project registers."""

from datetime import UTC, datetime, timedelta

import pytest
from django.core.checks import run_checks
from django.db import models
from django_mongodb_backend.fields import ArrayField, EmbeddedModelField

from cms.testing.build import node, nonce, save
from marginalia.mongo import doctor, indexes
from marginalia.mongo.clock import now
from marginalia.mongo.collections import declared_collections
from marginalia.mongo.doctor import WARNING
from marginalia.mongo.doctor.queries import READS_PER_RESULT
from marginalia.mongo.indexes.planning import plan
from marginalia.mongo.sharding.targeting import is_targeted
from nodes.collections import NODES, PLACE
from nodes.content import Page, Part
from nodes.models import tree
from tests.support.commands import explain, stages
from tests.support.nodes.content import registered

START = datetime(2030, 5, 1, 19, tzinfo=UTC)
DAY = timedelta(days=1)
HIDDEN = [("metadata.expires", 1), ("metadata.published", 1), ("metadata.parent_id", 1), ("metadata.type", 1)]


class Meeting(Page):
    """A base type with indexes, which another type extends."""

    facets = ["room"]
    indexes = ["starts", ["room", "-published"], ["section", "starts"], ("tags", "starts")]

    starts = models.DateTimeField(null=True, blank=True)
    room = models.CharField(max_length=50, blank=True)
    seats = models.IntegerField(default=0)
    topics = ArrayField(models.CharField(max_length=50), default=list, blank=True)


class Assembly(Meeting):
    """A type that extends another type, and uses its indexes."""


NAMES = {f"meeting_by_{words}" for words in ("starts", "room_published", "section_starts", "tags_starts")}


@pytest.fixture
def site(mongo):
    """Meetings and assemblies, with as many hidden ones between them. The declared indexes exist."""
    with registered(Meeting, Assembly):
        indexes.ensure()
        hidden = node("folder", "hidden")
        halls = node("folder", "halls")
        for number in range(12):
            starts = {"detail.starts": START + number * DAY, "detail.room": f"room-{number % 3}"}
            type = "assembly" if number % 2 else "meeting"
            node(type, f"public-{number}", parent=halls, tags=("tea",), **starts)
            node(type, f"draft-{number}", parent=halls, published=None, **starts)
            gone = node(type, f"gone-{number}", parent=halls, **starts)
            mongo[NODES].update_one({"_id": gone}, {"$set": {"metadata.expires": now() - DAY}})
        save(hidden, nonce(hidden), published=None)
        tree.clear()
        yield halls
    for name in NAMES & set(mongo[NODES].index_information()):
        mongo[NODES].drop_index(name)
    indexes.ensure()


@pytest.mark.slow
def test_types_declare_indexes_that_setup_indexes_creates(mongo, site):
    created = mongo[NODES].index_information()
    assert set(created) >= NAMES
    assert created["meeting_by_starts"]["key"] == [("metadata.detail.starts", 1), ("_id", 1), *HIDDEN]
    assert created["meeting_by_starts"]["partialFilterExpression"] == {
        "metadata.type": {"$in": ["meeting", "assembly"]}
    }
    assert created["meeting_by_room_published"]["key"] == [
        *(("metadata.detail.room", 1), ("metadata.published", -1), ("metadata.created", -1), ("_id", -1)),
        *(("metadata.expires", 1), ("metadata.parent_id", 1), ("metadata.type", 1)),
    ]
    assert created["meeting_by_section_starts"]["key"][0] == ("metadata.parent_id", 1)
    assert created["meeting_by_tags_starts"]["key"][:2] == [("metadata.tags", 1), ("metadata.detail.starts", 1)]
    assert not [change for change in plan() if not change.optional]


def test_index_of_a_single_type_contains_only_this_type():
    with registered(Meeting):
        declared = next(item.collection for item in declared_collections() if item.collection.name == NODES).indexes
        partial = {index.name: index.partial for index in declared}
        assert partial["meeting_by_starts"] == {"metadata.type": "meeting"}


def test_queries_read_only_their_results_from_the_declared_index(mongo, site, commands):
    upcoming = Meeting.live.filter(starts__gte=START + 2 * DAY).order_by("starts")
    cursor = upcoming.page(size=3).next
    evaluations = [
        ("meeting_by_starts", lambda: list(upcoming[:5])),
        ("meeting_by_starts", lambda: list(Assembly.live.filter(starts__gte=START).order_by("starts")[:4])),
        ("meeting_by_starts", lambda: list(Meeting.live.order_by("-starts")[:5])),
        ("meeting_by_starts", lambda: upcoming.page(cursor, size=3)),
        ("meeting_by_starts", lambda: upcoming.page(upcoming.page(cursor, size=3).previous, size=3)),
        ("meeting_by_room_published", lambda: list(Meeting.live.filter(room="room-1")[:3])),
        ("meeting_by_section_starts", lambda: list(Meeting.live.in_section(site).order_by("starts")[:5])),
        ("meeting_by_tags_starts", lambda: list(Meeting.live.tagged("tea").order_by("starts")[:5])),
    ]
    for number, (index, evaluate) in enumerate(evaluations):
        with commands.recorded():
            evaluate()
        event = next(event for event in reversed(commands.sent) if event.command.get("find") == NODES)
        assert is_targeted(event.command["filter"], PLACE), number
        # On few pages all plans cost the same, so the server's choice alone shows nothing.
        event.command["hint"] = index
        explained = explain(mongo, event)
        assert "SORT" not in stages(explained), number
        figures = explained["executionStats"]
        assert figures["nReturned"] >= 3, number
        assert figures["totalDocsExamined"] <= READS_PER_RESULT * figures["nReturned"], number


def examined(monkeypatch, query) -> list[doctor.Finding]:
    monkeypatch.setattr("marginalia.mongo.doctor.queries.hot_queries", lambda: [query.as_hot_query("the meetings")])
    return [finding for finding in doctor.examine() if "the meetings" in finding.message]


@pytest.mark.slow
def test_doctor_names_the_missing_index_of_a_registered_query(mongo, site, monkeypatch):
    assert examined(monkeypatch, Meeting.live.filter(starts__gte=START).order_by("starts")[:10]) == []
    assert examined(monkeypatch, Meeting.live.in_section(site).order_by("starts")[:10]) == []
    slow = {
        '["-seats"]': Meeting.live.order_by("-seats")[:10],
        '["room", "seats", "starts"]': Meeting.live.filter(room="room-1", starts__gte=START).order_by("seats"),
        '["tags", "seats"]': Meeting.live.tagged("tea").filter(topics__contains="x").order_by("seats")[:10],
    }
    for index, query in slow.items():
        findings = examined(monkeypatch, query)
        expected = index.replace('"', "'")
        fix = f"Add {expected} to `indexes` of Meeting, and run manage.py setup_indexes."
        assert {(finding.level, finding.fix) for finding in findings} == {(WARNING, fix)}, index
        assert "query-sort" in {finding.name for finding in findings}, index


def test_doctor_skips_a_query_for_a_type_without_pages(mongo, monkeypatch):
    with registered(Meeting, Assembly):
        assert examined(monkeypatch, Assembly.live.order_by("seats")) == []


class Hall(Part):
    name = models.CharField(max_length=50)


class Wrong(Page):
    """A type with an invalid index."""

    starts = models.DateTimeField()
    topics = ArrayField(models.CharField(max_length=50), default=list, blank=True)
    hall = EmbeddedModelField(Hall, null=True, blank=True)
    notes = models.JSONField(null=True, blank=True)


@pytest.mark.parametrize(
    "declared",
    [
        "colour",
        ["starts", "colour"],
        ["starts__gte"],
        "hall",
        "notes",
        ["topics", "tags"],
        ["tags", "facets"],
        [],
        5,
        [5],
    ],
    ids=repr,
)
def test_invalid_index_is_a_check_and_not_created(monkeypatch, declared):
    monkeypatch.setattr(Wrong, "indexes", ["starts", declared])
    with registered(Wrong):
        (error,) = [message for message in run_checks() if message.id == "nodes.E030"]
        assert f"Wrong.indexes contains {declared!r}. " in error.msg
        created = next(item.collection for item in declared_collections() if item.collection.name == NODES).indexes
        assert [index.name for index in created if index.name.startswith("wrong_")] == ["wrong_by_starts"]


def test_string_instead_of_list_is_a_check(monkeypatch):
    monkeypatch.setattr(Wrong, "indexes", "starts")
    with registered(Wrong):
        (error,) = [message for message in run_checks() if message.id == "nodes.E030"]
        assert error.msg.endswith("Wrong.indexes isn't a list.")


def test_indexes_in_meta_are_a_check():
    class Misplaced(Page):
        """A type that declares an index as Django models do."""

        starts = models.DateTimeField()

        class Meta:
            indexes = [models.Index(fields=["starts"], name="by_start")]

    with registered(Misplaced):
        (error,) = [message for message in run_checks() if message.id == "nodes.E030"]
        assert error.msg.endswith("Misplaced.Meta.indexes has no effect.")


def test_valid_indexes_have_no_check():
    with registered(Meeting, Assembly):
        assert [
            message for message in run_checks() if message.id and message.id.startswith(("nodes.E", "mongo."))
        ] == []


@pytest.mark.parametrize("name", ["live", "url", "node", "indexes", "visible_to"])
def test_fields_with_names_of_the_query_interface_are_a_check(name):
    fields = {name: models.CharField(max_length=50), "__module__": f"{__name__}.{name}"}
    with registered(type("Reserved", (Page,), fields)):
        messages = [message for message in run_checks() if message.id == "nodes.E004"]
        assert [message.msg for message in messages] == [f"Reserved.{name} has a reserved name."]
