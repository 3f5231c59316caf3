"""The command from end to end: what it stores, what it shows to whom, and that a second run changes nothing."""

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from bson import ObjectId, json_util
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command

from cms.management.commands import import_wordpress
from cms.wordpress import importer, places
from cms.wordpress.importer import Importer, Options
from cms.wordpress.oldsite import OldSite
from comments import selectors, services
from comments.types import Order, Target, Verdict
from nodes.errors import SlugTaken
from nodes.services import editing, trash
from nodes.types import Actor
from tests.cms.wordpress.wxr import EMPTY_DATE, attachment, author, comment, export, item, meta, page, term
from tests.nodes import build

pytestmark = pytest.mark.usefixtures("mongo")

ANN = Actor(None, "Ann")


@pytest.fixture
def run(tmp_path):
    """Run the command over an export and return what it said, line by line."""

    def work(data: bytes, **options: Any) -> list[str]:
        path = tmp_path / "export.xml"
        path.write_bytes(data)
        said = io.StringIO()
        try:
            call_command("import_wordpress", str(path), stdout=said, **options)
        finally:
            work.said = said.getvalue().splitlines()
        return work.said

    return work


def stored(mongo) -> dict[str, dict[str, Any]]:
    """The nodes' metadata by path from the top, as "blog/post-1"."""
    nodes = {document["_id"]: document["metadata"] for document in mongo["cms.nodes"].find()}

    def path(metadata: dict[str, Any]) -> str:
        above = metadata["parent_id"]
        return (path(nodes[above]) + "/" if above else "") + metadata["slug"]

    return {path(metadata): metadata for metadata in nodes.values()}


def snapshot(mongo) -> dict[str, str]:
    """Every document of every collection."""
    names = sorted(name for name in mongo.list_collection_names() if not name.startswith("system."))
    return {name: json_util.dumps(list(mongo[name].find().sort("_id", 1))) for name in names}


def target(metadata: dict[str, Any], mongo) -> Target:
    place = {"metadata.parent_id": metadata["parent_id"], "metadata.slug": metadata["slug"]}
    return Target("nodes.node", str(mongo["cms.nodes"].find_one(place)["_id"]))


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


