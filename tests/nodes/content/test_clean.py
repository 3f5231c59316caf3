"""The `clean` method of a content type, which checks fields together, wherever a node is saved."""

import json
from datetime import UTC, datetime

import pytest
from django.core.exceptions import ValidationError
from django.db import models

from api.rights import tokens
from api.rights.scopes import Scope
from cms.testing.build import EDITOR, node, nonce, save, stored
from nodes.content import Page
from nodes.errors import FieldsRefused
from nodes.services import drafts
from tests.api.conftest import Asker
from tests.support.nodes.content import registered
from transfer.importing_nodes import check_fields

NOON = datetime(2030, 5, 1, 12, tzinfo=UTC)
EARLY = datetime(2030, 5, 1, 9, tzinfo=UTC)
LATE = datetime(2030, 5, 1, 15, tzinfo=UTC)
BEFORE = "The end must be after the start."
BOTH = "Only a meeting in a room has seats."


class Meeting(Page):
    """A meeting at a time and a place."""

    starts = models.DateTimeField()
    ends = models.DateTimeField()
    room = models.CharField(max_length=50, blank=True)
    seats = models.PositiveIntegerField(null=True, blank=True)

    def clean(self):
        errors = {}
        if self.ends <= self.starts:
            errors["ends"] = BEFORE
        if self.seats and not self.room:
            errors["seats"] = errors["room"] = BOTH
        if errors:
            raise ValidationError(errors)
        if self.room == "cellar":
            raise ValidationError("The cellar is flooded.")
        if self.room == "attic":
            raise ValidationError({"__all__": "The attic is locked.", "unknown": "Ask the caretaker."})


@pytest.fixture
def meeting(mongo):
    with registered(Meeting):
        yield node("meeting", "board", **{"detail.starts": NOON, "detail.ends": LATE})


def refused(call, *arguments, **changes):
    with pytest.raises(FieldsRefused) as caught:
        call(*arguments, **changes)
    return dict(caught.value.errors)


def test_new_node_is_checked(meeting):
    dates = {"detail.starts": NOON, "detail.ends": EARLY}
    assert refused(node, "meeting", "second", **dates) == {"detail.ends": BEFORE}


def test_save_reports_every_field(meeting):
    errors = refused(save, meeting, nonce(meeting), detail__ends=EARLY, detail__seats=5)
    assert errors == {"detail.ends": BEFORE, "detail.seats": BOTH, "detail.room": BOTH}
    assert stored(meeting)["detail"]["ends"] == LATE


def test_messages_about_no_field_are_all_kept(meeting):
    errors = refused(save, meeting, nonce(meeting), detail__room="attic")
    assert errors == {"": "The attic is locked. Ask the caretaker."}


def test_merged_fields_are_checked_together(meeting):
    seen = nonce(meeting)
    save(meeting, seen, detail__starts=EARLY)
    save(meeting, seen, detail__ends=NOON)
    seen = nonce(meeting)
    save(meeting, seen, detail__ends=EARLY.replace(minute=30))
    assert refused(save, meeting, seen, detail__starts=NOON) == {"detail.ends": BEFORE}


def test_draft_is_checked(meeting):
    errors = refused(drafts.save_draft, EDITOR, meeting, nonce(meeting), {"detail.ends": EARLY})
    assert errors == {"detail.ends": BEFORE}


def test_stored_mistake_does_not_block_other_fields(meeting, mongo):
    mongo["cms.nodes"].update_one({"_id": meeting}, {"$set": {"metadata.detail.ends": EARLY}})
    save(meeting, nonce(meeting), title="New title")
    assert stored(meeting)["title"] == "New title"


def test_imported_node_is_checked(meeting, mongo):
    record = mongo["cms.nodes"].find_one({"_id": meeting})
    check_fields(record)
    record["metadata"]["detail"]["ends"] = EARLY
    assert refused(check_fields, record) == {"detail.ends": BEFORE}


def test_form_shows_each_error_at_its_field(meeting, editor):
    ann, address = editor(), f"/admin/nodes/node/{meeting}/change/"
    form = ann.open(address)
    html = ann.send(address, form, seats="5", ends_0="2030-05-01", ends_1="09:00:00").content.decode()
    for name, message in (("ends", BEFORE), ("seats", BOTH), ("room", BOTH)):
        assert message in html.partition(f"field-{name}")[2].partition("form-row")[0]
    html = ann.send(address, form, room="cellar").content.decode()
    assert "The cellar is flooded." in html


def test_api_names_each_field(meeting, editor):
    asker = Asker(tokens.create(editor().user, "test", (Scope.WRITE, Scope.PUBLISH))[1])
    etag = asker.get(f"/nodes/{meeting}")["ETag"]

    def problems(**detail):
        answer = asker.send("PATCH", f"/nodes/{meeting}", {"detail": detail}, if_match=etag)
        assert answer.status_code == 422, answer.content
        return {error["field"]: error["message"] for error in json.loads(answer.content)["errors"]}

    assert problems(ends="2030-05-01T09:00:00Z", seats=5) == {
        "body.detail.ends": BEFORE,
        "body.detail.seats": BOTH,
        "body.detail.room": BOTH,
    }
    assert problems(room="cellar") == {"body": "The cellar is flooded."}
