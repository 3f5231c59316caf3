"""The import command end to end: what it stores and shows, and that a second run changes nothing."""

import io
from datetime import UTC, datetime, timedelta

import pytest
from bson import ObjectId
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command

from cms.testing import build
from marginalia.comments.moderation import pending
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import Verdict
from nodes import tags as tags_of_nodes
from nodes.services import editing, trash
from nodes.types import Actor
from tests.support.nodes import pictures
from tests.support.wxr import EMPTY_DATE, attachment, author, comment, export, item, meta, page, term
from tests.wordpress.stored import html_of, snapshot, stored, target
from wordpress import importer
from wordpress.management.commands import import_wordpress

pytestmark = pytest.mark.usefixtures("mongo")

ANN = Actor(None, "Ann")


SMALL = export(
    item(
        1,
        "Hello &amp; welcome",
        "One\n\nTwo <!--more-->\n\nThree [gallery]",
        term("News"),
        term("Red & blue", "post_tag"),
        term("Aside", "post_format"),
        comment(11, "First"),
        post_modified_gmt="2013-01-01 00:00:00",
        post_modified="2013-01-01 02:00:00",
    ),
    page(2, "About", "Who we are", post_name="about"),
    head=author("ada", "Ada L."),
)


def test_post_is_stored_as_a_node(mongo, run):
    said = run(SMALL)
    assert set(stored(mongo)) == {"about", "blog", "blog/post-1"}
    post = stored(mongo)["blog/post-1"]
    assert post["type"] == "blog-entry"
    assert post["title"] == "Hello & welcome"
    assert post["published"] == post["created"] == datetime(2012, 3, 4, 5, 8, 9, tzinfo=UTC)
    assert post["updated"] == datetime(2013, 1, 1, tzinfo=UTC)
    assert post["expires"].year == 9999
    assert post["author"] == {"_id": None, "name": "Ada L."}
    assert post["tags"] == ["News", "Red & blue"]
    assert post["summary"] == ""
    assert {name: post["detail"][name] for name in ("text", "format")} == {
        "text": "One\n\nTwo\n\nThree",
        "format": "markdown",
    }
    assert post["detail"]["source"]["id"] == 1
    assert post["detail"]["source"]["site"] == "old.example"
    assert stored(mongo)["about"]["type"] == "basic-page"
    assert stored(mongo)["blog"]["type"] == "blog"
    assert said[-5:] == [
        "1 post",
        "1 page",
        "1 comment (1 approved, 1 of them public)",
        "0 attachments missing, 0 found",
        "4 changes: 1 section, 1 page, 1 post, 1 comment",
    ]
    revisions = list(mongo["cms.revisions"].find())
    assert {revision["_id"] for revision in revisions} == {m["nonce"] for m in stored(mongo).values()}


@pytest.mark.parametrize(
    ("excerpt", "summary"),
    [
        ("What it is about", "What it is about"),
        ("One &amp; two", ""),
        ("<p>One &amp; two</p> Three", ""),
        ("one & two", "one & two"),
    ],
)
def test_summary_does_not_repeat_the_start_of_the_text(mongo, run, client, excerpt, summary):
    run(export(item(1, "One", "One &amp; <b>two</b><!--more-->\n\nThree and four", excerpt=excerpt)))
    assert stored(mongo)["blog/post-1"]["summary"] == summary
    assert client.get("/blog/post-1").content.decode().count("<strong>two</strong>") == 1


def test_readers_see_the_imported_posts(run, client):
    run(SMALL)
    shown = client.get("/blog/post-1").content.decode()
    assert "<p>Three</p>" in shown
    assert "First" in shown
    assert "Ada L." in shown
    assert "private.example" not in shown
    assert "Who we are" in client.get("/about").content.decode()


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_every_version_is_imported(mongo, run, version, scheme):
    run(export(item(1, "One", "Text", comment(1)), page(2, "Two"), version=version, scheme=scheme))
    assert set(stored(mongo)) == {"blog", "blog/post-1", "page-2"}