def test_post_is_stored_in_the_shape_of_a_node(mongo, run):
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
    assert post["summary"] == "One Two"
    assert {name: post["detail"][name] for name in ("text", "format")} == {
        "text": "<p>One</p>\n<p>Two</p>\n<p>Three</p>",
        "format": "html",
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


def test_readers_find_it(run, client):
    run(SMALL)
    shown = client.get("/blog/post-1").content.decode()
    assert "<p>Three</p>" in shown
    assert "First" in shown
    assert "Ada L." in shown
    assert "private.example" not in shown
    assert "Who we are" in client.get("/about").content.decode()


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_every_version(mongo, run, version, scheme):
    run(export(item(1, "One", "Text", comment(1)), page(2, "Two"), version=version, scheme=scheme))
    assert set(stored(mongo)) == {"blog", "blog/post-1", "page-2"}


class TestAgain:
    def test_changes_nothing(self, mongo, run):
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

    def test_leaves_what_editors_did(self, mongo, run):
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

    def test_leaves_what_moderators_decided(self, mongo, run):
        data = export(item(1, "One", "x", *(comment(number, approved="0") for number in (1, 2, 3))))
        run(data)
        approved, rejected, _ = selectors.held()
        services.approve(approved.id)
        services.reject(rejected.id, verdict=Verdict.SPAM)
        before = snapshot(mongo)
        assert run(data)[-1] == "0 changes"
        assert snapshot(mongo) == before

    def test_brings_what_is_new(self, mongo, run):
        run(export(item(1, "One", "x", comment(1))))
        said = run(export(item(1, "One", "x", comment(1), comment(2, parent=1)), item(5, "Two")))
        assert said[-1] == "2 changes: 1 post, 1 comment"
        assert selectors.count(target(stored(mongo)["blog/post-1"], mongo)) == 2

    def test_a_queue_that_has_forgotten_is_not_filled_again(self, mongo, run, monkeypatch):
        """What moderators decided is kept for 30 days."""
        data = export(item(1, "One", "x", comment(1, approved="0")))
        run(data)
        services.reject(selectors.held()[0].id)
        mongo["comments.pending"].delete_many({})
        later = datetime.now(UTC).replace(year=datetime.now(UTC).year + 1, microsecond=0)
        monkeypatch.setattr(importer, "now", lambda: later)
        assert run(data)[-1] == "0 changes"
        assert selectors.held() == ()


class TestNotPublic:
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

    def test_is_stored_unpublished(self, mongo, run):
        said = run(self.HIDDEN)
        nodes = stored(mongo)
        public = {path for path, metadata in nodes.items() if metadata["published"]}
        assert public == {"blog", "blog/post-8"}
        assert set(nodes) - public == {
            f"blog/{slug}" for slug in ("draft", "post-2", "post-3", "post-4", "post-5", "post-6")
        } | {"page-7"}
        assert nodes["blog/post-2"]["detail"]["source"]["posted"] == datetime(2030, 1, 1, tzinfo=UTC)
        assert nodes["blog/post-4"]["detail"]["source"]["state"] == "password"
        assert said[-6:-4] == [
            "7 posts (2 published, of them 1 password-protected and kept private; 1 scheduled; 3 drafts; 1 private)",
            "1 page (1 private)",
        ]
        assert "1 comment (1 approved, 0 of them public)" in said
        assert "Left out: 1 post in the state auto-draft, 1 post in the state trash, 1 revision" in said

    def test_is_shown_to_nobody(self, mongo, run, client):
        run(self.HIDDEN)
        assert "shown" in client.get("/blog/post-8").content.decode()
        for path, metadata in stored(mongo).items():
            if not metadata["published"]:
                assert client.get(f"/{path}").status_code == 404
        for path in ("/", "/blog", "/blog/feed/atom", "/blog/post-8"):
            assert "secret" not in client.get(path).content.decode()
        assert "enter" not in str(snapshot(mongo)["cms.nodes"])


class TestTree:
    def test_pages_stand_where_they_stood_whatever_the_order(self, mongo, run, client):
        pages = (
            page(3, "Leaf", post_parent=2),
            page(2, "Middle", "Middle's text", post_parent=1),
            page(1, "Root", "Root's text"),
            page(4, "Other leaf", post_parent=2),
        )
        run(export(*pages))
        nodes = stored(mongo)
        assert {path: metadata["type"] for path, metadata in nodes.items() if path != "blog"} == {
            "page-1": "folder",
            "page-1/page-2": "folder",
            "page-1/page-2/page-3": "basic-page",
            "page-1/page-2/page-4": "basic-page",
        }
        assert "Middle&#x27;s text" in client.get("/page-1/page-2").content.decode().replace("'", "&#x27;")
        assert client.get("/page-1/page-2/page-3").status_code == 200

    def test_parents_that_are_missing_or_in_a_circle(self, mongo, run):
        said = run(export(page(1, "A", post_parent=99), page(2, "B", post_parent=3), page(3, "C", post_parent=2)))
        assert {"page-1", "page-2", "page-2/page-3"} <= set(stored(mongo))
        assert "Put at the top, as the page it stands in is not there:" in said

    def test_a_page_below_one_that_was_not_public_says_so(self, mongo, run, client):
        said = run(export(page(1, "Hidden", status="private"), page(2, "Open", "text", post_parent=1)))
        assert client.get("/page-1/page-2").status_code == 404
        assert said[said.index("Was public, but the page it stands in is not:") + 1] == "  page 2 “Open”"

    def test_a_child_that_comes_with_a_later_export(self, mongo, run):
        """What is a page here already holds nothing: the child stands beside it."""
        run(export(page(1, "Above")))
        run(export(page(1, "Above"), page(2, "Below", post_parent=1)))
        assert {"page-1", "page-2"} <= set(stored(mongo))

    def test_top_level_home_page(self, run, client):
        run(export(page(1, "Start", "The start", post_name="home")))
        assert "The start" in client.get("/").content.decode()


class TestAddresses:
    def test_slugs_in_any_script_and_spelling(self, mongo, run):
        run(
            export(
                page(1, "A", post_name="%ce%b5%cf%80%ce%af"), page(2, "Été 1", post_name=""), page(3, "!", post_name="")
            )
        )
        assert {"επί", "été-1", "page-3"} <= set(stored(mongo))

    def test_taken_ones_are_numbered_and_told(self, mongo, run):
        build.node("basic-page", "about")
        same = [page(number, f"P{number}", post_name="about") for number in (1, 2)]
        said = run(
            export(*same, page(3, "B", post_name="blog"), page(4, "T", post_name="tag"), item(5, post_name="feed"))
        )
        nodes = stored(mongo)
        assert {"about", "about-2", "about-3", "blog", "blog-2", "tag-2", "blog/feed-2"} == set(nodes)
        assert said[said.index("Renamed, as the address is taken:") + 1] == "  page 1 “P1”: about → about-2"

    def test_without_title_and_slug(self, mongo, run):
        said = run(
            export(item(1, "", "A text that goes on for more than eight words, certainly", post_name=""), item(2, ""))
        )
        nodes = stored(mongo)
        assert nodes["blog/post-1"]["title"] == "A text that goes on for more than…"
        assert nodes["blog/post-2"]["title"] == "Untitled"
        assert "  post 1: post-1" in said

    def test_what_is_too_long_is_cut(self, mongo, run):
        run(export(item(1, "T" * 400, post_name="s" * 300)))
        (metadata,) = [m for path, m in stored(mongo).items() if path != "blog"]
        assert len(metadata["title"]) == 300
        assert len(metadata["slug"]) <= 200

    def test_twice_in_the_file_is_once_on_the_site(self, mongo, run):
        said = run(export(item(1, "First"), item(1, "Second"), item("", "No id")))
        assert [m["title"] for path, m in stored(mongo).items() if path != "blog"] == ["First"]
        assert "Left out as it is there twice:" in said
        assert "Left out for want of an id:" in said


class TestLinks:
    def test_lead_to_the_new_places_of_what_visitors_may_see(self, mongo, run, client):
        body = " ".join(
            f'<a href="{address}">x</a>'
            for address in (
                "https://old.example/2012/03/post-2/#more-2",
                "/?p=2#part",
                "https://www.old.example/page-4",
                "?page_id=5",
                "http://old.example/2011/12/31/post-2/",
                "https://old.example/2012/03/post-3/",
                "/tag/news/",
                "http://copy.example/demo/?p=77",
            )
        )
        run(
            export(
                item(1, "One", body),
                item(2, "Two", guid="http://copy.example/demo/?p=77"),
                item(3, "Three", status="draft"),
                page(4, "Four"),
                page(5, "Five", post_parent=4),
            )
        )
        text = stored(mongo)["blog/post-1"]["detail"]["text"]
        addresses = [part.split('"')[0] for part in text.split('href="')[1:]]
        assert addresses == [
            "/blog/post-2",
            "/blog/post-2#part",
            "/page-4",
            "/page-4/page-5",
            "/blog/post-2",
            "https://old.example/2012/03/post-3/",
            "https://old.example/tag/news/",
            "/blog/post-2",
        ]
        for address in addresses:
            if address.startswith("/"):
                assert client.get(address).status_code == 200

    def test_lead_into_the_section(self, mongo, run):
        run(export(item(1, "One", '<a href="/?page_id=2">x</a>'), page(2, "Two")), section="old")
        assert 'href="/old/page-2"' in stored(mongo)["old/blog/post-1"]["detail"]["text"]

    def test_guids_that_several_share_lead_nowhere(self, mongo, run):
        guid = "http://copy.example/?p=9"
        run(export(item(1, "One", f'<a href="{guid}">x</a>', guid=guid), item(2, "Two", guid=guid)))
        assert f'href="{guid}"' in stored(mongo)["blog/post-1"]["detail"]["text"]


def test_bodies_are_cleaned(mongo, run):
    body = '<p onclick="x()">a<script>alert(1)</script><a href="javascript:x()">b</a><object data="y"></object></p>'
    run(export(item(1, "One", body), item(2, "<b>Two</b><script>alert(2)</script>", body)))
    text = stored(mongo)["blog/post-1"]["detail"]["text"]
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
    )

    def test_found_by_the_end_of_the_path(self, run, tmp_path):
        for name in ("2012/07/a.jpg", "2012/07/b c.jpg", "deep/2012/08/d.jpg"):
            path = tmp_path / "uploads" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"x")
        said = run(self.FILES, media=tmp_path / "uploads")
        assert "4 attachments missing, 2 found" in said
        assert "  https://old.example/wp-content/uploads/2012/08/d.jpg" in said

    def test_without_a_folder_all_are_missing_and_none_is_shown_broken(self, mongo, run):
        said = run(self.FILES)
        assert "6 attachments missing, 0 found" in said
        assert "<img" not in stored(mongo)["blog/post-7"]["detail"]["text"]
        listed = said[said.index("Shown as links, as they are not in the media library:") + 1]
        assert listed == "  http://else.example/x.png"
        assert ">A</a>" in stored(mongo)["blog/post-7"]["detail"]["text"]


