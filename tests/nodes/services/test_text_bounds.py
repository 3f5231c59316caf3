"""The maximum text length of the services."""

import pytest

from cms.testing.build import EDITOR, node, nonce, save, stored
from nodes.errors import TextTooLong
from nodes.services import drafts, editing

MOST = 3_000
TOO_LONG = "Words that go on and on. " * 200


@pytest.fixture(autouse=True)
def bound(settings):
    settings.TEXT_MAX_BYTES = MOST


@pytest.mark.parametrize("path", ["detail.text", "summary"])
def test_longer_text_is_refused_by_every_service(mongo, path):
    page = node(text="as it was")
    before = stored(page)
    for write in (
        lambda: node(slug="new", **{path: TOO_LONG}),
        lambda: editing.save(EDITOR, page, nonce(page), {path: TOO_LONG}),
        lambda: drafts.save_draft(EDITOR, page, nonce(page), {path: TOO_LONG}),
    ):
        with pytest.raises(TextTooLong) as refused:
            write()
        assert refused.value.path == path
        assert "3 KB" in str(refused.value)
    assert stored(page) == before
    assert mongo["cms.nodes"].find_one({"_id": page}).get("draft") is None
    assert mongo["cms.nodes"].count_documents({"metadata.slug": "new"}) == 0


def test_limit_is_inclusive_and_counts_bytes(mongo):
    page = node(text="a" * MOST)
    save(page, nonce(page), detail__text="中" * (MOST // 3))
    save(page, nonce(page), detail__text="a\r\n" * (MOST // 2))
    with pytest.raises(TextTooLong):
        save(page, nonce(page), detail__text="中" * (MOST // 3 + 1))
    with pytest.raises(TextTooLong):
        save(page, nonce(page), detail__text="a" * (MOST + 1))


def test_merged_text_is_limited_too(mongo):
    page = node(text="middle")
    seen = nonce(page)
    save(page, seen, detail__text="a" * 2_000 + "\n\nmiddle")
    with pytest.raises(TextTooLong):
        save(page, seen, detail__text="middle\n\n" + "b" * 2_000)
    assert stored(page)["detail"]["text"] == "a" * 2_000 + "\n\nmiddle"
    draft = drafts.save_draft(EDITOR, page, nonce(page), {"detail.text": "a" * 2_000 + "\n\nmiddle!"}).nonce
    drafts.save_draft(EDITOR, page, draft, {"detail.text": "c" * 900 + "\n\n" + "a" * 2_000 + "\n\nmiddle!"})
    with pytest.raises(TextTooLong):
        drafts.save_draft(EDITOR, page, draft, {"detail.text": "a" * 2_000 + "\n\nmiddle!\n\n" + "b" * 900})


def test_older_longer_text_can_be_moved_and_shortened(mongo, settings):
    settings.TEXT_MAX_BYTES = 2 * len(TOO_LONG)
    page = node(text=TOO_LONG)
    settings.TEXT_MAX_BYTES = MOST
    save(page, nonce(page), title="Another title", detail__text=TOO_LONG[:100])
    assert stored(page)["detail"]["text"] == TOO_LONG[:100]
