"""Preview links of drafts."""

from datetime import timedelta
from unittest.mock import patch

import pytest

from cms.testing.build import PAST, node, nonce, save
from marginalia.mongo.clock import now
from nodes.services import drafts, editing
from nodes.types import Actor


def preview_link(person, node_id):
    html = person.client.post(f"/admin/nodes/node/{node_id}/preview-link/").content.decode()
    return html.partition("http://testserver")[2].partition('"')[0]


def test_preview_link_shows_the_draft_until_it_expires(mongo, editor, client):
    ann, node_id = editor(), node(slug="page", title="Live", text="Live text")
    drafts.save_draft(Actor.of(ann.user), node_id, nonce(node_id), {"detail.text": "Drafted text"})
    path = preview_link(ann, node_id)
    shown = client.get(path)
    assert "Drafted text" in shown.content.decode()
    assert "no-store" in shown["Cache-Control"]
    assert shown["X-Robots-Tag"] == "noindex"
    assert client.get(path[:-3] + "abc").status_code == 404
    with patch("django.core.signing.time.time", return_value=4_000_000_000):
        assert client.get(path).status_code == 404


def test_preview_link_of_a_published_draft_redirects(mongo, editor, client):
    ann, node_id = editor(), node(slug="page", text="Live text")
    saved = drafts.save_draft(Actor.of(ann.user), node_id, nonce(node_id), {"detail.text": "Drafted text"})
    path = preview_link(ann, node_id)
    drafts.publish_draft(Actor.of(ann.user), node_id, saved.nonce)
    assert client.get(path)["Location"] == "/page"
    drafts.save_draft(Actor.of(ann.user), node_id, nonce(node_id), {"detail.text": "A later secret"})
    assert "secret" not in client.get(path).content.decode()


def test_preview_link_shows_no_later_draft(mongo, editor, client):
    ann, node_id = editor(), node(slug="page", text="Live text")
    saved = drafts.save_draft(Actor.of(ann.user), node_id, nonce(node_id), {"detail.text": "Drafted text"})
    path = preview_link(ann, node_id)
    drafts.save_draft(Actor.of(ann.user), node_id, saved.nonce, {"detail.text": "A later secret"})
    answer = client.get(path)
    assert answer.status_code == 410
    assert "secret" not in answer.content.decode()
    assert "Ask for a new link" in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert answer["X-Robots-Tag"] == "noindex"
    assert "A later secret" in client.get(preview_link(ann, node_id)).content.decode()


def test_preview_link_of_an_unpublished_page_works(mongo, editor, client):
    ann, node_id = editor(), node("blog-entry", parent=node("blog", "blog"), published=None, text="Not yet public")
    path = preview_link(ann, node_id)
    assert "Not yet public" in client.get(path).content.decode()
    assert client.get("/blog/page").status_code == 404
    editing.save(Actor.of(ann.user), node_id, nonce(node_id), {"detail.text": "A later secret"})
    answer = client.get(path)
    assert (answer.status_code, "secret" in answer.content.decode()) == (410, False)
    editing.save(Actor.of(ann.user), node_id, nonce(node_id), {"published": PAST})
    assert client.get(path)["Location"] == "/blog/page"


def test_preview_link_of_a_scheduled_page_redirects_later(mongo, editor, client, monkeypatch):
    ann, node_id = editor(), node(slug="page", published=now() + timedelta(days=1), text="Not yet public")
    path = preview_link(ann, node_id)
    assert "Not yet public" in client.get(path).content.decode()
    later = now() + timedelta(days=2)
    monkeypatch.setattr("reader.views.previews.now", lambda: later)
    assert client.get(path)["Location"] == "/page"


@pytest.mark.parametrize("hidden_by", ["scheduled", "expired", "section"])
def test_stale_preview_link_reveals_no_hidden_address(mongo, editor, client, hidden_by):
    ann, blog = editor(), node("blog", "blog", published=None if hidden_by == "section" else PAST)
    dates = {"scheduled": {"published": now() + timedelta(days=1)}, "expired": {"expires": PAST + timedelta(days=1)}}
    node_id = node("blog-entry", "told", parent=blog, **dates.get(hidden_by, {}))
    path = preview_link(ann, node_id)
    save(node_id, nonce(node_id), title="Changed")
    answer = client.get(path)
    assert answer.status_code == 410
    assert "told" not in answer.content.decode()