class TestComments:
    def test_threads_come_with_their_order_and_times_whatever_the_order_in_the_file(self, mongo, run):
        comments = (
            comment(5, "reply to the reply", parent=3, gmt="2012-03-05 09:00:00"),
            comment(3, "reply", parent=1, gmt="2012-03-05 08:00:00"),
            comment(4, "second", gmt="2012-03-05 07:30:00"),
            comment(1, "first", gmt="2012-03-05 07:00:00"),
            comment(6, "before what it answers", parent=4, gmt="2012-03-05 01:00:00"),
            comment(7, "answers one that is not there", parent=99, gmt="2012-03-05 10:00:00"),
            comment(8, "spam", approved="spam"),
            comment(9, "answers spam", parent=8, gmt="2012-03-05 11:00:00"),
        )
        run(export(item(1, "One", "x", *comments)))
        there = target(stored(mongo)["blog/post-1"], mongo)
        threaded = [(one.depth, one.source) for one in selectors.iterate(there, order=Order.THREADED)]
        assert threaded == [
            (0, "first"),
            (1, "reply"),
            (2, "reply to the reply"),
            (0, "second"),
            (1, "before what it answers"),
            (0, "answers one that is not there"),
            (0, "answers spam"),
        ]
        oldest = [one.posted for one in selectors.iterate(there)]
        assert oldest == sorted(oldest)
        assert oldest[0] == datetime(2012, 3, 5, 7, tzinfo=UTC)
        assert selectors.count(there) == 7

    def test_circles_and_doubles_among_comments(self, mongo, run):
        comments = (comment(1, "a", parent=2), comment(2, "b", parent=1), comment(3, "c", parent=3), comment(3, "d"))
        run(export(item(1, "One", "x", *comments, comment(0, "e"), comment(0, "f"))))
        there = target(stored(mongo)["blog/post-1"], mongo)
        assert sorted(one.source for one in selectors.iterate(there)) == ["a", "b", "c", "e", "f"]

    def test_deep_threads_keep_saying_whom_they_answer(self, mongo, run):
        comments = [comment(number, f"level {number}", parent=number - 1) for number in range(1, 13)]
        run(export(item(1, "One", "x", *comments)))
        found = list(selectors.iterate(target(stored(mongo)["blog/post-1"], mongo), order=Order.THREADED))
        assert [one.source for one in found] == [f"level {number}" for number in range(1, 13)]
        assert [one.answers for one in found[1:]] == [one.slug for one in found[:-1]]

    def test_waiting_ones_go_to_the_queue_with_their_time_and_spam_nowhere(self, mongo, run, client):
        comments = (
            comment(1, "approved"),
            comment(2, "waits", parent=1, approved="0", gmt="2012-03-06 00:00:00"),
            comment(3, "answers what waits", parent=2, approved="0"),
            comment(4, "spam", approved="spam"),
            comment(5, "thrown away", approved="trash"),
        )
        said = run(export(item(1, "One", "x", *comments)))
        waiting = {held.source: held for held in selectors.held()}
        assert set(waiting) == {"waits", "answers what waits"}
        assert waiting["waits"].posted == datetime(2012, 3, 6, tzinfo=UTC)
        assert waiting["waits"].parent == waiting["answers what waits"].parent != ""
        shown = client.get("/blog/post-1").content.decode()
        assert "approved" in shown
        assert not any(text in shown for text in ("waits", "spam", "thrown away"))
        assert "5 comments (1 approved, 1 of them public; 2 pending; 1 spam; 1 trash; 2 replies)" in said

    def test_pings_are_told_apart(self, mongo, run):
        comments = (
            comment(1, "[...] a ping [...]", kind="pingback"),
            comment(2, "b", kind="trackback"),
            comment(3, "c"),
        )
        said = run(export(item(1, "One", "x", *comments)))
        found = selectors.iterate(target(stored(mongo)["blog/post-1"], mongo))
        assert [one.kind.value for one in found] == ["pingback", "trackback", "comment"]
        assert "3 comments (3 approved, among them 2 pingbacks and trackbacks, 3 of them public)" in said

    def test_addresses_are_kept_where_nobody_sees_them(self, mongo, run, client):
        run(
            export(
                item(
                    1,
                    "One",
                    "x",
                    comment(1, author="grace@private.example", url="javascript:x"),
                    creator="ada@x.example",
                )
            )
        )
        there = target(stored(mongo)["blog/post-1"], mongo)
        (found,) = selectors.iterate(there)
        assert (found.author.name, found.author.url) == ("grace", "")
        assert selectors.email_of(found) == "grace@private.example"
        assert "private.example" not in client.get("/blog/post-1").content.decode()
        assert "192.0.2.7" not in str(snapshot(mongo))
        assert stored(mongo)["blog/post-1"]["author"]["name"] == "ada"

    def test_markup_becomes_markdown_that_shows_the_same(self, mongo, run):
        run(
            export(item(1, "One", "x", comment(1, "<strong>Yes</strong>\n<a href='https://x.example/'>here</a> a_b_c")))
        )
        (found,) = selectors.iterate(target(stored(mongo)["blog/post-1"], mongo))
        assert found.source == "**Yes**\\\n[here](<https://x.example/>) a\\_b\\_c"
        assert found.html == services.render(found.source)

    def test_what_cannot_be_stored_is_told_and_its_replies_move_up(self, mongo, run):
        comments = (
            comment(1, "fine"),
            comment(2, "x" * 20_000, parent=1),
            comment(3, "reply", parent=2),
            comment(4, " "),
        )
        said = run(export(item(1, "One", "x", *comments)))
        found = list(selectors.iterate(target(stored(mongo)["blog/post-1"], mongo), order=Order.THREADED))
        assert [(one.depth, one.source) for one in found] == [(0, "fine"), (1, "reply")]
        assert said[said.index("Comments left out:") + 1].startswith("  comment 2 on post 1: ")

    def test_discussions_that_were_closed_stay_closed(self, mongo, run, client):
        run(export(item(1, "One", "x", comment(1), comment_status="closed"), item(2, "Two", "x", comment(2))))
        assert "This discussion is closed" in client.get("/blog/post-1").content.decode()
        assert "This discussion is closed" not in client.get("/blog/post-2").content.decode()