class TestSecondRun:
    def test_second_run_changes_nothing(self, mongo, run):
        data = export(
            item(1, "One", "x", comment(1), comment(2, parent=1), comment(3, approved="0"), comment(4, parent=3)),
            page(3, "Below", post_parent=2),
            page(2, "Above"),
            item(4, "", "No title", post_name=""),
        )
        assert "0 changes" not in run(data)[-1]
        before = snapshot(mongo)
        assert run(data)[-1] == "0 changes"
        assert snapshot(mongo) == before

    def test_changes_of_editors_are_kept(self, mongo, run):
        data = export(
            *(item(number, f"Post {number}", "Text", comment(number)) for number in (1, 2, 3)), page(4, "Page")
        )
        run(data)
        nodes = stored(mongo)
        folder = build.node("folder", "archive")
        first, second = (ObjectId(target(nodes[f"blog/post-{number}"], mongo).pk) for number in (1, 2))
        editing.save(ANN, first, nodes["blog/post-1"]["nonce"], {"title": "Better", "slug": "better"})
        trash.trash(ANN, second, nodes["blog/post-2"]["nonce"])
        page_id = ObjectId(target(nodes["page-4"], mongo).pk)
        editing.save(ANN, page_id, nodes["page-4"]["nonce"], {"parent_id": folder, "detail.text": "New"})
        third = target(nodes["blog/post-3"], mongo)
        services.remove(third, next(selectors.iterate(third)).slug)
        before = snapshot(mongo)
        assert run(data)[-1] == "0 changes"
        assert snapshot(mongo) == before

    def test_decisions_of_moderators_are_kept(self, mongo, run):
        data = export(item(1, "One", "x", *(comment(number, approved="0") for number in (1, 2, 3))))
        run(data)
        approved, rejected, _ = selectors.held()
        pending.approve(approved.id)
        pending.reject(rejected.id, verdict=Verdict.SPAM)
        before = snapshot(mongo)
        assert run(data)[-1] == "0 changes"
        assert snapshot(mongo) == before

    def test_new_items_are_added(self, mongo, run):
        run(export(item(1, "One", "x", comment(1))))
        said = run(export(item(1, "One", "x", comment(1), comment(2, parent=1)), item(5, "Two")))
        assert said[-1] == "2 changes: 1 post, 1 comment"
        assert selectors.count(target(stored(mongo)["blog/post-1"], mongo)) == 2

    def test_cleaned_queue_is_not_filled_again(self, mongo, run, monkeypatch):
        """Decisions of moderators are kept for 30 days."""
        data = export(item(1, "One", "x", comment(1, approved="0")))
        run(data)
        pending.reject(selectors.held()[0].id)
        mongo["comments.pending"].delete_many({})
        later = datetime.now(UTC).replace(year=datetime.now(UTC).year + 1, microsecond=0)
        monkeypatch.setattr(importer, "now", lambda: later)
        assert run(data)[-1] == "0 changes"
        assert selectors.held() == ()


class TestSitesWithOneDomain:
    def other(self, day: int):
        return item(
            1, "Other", "x", comment(9, "Other words"), post_name="other", post_date_gmt=f"2015-01-{day:02} 00:00:00"
        )

    def test_second_site_is_refused_and_changes_nothing(self, mongo, run):
        run(export(item(1, "One", "x", comment(9))))
        before = snapshot(mongo)
        with pytest.raises(CommandError, match="1 of the 1 posts and pages .* from old.example .* --source NAME"):
            run(export(self.other(2), item(2, "Two")))
        assert snapshot(mongo) == before

    def test_second_site_is_imported_with_a_source_name(self, mongo, run):
        run(export(item(1, "One", "x", comment(9))))
        data = export(self.other(2))
        assert run(data, source="second")[-1] == "2 changes: 1 post, 1 comment"
        assert set(stored(mongo)) == {"blog", "blog/post-1", "blog/other"}
        assert run(data, source="second")[-1] == "0 changes"
        with pytest.raises(CommandError, match="from second"):
            run(export(item(1, "One")), source="second")

    def test_few_changed_dates_are_changes_of_an_editor(self, run):
        same = [item(number, "Same") for number in (2, 3)]
        run(export(item(1, "One"), *same))
        assert run(export(self.other(3), *same))[-1] == "1 change: 1 comment"

    def test_drafts_published_since_are_of_the_same_site(self, run):
        run(export(item(1, "One", status="draft", post_date_gmt=EMPTY_DATE, post_date="2012-01-01 00:00:00")))
        assert run(export(item(1, "One", post_date_gmt="2012-06-01 09:00:00")))[-1] == "0 changes"


