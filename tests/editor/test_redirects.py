"""Redirects that editors add, change, test, import and delete."""

import re

import pytest
from bson import ObjectId
from django.core.files.uploadedfile import SimpleUploadedFile

from cms.testing import build
from cms.testing.build import PAST
from cms.testing.editors import fields
from nodes.collections import MANUAL_REDIRECTS, NODES
from nodes.selectors import manual_redirects
from nodes.services import manual_redirects as services
from nodes.services import redirect_hits
from tests.support.commands import explain, stages
from tests.support.nodes import photo_build

LIST = "/admin/redirects/"
ADD = "/admin/redirects/add/"
IMPORT = "/admin/redirects/import/"


def change_url(url):
    return f"/admin/redirects/change/?url={url}"


def add(editor, url, target):
    return editor.client.post(ADD, {"url": url, "target": target, "seen": ""})


def errors(response):
    assert response.status_code == 200
    return " ".join(message for reasons in response.context["form"].errors.values() for message in reasons)


@pytest.fixture
def page(mongo):
    return build.node(slug="new", title="New page")


@pytest.fixture
def ann(page, editor):
    return editor()


def test_empty_list_says_when_redirects_are_needed(ann):
    assert "Pages that you move or rename redirect by themselves." in ann.client.get(LIST).content.decode()


def test_redirect_follows_its_page(ann, page, client):
    assert add(ann, "/Old/Page.html", "/new").status_code == 302
    answer = client.get("/old/page.html")
    assert (answer.status_code, answer["Location"], answer["Cache-Control"]) == (301, "/new", "no-cache")
    build.save(page, build.nonce(page), slug="newer")
    assert client.get("/old/page.html")["Location"] == "/newer"
    assert client.head("/old/page.html").status_code == 301
    assert client.post("/old/page.html").status_code == 404


@pytest.mark.parametrize(
    ("url", "target", "asked", "location"),
    [
        ("/old", "https://example.org/x?y=1", "/old", "https://example.org/x?y=1"),
        ("/old/", "/feed/atom", "/old/", "/feed/atom"),
        ("https://old.example.org/alt/", "/new", "/alt", "/new"),
        ("/index.php?id=5&a=1", "/new", "/index.php?a=1&id=5", "/new"),
        ("/old", "/new", "/old?source=mail", "/new"),
        ("/café", "/new", "/caf%C3%A9", "/new"),
    ],
)
def test_redirects_by_path_and_query(ann, client, url, target, asked, location):
    assert add(ann, url, target).status_code == 302
    assert client.get(asked)["Location"] == location


def test_query_selects_the_redirect(ann, client):
    add(ann, "/index.php?id=5", "/new")
    assert client.get("/index.php?id=6").status_code == 404


def test_new_page_is_shown_instead_of_a_redirect(ann, client):
    add(ann, "/old", "/new")
    build.node(slug="old")
    assert client.get("/old").status_code == 200


def test_redirect_replaces_the_former_url_of_a_page(ann, page, client):
    build.save(page, build.nonce(page), slug="newer")
    assert client.get("/new")["Location"] == "/newer"
    add(ann, "/new", "https://example.org/")
    assert client.get("/new")["Location"] == "https://example.org/"
    assert client.get("/newer").status_code == 200


def test_redirect_to_a_hidden_page_is_not_followed(ann, page, client):
    add(ann, "/old", "/new")
    build.save(page, build.nonce(page), published=None)
    assert client.get("/old").status_code == 404


