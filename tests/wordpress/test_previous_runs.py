"""One site exported in several files: in any order, everything is imported, except over changes of editors."""

from typing import Any

import pytest
from bson import ObjectId

from nodes.services import editing, trash
from nodes.types import Actor
from tests.support.nodes import pictures
from tests.support.wxr import attachment, comment, export, item, meta, page
from tests.wordpress.stored import html_of, snapshot, stored
from wordpress.importer import UNSEEN

pytestmark = pytest.mark.usefixtures("mongo")

ANN = Actor(None, "Ann")
UPLOADS = "https://old.example/wp-content/uploads/2021/05"
FIRST = export(
    item(
        1,
        "First",
        f'<p><img src="{UPLOADS}/lake.jpg" alt="A lake"/></p><p>See <a href="https://old.example/2012/03/post-2/">two</a> '
        'and <a href="https://old.example/?p=2">two again</a>, below <a href="https://old.example/page-4/">four</a>.</p>'
        '<!-- wp:block {"ref":9} /-->',
        meta("_thumbnail_id", "11"),
    ),
    page(3, "Below", "below", post_parent=4),
)
SECOND = export(
    attachment(11, f"{UPLOADS}/lake.jpg", "A lake", meta("_wp_attached_file", "2021/05/lake.jpg")),
    attachment(12, f"{UPLOADS}/hill.jpg", "A hill", meta("_wp_attached_file", "2021/05/hill.jpg")),
    item(
        2,
        "Second",
        f'<p>See <a href="https://old.example/2012/03/post-1/">one</a></p><img src="{UPLOADS}/hill.jpg" alt="A hill"/>',
    ),
    page(4, "Above", "above"),
    item(9, "Hours", "<!-- wp:paragraph --><p>Open 9 to 5.</p><!-- /wp:paragraph -->", post_type="wp_block"),
)


@pytest.fixture
def uploads(tmp_path):
    folder = tmp_path / "uploads" / "2021" / "05"
    folder.mkdir(parents=True)
    (folder / "lake.jpg").write_bytes(pictures.jpeg())
    (folder / "hill.jpg").write_bytes(pictures.jpeg(3))
    return tmp_path / "uploads"


def found(mongo, path: str) -> tuple[ObjectId, ObjectId, dict[str, Any]]:
    """Return a node's id, nonce and metadata."""
    metadata = stored(mongo)[path]
    node = mongo["cms.nodes"].find_one({"metadata.nonce": metadata["nonce"]})
    return node["_id"], metadata["nonce"], metadata


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("files", [(FIRST, SECOND), (SECOND, FIRST)], ids=["in order", "reversed"])
def test_files_are_imported_completely_in_either_order(mongo, run, uploads, client, files):
    for data in files:
        run(data, media=uploads)
    nodes = stored(mongo)
    assert {path for path, metadata in nodes.items() if metadata["type"] == "folder"} == {"page-4"}
    assert "above" in nodes["page-4"]["detail"]["text"]
    assert "page-4/page-3" in nodes
    first = html_of(nodes["blog/post-1"])
    second = html_of(nodes["blog/post-2"])
    picture = nodes["blog/post-1"]["detail"]["picture"]
    assert picture
    assert f'<img src="photo:{picture}"' in first
    assert first.count('href="/blog/post-2"') == 2
    assert 'href="/page-4"' in first
    assert "Open 9 to 5." in first
    assert 'href="/blog/post-1"' in second
    assert "<img" in second
    assert not mongo["wordpress.items"].count_documents({"waiting": {"$exists": True}})
    for address in ("/blog/post-1", "/page-4/page-3", "/page-4"):
        assert client.get(address).status_code == 200
    before = snapshot(mongo)
    for data in files:
        assert run(data, media=uploads)[-1] == "0 changes"
    assert snapshot(mongo) == before


class TestEarlierReleases:
    """Earlier releases stored texts as HTML."""

    HTML = {"detail.text": "<p>One <b>two</b></p>", "detail.format": "html"}

    def test_unedited_html_is_converted_once(self, mongo, run):
        data = export(item(1, "One", "One <b>two</b>"), page(2, "Two", "One"))
        run(data)
        place = {"metadata.slug": "post-1"}
        old = {f"metadata.{path}": value for path, value in self.HTML.items()}
        mongo["cms.nodes"].update_one(place, {"$set": old})
        mongo["cms.revisions"].update_one(place, {"$set": old})
        assert run(data, dry_run=True)[-1] == "1 change: 1 converted post"
        assert run(data)[-1] == "1 change: 1 converted post"
        detail = stored(mongo)["blog/post-1"]["detail"]
        assert (detail["text"], detail["format"]) == ("One **two**", "markdown")
        before = snapshot(mongo)
        assert run(data)[-1] == "0 changes"
        assert snapshot(mongo) == before

    def test_html_that_an_editor_saved_stays(self, mongo, run):
        data = export(item(1, "One", "x"))
        run(data)
        post, nonce, _metadata = found(mongo, "blog/post-1")
        editing.save(ANN, post, nonce, self.HTML)
        assert run(data)[-1] == "0 changes"
        assert stored(mongo)["blog/post-1"]["detail"]["text"] == self.HTML["detail.text"]


