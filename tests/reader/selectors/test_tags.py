"""Tags that readers see."""

from cms.testing import build
from marginalia.mongo.clock import now
from nodes.models import tree
from nodes.selectors import stored_nodes
from reader.selectors import tag_counts
from tests.support.commands import explain, stages
from tests.support.nodes import photo_build


def test_tags_are_counted_by_an_index_and_cached(mongo, commands):
    blog, dark = build.node("blog", "news", tags=("one",)), build.node("blog", "dark", published=None, tags=("unseen",))
    for number in range(3):
        build.node("blog-entry", f"p{number}", parent=blog, tags=("one", "two")[: number + 1])
    build.node("blog-entry", "in-the-dark", parent=dark, tags=("unseen",))
    photo_build.upload(photo_build.gallery())
    with commands.recorded() as log:
        assert tag_counts.count_tags(tree.current(), now()) == {"one": 4, "two": 2}
    asked = [event for event in log.sent if "$unwind" in repr(event.command)]
    assert len(asked) == 2
    for event in asked:
        assert "COLLSCAN" not in stages(explain(mongo, event))
    build.node("blog-entry", "another", parent=blog, tags=("three",))
    assert tag_counts.count_tags(tree.current(), now())["three"] == 1


def test_nodes_of_a_type_are_listed_by_an_index(mongo, commands):
    for number in range(3):
        build.node("basic-page", f"p{number}")
    build.node("basic-page", "draft", published=None)
    with commands.recorded() as log:
        found = stored_nodes.nodes_of_type(tree.current(), "basic-page", now(), size=2)
    assert [one.metadata.slug for one in found.nodes] == ["p2", "p1"]
    plan = explain(mongo, log.sent[-1])
    assert "COLLSCAN" not in stages(plan)
    assert "SORT" not in stages(plan)