class TestPeople:
    def test_an_account_of_the_name_is_the_author_and_none_is_made(self, mongo, run):
        user = get_user_model().objects.create_user("ada", first_name="Ada", last_name="Lovelace")
        head = author("ada", "Ada L.") + author("bea", "bea@private.example")
        run(export(item(1, "One"), item(2, "Two", creator="bea"), item(3, "Three", creator=">ada"), head=head))
        nodes = stored(mongo)
        assert nodes["blog/post-1"]["author"] == {"_id": user.pk, "name": "Ada Lovelace"}
        assert nodes["blog/post-2"]["author"] == {"_id": None, "name": "bea"}
        assert nodes["blog/post-3"]["author"]["_id"] == user.pk
        assert get_user_model().objects.count() == 1

    def test_many_tags(self, mongo, run):
        tags = [term(f"Tag {number}", "post_tag") for number in range(70)]
        said = run(export(item(1, "One", "x", *tags, term("AC/DC"), term("news"), term("News", "post_tag", "n"))))
        assert len(stored(mongo)["blog/post-1"]["tags"]) == 50
        assert any(line.startswith("Tags left out") for line in said)


class TestSection:
    def test_holds_everything(self, mongo, run, client):
        data = export(item(1, "One", "text"), page(2, "Two"))
        run(data, section="Old-Site")
        assert set(stored(mongo)) == {"old-site", "old-site/blog", "old-site/blog/post-1", "old-site/page-2"}
        assert stored(mongo)["old-site"]["title"] == "Old site"
        assert "text" in client.get("/old-site/blog/post-1").content.decode()
        assert run(data, section="old-site")[-1] == "0 changes"

    def test_is_used_when_it_is_there(self, mongo, run):
        folder = build.node("folder", "old", title="Mine")
        blog = build.node("blog", "blog", parent=folder)
        run(export(item(1, "One")), section="old")
        assert stored(mongo)["old/blog/post-1"]["parent_id"] == blog
        assert stored(mongo)["old"]["title"] == "Mine"

    def test_that_is_no_folder_is_refused(self, mongo, run):
        build.node("blog", "old")
        with pytest.raises(CommandError, match="name a folder"):
            run(export(item(1, "One")), section="old")
        assert set(stored(mongo)) == {"old"}

    @pytest.mark.parametrize("slug", ["admin", "a/b", "!"])
    def test_that_cannot_be_is_refused(self, mongo, run, slug):
        with pytest.raises(CommandError, match="--section"):
            run(export(item(1, "One")), section=slug)
        assert stored(mongo) == {}

    def test_an_existing_blog_takes_the_posts(self, mongo, run):
        blog = build.node("blog", "blog", title="Ours")
        run(export(item(1, "One")))
        assert stored(mongo)["blog/post-1"]["parent_id"] == blog

    def test_a_blog_in_the_trash_is_told(self, mongo, run):
        run(export(item(1, "One")))
        blog = stored(mongo)["blog"]
        trash.trash(ANN, stored(mongo)["blog/post-1"]["parent_id"], blog["nonce"])
        with pytest.raises(CommandError, match="in the trash"):
            run(export(item(1, "One"), item(2, "Two")))


