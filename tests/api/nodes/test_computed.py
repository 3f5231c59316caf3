"""Computed fields of content types in API responses: values, types, queries, access, and mistakes in declarations."""

import json
import sys
from datetime import UTC, datetime, timedelta
from functools import cache
from types import ModuleType

import pytest
from bson import ObjectId
from django.db import models
from pymongo.errors import ServerSelectionTimeoutError

from api.checks import check_computed_fields
from api.rights.scopes import Scope
from api.schemas import openapi
from api.schemas.computed import computed_fields
from api.urls import api
from cms.testing import build
from nodes import content
from nodes.models import Node
from reader import page_cache
from tests.docs.pages import blocks
from tests.support.nodes.content import registered

STARTS = datetime(2030, 5, 1, 9, tzinfo=UTC)


@cache
def documented():
    """Return the content type in the reference."""
    [block] = [block for block in blocks("content-types.md", "reference") if "api_fields" in block.text]
    scope = {"__name__": "workshops.content"}
    exec(block.text, scope)
    content.unregister(scope["Workshop"])
    return scope["Workshop"]


@pytest.fixture
def workshop(monkeypatch):
    """The type in the reference, with a model that counts one free seat per workshop."""

    class Seats:
        calls: list[list[ObjectId]] = []

        def filter(self, *, node_id__in, is_free):
            self.calls.append(node_id__in)
            return self

        def values_list(self, name):
            return self

        def annotate(self, count):
            return [(self.calls[-1][0], 4)]

    class Seat:
        objects = Seats()

    module = ModuleType("workshops.models")
    module.Seat = Seat
    monkeypatch.setitem(sys.modules, "workshops", ModuleType("workshops"))
    monkeypatch.setitem(sys.modules, "workshops.models", module)
    Seats.calls = []
    with registered(documented()):
        yield Seats


def test_computed_fields_are_returned_for_one_node(visitor, mongo, workshop):
    times = {"detail.starts": STARTS, "detail.ends": STARTS + timedelta(hours=3)}
    key = build.node("workshop", "drawing", published=build.PAST, **times)
    said = visitor.read(f"/nodes/{key}")
    assert said["computed"] == {"duration": "PT3H", "seats_left": 4}
    assert "duration" not in said["detail"]
    assert "computed" not in visitor.read(f"/nodes/{key}?fields=title")
    assert visitor.read(f"/nodes/{key}?fields=computed")["computed"]["duration"] == "PT3H"
    page = build.node("basic-page", "about", published=build.PAST)
    assert "computed" not in visitor.read(f"/nodes/{page}?include=computed")


def test_list_calls_a_class_method_once(visitor, mongo, workshop):
    keys = [build.node("workshop", name, published=build.PAST) for name in ("one", "two", "three")]
    assert all("computed" not in item for item in visitor.read("/nodes?type=workshop")["items"])
    assert workshop.calls == []
    items = visitor.read("/nodes?type=workshop&include=computed")["items"]
    assert sorted(item["id"] for item in items) == sorted(map(str, keys))
    [asked] = workshop.calls
    assert sorted(asked) == sorted(keys)
    seats = {item["id"]: item["computed"]["seats_left"] for item in items}
    assert seats.pop(str(asked[0])) == 4
    assert set(seats.values()) == {None}


def test_computed_fields_of_hidden_nodes_are_hidden(visitor, mongo, account, asker, workshop):
    key = build.node("workshop", "secret", published=None)
    assert visitor.get(f"/nodes/{key}?include=computed").status_code == 404
    assert visitor.read("/nodes?type=workshop&include=computed")["items"] == []
    assert workshop.calls == []
    editor = asker(account("ed", "Editors"), Scope.READ)
    assert editor.read(f"/nodes/{key}")["computed"] == {"duration": None, "seats_left": 4}


def test_computed_fields_cannot_be_changed(mongo, account, asker, workshop):
    key = build.node("workshop", "drawing", published=None)
    editor = asker(account("ed", "Editors"), Scope.PUBLISH)
    etag = editor.get(f"/nodes/{key}")["ETag"]
    answer = editor.send("PATCH", f"/nodes/{key}", {"computed": {"seats_left": 9}}, If_Match=etag)
    assert json.loads(answer.content)["errors"] == [{"field": "body.computed", "message": "This field doesn't exist."}]