class TestPrivatePosts:
    HIDDEN = export(
        item(1, "Draft", "secret", status="draft", post_name="", post_date_gmt=EMPTY_DATE),
        item(
            2,
            "Planned",
            "secret",
            status="future",
            post_date="2030-01-01 00:00:00",
            post_date_gmt="2030-01-01 00:00:00",
        ),
        item(
            12,
            "Missed",
            "secret",
            status="future",
            post_date="2019-01-01 00:00:00",
            post_date_gmt="2019-01-01 00:00:00",
        ),
        item(3, "Mine", "secret", status="private"),
        item(4, "Locked", "secret", comment(9, "a secret too"), post_password="enter"),
        item(5, "Waiting", "secret", status="pending"),
        item(6, "Strange", "secret", status="request-confirmed"),
        page(7, "Hidden page", "secret", status="private"),
        item(8, "Public", "shown", status="publish"),
        item(9, "Gone", "secret", status="trash"),
        item(10, "Started", "secret", status="auto-draft"),
        item(11, "Old", "secret", status="inherit", post_type="revision"),
    )

    def test_private_post_is_stored_unpublished(self, mongo, run):
        said = run(self.HIDDEN)
        nodes = stored(mongo)
        public = {path for path, metadata in nodes.items() if metadata["published"]}
        assert public == {"blog", "blog/post-8", "blog/post-2"}
        assert nodes["blog/post-2"]["published"] == datetime(2030, 1, 1, tzinfo=UTC)
        assert set(nodes) - public == {
            f"blog/{slug}" for slug in ("draft", "post-12", "post-3", "post-4", "post-5", "post-6")
        } | {"page-7"}
        assert nodes["blog/post-2"]["detail"]["source"]["posted"] == datetime(2030, 1, 1, tzinfo=UTC)
        assert nodes["blog/post-4"]["detail"]["source"]["state"] == "password"
        assert said[-6:-4] == [
            "8 posts (2 published, of them 1 password-protected and kept private; 2 scheduled; 3 drafts; 1 private)",
            "1 page (1 private)",
        ]
        assert "1 comment (1 approved, 0 of them public)" in said
        assert "Left out: 1 post in the state auto-draft, 1 post in the state trash, 1 revision" in said

    def test_private_post_is_shown_to_no_reader(self, mongo, run, client):
        run(self.HIDDEN)
        assert "shown" in client.get("/blog/post-8").content.decode()
        for path in stored(mongo):
            if path not in ("blog", "blog/post-8"):
                assert client.get(f"/{path}").status_code == 404
        for path in ("/", "/blog", "/blog/feed/atom", "/blog/post-8"):
            assert "secret" not in client.get(path).content.decode()
        assert "enter" not in str(snapshot(mongo)["cms.nodes"])


def test_bodies_are_cleaned(mongo, run):
    body = '<p onclick="x()">a<script>alert(1)</script><a href="javascript:x()">b</a><object data="y"></object></p>'
    run(export(item(1, "One", body), item(2, "<b>Two</b><script>alert(2)</script>", body)))
    text = html_of(stored(mongo)["blog/post-1"])
    assert "a" in text
    assert not any(bad in text for bad in ("script", "onclick", "object"))
    assert stored(mongo)["blog/post-2"]["title"] == "Two alert(2)"