@pytest.mark.parametrize(
    ("url", "target", "reason"),
    [
        ("/new", "https://example.org/", "There is a page at “/new”."),
        ("/new?x=1", "https://example.org/", "There is a page at “/new”."),
        ("/admin/x", "/new", "belongs to the site itself"),
        ("/search", "/new", "belongs to the site itself"),
        ("/static/x.css", "/new", "belongs to the site itself"),
        ("/", "/new", "belongs to the site itself"),
        ("javascript:alert(1)", "/new", "Enter a URL on this site"),
        ("//example.org/x", "/new", "Enter a URL on this site"),
        ("/" + "a" * 2_000, "/new", "Enter a URL on this site"),
        ("/a\u202eb", "/new", "Enter a URL on this site"),
        ("/old", "/nowhere", "No public page has the URL “/nowhere”."),
        ("/old", "javascript:alert(1)", "isn't a valid URL"),
        ("/old", "//example.org", "isn't a valid URL"),
        ("/old", "/\\example.org", "isn't a valid URL"),
        ("/old", "mailto:a@example.org", "can't lead to an email address"),
        ("/old", "/old?x=1", "lead back to “/old”"),
    ],
)
def test_useless_redirects_are_refused(ann, mongo, url, target, reason):
    assert reason in errors(add(ann, url, target))
    assert mongo[MANUAL_REDIRECTS].count_documents({}) == 0


def test_loops_are_refused(ann):
    add(ann, "/a", "/b?x=1")
    add(ann, "/b", "/c?x=1")
    assert "lead back to “/c”" in errors(add(ann, "/c", "/a?x=1"))


def test_existing_redirect_is_not_replaced_by_adding(ann):
    add(ann, "/old", "/new")
    assert "“/old” already redirects to /new." in errors(add(ann, "/OLD/", "https://example.org/"))


def test_changed_redirect_is_not_replaced_unseen(ann, editor):
    add(ann, "/old", "/new")
    hers = fields(ann.client.get(change_url("/old")).content.decode(), "item_form")
    bob = editor("bob")
    bob.send(change_url("/old"), hers, target="https://example.org/")
    assert "Someone else has just changed" in errors(ann.send(change_url("/old"), hers, target="https://example.com/"))
    assert manual_redirects.get("/old").target == "https://example.org/"


def test_deleted_redirect_is_gone(ann, client):
    add(ann, "/old", "/new")
    seen = str(manual_redirects.get("/old").nonce)
    ann.client.post("/admin/redirects/delete/?url=/old", {"seen": "0" * 24})
    assert client.get("/old").status_code == 301
    ann.client.post("/admin/redirects/delete/?url=/old", {"seen": seen})
    assert client.get("/old").status_code == 404


def test_hits_are_counted_later(ann, client, commands):
    add(ann, "/old", "/new")
    with commands.recorded() as log:
        client.get("/old")
        client.get("/old")
    assert not {"update", "insert", "findAndModify"} & {event.command_name for event in log.sent}
    redirect_hits.write()
    redirect = manual_redirects.get("/old")
    assert redirect.hits == 2
    assert redirect.last_hit
    redirect_hits.write()
    assert manual_redirects.get("/old").hits == 2


def test_list_is_searched_and_paged(ann, monkeypatch, commands, mongo):
    monkeypatch.setattr("editor.redirects.SIZE", 2)
    for url in ("/a", "/b", "/ab"):
        add(ann, url, "/new")
    with commands.recorded() as log:
        first = ann.client.get(LIST)
    assert [row["redirect"].url for row in first.context["rows"]] == ["/a", "/ab"]
    finds = [event for event in log.sent if event.command.get("find") == MANUAL_REDIRECTS]
    assert all("COLLSCAN" not in stages(explain(mongo, event)) for event in finds)
    second = ann.client.get(f"{LIST}{first.context['next']}")
    assert [row["redirect"].url for row in second.context["rows"]] == ["/b"]
    found = ann.client.get(f"{LIST}?q=B")
    assert [row["redirect"].url for row in found.context["rows"]] == ["/ab", "/b"]


def test_list_finds_redirects_if_the_query_contains_a_null_character(ann):
    add(ann, "/old", "/new")
    assert "/old" in ann.client.get(f"{LIST}?q=ol%00d").content.decode()