def test_dry_run_says_what_would_be_done_and_does_nothing(mongo, run):
    data = export(
        item(1, "One", "x", comment(1), comment(2, approved="0")),
        page(2, "B", post_name="blog"),
        page(4, "Below", post_parent=3),
        page(3, "Above"),
    )
    before = snapshot(mongo)
    pretended = run(data, dry_run=True)
    assert pretended[0] == "Pretending to import export.xml"
    assert snapshot(mongo) == before
    assert run(data)[1:] == pretended[1:]
    assert run(data, dry_run=True)[-1] == "0 changes"


class TestBroken:
    WHOLE = export(*(item(number, f"Post {number}", "Text", comment(number)) for number in range(1, 6)))

    def test_truncated_brings_what_is_whole_and_names_the_line(self, mongo, run):
        cut = self.WHOLE[: self.WHOLE.index(b"Post 4")]
        with pytest.raises(
            CommandError, match=rf"export.xml, line {cut.count(bytes([10])) + 1}: the file ends too early"
        ):
            run(cut)
        assert set(stored(mongo)) == {"blog", "blog/post-1", "blog/post-2", "blog/post-3"}
        assert "3 posts" in run.said
        assert run(self.WHOLE)[-1] == "4 changes: 2 posts, 2 comments"

    def test_harmful_or_no_export_brings_nothing(self, mongo, run):
        bomb = self.WHOLE.replace(b"<rss", b'<!DOCTYPE rss [<!ENTITY a "b">]><rss', 1)
        for data, reason in ((bomb, "entity 'a'"), (b"<html/>", "no WordPress export"), (b"", "empty")):
            with pytest.raises(CommandError, match=reason):
                run(data)
        assert stored(mongo) == {}

    def test_files_and_folders_that_are_not_there(self, tmp_path):
        with pytest.raises(CommandError, match="There is no file"):
            call_command("import_wordpress", str(tmp_path / "none.xml"))
        (tmp_path / "some.xml").write_bytes(self.WHOLE)
        with pytest.raises(CommandError, match="there is no folder"):
            call_command("import_wordpress", str(tmp_path / "some.xml"), media=tmp_path / "none")


