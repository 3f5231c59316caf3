"""The page tree: levels, open sections, counts, and long sections."""

import re
from html import unescape

import pytest
from bson import ObjectId
from django.contrib.auth.models import Permission

from cms.testing.build import node, nonce
from nodes.access import System
from nodes.selectors import levels, stored_nodes
from nodes.services import ordering
from photos.actions import UploadFile
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
    UploadFile(user=System("Ann"), gallery_id=site["inner"], filename="notes.txt", fields={}).execute([b"Notes"])
    ann = editor()
    html = ann.client.get(TREE, {"open": str(site["folder"])}).content.decode()
    assert re.search(r'aria-expanded="true"\s+aria-label="Contents of “Folder”"', html)
    assert re.search(r'aria-expanded="false"\s+aria-label="Contents of “Inner”"', html)
    assert "Contents of “Zebra”" not in html
    assert f'<a href="/admin/nodes/node/?section={site["folder"]}">2 pages</a>' in html
    assert ">1 photo</a>" in html
    assert f'<a href="/admin/nodes/file/?section={site["inner"]}">1 file</a>' in html
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
    assert len(lookups) == 3
    assert all(stage["indexesUsed"] and stage["collectionScans"] == 0 for stage in lookups)


class TestMoves:
    """The position of a page after it was moved in the tree, and after Undo."""

    def move(self, person, node_id: ObjectId, place: str, target: ObjectId | str, seen: ObjectId | None = None) -> str:
        """Move a page as the form does, and return the page with the message."""
        form = {"move": f"{node_id}:{seen or nonce(node_id)}:{place}:{target}"}
        page = person.client.post(TREE, form, follow=True)
        assert page.redirect_chain[0][0] == f"{TREE}#node-{node_id}"
        return page.content.decode()

    def undo(self, person, html: str) -> None:
        address, value = re.search(r'form="undo" formaction="([^"]+)" name="move" value="([^"]+)"', html).groups()
        assert "The page wasn't moved" not in person.client.post(address, {"move": value}, follow=True).content.decode()

    def test_page_is_moved_within_its_section_and_back(self, editor, book, chapters):
        ann = editor()

        def order() -> list[str]:
            return titles(ann, f"?open={book}")[1:]

        html = ann.client.get(TREE, {"open": str(book)}).content.decode()
        assert html.count("Move up") == html.count("Move down") == 4
        page = self.move(ann, chapters[4], "before", chapters[1])
        assert "“E” was moved." in page
        assert order() == ["A", "E", "B", "C", "D"]
        self.undo(ann, page)
        assert order() == ["A", "B", "C", "D", "E"]
        page = self.move(ann, chapters[0], "after", chapters[2])
        assert order() == ["B", "C", "A", "D", "E"]
        self.undo(ann, page)
        assert order() == ["A", "B", "C", "D", "E"]

    def test_page_is_moved_to_another_section_and_back(self, editor, book, chapters):
        ann, folder = editor(), node("folder", "folder")
        page = self.move(ann, chapters[1], "into", folder)
        assert "“B” was moved to /folder/b. Old URLs redirect there." in page
        assert titles(ann, f"?open={book}&open={folder}") == ["Book", "A", "C", "D", "E", "Folder", "B"]
        self.undo(ann, page)
        assert titles(ann, f"?open={book}&open={folder}") == ["Book", "A", "B", "C", "D", "E", "Folder"]
        self.move(ann, chapters[1], "into", folder)
        self.move(ann, chapters[1], "before", chapters[4])
        assert titles(ann, f"?open={book}")[1:6] == ["A", "C", "D", "B", "E"]
        self.undo(ann, self.move(ann, folder, "into", node("folder", "other")))
        assert titles(ann) == ["Book", "Folder", "Other"]

    def test_page_dropped_in_a_folder_sorted_by_name_keeps_this_order(self, site, editor):
        ann, page = editor(), stored_nodes.find(None, "zebra").pk
        self.move(ann, page, "before", site["inner"])
        assert titles(ann, f"?open={site['folder']}") == ["Blog", "Folder", "First", "Inner", "Zebra"]
        self.move(ann, page, "before", site["inner"])
        assert titles(ann, f"?open={site['folder']}") == ["Blog", "Folder", "First", "Zebra", "Inner"]

    def test_undo_of_the_first_move_sorts_the_folder_by_name_again(self, site, editor, mongo):
        ann, folder = editor(), site["folder"]
        first = stored_nodes.find(folder, "first").pk
        page = self.move(ann, first, "after", site["inner"])
        assert titles(ann, f"?open={folder}") == ["Blog", "Folder", "Inner", "First", "Zebra"]
        self.undo(ann, page)
        assert "arranged" not in mongo["cms.nodes"].find_one({"_id": folder})
        assert mongo["cms.nodes"].count_documents({"position": {"$exists": True}}) == 0
        node(slug="almost", title="Almost", parent=folder)
        assert titles(ann, f"?open={folder}") == ["Blog", "Folder", "Almost", "First", "Inner", "Zebra"]

    def test_undo_of_the_first_move_keeps_the_order_of_another_editor(self, site, editor, mongo):
        ann, folder = editor(), site["folder"]
        first, last = stored_nodes.find(folder, "first").pk, node(slug="last", title="Last", parent=folder)
        page = self.move(ann, first, "after", site["inner"])
        self.move(editor("bob"), last, "before", site["inner"])
        self.undo(ann, page)
        assert mongo["cms.nodes"].find_one({"_id": folder})["arranged"] is True
        assert titles(ann, f"?open={folder}") == ["Blog", "Folder", "Last", "First", "Inner", "Zebra"]

    def test_refused_move_gives_the_reason_and_moves_nothing(self, site, editor):
        ann, zebra = editor(), stored_nodes.find(None, "zebra").pk
        old, new = (stored_nodes.find(site["blog"], slug).pk for slug in ("old", "new"))
        for moved, place, target, reason in (
            (site["folder"], "into", site["inner"], "A section can't be moved into itself"),
            (zebra, "before", site["folder"], "The top level is always sorted by name."),
            (old, "before", new, "This section lists its contents by date"),
            (old, "into", "top", "Content of the type “Blog post” isn't allowed"),
            (zebra, "into", old, "This section no longer exists."),
            (zebra, "before", ObjectId(), "This item no longer exists."),
        ):
            html = self.move(ann, moved, place, target)
            assert "The page wasn't moved. " + reason in unescape(html)
        everything = f"?open={site['folder']}&open={site['inner']}&open={site['blog']}"
        assert titles(ann, everything) == ["Blog", "New", "Old", "Folder", "First", "Inner", "Deep", "Zebra"]
        for text in ("", "x", "a:b:c:d", f"{zebra}:{ObjectId()}:beside:{old}", f"{zebra}:{ObjectId()}:before:top"):
            assert ann.client.post(TREE, {"move": text}).status_code == 404

    def test_user_without_publish_permission_moves_nothing(self, site, editor):
        ann = editor("ann", is_superuser=False)
        ann.user.user_permissions.add(*Permission.objects.filter(codename__in=("view_node", "change_node")))
        assert "tree-moves" not in ann.client.get(TREE).content.decode()
        html = self.move(ann, stored_nodes.find(None, "zebra").pk, "into", site["folder"])
        assert "Your account doesn" in html
        assert stored_nodes.find(None, "zebra")
