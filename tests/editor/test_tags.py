"""The list of tags in the admin, and the form in which tags are described, renamed and merged."""

import re

import pytest

from cms.testing import build
from cms.testing.editors import fields
from marginalia.testing import run_tasks
from nodes.access import System
from nodes.actions import PublishDraft, SaveDraft, Tag, Trash
from nodes.collections import ASSET_FILES, TRASH
from nodes.errors import TagBusy
from nodes.selectors import stored_tags
from nodes.services import drafts, tags
from nodes.types import Actor, TagChange
from tests.support.nodes import photo_build

LIST = "/admin/tags/"


def form_url(tag):
    return f"/admin/tags/change/?tag={tag}"


def form(editor, tag):
    return fields(editor.client.get(form_url(tag)).content.decode(), "item_form")


def tags_of(mongo, node_id):
    return mongo["cms.nodes"].find_one({"_id": node_id})["metadata"]["tags"]


@pytest.fixture
def blog(mongo):
    return build.node("blog", "news", tags=("paper",))


def post(blog, slug, *names):
    return build.node("blog-entry", slug, parent=blog, tags=names)


def test_list_shows_counts_and_finds_tags(blog, editor):
    post(blog, "one", "paper", "ink")
    html = editor().client.get(LIST).content.decode()
    assert html.index(">ink<") < html.index(">paper<")
    assert '?tag=paper">2</a>' in html
    html = editor("bob").client.get(f"{LIST}?q=PAP").content.decode()
    assert ">paper<" in html
    assert ">ink<" not in html


def test_empty_list_says_what_to_do(mongo, editor):
    assert "Add tags in the form of a page." in editor().client.get(LIST).content.decode()


def test_description_appears_on_the_tag_page_and_in_its_head(blog, editor, client):
    assert client.get("/tag/paper").status_code == 200
    ann = editor()
    assert ann.send(form_url("paper"), form(ann, "paper"), description="All about\npaper").status_code == 302
    html = client.get("/tag/paper").content.decode()
    assert '<p class="standfirst">All about paper</p>' in html
    assert '<meta name="description" content="All about paper">' in html


def test_description_is_escaped(blog, editor, client):
    ann = editor()
    ann.send(form_url("paper"), form(ann, "paper"), description="<script>alert(1)</script>")
    assert "<script>alert" not in client.get("/tag/paper").content.decode()


def test_stale_form_does_not_replace_a_description(blog, editor):
    ann, bob = editor("ann"), editor("bob")
    hers = form(ann, "paper")
    bob.send(form_url("paper"), form(bob, "paper"), description="Bob's")
    html = ann.send(form_url("paper"), hers, description="Ann's").content.decode()
    assert "changed this to “Bob&#x27;s”" in html
    assert stored_tags.get("paper").description == "Bob's"
    assert ann.send(form_url("paper"), fields(html, "item_form")).status_code == 302
    assert stored_tags.get("paper").description == "Ann's"


def test_renamed_tag_changes_pages_photos_and_trash_and_redirects(mongo, blog, editor, client):
    photo = photo_build.upload(photo_build.gallery())
    Tag(user=System("A"), node_id=photo, tags=TagChange(added=frozenset({"paper"}))).execute()
    hidden = build.node("blog-entry", "hidden", parent=blog, published=None, tags=("paper", "ink"))
    trashed = post(blog, "trashed", "paper")
    Trash(user=System("A"), node_id=trashed, seen=build.nonce(trashed)).execute()
    ann = editor()
    ann.send(form_url("paper"), form(ann, "paper"), description="Sheets")
    assert ann.send(form_url("paper"), form(ann, "paper"), name="vellum").status_code == 302
    assert tags_of(mongo, blog) == ["vellum"]
    assert tags_of(mongo, hidden) == ["ink", "vellum"]
    assert mongo[ASSET_FILES].find_one({"_id": photo})["metadata"]["tags"] == ["vellum"]
    assert mongo[TRASH].find_one({"_id": trashed})["metadata"]["tags"] == ["vellum"]
    answer = client.get("/tag/paper?source=x")
    assert (answer.status_code, answer["Location"]) == (301, "/tag/vellum?source=x")
    assert client.get("/tag/paper/feed/atom")["Location"] == "/tag/vellum/feed/atom"
    assert "Sheets" in client.get("/tag/vellum").content.decode()
    assert "Formerly: paper" in ann.client.get(LIST).content.decode()