class TestInterrupted:
    DATA = export(
        page(2, "Below", post_parent=1),
        page(1, "Above", "x", comment(20)),
        item(3, "One", "x", comment(1), comment(2, parent=1), comment(3, approved="0")),
        item(4, "Two", "x", comment(4)),
    )

    def contents(self, mongo) -> tuple[Any, Any]:
        """What readers and moderators see, without ids and times of the run."""
        nodes = {path: (m["title"], m["created"].year, m["detail"]["text"]) for path, m in stored(mongo).items()}
        comments = sorted(document["full_slug"] for document in mongo["comments"].find())
        return nodes, comments + sorted(held.slug for held in selectors.held())

    @pytest.mark.parametrize("at", range(5))
    def test_the_next_run_goes_on(self, mongo, run, tmp_path, at):
        path = tmp_path / "some.xml"
        path.write_bytes(self.DATA)
        steps = 0

        def step(number: int) -> None:
            nonlocal steps
            steps += importing
            if steps > at:
                raise KeyboardInterrupt

        def begin(total: int, unit: str) -> None:
            nonlocal importing
            importing = unit == ""

        importing = False
        if at < 4:
            with pytest.raises(KeyboardInterrupt):
                Importer(path, Options(), begin=begin, step=step).run()
        run(self.DATA)
        found = self.contents(mongo)
        for name in ("cms.nodes", "cms.revisions", "cms.site", "discussions", "comments", "comments.pending"):
            mongo[name].delete_many({})
        run(self.DATA)
        assert self.contents(mongo) == found

    def test_between_a_post_and_its_comments(self, mongo, run, monkeypatch):
        def stop(*args: Any) -> int:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(services, "import_", stop)
            with pytest.raises(CommandError) as caught:
                run(self.DATA)
        assert caught.value.returncode == 130
        assert "goes on" in str(caught.value)
        assert len(stored(mongo)) == 2
        run(self.DATA)
        assert mongo["comments"].count_documents({}) == 4
        assert len(selectors.held()) == 1


