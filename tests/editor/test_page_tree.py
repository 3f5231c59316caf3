"""The page tree: levels, open sections, counts, and long sections."""

import re

import pytest
from bson import ObjectId

from cms.testing.build import node
from nodes.selectors import levels
from nodes.services import ordering
from tests.support.commands import explain, stages
from tests.support.nodes.photo_build import gallery, upload

TREE = "/admin/nodes/node/tree/"


@pytest.fixture
def site(mongo) -> dict[str, ObjectId]:
    """A folder with a page and a folder that contains a page, beside a blog with two posts, and a page."""
    folder = node("folder", "folder", title="Folder")
    inner = node("folder", "inner", title="Inner", parent=folder)
    node(slug="first", title="First", parent=folder, published=None)
    node(slug="deep", title="Deep", parent=inner)
    blog = node("blog", "blog", title="Blog")
    for slug in ("old", "new"):
        node("blog-entry", slug, title=slug.title(), parent=blog)
    node(slug="zebra", title="Zebra")
    return {"folder": folder, "inner": inner, "blog": blog}


def titles(person, query: str = "") -> list[str]:
    html = person.client.get(TREE + query).content.decode()
    return re.findall(r'/change/"[^>]*>([^<]*)</a>\s*<small>', html)


def test_open_sections_show_their_contents(site, editor):
    ann = editor()
    assert titles(ann) == ["Blog", "Folder", "Zebra"]
    assert titles(ann, f"?open={site['folder']}") == ["Blog", "Folder", "First", "Inner", "Zebra"]
    both = f"?open={site['folder']}&open={site['inner']}"
    assert titles(ann, both) == ["Blog", "Folder", "First", "Inner", "Deep", "Zebra"]
    assert titles(ann, f"?open={site['inner']}") == ["Blog", "Folder", "Zebra"]
    assert titles(ann, f"{both}&toggle={site['folder']}") == ["Blog", "Folder", "Zebra"]
    assert titles(ann, f"?toggle={site['blog']}") == ["Blog", "New", "Old", "Folder", "Zebra"]


def test_rows_show_state_counts_and_a_toggle_for_sections_with_pages(site, editor):
    upload(gallery("pictures"))
    ann = editor()
    html = ann.client.get(TREE, {"open": str(site["folder"])}).content.decode()
    assert re.search(r'aria-expanded="true"\s+aria-label="Contents of “Folder”"', html)
    assert re.search(r'aria-expanded="false"\s+aria-label="Contents of “Inner”"', html)
    assert "Contents of “Zebra”" not in html
    assert f'<a href="/admin/nodes/node/?section={site["folder"]}">2 pages</a>' in html
    assert ">1 photo</a>" in html
    assert '<span class="state state-unpublished">Draft</span>' in html
    assert f'<a href="/admin/nodes/node/{site["folder"]}/change/"' in re.sub(r"\s+", " ", html)


def test_long_section_is_shown_page_by_page(site, editor, monkeypatch):
    monkeypatch.setattr(levels, "SIZE", 1)
    ann = editor()
    for section, expected in ((site["folder"], ["First", "Inner"]), (site["blog"], ["New", "Old"])):
        query, seen = f"?section={section}", []
        while query:
            seen += titles(ann, query)
            more = re.search(r'class="tree-more">\s*<a href="([^"]+)"', ann.client.get(TREE + query).content.decode())
            query = more[1].replace("&amp;", "&") if more else ""
        assert seen == expected
    assert titles(ann) == ["Blog"]
    for query in ("?from=nothing", "?section=$gt", f"?section={ObjectId()}"):
        assert ann.client.get(TREE + query).status_code == 404


def test_manual_order_is_the_order_of_the_tree(editor, book, chapters):
    ordering.move_to_start(book, chapters[4])
    assert titles(editor(), f"?open={book}") == ["Book", "E", "A", "B", "C", "D"]


def test_invalid_and_too_many_open_sections_are_ignored(site, editor, monkeypatch):
    ann = editor()
    assert titles(ann, f"?open=$gt&open={ObjectId()}&toggle=x") == ["Blog", "Folder", "Zebra"]
    monkeypatch.setattr("editor.page_tree.MOST_OPEN", 1)
    assert titles(ann, f"?open={site['blog']}&open={site['folder']}") == ["Blog", "Folder", "First", "Inner", "Zebra"]


def test_tree_is_for_users_who_see_all_pages(site, editor, author):
    assert author.client.get(TREE).status_code == 403
    assert TREE not in author.client.get("/admin/nodes/node/").content.decode()
    assert f'href="{TREE}"' in editor().client.get("/admin/nodes/node/").content.decode()


def test_each_open_section_costs_one_command(site, editor, commands):
    ann = editor()

    def count(query: str) -> int:
        with commands.recorded():
            assert ann.client.get(TREE + query).status_code == 200
        return len(commands.sent)

    count("")
    closed = count("")
    assert count(f"?open={site['folder']}") == closed + 1
    assert count(f"?open={site['folder']}&open={site['inner']}&open={site['blog']}") == closed + 3
    assert count(f"?section={site['folder']}") == closed


def test_level_and_counts_use_indexes(mongo, site, commands):
    with commands.recorded():
        levels.level(None, None)
        levels.count_contents(site.values())
    find, aggregate = commands.sent
    assert not stages(explain(mongo, find)) & {"COLLSCAN", "SORT"}
    lookups = [stage for stage in explain(mongo, aggregate)["stages"] if "$lookup" in stage]
    assert len(lookups) == 2
    assert all(stage["indexesUsed"] and stage["collectionScans"] == 0 for stage in lookups)