def test_tag_used_again_is_shown_instead_of_the_redirect(blog, editor, client):
    ann = editor()
    ann.send(form_url("paper"), form(ann, "paper"), name="vellum")
    post(blog, "new", "paper")
    assert client.get("/tag/paper").status_code == 200


def test_renaming_a_tag_back_removes_the_redirect(blog, editor, client):
    ann = editor()
    ann.send(form_url("paper"), form(ann, "paper"), name="vellum")
    ann.send(form_url("vellum"), form(ann, "vellum"), name="paper")
    assert client.get("/tag/paper").status_code == 200
    assert client.get("/tag/vellum")["Location"] == "/tag/paper"


def test_tag_renamed_twice_redirects_once(blog, editor, client):
    ann = editor()
    ann.send(form_url("paper"), form(ann, "paper"), name="vellum")
    ann.send(form_url("vellum"), form(ann, "vellum"), name="skin")
    assert client.get("/tag/paper")["Location"] == "/tag/skin"


def test_capitals_of_a_tag_can_change(mongo, blog, editor):
    ann = editor()
    ann.send(form_url("paper"), form(ann, "paper"), name="Paper")
    assert tags_of(mongo, blog) == ["Paper"]


def test_merging_asks_first(mongo, blog, editor):
    entry = post(blog, "one", "paper", "ink")
    ann = editor()
    answer = ann.send(form_url("paper"), form(ann, "paper"), name="ink")
    assert "“ink” is already a tag on 1 page or photo." in answer.content.decode()
    assert tags_of(mongo, blog) == ["paper"]
    assert ann.send(form_url("paper"), fields(answer.content.decode(), "item_form")).status_code == 302
    assert tags_of(mongo, blog) == tags_of(mongo, entry) == ["ink"]


@pytest.mark.parametrize("name", ["spring", "Paper"])
def test_renaming_to_an_unused_tag_with_a_description_asks_first(mongo, blog, editor, name):
    tags.describe(name, "Older text", None)
    ann = editor()
    answer = ann.send(form_url("paper"), form(ann, "paper"), name=name, description="Newer text")
    html = answer.content.decode()
    assert f"“{name}” is already a tag, but isn't used on any page or photo." in html
    assert f"“{name}” keeps its description. The description of “paper” is lost." in html
    assert tags_of(mongo, blog) == ["paper"]
    assert ann.send(form_url("paper"), fields(html, "item_form")).status_code == 302
    assert tags_of(mongo, blog) == [name]
    assert stored_tags.get(name).description == "Older text"


def test_merging_into_a_tag_without_a_description_keeps_the_typed_one(blog, editor):
    post(blog, "one", "ink")
    ann = editor()
    answer = ann.send(form_url("paper"), form(ann, "paper"), name="ink", description="Sheets")
    html = answer.content.decode()
    assert "keeps its description" not in html
    assert ann.send(form_url("paper"), fields(html, "item_form")).status_code == 302
    assert stored_tags.get("ink").description == "Sheets"


@pytest.mark.parametrize("name", ["", "  ", "..", "a/../b"])
def test_unusable_names_are_refused(blog, editor, name):
    ann = editor()
    answer = ann.send(form_url("paper"), form(ann, "paper"), name=name)
    assert answer.status_code == 200
    assert "errorlist" in answer.content.decode()