def test_report_lists_missing_and_completed_items(run, uploads):
    said = run(FIRST, media=uploads)
    assert "  page 3 “Below”" in said[said.index("Put at the top because the parent page is missing:") :]
    assert "  post 1 “First”: attachment 11" in said[said.index("Missing featured images:") :]
    assert "  post 1 “First”: https://old.example/?p=2" in said[said.index("Links that still point to the old site:") :]
    assert "  post 1 “First”: the synced pattern 9" in said[said.index("Left out of texts:") :]
    assert run(SECOND, media=uploads, dry_run=True)[-1].endswith("1 completed page, 1 completed post")
    assert run(SECOND, media=uploads)[-1].endswith("2 photos, 1 completed page, 1 completed post")


def test_changes_of_editors_are_kept(mongo, run, uploads):
    run(FIRST, media=uploads)
    post, nonce, _metadata = found(mongo, "blog/post-1")
    editing.save(ANN, post, nonce, {"detail.text": "Mine"})
    child, nonce, _metadata = found(mongo, "page-3")
    editing.save(ANN, child, nonce, {"title": "Mine"})
    said = run(SECOND, media=uploads)
    assert "  post 1 “First”" in said[said.index("Not completed because they were edited here:") :]
    nodes = stored(mongo)
    assert nodes["blog/post-1"]["detail"]["text"] == "Mine"
    assert nodes["page-3"]["title"] == "Mine"
    assert nodes["page-4"]["type"] == "basic-page"
    said = run(SECOND, media=uploads)
    assert "Not completed because they were edited here:" not in said


def test_edited_page_does_not_become_a_folder(mongo, run, uploads):
    run(SECOND, media=uploads)
    above, nonce, _metadata = found(mongo, "page-4")
    editing.save(ANN, above, nonce, {"detail.text": "Mine"})
    run(FIRST, media=uploads)
    assert stored(mongo)["page-4"]["type"] == "basic-page"
    assert "page-3" in stored(mongo)


def test_pictures_can_be_imported_later(mongo, run, uploads):
    run(FIRST)
    run(SECOND)
    assert "<img" not in html_of(stored(mongo)["blog/post-1"])
    assert run(FIRST, media=uploads)[-1] == "5 changes: 1 section, 2 photos, 2 completed posts"
    assert "<img" in html_of(stored(mongo)["blog/post-1"])


def test_photo_of_an_earlier_run_needs_no_file(mongo, run, uploads):
    run(SECOND, media=uploads)
    run(FIRST)
    first = stored(mongo)["blog/post-1"]
    assert f'<img src="photo:{first["detail"]["picture"]}"' in html_of(first)


def test_sources_of_deleted_texts_are_deleted(mongo, run):
    run(FIRST)
    post, nonce, _metadata = found(mongo, "blog/post-1")
    trash.trash(ANN, post, nonce)
    run(SECOND)
    trash.delete(post)
    assert not mongo["wordpress.items"].count_documents({"waiting": {"$exists": True}, "number": 1})
    assert mongo["wordpress.items"].find_one({"_id": post}) is None


def test_other_source_uses_none_of_its_photos(mongo, run, uploads):
    run(SECOND, media=uploads)
    run(FIRST, media=uploads, source="other", section="other")
    assert "<img" not in html_of(stored(mongo)["other/blog/post-1"])


@pytest.mark.parametrize(
    ("address", "waits"),
    [
        ("https://old.example/2012/03/post-2/", True),
        ("https://old.example/?p=2", True),
        ("https://old.example/2012/03/post-2.html", True),
        (f"{UPLOADS}/lake.jpg", True),
        (f"{UPLOADS}/paper.pdf", False),
        ("https://old.example/", False),
        ("https://old.example/category/news/", False),
        ("https://old.example/2012/03/post-2/feed/", False),
        ("https://old.example/?s=word", False),
        ("https://elsewhere.example/2012/", False),
    ],
)
def test_text_waits_only_for_items_of_an_export(mongo, run, address, waits):
    run(export(item(1, "One", f'<a href="{address}">there</a>')))
    assert mongo["wordpress.items"].count_documents({"waiting": {"$exists": True}}) == waits


def test_page_in_another_folder_stays_there(mongo, run):
    run(FIRST, section="one")
    run(SECOND, section="two")
    assert {"two/page-4", "two/page-4/page-3", "one/blog/post-1"} <= set(stored(mongo))


def test_front_page_made_a_folder_links_to_itself(mongo, run):
    run(export(page(4, "Start", "x", post_name="home"), item(1, "One", '<a href="https://old.example/page-5/">5</a>')))
    run(export(page(5, "Below", '<a href="https://old.example/page-4/">up</a>', post_parent=4)))
    nodes = stored(mongo)
    assert '<a href="/home">up</a>' in html_of(nodes["home/page-5"])
    assert '<a href="/home/page-5">5</a>' in html_of(nodes["blog/post-1"])


def test_comments_of_a_page_made_a_folder_are_reported(run):
    run(export(page(4, "Above", "above", comment(1))))
    said = run(export(page(3, "Below", "below", post_parent=4)))
    for heading in ("Made folders because they contain pages now", UNSEEN):
        assert said[said.index(f"{heading}:") + 1] == "  page 4 “Above”"
