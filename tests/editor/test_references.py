"""Uses of pages and photos, and broken links, as editors see them."""

import re

import pytest
from bson import ObjectId
from django.contrib.auth.models import Permission, User
from django.test import Client

from cms.testing.build import EDITOR, node, nonce, save, stored
from cms.testing.editors import fields
from editor import links
from nodes.selectors import references, stored_photos
from nodes.services import drafts, trash
from photos import addresses, texts
from tests.support.nodes.photo_build import document, gallery, upload

pytestmark = pytest.mark.usefixtures("mongo")

NODES = "/admin/nodes/node/"
BROKEN = f"{NODES}broken-links/"
SHOW = f"{NODES}show-typed/"
NEW = {"type": "basic-page", "title": "New"}


def user(*permissions: str) -> User:
    account = User.objects.create_user(f"user-{ObjectId()}", is_staff=True)
    account.user_permissions.add(*Permission.objects.filter(codename__in=permissions))
    return account


@pytest.fixture
def editor(client) -> Client:
    client.force_login(user("publish_node", "change_node", "add_node", "change_photo"))
    return client


@pytest.fixture
def author() -> Client:
    client = Client()
    client.force_login(user("change_node", "add_node"))
    return client


def text(answer) -> str:
    return answer.content.decode()


class TestUsedOn:
    def test_pages_are_listed_and_drafts_marked(self, editor):
        target = node(slug="target")
        assert "No pages link to this page." in text(editor.get(f"{NODES}{target}/change/"))
        node(slug="page", title="On lakes", text=f"[a](node:{target})")
        drafted = node(slug="drafted", title="On hills")
        drafts.save_draft(EDITOR, drafted, nonce(drafted), {"detail.text": f"[a](node:{target})"})
        answer = editor.get(f"{NODES}{target}/change/")
        assert [(use.title, use.drafted) for use in answer.context["uses"].named] == [
            ("On hills", True),
            ("On lakes", False),
        ]
        assert text(answer).count("only in the draft") == 1

    def test_hidden_pages_are_counted_and_not_named(self, author):
        mine = node(slug="mine", published=None, author={"_id": author_id(author), "name": "Me"})
        node(slug="public", title="Public one", text=f"[a](node:{mine})")
        node(slug="secret", title="Secret one", text=f"[a](node:{mine})", published=None)
        drafted = node(slug="drafted", title="Drafted one")
        drafts.save_draft(EDITOR, drafted, nonce(drafted), {"detail.text": f"[a](node:{mine})"})
        page = text(author.get(f"{NODES}{mine}/change/"))
        assert 'href="/public"' in page
        assert "Secret one" not in page
        assert "Drafted one" not in page
        assert "and on 2 pages that aren't listed here" in page


def author_id(client: Client) -> ObjectId:
    return ObjectId(client.session["_auth_user_id"])


