"""Pages and photos found by the words of their titles while typing, with an index."""

import pytest
from bson import ObjectId

from cms.testing.build import node, nonce, save
from marginalia.markup import titles
from nodes.collections import ASSET_FILES
from nodes.selectors import picking
from tests.support.commands import explain, stages
from tests.support.nodes.photo_build import gallery, upload

pytestmark = pytest.mark.usefixtures("mongo")


def found(query: str, size: int = 12, **options) -> list[str]:
    return [one.metadata.title for one in picking.by_title(query, size, **options)]


@pytest.mark.parametrize(
    ("title", "queries"),
    [
        ("A trip to Lisbon", ["l", "LISB", "lisbon", "trip lis", "lis trip", "  a  ", "to,lisbon!"]),
        ("Zürich im Straßenbild", ["zur", "Zür", "strasse", "im zürich"]),
        ("红楼梦的批注", ["红", "楼梦", "批注", "红楼梦的批注"]),
        ("IMG_1234", ["img", "1234", "12"]),
        ("Ελλάδα", ["ελλ", "ΕΛΛ"]),
    ],
)
def test_title_is_found_by_prefixes_of_its_words(title, queries):
    node(slug="one", title=title)
    node(slug="other", title="Something else")
    for query in queries:
        assert found(query) == [title], query


@pytest.mark.parametrize("query", ["isbon", "lisbons", "lisbon rome", "$gt", "!!", "x" * 500, "—"])
def test_other_words_find_no_title(query):
    node(slug="one", title="A trip to Lisbon")
    assert found(query) == []


def test_whole_words_and_recent_changes_come_first():
    for slug in ("post", "posted", "poster"):
        node(slug=slug, title=slug.title())
    older = node(slug="a", title="My post")
    assert found("post") == ["My post", "Post", "Posted", "Poster"]
    save(older, nonce(older), title="No more")
    assert found("post", size=2) == ["Post", "Posted"]


def test_pages_with_the_words_in_their_text_come_after_titles():
    node(slug="text", title="Water", text="A lantern on the lake")
    node(slug="title", title="Lanterns")
    node(slug="hidden", title="Hidden", text="Lantern", published=None)
    assert picking.by_words("lantern", 1)[0].metadata.slug == "title"
    assert {one.metadata.slug for one in picking.by_words("lantern", 9)} == {"title", "text", "hidden"}
    seen = {"metadata.published": {"$ne": None}}
    assert [one.metadata.slug for one in picking.by_words("lantern", 9, among=seen)] == ["title", "text"]
    assert [one.metadata.slug for one in picking.by_words("lanten lake", 9)] == ["text"]


def test_empty_query_returns_the_last_changed():
    for number in range(3):
        node(slug=f"page-{number}", title=f"Page {number}")
    assert found("", size=2) == ["Page 2", "Page 1"]


def test_photos_are_found_by_title():
    photo = upload(gallery(), name="lake-of-garda.jpg")
    (one,) = picking.by_title("gar", 12, collection=ASSET_FILES)
    assert one.pk == photo


def test_indexed_words_of_a_title_are_limited():
    assert len(titles.title_words("红" * 300)) <= titles.MAX_STORED
    assert titles.query_prefixes("b a ccc " * 9 + "dd e f g") == ["ccc", "dd", "b", "a", "e"]
    assert max(map(len, titles.title_words("x" * 300))) == titles.MAX_WORD_LENGTH


def test_titles_are_found_by_an_index(mongo, commands):
    for number in range(40):
        node(slug=f"page-{number}", title=f"{'Lake' if number % 4 else 'Harbour'} {number}")
    # For several words, all titles with the rarest one can be read, here ten.
    for query, size, most in (("harb", 6, 6), ("lake", 12, 12), ("lak", 12, 12), ("harbour 1", 6, 10)):
        with commands.recorded():
            assert found(query, size), query
        (event,) = (event for event in commands.sent if event.command_name == "find")
        plan = explain(mongo, event)
        assert {"IXSCAN", "FETCH"} <= stages(plan)
        assert not stages(plan) & {"COLLSCAN", "SORT"}
        run = plan["executionStats"]
        assert run["totalDocsExamined"] <= most, (query, run["totalDocsExamined"], run["nReturned"])
        assert event.command["maxTimeMS"] <= picking.MILLISECONDS


def test_results_can_be_filtered():
    mine, other = node(slug="mine", title="Lake one"), node(slug="other", title="Lake two")
    assert found("lake", among={"_id": {"$ne": other}}) == ["Lake one"]
    assert found("lake", among={"_id": {"$nin": [mine, ObjectId()]}}) == ["Lake two"]
