"""Results, corrections, filters and suggestions of searches show only what readers can see, under its current name."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from bson import ObjectId

from cms.testing.build import EDITOR, node, nonce, save
from marginalia.mongo.clock import now
from nodes.collections import ASSET_FILES
from nodes.services import drafts, editing, tags, trash
from nodes.types import TagChange
from tests.support.nodes.photo_build import gallery, upload

PERSON = {"_id": None, "name": "Zeppelina Zeppelin"}
WORDS = {"title": "A zeppelin lantern", "tags": ("zeppelin",)}


def post(parent: ObjectId, slug: str, **fields) -> ObjectId:
    given = {"text": "The zeppelin has a lantern.", "author": PERSON, **WORDS, **fields}
    return node("blog-entry", slug, parent=parent, **given)


def trashed(blog: ObjectId) -> None:
    page = post(blog, "trashed")
    trash.trash(EDITOR, page, nonce(page))


def draft_of_live_page(blog: ObjectId) -> None:
    page = post(blog, "draft-of-live", title="Other", text="Other", tags=(), author={"_id": None, "name": "Bo"})
    fields = {"title": WORDS["title"], "detail.text": "The zeppelin has a lantern.", "author": PERSON}
    drafts.save_draft(EDITOR, page, nonce(page), fields, TagChange(added=frozenset(WORDS["tags"])))


def photo(parent: ObjectId, **fields) -> None:
    upload(parent, title=WORDS["title"], tags=WORDS["tags"], fields={"author": PERSON, **fields})


HIDDEN: dict[str, Callable[[ObjectId], object]] = {
    "unpublished": lambda blog: post(blog, "unpublished", published=None),
    "scheduled": lambda blog: post(blog, "scheduled", published=datetime(2900, 1, 1, tzinfo=UTC)),
    "expired": lambda blog: post(blog, "expired", expires=now() - timedelta(days=1)),
    "trashed": trashed,
    "draft of a live page": draft_of_live_page,
    "section": lambda blog: node("blog", "zeppelin", title="Zeppelin lantern", published=None),
    "in a hidden section": lambda blog: post(node("blog", "hidden", published=None), "inside"),
    "unpublished photo": lambda blog: photo(gallery("shown"), published=None),
    "photo in a hidden gallery": lambda blog: photo(gallery("secret", published=None)),
}


@pytest.fixture
def blog(mongo) -> ObjectId:
    news = node("blog", "news", title="News")
    for number in range(2):
        post(news, f"lantern-{number}", title="Lantern", text="Light", tags=(), author={"_id": None, "name": "Bo"})
    node(slug="lanterns", title="Lanterns", text="Light")
    return news


def found(client, query: str) -> list[str]:
    """Return the titles of the results of a search, with corrections."""
    return [hit.node.metadata.title for hit in client.get("/search", {"q": query}).context["results"].hits]


def suggested(client, query: str) -> list[str]:
    return [each["text"] for each in client.get("/search/suggestions", {"q": query}).json()["suggestions"]]


def main_part(client, query: str) -> str:
    """Return the content of the results page: the results, the filters with their counts, and corrections."""
    return client.get("/search", {"q": query}).content.decode().partition("<main")[2].partition("</main>")[0]


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("name", HIDDEN)
def test_hidden_content_changes_no_results_filters_and_suggestions(client, blog, name):
    queries = (
        "lantern",
        "lantern light",
        "zeppelin",
        "zepelin",
        "zeppel",
        "tag:zeppelin",
        "author:zeppelina",
        "lantren",
    )
    before = {query: (main_part(client, query), suggested(client, query)) for query in queries}
    assert found(client, "lantren") == found(client, "lantern") != []
    HIDDEN[name](blog)
    # A page that is live but has a draft is in lists, under its live title.
    assert "Other" not in found(client, "lantern")
    assert {query: (main_part(client, query), suggested(client, query)) for query in queries} == before


def test_live_content_is_in_results_filters_and_suggestions(client, blog):
    """The same content as in the test of hidden content, but readers can see it."""
    before = main_part(client, "lantern")
    post(node("blog", "essays", title="Essays"), "inside")
    photo(gallery("shown"))
    assert main_part(client, "lantern") != before
    for query in ("zeppelin", "zepelin", "zeppel", "tag:zeppelin", "author:zeppelina"):
        assert found(client, query) == [WORDS["title"]] * 2, query
    assert suggested(client, "zep") == [WORDS["title"], "zeppelin", PERSON["name"]]


def test_more_common_spelling_on_hidden_pages_is_not_suggested(client, blog):
    post(blog, "wrong", title="Zepelin", text="Zepelin", tags=(), author=None)
    for number in range(12):
        post(blog, f"p{number}", published=None)
    assert "Did you mean" not in main_part(client, "zepelin")
    for number in range(12):
        post(blog, f"q{number}")
    assert "Did you mean" in main_part(client, "zepelin")


def rename_page(page: ObjectId) -> None:
    save(page, nonce(page), title="Airships", detail__text="They fly.")


def rename_tag(page: ObjectId) -> None:
    tags.rename("zeppelin", "airships", None)


def rename_person(page: ObjectId) -> None:
    save(page, nonce(page), author={"_id": None, "name": "Airships Inc"})


def delete_page(page: ObjectId) -> None:
    trash.trash(EDITOR, page, nonce(page))


def remove_tag(page: ObjectId) -> None:
    editing.change_tags(page, TagChange(removed=frozenset({"zeppelin"})))


def remove_person(page: ObjectId) -> None:
    save(page, nonce(page), author=None)


ONLY_IN = {
    "title": {"title": "Zeppelin"},
    "tag": {"tags": ("zeppelin",)},
    "person": {"author": {"_id": None, "name": "Zeppelin"}},
}


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    ("place", "change", "new_is_found"),
    [
        ("title", rename_page, True),
        ("tag", rename_tag, True),
        ("person", rename_person, True),
        ("title", delete_page, False),
        ("tag", remove_tag, False),
        ("person", remove_person, False),
        ("tag", delete_page, False),
        ("person", delete_page, False),
    ],
)
def test_only_the_current_name_is_found_and_suggested(client, blog, place, change, new_is_found):
    plain = {"title": "Other", "text": "Other", "tags": (), "author": {"_id": None, "name": "Bo"}}
    page = post(blog, "page", **plain | ONLY_IN[place])
    for query in ("zeppelin", "zepelin"):
        assert len(found(client, query)) == 1, query
    assert len(suggested(client, "zep")) == 1
    change(page)
    for query in ("zeppelin", "zepelin", "tag:zeppelin", "author:zeppelin"):
        assert found(client, query) == [], query
    assert suggested(client, "zep") == []
    assert len(found(client, "airships")) == len(found(client, "airshps")) == new_is_found
    assert len(suggested(client, "air")) == new_is_found


def test_only_the_current_title_of_a_section_is_found(client, blog):
    section = node("blog", "old", title="Zeppelin")
    post(section, "inside", title="Other", text="Kettle", tags=(), author=None)
    assert found(client, "zeppelin kettle") == ["Other"]
    save(section, nonce(section), title="Airships")
    assert found(client, "airships kettle") == ["Other"]
    results = client.get("/search", {"q": "zeppelin kettle"}).context["results"]
    assert not results.all_words
    assert found(client, "zeppelin") == []


def test_only_the_current_title_of_a_photo_is_found(client, mongo):
    def seen() -> ObjectId:
        return mongo[ASSET_FILES].find_one({"_id": lake})["metadata"]["nonce"]

    lake = upload(gallery("lakes"), name="zeppelin.jpg", title="Zeppelin")
    assert found(client, "zeppelin") == ["Zeppelin"]
    editing.save(EDITOR, lake, seen(), {"title": "Airships"}, collection=ASSET_FILES)
    assert found(client, "airships") == ["Airships"]
    trash.trash(EDITOR, lake, seen(), ASSET_FILES)
    assert found(client, "airships") == []