class TestWarnings:
    @pytest.fixture
    def target(self) -> ObjectId:
        target = node(slug="target")
        node(slug="page", title="On lakes", text=f"[a](node:{target})")
        return target

    def test_trash_and_deletion_list_linking_pages(self, editor, target):
        warned = "Used on 1 page, where only the link text or alternative text will remain:"
        page = text(editor.get(f"{NODES}{target}/delete/"))
        assert warned in page
        assert "On lakes" in page
        trash.trash(EDITOR, target, nonce(target))
        editor.force_login(User.objects.create_superuser("admin"))
        assert warned in text(editor.get(f"{NODES}{target}/delete-for-good/"))

    def test_unused_page_causes_no_warning(self, editor):
        assert "uses-warning" not in text(editor.get(f"{NODES}{node()}/delete/"))

    def test_section_counts_its_contents(self, editor):
        outer = node("folder", "outer")
        inner = node("basic-page", "leaf", parent=node("folder", "inner", parent=outer))
        photo_id = upload(gallery("lakes", parent_id=outer))
        node(slug="page", title="On lakes", text=f"[a](node:{inner}) ![](photo:{photo_id})")
        node("basic-page", "beside", parent=outer, title="Goes along", text=f"[a](node:{inner})")
        page = text(editor.get(f"{NODES}{outer}/delete/"))
        assert "Used on 1 page," in page
        assert "On lakes" in page
        assert "Goes along" not in page

    @pytest.mark.parametrize("action", ["trash", "unpublish"])
    def test_bulk_actions_ask_first(self, editor, target, action):
        other = node(slug="other")
        chosen = {f"nonce-{i}": str(nonce(i)) for i in (target, other)} | {
            "chosen": [str(target), str(other)],
            "action": action,
        }
        asked = editor.post(NODES, chosen)
        assert "On lakes" in text(asked)
        assert stored(target)["published"]
        assert editor.post(NODES, {**chosen, "confirmed": "1"}).status_code == 302
        assert editor.get("/target").status_code == 404

    def test_unpublishing_unused_pages_asks_nothing(self, editor, target):
        other = node(slug="other")
        sent = {"chosen": [str(other)], f"nonce-{other}": str(nonce(other)), "action": "unpublish"}
        assert editor.post(NODES, sent).status_code == 302
        assert stored(other)["published"] is None

    def test_bulk_publishing_lists_the_warnings_about_unpublished_texts_first(self, editor):
        picture = "![](https://site.example/a.png)"
        flawed = node(slug="flawed", title="On <hills>", text=picture, published=None)
        fine = node(slug="fine", published=None)
        public = node(slug="public", title="On rivers", text=picture)
        ids = (flawed, fine, public)
        sent = {"chosen": [str(i) for i in ids], **{f"nonce-{i}": str(nonce(i)) for i in ids}, "action": "publish"}
        asked = text(editor.post(NODES, sent))
        assert [row.title for row, _warnings in editor.post(NODES, sent).context["warned"]] == ["On <hills>"]
        assert f'<a href="{NODES}{flawed}/change/">On &lt;hills&gt;</a>' in asked
        assert f'<a href="{NODES}{flawed}/change/#text-1-4">Line 1:</a>' in asked
        assert [bool(stored(i)["published"]) for i in ids] == [False, False, True]
        assert editor.post(NODES, fields(asked, "confirm_form")).status_code == 302
        assert all(stored(i)["published"] for i in ids)

    def test_bulk_publishing_without_warnings_asks_nothing(self, editor):
        page = node(published=None)
        sent = {"chosen": [str(page)], f"nonce-{page}": str(nonce(page)), "action": "publish"}
        assert editor.post(NODES, sent).status_code == 302
        assert stored(page)["published"]

    def test_form_that_unpublishes_a_page_asks_once(self, editor, target):
        address = f"{NODES}{target}/change/"
        said = fields(text(editor.get(address))) | {"published_0": "", "published_1": "", "_save": "x"}
        asked = editor.post(address, said)
        assert "Nothing has been saved yet." in text(asked)
        assert "On lakes" in text(asked)
        assert stored(target)["published"]
        assert editor.post(address, said | {"confirmed": "1"}).status_code == 302
        assert stored(target)["published"] is None

    def test_photos_ask_too(self, editor):
        photo_id = upload(gallery("lakes"))
        node(slug="page", title="On lakes", text=f"[a](photo:{photo_id})")
        photo_nonce = str(document(photo_id)["metadata"]["nonce"])
        asked = editor.post(f"/admin/nodes/photo/{photo_id}/trash/", {"nonce": photo_nonce})
        assert "On lakes" in text(asked)
        sent = {"chosen": [str(photo_id)], f"nonce-{photo_id}": photo_nonce}
        for action in ("trash", "unpublish"):
            assert "On lakes" in text(editor.post(addresses.library_path(), {**sent, "action": action}))
        assert stored_photos.get(photo_id).metadata.published
        done = editor.post(f"/admin/nodes/photo/{photo_id}/trash/", {**sent, "confirmed": "1"})
        assert done.status_code == 302
        assert stored_photos.get(photo_id) is None


class TestPreview:
    def test_broken_links_are_marked_with_the_reason(self, editor):
        hidden, thrown, live = node(slug="hidden", published=None), node(slug="thrown"), node(slug="live")
        trash.trash(EDITOR, thrown, nonce(thrown))
        typed = f"[a](node:{hidden}) [b](node:{thrown}) [c](node:{ObjectId()}) [d](node:no) [e](node:{live}) [f](photo:none)"
        html = editor.post(SHOW, {**NEW, "text": typed}).json()["html"]
        marked = '<span class="broken-link">{} <small>({})</small></span>'
        words = [("a", "not public"), ("b", "in the trash"), ("c", "deleted"), ("d", "deleted")]
        told = [marked.format(*pair) for pair in words]
        told += ['<a href="/live">e</a>', marked.format("f", "deleted")]
        assert f"<p>{' '.join(told)}</p>" in html

    def test_reason_is_hidden_without_permission(self, author):
        hidden = node(slug="hidden", published=None)
        html = author.post(SHOW, {**NEW, "text": f"[a](node:{hidden}) [b](node:{ObjectId()})"}).json()["html"]
        assert html.count("(not public)") == 2


