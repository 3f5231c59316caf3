"""The words on the site, and words with similar spelling."""

import pytest

from cms.testing.build import EDITOR, node, nonce
from marginalia.mongo.clock import now
from nodes.search import vocabulary
from nodes.services import editing, trash
from nodes.services.vocabulary import forget_unused
from nodes.types import TagChange
from tests.support.doctor import findings

pytestmark = pytest.mark.usefixtures("mongo")


def similar(word: str) -> list[str]:
    return [other for _distance, other in vocabulary.similar(word)]


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("magrin", "margin"),
        ("marjin", "margin"),
        ("argin", "margin"),
        ("margiin", "margin"),
        ("acomodation", "accommodation"),
        ("bok", "book"),
        ("книа", "книга"),
    ],
)
def test_similar_words_are_found(typed, word):
    node(slug="page", text="A margin, an accommodation, a book, a книга, and a curtain.")
    assert word in similar(typed)


@pytest.mark.parametrize("typed", ["margin", "bottle", "xx", "a" * 31, "b00k", "", "=en", "$gt"])
def test_other_words_are_not_similar(typed):
    node(slug="page", text="A margin and a book.")
    assert similar(typed) == []


def test_saves_and_new_tags_add_words_once(mongo):
    page = node(slug="page", text="Before")
    editing.save(EDITOR, page, nonce(page), {"detail.text": "The afterwards are the best of the days, and they are."})
    editing.change_tags(page, TagChange(added=frozenset({"letterpress"})))
    stored = [document["_id"] for document in mongo["cms.words"].find()]
    assert {"before", "afterwards", "letterpress"} <= set(stored)
    assert len(stored) == len(set(stored))
    assert "en" in vocabulary.languages_in_use(now())


def test_words_that_no_page_contains_are_forgotten(mongo):
    page = node(slug="page", title="Page", text="Umbrellas")
    node(slug="other", title="Other", text="Lanterns")
    trash.trash(EDITOR, page, nonce(page))
    trash.delete(page)
    forget_unused()
    stored = {document["_id"] for document in mongo["cms.words"].find()}
    assert "lanterns" in stored
    assert "umbrellas" not in stored


@pytest.mark.slow
def test_doctor_reports_pages_without_terms(mongo):
    page = node(slug="page")
    assert findings("not-searchable") == []
    mongo["cms.nodes"].update_one({"_id": page}, {"$unset": {"derived.terms": ""}})
    (finding,) = findings("not-searchable")
    assert finding.fix == "Run manage.py upgrade_nodes."