class TestMeanwhile:
    """Others change the site between the plan and the writing of it."""

    def importer(self, tmp_path, data: bytes, change) -> Importer:
        path = tmp_path / "some.xml"
        path.write_bytes(data)
        return Importer(path, Options(), begin=lambda total, unit: change() if unit == "" else None)

    def test_an_address_that_was_taken_is_numbered(self, mongo, tmp_path):
        def take() -> None:
            build.node("basic-page", "page-1")

        report = self.importer(tmp_path, export(page(1, "One"), page(2, "Two")), take).run()
        assert {"page-1", "page-1-2", "page-2"} <= set(stored(mongo))
        assert report.notes["Renamed, as the address is taken"] == {"page 1 “One”: page-1 → page-1-2": 1}

    def test_a_section_that_was_thrown_away_takes_nothing_and_fails_the_command(
        self, mongo, run, tmp_path, monkeypatch
    ):
        run(export(page(1, "Above"), page(2, "Below", post_parent=1)))

        def throw() -> None:
            folder = stored(mongo)["page-1"]
            trash.trash(ANN, stored(mongo)["page-1/page-2"]["parent_id"], folder["nonce"])

        data = export(page(1, "Above"), page(2, "Below", post_parent=1), page(3, "New", post_parent=1), page(4, "Top"))
        report = self.importer(tmp_path, data, throw).run()
        assert report.failed == 1
        assert "page 3 “New”" in next(iter(report.notes["Not imported"]))
        assert {node["metadata"]["slug"] for node in mongo["cms.nodes"].find()} == {"blog", "page-2", "page-4"}

    def test_a_post_that_another_run_made_and_an_editor_threw_away_stays_away(self, mongo, run, tmp_path):
        data = export(item(1, "One", "x", comment(1)), item(2, "Two"))

        def another_run() -> None:
            run(data)
            made = stored(mongo)["blog/post-1"]
            trash.trash(ANN, ObjectId(target(made, mongo).pk), made["nonce"])

        report = self.importer(tmp_path, data, another_run).run()
        assert report.failed == 1
        assert set(stored(mongo)) == {"blog", "blog/post-2"}

    def test_a_slug_that_cannot_be_is_replaced(self, mongo, run, monkeypatch):
        monkeypatch.setattr(places, "_free", lambda stem, *others: f"-{stem}-")
        run(export(item(7, "One"), page(8, "Two")))
        assert set(stored(mongo)) == {"blog", "blog/post-7", "page-8"}

    def test_the_command_fails_when_something_was_not_imported(self, run, monkeypatch):
        def full(*args: Any, **kwargs: Any) -> None:
            raise SlugTaken("post-1", "post-1")

        run(export(item(1, "One")))
        monkeypatch.setattr(editing, "create", full)
        with pytest.raises(CommandError, match="1 of the posts and pages could not be imported"):
            run(export(item(1, "One"), item(2, "Two")))