class TestReport:
    def test_broken_links_of_public_pages_are_listed(self, editor):
        hidden = node(slug="hidden", published=None)
        node(slug="page", title="On lakes", text=f"[some *words*](node:{hidden}) [fine](node:{node(slug='fine')})")
        node(slug="unseen", title="On hills", text=f"[other words](node:{hidden})", published=None)
        page = text(editor.get(BROKEN))
        for told in ("On lakes", "/page", "some words", "Hidden", "not public", "#text-warnings"):
            assert told in page
        assert str(hidden) not in page, "words, no numbers"
        assert "fine" not in page
        assert "On hills" not in page

    def test_broken_links_of_drafts_are_marked(self, editor):
        page = node(slug="page", title="On lakes")
        drafts.save_draft(EDITOR, page, nonce(page), {"detail.text": f"[some words](node:{ObjectId()})"})
        shown = text(editor.get(BROKEN))
        for told in ("On lakes", "In the draft", "some words", "deleted"):
            assert told in shown

    def test_empty_list_says_that_no_link_is_broken(self, editor):
        node(slug="page", text=f"[fine](node:{node(slug='fine')})")
        assert "No broken links found." in text(editor.get(BROKEN))

    def test_list_is_paged(self, editor, monkeypatch):
        gone = ObjectId()
        monkeypatch.setattr(references, "LOOKED_AT_ONCE", 2)
        monkeypatch.setattr(links, "SIZE", 2)
        for n in range(5):
            node(slug=f"page-{n}", title=f"Page {n}", text=f"[a](node:{gone})")
        seen, after = [], ""
        for _ in range(3):
            context = editor.get(BROKEN, {"from": after} if after else {}).context
            seen += [row["node"].metadata.title for row in context["rows"]]
            after = context["after"]
        assert seen == [f"Page {n}" for n in (4, 3, 2, 1, 0)]
        assert after == ""
        assert editor.get(BROKEN, {"from": "no cursor"}).status_code == 404

    def test_author_sees_only_own_pages_without_reasons(self, author):
        hidden = node(slug="hidden", published=None)
        node(
            slug="mine",
            title="My page",
            text=f"[a](node:{ObjectId()})",
            author={"_id": author_id(author), "name": "Me"},
        )
        node(slug="other", title="Not mine", text=f"[a](node:{hidden})")
        page = text(author.get(BROKEN))
        assert "My page" in page
        assert "Not mine" not in page
        assert "deleted" not in page

    def test_hidden_page_is_not_named_to_an_author(self, author):
        hidden = node(slug="hidden", title="Secret plan", published=None)
        node(slug="mine", text=f"[a](node:{hidden})", author={"_id": author_id(author), "name": "Me"})
        page = text(author.get(BROKEN))
        assert "<td>a</td>" in page
        assert "Secret plan" not in page

    @pytest.mark.parametrize("is_in_trash", [False, True])
    def test_hidden_photo_is_named_only_with_permission(self, client, editor, is_in_trash):
        photo = upload(gallery(), name="secret-lake.jpg", fields={"published": None})
        plan, name = node(slug="plan", title="Secret plan", published=None), document(photo)["metadata"]["title"]
        node(slug="page", text=f"![](photo:{photo}) [a](node:{plan})")
        if is_in_trash:
            trash.trash(EDITOR, photo, document(photo)["metadata"]["nonce"], "cms.assets.files")
        assert name in text(editor.get(BROKEN))
        client.force_login(user("view_node"))
        page = text(client.get(BROKEN))
        assert ("Secret plan" in page, str(photo) in page, name in page) == (True, True, False)

    def test_list_is_only_for_editors(self, client):
        client.force_login(user("view_photo"))
        assert client.get(BROKEN).status_code == 403