class TestMedia:
    FILES = export(
        attachment(
            1, "https://old.example/wp-content/uploads/2012/07/a.jpg", "A", meta("_wp_attached_file", "2012/07/a.jpg")
        ),
        attachment(2, "https://old.example/wp-content/uploads/2012/07/b%20c.jpg", "B"),
        attachment(3, "https://old.example/wp-content/uploads/2012/08/d.jpg", "D"),
        attachment(4, "", "No address", guid=""),
        attachment(5, "https://old.example/uploads/../../etc/passwd", "E"),
        attachment(6, f"https://old.example/{'x' * 300}.jpg", "F"),
        item(
            7,
            "One",
            '<img src="/wp-content/uploads/2012/07/a-300x200.jpg"> <img src="http://else.example/x.png" alt="X">',
        ),
        item(8, "Two", "Words alone.", meta("_thumbnail_id", "1")),
        item(9, "Three", "Words alone.", meta("_thumbnail_id", "3")),
        item(10, "Four", "Words alone.", meta("_thumbnail_id", "$ne")),
    )

    def test_file_is_found_by_the_end_of_its_path(self, run, tmp_path):
        for name in ("2012/07/a.jpg", "2012/07/b c.jpg", "deep/2012/08/d.jpg"):
            path = tmp_path / "uploads" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"x")
        said = run(self.FILES, media=tmp_path / "uploads")
        assert "4 attachments missing, 2 found" in said
        assert "  https://old.example/wp-content/uploads/2012/08/d.jpg" in said

    def test_pictures_become_photos_shown_in_texts(self, mongo, run, tmp_path, client):
        path = tmp_path / "uploads" / "2012/07/a.jpg"
        path.parent.mkdir(parents=True)
        path.write_bytes(pictures.jpeg())
        said = run(self.FILES, media=tmp_path / "uploads")
        assert any("1 photo" in line for line in said)
        [photo] = mongo["cms.assets.files"].find()
        assert (photo["metadata"]["title"], photo["metadata"]["detail"]["alt"]) == ("A", "A")
        assert f'src="photo:{photo["_id"]}"' in html_of(stored(mongo)["blog/post-7"])
        featured = [stored(mongo)[f"blog/post-{number}"]["detail"]["picture"] for number in (7, 8, 9, 10)]
        assert featured == [None, photo["_id"], None, None]
        page = client.get("/blog/post-7").content.decode()
        assert f"/media/{photo['_id']}/{photo['_id']}/" in page
        assert not [secret for secret in pictures.SECRETS if secret in page.encode()]
        run(self.FILES, media=tmp_path / "uploads")
        assert mongo["cms.assets.files"].count_documents({}) == 1

    def test_missing_pictures_become_links(self, mongo, run):
        said = run(self.FILES)
        assert "6 attachments missing, 0 found" in said
        assert "<img" not in html_of(stored(mongo)["blog/post-7"])
        listed = said[said.index("Shown as links because they are not in the media library:") + 1]
        assert listed == "  post 7 “One”: http://else.example/x.png"
        listed = said[said.index("Shown as links because their files are missing:") + 1]
        assert listed == "  post 7 “One”: https://old.example/wp-content/uploads/2012/07/a.jpg"
        assert ">A</a>" in html_of(stored(mongo)["blog/post-7"])