def test_testing_a_url_says_what_readers_get(ann, page, client):
    build.save(page, build.nonce(page), slug="newer")
    add(ann, "/old", "/newer")

    def steps(url):
        return [(s.url, s.status, s.target, s.title) for s in ann.client.get(LIST, {"test": url}).context["steps"]]

    assert steps("/old") == [("/old", 301, "/newer", ""), ("/newer", 200, "", "New page")]
    assert steps("https://testserver/new") == [("/new", 301, "/newer", ""), ("/newer", 200, "", "New page")]
    assert steps("/nothing") == [("/nothing", 404, "", "")]
    assert steps("/admin/") == [("/admin/", 0, "", "")]
    assert steps("/search") == [("/search", 200, "", "")]
    redirect_hits.write()
    assert manual_redirects.get("/old").hits == 0


def test_testing_a_url_shows_what_visitors_see(ann, page):
    build.save(page, build.nonce(page), published=None)
    html = ann.client.get(LIST, {"test": "/new"}).content.decode()
    assert "Readers see an error page (404)." in html
    assert "/admin/redirects/add/?url=%2Fnew" in html


class TestImport:
    TEXT = 'Old URL,New URL\r\n/one,/new\r\n\r\n/two,/nowhere\r\n/ONE/,https://example.org/\r\n/three\r\n"/fo,ur",https://example.org/\r\n'

    def send(self, ann, content, name="redirects.csv"):
        return ann.client.post(IMPORT, {"file": SimpleUploadedFile(name, content)})

    def test_file_is_checked_before_it_is_imported(self, ann, mongo, client):
        answer = self.send(ann, b"\xef\xbb\xbf" + self.TEXT.encode())
        problems = [(line.number, line.problem) for line in answer.context["problems"]]
        assert problems == [
            (4, "No public page has the URL “/nowhere”."),
            (5, "Line 2 already redirects this URL."),
            (6, "The new URL is missing."),
        ]
        assert answer.context["good"] == 2
        assert mongo[MANUAL_REDIRECTS].count_documents({}) == 0
        answer = ann.client.post(IMPORT, {"text": answer.context["text"], "import": "x"})
        assert len(answer.context["problems"]) == 3
        assert client.get("/one")["Location"] == "/new"
        assert client.get("/fo,ur")["Location"] == "https://example.org/"

    def test_first_line_with_a_url_is_no_heading(self, ann, client):
        ann.client.post(IMPORT, {"text": "old-page,/new\n", "import": "x"})
        assert client.get("/old-page")["Location"] == "/new"

    def test_import_without_problems_returns_to_the_list(self, ann, mongo):
        answer = ann.client.post(IMPORT, {"text": "/one;/new\n/two;https://example.org/a,b\n", "import": "x"})
        assert answer.status_code == 302
        assert mongo[MANUAL_REDIRECTS].count_documents({}) == 2

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"", "The submitted file is empty."),
            (b" ", "Choose a CSV file"),
            (b"\xff\xfe/\x00", "isn't UTF-8"),
            (b"/a,/new\n" * 1_001, "more than 1,000 lines"),
            (b"a" * 500_001, "too large"),
            (b'/a,"' + b"x" * 200_000, "Line 1 can't be read"),
        ],
    )
    def test_unusable_files_are_refused(self, ann, content, reason):
        assert reason in errors(self.send(ann, content))

    def test_lines_that_lead_back_to_each_other_are_refused(self, ann, mongo):
        text = "/a,/b?x=1\n/b,/c?x=1\n/c,/a?x=1\n"
        checked = self.send(ann, text.encode()).context["problems"]
        assert [(line.number, line.problem) for line in checked] == [
            (3, "This redirect would lead back to “/c”."),
        ]
        ann.client.post(IMPORT, {"text": text, "import": "x"})
        assert sorted(mongo[MANUAL_REDIRECTS].distinct("_id")) == ["/a", "/b"]

    def test_urls_with_a_page_or_another_redirect_are_refused(self, ann, page):
        folder = build.node("folder", "folder")
        build.node(slug="inside", parent=folder, title="Inside")
        add(ann, "/old", "/new")
        text = "/NEW,https://example.org/\n/folder/inside/,/new\n/old,https://example.org/\nhttps://a.example/folder,/new\n"
        problems = [line.problem for line in self.send(ann, text.encode()).context["problems"]]
        assert problems == [
            "There is a page at “/new”. Move or unpublish this page first.",
            "There is a page at “/folder/inside”. Move or unpublish this page first.",
            "“/old” already redirects to /new.",
            "There is a page at “/folder”. Move or unpublish this page first.",
        ]

    def test_targets_follow_their_pages(self, ann, page, client):
        build.save(page, build.nonce(page), slug="newer")
        gallery = photo_build.gallery("gallery")
        photo_build.upload(gallery, name="lake.jpg")
        text = "/one,/new\n/two,/NEWER/\n/three,/gallery/lake\n/four,/\n"
        assert ann.client.post(IMPORT, {"text": text, "import": "x"}).status_code == 302
        targets = {
            url: redirect.target for url, redirect in manual_redirects.get_all(["/one", "/two", "/three"]).items()
        }
        assert targets == {"/one": f"node:{page}", "/two": f"node:{page}", "/three": "/gallery/lake"}
        assert client.get("/one")["Location"] == "/newer"

    def test_redirect_added_since_the_check_is_not_replaced(self, ann, mongo, monkeypatch):
        def add_first(actor, targets):
            mongo[MANUAL_REDIRECTS].insert_one(
                {"_id": "/one", "target": "/x", "nonce": ObjectId(), "saved_at": PAST, "saved_by": actor.as_document()}
            )
            return add_all(actor, targets)

        add_all = services.add_all
        monkeypatch.setattr(services, "add_all", add_first)
        text = "/one,/new\n/two,/new\n"
        (problem,) = ann.client.post(IMPORT, {"text": text, "import": "x"}).context["problems"]
        assert (problem.number, "Someone else has just changed" in problem.problem) == (1, True)
        assert [(d["_id"], d["target"][:5]) for d in mongo[MANUAL_REDIRECTS].find().sort("_id")] == [
            ("/one", "/x"),
            ("/two", "node:"),
        ]

    def test_number_of_commands_does_not_depend_on_the_number_of_lines(self, ann, commands):
        sent = []
        for first, count in ((0, 2), (100, 40)):
            text = "".join(
                f"/old-{n},/new\n/archive/{n}.html,https://example.org/\n" for n in range(first, first + count)
            )
            with commands.recorded() as log:
                self.send(ann, text.encode())
            with commands.recorded() as import_log:
                ann.client.post(IMPORT, {"text": text, "import": "x"})
            sent.append((len(log.sent), len(import_log.sent)))
        assert sent[0] == sent[1]

    def test_repeated_import_changes_nothing(self, ann, mongo):
        ann.client.post(IMPORT, {"text": "/one,/new\n", "import": "x"})
        stored = list(mongo[MANUAL_REDIRECTS].find())
        assert self.send(ann, b"/one,/new\n").context["problems"] == []
        ann.client.post(IMPORT, {"text": "/one,/new\n", "import": "x"})
        assert list(mongo[MANUAL_REDIRECTS].find()) == stored


def test_authors_cannot_manage_redirects(page, author, mongo):
    for url in (LIST, ADD, IMPORT, f"{LIST}?test=/new"):
        assert author.client.get(url).status_code == 403
    assert add(author, "/old", "/new").status_code == 403
    assert author.client.post(IMPORT, {"text": "/one,/new\n", "import": "x"}).status_code == 403
    assert mongo[MANUAL_REDIRECTS].count_documents({}) == 0
    assert mongo[NODES].count_documents({}) == 1


def test_old_url_has_the_focus(ann):
    """Otherwise, the first character of a typed URL, "/", would open the search."""
    assert re.search(r'<input[^>]* name="url"[^>]* autofocus', ann.client.get(ADD).content.decode())