class TestTelling:
    def test_posts_without_a_date(self, mongo, run):
        none = {"post_date": EMPTY_DATE, "post_date_gmt": EMPTY_DATE}
        said = run(export(item(1, "One", "x", comment(1, date=EMPTY_DATE, gmt=EMPTY_DATE), **none)))
        assert "Dated today, as there was no usable date:" in said
        post = stored(mongo)["blog/post-1"]
        assert datetime.now(UTC) - post["published"] < timedelta(minutes=5)
        (found,) = selectors.iterate(target(post, mongo))
        assert found.posted == post["published"]

    def test_long_lists_are_cut_unless_asked_for(self, run):
        data = export(*(attachment(number, f"https://old.example/{number}.jpg") for number in range(60)))
        said = run(data)
        assert "  … and 10 more (--verbosity 2 lists them)" in said
        assert "  https://old.example/59.jpg" not in said
        assert "  https://old.example/59.jpg" in run(data, verbosity=2)

    def test_a_line_now_and_then_where_there_is_no_terminal(self, run, monkeypatch):
        monkeypatch.setattr(import_wordpress, "LINE_EVERY", 0)
        said = run(export(item(1), item(2)))
        assert "2 of 2 posts and pages" in said
        assert not any(" of " in line for line in run(export(item(1), item(2)), verbosity=0)[:-4])

    def test_a_bar_on_a_terminal(self, tmp_path, capsys):
        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        path = tmp_path / "some.xml"
        path.write_bytes(export(item(1), item(2)))
        said = Terminal()
        call_command("import_wordpress", str(path), stdout=said, no_color=True)
        assert "posts and pages" not in said.getvalue()
        assert "/2 [" in capsys.readouterr().err


def test_addresses_that_are_none_find_nothing():
    old = OldSite()
    old.add_site("https://old.example")
    old.add_page(1, "http://[broken", "also broken", "one")
    for url in ("http://[broken", "", "https://", "https://old.example/?p=x", "https://old.example/?p=99", "x"):
        assert old.find_page(url) is None
        assert old.find_file(url) is None