class TestPeople:
    def test_existing_account_becomes_the_author(self, mongo, run):
        user = get_user_model().objects.create_user("ada", first_name="Ada", last_name="Lovelace")
        head = author("ada", "Ada L.") + author("bea", "bea@private.example")
        run(export(item(1, "One"), item(2, "Two", creator="bea"), item(3, "Three", creator=">ada"), head=head))
        nodes = stored(mongo)
        assert nodes["blog/post-1"]["author"] == {"_id": user.pk, "name": "Ada Lovelace"}
        assert nodes["blog/post-2"]["author"] == {"_id": None, "name": "bea"}
        assert nodes["blog/post-3"]["author"]["_id"] == user.pk
        assert get_user_model().objects.count() == 1

    def test_many_tags_are_cut_and_reported(self, mongo, run):
        tags = [term(f"Tag {number}", "post_tag") for number in range(tags_of_nodes.MOST + 20)]
        said = run(export(item(1, "One", "x", *tags, term("AC/DC"), term("news"), term("News", "post_tag", "n"))))
        assert len(stored(mongo)["blog/post-1"]["tags"]) == tags_of_nodes.MOST
        assert any(line.startswith("Tags left out") for line in said)


def test_dry_run_reports_the_import_and_changes_nothing(mongo, run):
    data = export(
        item(1, "One", "x", comment(1), comment(2, approved="0")),
        page(2, "B", post_name="blog"),
        page(4, "Below", post_parent=3),
        page(3, "Above"),
    )
    before = snapshot(mongo)
    pretended = run(data, dry_run=True)
    assert pretended[0] == "Dry run: would import export.xml"
    assert snapshot(mongo) == before
    assert run(data)[1:] == pretended[1:]
    assert run(data, dry_run=True)[-1] == "0 changes"


class TestOutput:
    def test_repairs_of_the_file_are_reported_without_failing(self, mongo, run):
        data = export(item(1, "One", "a\x0bb"), item(2, "Two &nbsp;")) + b"<br />\n<b>Warning</b>: in foo.php"
        said = run(b"\n" + data)
        assert said[said.index("Characters that XML forbids, left out:") + 1].startswith("  on line ")
        assert "Skipped before the document:" in said
        assert "Skipped after the end of the document:" in said
        assert said[-1] == "3 changes: 1 section, 2 posts"

    def test_posts_without_a_date_are_reported(self, mongo, run):
        none = {"post_date": EMPTY_DATE, "post_date_gmt": EMPTY_DATE}
        said = run(export(item(1, "One", "x", comment(1, date=EMPTY_DATE, gmt=EMPTY_DATE), **none)))
        assert "Dated today because there was no usable date:" in said
        post = stored(mongo)["blog/post-1"]
        assert datetime.now(UTC) - post["published"] < timedelta(minutes=5)
        (found,) = selectors.iterate(target(post, mongo))
        assert found.posted == post["published"]

    def test_long_lists_are_cut_unless_verbose(self, run):
        data = export(*(attachment(number, f"https://old.example/{number}.jpg") for number in range(60)))
        said = run(data)
        assert "  … and 10 more (--verbosity 2 lists them)" in said
        assert "  https://old.example/59.jpg" not in said
        assert "  https://old.example/59.jpg" in run(data, verbosity=2)

    def test_progress_is_printed_as_lines_without_a_terminal(self, run, monkeypatch):
        monkeypatch.setattr(import_wordpress, "LINE_INTERVAL", 0)
        said = run(export(item(1), item(2)))
        assert "2 of 2 posts and pages" in said
        assert not any(" of " in line for line in run(export(item(1), item(2)), verbosity=0)[:-4])

    def test_progress_is_a_bar_on_a_terminal(self, tmp_path, capsys):
        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        path = tmp_path / "some.xml"
        path.write_bytes(export(item(1), item(2)))
        said = Terminal()
        call_command("import_wordpress", str(path), stdout=said, no_color=True)
        assert "posts and pages" not in said.getvalue()
        assert "/2 [" in capsys.readouterr().err


def test_text_that_is_too_long_is_reported_and_the_rest_imported(mongo, run, settings):
    settings.TEXT_MAX_BYTES = 2_000
    with pytest.raises(CommandError):
        run(export(item(1, "Long", "One word and another. " * 200), item(2, "Short", "One word")))
    assert [name for name in stored(mongo) if "post" in name] == ["blog/post-2"]
    assert any("post 1" in line and "2 KB" in line for line in run.said)