def test_schema_contains_computed_fields_with_their_types(workshop):
    shapes = openapi.schema(api)["components"]["schemas"]
    fields = shapes["WorkshopComputed"]["properties"]
    assert fields["duration"]["anyOf"] == [{"format": "duration", "type": "string"}, {"type": "null"}]
    assert fields["duration"]["description"] == "The time between the start and the end."
    assert fields["seats_left"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]
    computed = shapes["WorkshopNode"]["properties"]["computed"]
    assert {"$ref": "#/components/schemas/WorkshopComputed"} in computed["anyOf"]
    assert "computed" not in shapes["BasicPageNode"]["properties"]


def test_value_from_another_model_is_not_cached(visitor, mongo):
    class Counted(content.Page):
        api_fields = ["pages"]

        @classmethod
        def pages(cls, nodes) -> dict[ObjectId, int]:
            number = Node.objects.filter(metadata__type="counted").count()
            return {node.pk: number for node in nodes}

    with registered(Counted):
        key = build.node("counted", "one", published=build.PAST)
        assert visitor.read(f"/nodes/{key}")["computed"] == {"pages": 1}
        build.node("counted", "two", published=None)
        assert visitor.read(f"/nodes/{key}")["computed"] == {"pages": 2}


class Fragile(content.Page):
    api_fields = ["share", "whole", "numbers"]

    @property
    def share(self) -> int:
        return 10 // len(self.text)

    def whole(self) -> timedelta:
        return object() if self.text == "ab" else timedelta(1)

    @classmethod
    def numbers(cls, nodes) -> dict[ObjectId, int]:
        raise LookupError("no numbers")


def test_field_whose_code_fails_is_null(visitor, mongo, caplog):
    """The other fields and the other nodes of the list are complete, and the response isn't cached."""
    with registered(Fragile):
        for text in ("", "ab", "abcde"):
            build.node("fragile", f"page-{len(text)}", text=text, published=build.PAST)
        items = visitor.read("/nodes?type=fragile&include=computed")["items"]
        assert {item["slug"]: item["computed"] for item in items} == {
            "page-0": {"share": None, "whole": "P1D", "numbers": None},
            "page-2": {"share": 5, "whole": None, "numbers": None},
            "page-5": {"share": 2, "whole": "P1D", "numbers": None},
        }
        assert [record.exc_info[0].__name__ for record in caplog.records if "Fragile" in record.message] == [
            "ZeroDivisionError",
            "PydanticSerializationError",
            "LookupError",
        ]
        assert list(page_cache.storage.cache.entries) == []
        fields = openapi.schema(api)["components"]["schemas"]["FragileComputed"]["properties"]
        assert fields["share"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]


def test_outage_in_a_computed_field_is_an_outage(visitor, mongo, monkeypatch):
    def fail(cls, nodes) -> dict[ObjectId, int]:
        raise ServerSelectionTimeoutError("no primary")

    monkeypatch.setattr(Fragile, "numbers", classmethod(fail))
    with registered(Fragile):
        build.node("fragile", "page", text="ab", published=build.PAST)
        assert visitor.get("/nodes?type=fragile&include=computed").status_code == 503


def test_checks_report_invalid_computed_fields():
    class Wrong(content.Page):
        title_length = models.IntegerField("length", null=True)
        api_fields: tuple[str, ...] = ()

        def plain(self):
            return 1

        def model(self) -> models.Model:
            return models.Model()

        def typo(self) -> "Strin":  # noqa: F821 - the mistake
            return ""

        @classmethod
        def batch(cls, nodes) -> list[int]:
            return []

    reasons = {
        "absent": "is not a public property or method of the type.",
        "title_length": "is not a public property or method of the type.",
        "plain": "has no return annotation.",
        "model": "has a return annotation that JSON can't represent.",
        "typo": "has an annotation with an unknown name: name 'Strin' is not defined.",
        "batch": "is a class method that doesn't return dict[ObjectId, …].",
    }
    with registered(Wrong):
        for name, reason in reasons.items():
            Wrong.api_fields = (name,)
            computed_fields.cache_clear()
            [message] = check_computed_fields()
            assert (message.id, message.msg.partition("“")[2]) == ("api.E001", f"{name}”, which {reason}")
    assert check_computed_fields() == []
