"""Signals: each write sends what happened, once and after it, and nothing else."""

import logging
from datetime import timedelta

import pytest

from cms.testing.build import EDITOR, node, nonce, save, stored
from marginalia.mongo.clock import now
from nodes import signals
from nodes.errors import EditConflict, FieldRefused
from nodes.services import drafts, editing, trash
from nodes.types import TagChange
from tests.support.nodes import photo_build

NAMES = ("saved", "published", "unpublished", "moved", "trashed", "restored", "deleted")
SIGNALS = {f"node_{name}": getattr(signals, f"node_{name}") for name in NAMES} | {"photo_added": signals.photo_added}


@pytest.fixture
def received(mongo):
    """The list of (name of the signal, its arguments) that the test's writes send."""
    events = []
    receivers = []
    for name, signal in SIGNALS.items():

        def receive(name=name, **arguments):
            events.append((name, {k: v for k, v in arguments.items() if k not in ("sender", "signal")}))

        receivers.append(receive)
        signal.connect(receive)
    yield events
    for signal, receive in zip(SIGNALS.values(), receivers, strict=True):
        signal.disconnect(receive)


def names(events):
    listed = [name for name, _ in events]
    events.clear()
    return listed


def test_new_page_is_saved_and_published(received):
    page = node("basic-page", "page")
    (_, saved), (_, published) = received
    assert saved == {
        "node_id": page,
        "type": "basic-page",
        "created": True,
        "changed": frozenset({"title", "published", "detail.text"}),
        "nonce": nonce(page),
    }
    assert published == {"node_id": page, "type": "basic-page", "published": stored(page)["published"]}
    assert names(received) == ["node_saved", "node_published"]


def test_publication_and_its_end_are_sent(received):
    page = node("basic-page", "page", published=None)
    assert names(received) == ["node_saved"]
    editing.publish_as_seen(EDITOR, page, nonce(page))
    assert names(received) == ["node_saved", "node_published"]
    save(page, nonce(page), published=None)
    assert names(received) == ["node_saved", "node_unpublished"]
    later = now() + timedelta(days=1)
    save(page, nonce(page), published=later)
    assert received[1][1]["published"] == stored(page)["published"] > now()
    assert names(received) == ["node_saved", "node_published"]


def test_new_slug_or_section_is_a_move(received):
    section = node("folder", "section")
    page = node("basic-page", "page")
    received.clear()
    save(page, nonce(page), slug="other")
    assert received[1][1]["old_place"] == (None, "page")
    assert received[1][1]["new_place"] == (None, "other")
    assert names(received) == ["node_saved", "node_moved"]
    inner = node("folder", "inner")
    received.clear()
    save(inner, nonce(inner), parent_id=section)
    assert received[1][1]["new_place"] == (section, "inner")
    assert received[0][1]["nonce"] == nonce(inner)
    assert names(received) == ["node_saved", "node_moved"]


def test_only_the_changed_fields_are_named(received):
    page = node("basic-page", "page", text="One")
    received.clear()
    save(page, nonce(page), title="New", detail__text="One")
    editing.change_tags(page, TagChange(added=frozenset({"paper"})))
    assert [arguments["changed"] for _, arguments in received] == [{"title"}, {"tags"}]
    received.clear()
    save(page, nonce(page), title="New")
    editing.change_tags(page, TagChange(added=frozenset({"paper"})))
    assert received == []


def test_draft_sends_nothing_until_it_is_published(received):
    page = node("basic-page", "page", text="One")
    received.clear()
    draft = drafts.save_draft(EDITOR, page, nonce(page), {"detail.text": "Two"})
    assert names(received) == []
    drafts.publish_draft(EDITOR, page, draft.nonce)
    assert received[0][1]["changed"] == {"detail.text"}
    assert names(received) == ["node_saved"]


def test_trash_restore_and_deletion_are_sent(received):
    page = node("basic-page", "page")
    received.clear()
    trash.trash(EDITOR, page, nonce(page))
    trash.restore(EDITOR, page)
    trash.trash(EDITOR, page, nonce(page))
    trash.delete(page)
    assert names(received) == ["node_trashed", "node_restored", "node_trashed", "node_deleted"]


def test_refused_writes_send_nothing(received):
    page = node("basic-page", "page", text="One")
    seen = nonce(page)
    save(page, seen, detail__text="Two")
    received.clear()
    with pytest.raises(EditConflict):
        save(page, seen, detail__text="Three")
    with pytest.raises(FieldRefused):
        save(page, nonce(page), title=" ")
    with pytest.raises(EditConflict):
        trash.trash(EDITOR, page, seen)
    assert names(received) == []


def test_uploaded_photo_is_added(received):
    gallery = photo_build.gallery()
    received.clear()
    photo = photo_build.upload(gallery)
    assert {arguments["node_id"] for _, arguments in received} == {photo}
    assert names(received) == ["node_saved", "node_published", "photo_added"]


def test_failing_receiver_is_logged_and_the_write_stays(mongo, caplog):
    def fail(**_arguments):
        raise RuntimeError("no network")

    signals.node_saved.connect(fail)
    try:
        with caplog.at_level(logging.ERROR, "django.dispatch"):
            page = node("basic-page", "page")
    finally:
        signals.node_saved.disconnect(fail)
    assert stored(page)["slug"] == "page"
    assert "no network" in caplog.text
