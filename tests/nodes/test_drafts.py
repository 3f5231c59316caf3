"""Drafts: saved beside the live version, published over what was saved live meanwhile."""

import pytest

from nodes import errors
from nodes.services import drafts, write
from nodes.types import TagChange
from tests.nodes.build import EDITOR, node, nonce, stored


def test_draft_that_is_not_published_changes_no_live_tags(mongo, monkeypatch):
    """Somebody saves the draft while it is being published: what goes live then is nothing, its tags included."""
    page = node(tags=("a", "b"))
    draft = drafts.save_draft(EDITOR, page, nonce(page), {}, TagChange(removed=frozenset("b"))).nonce
    real = write.insert_revision

    def saved_meanwhile(*arguments, **named):
        monkeypatch.undo()
        drafts.save_draft(EDITOR, page, draft, {"title": "More"}, TagChange(added=frozenset("b")))
        real(*arguments, **named)

    monkeypatch.setattr(write, "insert_revision", saved_meanwhile)
    with pytest.raises(errors.DraftGone):
        drafts.publish_draft(EDITOR, page, draft)
    assert stored(page)["tags"] == ["a", "b"]
