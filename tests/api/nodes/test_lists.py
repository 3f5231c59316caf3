"""Lists of sections in each order, and nodes of every type."""

from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from pydantic import TypeAdapter

from api.rights.scopes import Scope
from api.schemas import shapes
from cms.testing import build
from marginalia.mongo.clock import now
from nodes.content import registry
from tests.support.nodes.content import (
    Chapter,
    Concert,
    Cookbook,
    Everything,
    Handbook,
    News,
    Recipe,
    Season,
    registered,
)


def slugs(asker, query):
    """Return the slugs of a list, page by page."""
    found, following = [], {}
    while True:
        page = asker.read(f"/nodes?{query}&{urlencode({'limit': 2, **following})}")
        found.append([one["slug"] for one in page["items"]])
        if page["next"] is None:
            return found
        following = {"cursor": page["next"]}


def test_section_lists_in_the_order_of_its_type(visitor):
    with registered(Handbook, Chapter, News, Concert, Season):
        folder, handbook = build.node("folder", "folder"), build.node("handbook", "handbook")
        for slug in ("b", "c", "a"):
            build.node("basic-page", slug, parent=folder)
            build.node("chapter", slug, parent=handbook)
        assert slugs(visitor, f"section={folder}") == [["a", "b"], ["c"]]
        listed = slugs(visitor, f"section={handbook}")
        assert sorted(sum(listed, [])) == ["a", "b", "c"]
        assert [len(page) for page in listed] == [2, 1]
        season = build.node("season", "season")
        for days in (-2, -1, 1, 2, 3):
            build.node("concert", f"d{days}", parent=season, **{"detail.starts": now() + timedelta(days=days)})
        assert slugs(visitor, f"section={season}") == [["d1", "d2"], ["d3"]]
        past = visitor.read(f"/nodes?section={season}&cursor=past")
        assert ([one["slug"] for one in past["items"]], past["next"]) == (["d-1", "d-2"], None)


def test_facets_filter_a_section_and_are_counted(visitor):
    with registered(Recipe, Cookbook):
        book = build.node("cookbook", "cooking")
        for slug, course, vegan in (("pie", "dessert", True), ("tart", "dessert", False), ("stew", "main", True)):
            build.node("recipe", slug, parent=book, **{"detail.course": course, "detail.is_vegan": vegan})
        build.node("recipe", "secret", parent=book, published=None, **{"detail.course": "starter"})
        assert sorted(sum(slugs(visitor, f"section={book}&facet=course%3Ddessert"), [])) == ["pie", "tart"]
        assert slugs(visitor, f"section={book}&facet=course%3Ddessert&facet=is_vegan%3Dtrue") == [["pie"]]
        counted = visitor.read(f"/nodes/facets?section={book}")["items"]
        assert {one["facet"]: one["count"] for one in counted} == {
            "course=dessert": 2,
            "course=main": 1,
            "is_vegan=true": 2,
            "is_vegan=false": 1,
        }
        assert visitor.get(f"/nodes?section={book}&facet=servings%3D2").status_code == 422
        assert visitor.get(f"/nodes/facets?section={'0' * 24}").status_code == 404
        assert visitor.read(f"/nodes/facets?section={build.node('folder', 'plain')}") == {"items": []}


def test_every_content_type_matches_its_schema(visitor):
    blog = build.node("blog", "news")
    for type in (one.type_name for one in registry.types() if not one.is_file):
        parent = blog if type == "blog-entry" else None
        said = visitor.read(f"/nodes/{build.node(type, 'one-' + type, parent=parent)}?include=body_html")
        assert TypeAdapter(shapes.any_node()).validate_python(said).type == type


def test_every_field_class_matches_its_schema(visitor, commands):
    with registered(Everything):
        moment = datetime(2026, 2, 3, 4, 5, 6, 7000, tzinfo=UTC)
        fields = {
            "price": "2.50",
            "on": "2026-02-03",
            "at": "04:05:00",
            "moment": moment,
            "lasts": timedelta(hours=1, minutes=2),
            "key": "6f9619ff-8b86-d011-b42d-00cf4fc964ff",
            "lines": ["a", "b"],
            "days": ["2026-02-03"],
            "prices": ["1.5"],
            "piece": {"name": "One", "price": "1.250"},
            "pieces": [{"name": "Two", "at": "01:02:03"}],
            "may_be": None,
        }
        key = build.node(
            "everything", "one", parent=build.node("blog", "blog"), **{f"detail.{k}": v for k, v in fields.items()}
        )
        said = visitor.read(f"/nodes/{key}")
        TypeAdapter(shapes.any_node()).validate_json(visitor.get(f"/nodes/{key}").content)
        detail = said["detail"]
        assert (detail["price"], detail["on"], detail["at"]) == ("2.50", "2026-02-03", "04:05:00")
        assert (detail["moment"], detail["lasts"]) == ("2026-02-03T04:05:06.007Z", "P0DT01H02M00S")
        assert (detail["prices"], detail["piece"]["price"]) == (["1.5"], "1.250")
        assert len(detail["pieces"][0]["id"]) == 24


def test_list_for_editors_combines_filters(account, asker, mongo):
    editor, blog = asker(account("ed", "Editors"), Scope.READ), build.node("blog", "news")
    for number in range(3):
        build.node("blog-entry", f"p{number}", parent=blog, published=None, tags=("one",))
    build.node("blog-entry", "live", parent=blog, tags=("one",))
    assert [len(page) for page in slugs(editor, f"state=unpublished&tag=one&section={blog}")] == [2, 1]
    assert slugs(editor, f"state=live&type=blog-entry&tag=one&section={blog}") == [["live"]]
    assert editor.get("/nodes?state=live&author=Ann").status_code == 422
    assert editor.get("/nodes?state=none").status_code == 422
    whole = editor.read("/nodes?state=unpublished&include=detail")["items"]
    assert {"text", "format"} <= set(whole[0]["detail"])
