"""Search suggestions: titles, tags and authors that readers see, with indexes."""

import pytest

from cms.testing.build import node, nonce, save
from marginalia.mongo.clock import now
from nodes.collections import keys_of
from nodes.models import tree
from reader.selectors import suggestions
from tests.support.commands import explain, stages

pytestmark = pytest.mark.usefixtures("mongo")


def found(typed: str) -> list[str]:
    return [each.text for each in suggestions.suggest(tree.current(), typed, now())]


@pytest.mark.parametrize(
    ("typed", "suggested"),
    [
        ("lis", ["A trip to Lisbon", "Lisbon tiles", "Lisbon tiles"]),
        ("TRI lis", ["A trip to Lisbon"]),
        ("zur", ["Zürich"]),
        ("楼梦", ["红楼梦"]),
        ("li", []),
        ("楼", ["红楼梦"]),
        ("lig", ["light and shade"]),
        ("Light A", ["light and shade"]),
        ("lime", ["Limewood"]),
        ("shade", []),
        ("lisbons", []),
        ("", []),
        ("ines", ["Ines Okafor"]),
        ("oka", ["Ines Okafor"]),
        ("$gt", []),
        ("\x00 ,/", []),
    ],
)
def test_suggestions_match_title_words_and_tag_prefixes(typed, suggested):
    node(slug="trip", title="A trip to Lisbon", tags=("light and shade", "Limewood", "travel"))
    if typed == "lis":
        node(slug="tiles", title="Lisbon tiles", tags=("Lisbon tiles",))
    node(slug="other", title="Zürich", tags=("light and shade",))
    node(slug="dream", title="红楼梦")
    blog = node("blog", "news", title="Other")
    node("blog-entry", "post", parent=blog, title="Other", author={"_id": None, "name": "Ines Okafor"})
    node("blog-entry", "draft", parent=blog, title="Other", published=None, author={"_id": None, "name": "Ines Lis"})
    assert sorted(found(typed)) == sorted(suggested)


def test_suggestions_link_to_pages_tags_and_authors():
    blog = node("blog", "news", title="Other")
    node("blog-entry", "post", parent=blog, title="Inkwell", tags=("inks",), author={"_id": None, "name": "Inka"})
    assert [(each.kind, each.url) for each in suggestions.suggest(tree.current(), "ink", now())] == [
        (suggestions.PAGE, "/news/post"),
        (suggestions.TAG, "/tag/inks"),
        (suggestions.PERSON, "/author/inka"),
    ]


def test_authors_without_public_posts_are_not_suggested():
    """They have no author page."""
    node("basic-page", "about", title="About", author={"_id": None, "name": "Wilma"})
    assert found("wilma") == []


def test_hidden_pages_and_tags_are_not_suggested():
    hidden = node("folder", "hidden", published=None)
    for slug, more in {"draft": {"published": None}, "inside": {"parent": hidden}, "seen": {}}.items():
        node(slug=slug, title=f"Secret {slug}", tags=(f"secretly {slug}",), **more)
    seen = node(slug="changed", title="Secret no more")
    save(seen, nonce(seen), title="Open")
    assert found("secret") == ["Secret seen", "secretly seen"]


def test_suggestions_are_few_and_cheap(mongo, commands):
    for number in range(40):
        state = {} if number % 2 else {"published": None}
        node(slug=f"page-{number}", title=f"Lake {number}", tags=("all lakes", f"lake {number}"), **state)
    for typed, titles, tags in (("lak", 6, 3), ("all", 0, 1), ("lake 13", 1, 1), ("harbour", 0, 0)):
        with commands.recorded():
            suggested = found(typed)
        assert [one for one in suggested if one.startswith("Lake")] == suggested[:titles], typed
        assert len(suggested) == titles + tags, typed
        hinted = [keys_of(name) for name in ("by_title_word", "by_tag")]
        sent = [event for event in commands.sent if event.command.get("hint") in hinted]
        assert len(sent) <= 3 + suggestions.MAX_TAGS
        for event in sent:
            plan = explain(mongo, event)
            assert "IXSCAN" in stages(plan)
            assert not stages(plan) & {"COLLSCAN", "SORT"}
            assert event.command["maxTimeMS"] <= suggestions.TIME_LIMIT_MS
            read = plan["executionStats"]["totalDocsExamined"]
            assert read <= (1 if event.command["hint"] == hinted[1] else 2 * suggestions.MAX_TITLES + 4), (typed, read)