def test_draft_keeps_its_own_tag_changes_after_a_rename(mongo, blog, editor):
    entry = post(blog, "one", "paper", "ink")
    change = TagChange(added=frozenset({"glue"}), removed=frozenset({"ink"}))
    SaveDraft(user=System("A"), node_id=entry, seen=build.nonce(entry), fields={"title": "New"}, tags=change).execute()
    ann = editor()
    ann.send(form_url("paper"), form(ann, "paper"), name="vellum")
    ann.send(form_url("glue"), {"seen": "", "name": "paste", "description": ""})
    stored = mongo["cms.nodes"].find_one({"_id": entry})
    assert stored["draft"]["metadata"]["tags"] == ["glue", "vellum"]
    PublishDraft(user=System("A"), node_id=entry, seen=stored["draft"]["nonce"]).execute()
    assert tags_of(mongo, entry) == ["glue", "vellum"]


def test_open_form_with_the_former_name_does_not_bring_it_back(mongo, blog, editor):
    entry = post(blog, "one", "paper")
    ann = editor()
    address = f"/admin/nodes/node/{entry}/change/"
    opened = ann.open(address)
    ann.send(form_url("paper"), form(ann, "paper"), name="vellum")
    ann.send(address, opened, title="Changed")
    assert tags_of(mongo, entry) == ["vellum"]


def test_tag_of_many_pages_is_renamed_by_a_worker(mongo, blog, editor, monkeypatch):
    monkeypatch.setattr(tags, "MAX_IMMEDIATE", 0)
    ann = editor()
    answer = ann.send(form_url("paper"), form(ann, "paper"), name="vellum")
    html = ann.client.get(answer["Location"]).content.decode()
    assert "Renaming “paper” to “vellum”: 0 of 1" in html
    assert "data-live" in html
    run_tasks()
    assert tags_of(mongo, blog) == ["vellum"]
    assert "data-live" not in ann.client.get(LIST).content.decode()


def test_crashed_rename_is_resumed(mongo, blog, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(tags, "finish_rename", lambda name: None)
        tags.rename("paper", "vellum", None)
    with pytest.raises(TagBusy):
        tags.rename("vellum", "skin", None)
    tags.resume_renames()
    run_tasks()
    assert tags_of(mongo, blog) == ["vellum"]
    assert not stored_tags.being_renamed()


def test_draft_saved_during_a_rename_is_not_lost(mongo, blog, monkeypatch):
    entry = post(blog, "one", "paper")
    SaveDraft(user=System("A"), node_id=entry, seen=build.nonce(entry), fields={"title": "New"}).execute()
    draft = mongo["cms.nodes"].find_one({"_id": entry})["draft"]["nonce"]
    insert = drafts.insert_revision

    def interrupt(*args, **options):
        monkeypatch.setattr(drafts, "insert_revision", insert)
        tags.rename("paper", "vellum", None)
        insert(*args, **options)

    monkeypatch.setattr(drafts, "insert_revision", interrupt)
    drafts.save_draft(Actor(None, "A"), entry, draft, {"title": "Newer"})
    stored = mongo["cms.nodes"].find_one({"_id": entry})["draft"]
    assert (stored["metadata"]["title"], stored["metadata"]["tags"]) == ("Newer", ["vellum"])
    assert stored["base_tags"] == ["vellum"]


def test_authors_cannot_manage_tags(blog, author):
    assert author.client.get(LIST).status_code == 403
    assert author.client.post(form_url("paper"), {"name": "vellum"}).status_code == 403
    assert "/admin/tags/" not in author.client.get("/admin/").content.decode()


def test_name_of_the_tag_has_the_focus(blog, editor):
    html = editor().client.get(form_url("paper")).content.decode()
    assert re.search(r'<input[^>]* name="name"[^>]* autofocus', html)


def test_unknown_tag_returns_404(mongo, editor):
    assert editor().client.get(form_url("nothing")).status_code == 404


def test_tag_in_other_capitals_is_merged_after_asking(mongo, blog, editor):
    entry = post(blog, "one", "paper", "Vellum")
    ann = editor()
    answer = ann.send(form_url("paper"), form(ann, "paper"), name="vellum")
    assert "“Vellum” is already a tag on 1 page or photo." in answer.content.decode()
    ann.send(form_url("paper"), fields(answer.content.decode(), "item_form"))
    assert tags_of(mongo, blog) == tags_of(mongo, entry) == ["Vellum"]