class TestPastedUrl:
    """The link that a pasted URL of the site becomes."""

    def to(self, client: Client, address: str) -> dict:
        return client.get(f"{NODES}link-to/", {"address": address}).json()

    def test_public_page_or_photo_is_linked_by_its_id(self, editor):
        folder = node("folder", "wörter")
        page, photo_id = (
            node("basic-page", "page", parent=folder, title="On lakes"),
            upload(gallery("lakes"), name="one.jpg"),
        )
        assert self.to(editor, "/w%C3%B6rter/page") == {"ref": f"node:{page}", "title": "On lakes"}
        assert self.to(editor, "/lakes/one/") == {"ref": f"photo:{photo_id}", "title": "one"}
        home = node(slug="home", title="Welcome")
        assert self.to(editor, "/") == {"ref": f"node:{home}", "title": "Welcome"}

    def test_old_url_leads_to_the_current_page(self, editor):
        page = node(slug="before")
        save(page, nonce(page), slug="now")
        assert self.to(editor, "/before")["ref"] == f"node:{page}"

    def test_other_urls_have_no_result(self, editor, client):
        node(slug="hidden", published=None)
        for address in ("/", "/hidden", "/none", "", "/admin/", "/$gt", "/" + "a/" * 900):
            assert self.to(editor, address) == {}
        client.force_login(user("view_photo"))
        assert client.get(f"{NODES}link-to/", {"address": "/"}).status_code == 403


class TestBrokenLinksInForm:
    """The form's list of links to pages that readers cannot see."""

    def listed(self, client: Client, node_id: ObjectId, query: str = "") -> str:
        page = text(client.get(f"{NODES}{node_id}/change/{query}"))
        part = page.partition('id="text-warnings" role="status">')[2].partition("</div>")[0]
        return " ".join(re.sub("<[^>]*>", " ", part).split())

    def test_broken_link_is_listed_with_line_words_and_reason(self, editor):
        hidden, gone, other = node(slug="hidden", title="Plans", published=None), ObjectId(), ObjectId()
        trashed, live = node(slug="trashed", title="Old fees"), node(slug="live")
        photo = upload(gallery(), name="lake.jpg", fields={"published": None, "title": "The lake"})
        lines = [
            f"[fine](node:{live}) [*our* plans](node:{hidden}#a)",
            "",
            f"and [again](node:{hidden})",
            "",
            f"[fees](node:{trashed}) [gone](node:{gone})",
            "",
            f"![A lake](photo:{photo})",
            "",
            f"::photo{{photo=photo:{other}}}",
        ]
        page = node(slug="page", text="\r\n".join(lines))
        trash.trash(EDITOR, trashed, nonce(trashed))
        assert self.listed(editor, page) == (
            "These links lead to content that readers can't see: "
            "Line 1: “our plans” → Plans (not public) "
            "Line 3: “again” → Plans (not public) "
            "Line 5: “fees” → Old fees (in the trash) "
            "Line 5: “gone” (deleted) "
            "Line 7: “A lake” → The lake (not public) "
            f"Line 9: “{other}” (deleted)"
        )
        assert self.listed(editor, live) == ""

    def test_draft_lists_its_own_links(self, editor):
        one, two = (node(slug=slug, title=slug, published=None) for slug in ("one", "two"))
        page = node(slug="page", text=f"[a](node:{one})")
        drafts.save_draft(EDITOR, page, nonce(page), {"detail.text": f"[b](node:{two})"})
        assert "“b”" in self.listed(editor, page)
        assert "“a”" in self.listed(editor, page, "?version=live")

    def test_refused_form_lists_the_typed_links(self, editor):
        page = node(slug="page", text="Fine.")
        sent = {**fields(text(editor.get(f"{NODES}{page}/change/"))), "title": "", "text": f"[a](node:{ObjectId()})"}
        assert "deleted" in text(editor.post(f"{NODES}{page}/change/", sent))

    def test_preview_lists_links_too(self, editor):
        sent = {**NEW, "text": f"[<b>a](node:{ObjectId()})", "format": "markdown"}
        broken = editor.post(SHOW, sent).json()["warnings"]
        assert "“a”" in broken
        assert "(deleted)" in broken
        assert editor.post(SHOW, {**NEW, "text": "[a](/b) `node:no`"}).json()["warnings"].strip() == ""

    def test_author_sees_neither_reason_nor_title(self, author):
        hidden = node(slug="hidden", title="Secret plan", published=None)
        said = f"[a](node:{hidden}) [b](node:{ObjectId()})"
        mine = node(slug="mine", published=None, text=said, author={"_id": author_id(author), "name": "Me"})
        listed = self.listed(author, mine)
        assert listed.count("(not public)") == 2
        assert "Secret plan" not in listed

    def test_long_list_is_cut(self, editor):
        page = node(slug="page", text="\n\n".join(f"[a](node:{ObjectId()})" for _ in range(60)))
        assert self.listed(editor, page).count("Line") == texts.MAX_BROKEN
