"""The Dashboard: its order, its content by role, and its cost."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from bson import ObjectId

from cms.dashboard import index
from cms.testing.build import EDITOR, node, nonce
from marginalia.comments.posting import flags, services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Target
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from marginalia.tasks import backend, queue, scheduling, worker
from nodes.selectors import waiting
from nodes.services import drafts, editing, working_copies
from nodes.types import Actor, TagChange
from tests.support.nodes.content import Concert, Season, registered
from tests.support.nodes.photo_build import document, gallery, upload
from tests.tasks.examples import nightly

# Commands for the session and the account, for a site of any size.
MOST_COMMANDS = 24


def cards(client) -> dict[str, str]:
    """Return {label: count} of the Dashboard's cards."""
    html = client.get("/admin/").content.decode()
    return {label: count for count, label in re.findall(r'<span class="start-count">(.*?)</span> (.*?)</a>', html)}


def waiting_pages(author=EDITOR):
    soon = now() + timedelta(days=1)
    page = node(slug="public", title="Public")
    drafts.save_draft(author, page, nonce(page), {"detail.text": "Drafted"}, TagChange())
    node(slug="unfinished", published=None)
    node(slug="later", title="Later", published=soon)
    node(slug="ending", expires=soon)
    node(slug="ended", expires=now() - timedelta(days=1))


def test_pending_items_are_counted(person):
    root = person()
    waiting_pages()
    services.hold(
        Target("nodes.node", str(node(slug="discussed"))),
        author=CommentAuthor("A"),
        source="Held",
        token="h",
        reasons=["links"],
    )
    assert cards(root) == {
        "Pending comments": "1",
        "Drafts": "1",
        "Unpublished changes": "1",
        "Scheduled": "1",
        "Expiring this week": "1",
    }
    html = root.get("/admin/").content.decode()
    assert "Nothing else needs your attention." in html
    for state in ("unpublished", "drafted", "scheduled", "expiring"):
        listed = root.get(f"/admin/nodes/node/?state={state}")
        assert len(listed.context["rows"]) == 1
        assert f"?state={state}" in html
    assert re.search(r'id="coming".*>Later<', html)


def test_authors_see_only_their_own_items(person):
    author = person("Authors")
    waiting_pages()
    assert cards(author) == {}
    assert "Later" not in author.get("/admin/").content.decode()
    editing.create(Actor.of(author.user), type="basic-page", parent_id=None, slug="mine", title="Mine", fields={})
    assert cards(author) == {"Drafts": "1"}
    html = author.get("/admin/").content.decode()
    assert ">Mine<" in html
    assert "Unfinished" not in html


def sections(client) -> list[str]:
    """Return the headings of the Dashboard in order."""
    return re.findall(r'<section aria-labelledby="(\w+)">', client.get("/admin/").content.decode())


def test_sections_are_ordered_by_role(person):
    node(published=None)
    assert sections(person()) == ["attention", "pending", "drafts", "changed"]
    assert sections(person("Administrators")) == ["attention", "pending", "drafts", "changed"]
    assert sections(person("Editors")) == ["drafts", "attention", "changed"]
    assert sections(person("Authors")) == ["drafts", "attention"]
    assert sections(person("Moderators")) == ["pending", "attention"]


def test_account_without_a_role_is_told(person):
    client = person("Nobody")
    assert "has no role yet" in client.get("/admin/").content.decode()


def test_own_drafts_are_listed_last_changed_first(person):
    editor = person("Editors")
    assert "You have no drafts. Press one of the buttons above" in editor.get("/admin/").content.decode()
    node(slug="other", published=None)
    editor_is = Actor.of(editor.user)
    for name in ("first", "second"):
        editing.create(editor_is, type="basic-page", parent_id=None, slug=name, title=name, fields={})
    live = {"published": now() - timedelta(days=1)}
    public = editing.create(editor_is, type="basic-page", parent_id=None, slug="public", title="public", fields=live).id
    drafts.save_draft(editor_is, public, nonce(public), {"detail.text": "Drafted"}, TagChange())
    html = editor.get("/admin/").content.decode().partition('id="drafts"')[2].partition("</section>")[0]
    assert "You have no drafts" not in html
    assert html.count("just now") == 3
    found = re.findall(r'change/">(\w+)</a> <span>(Live|Draft)', html)
    assert set(found) == {("second", "Draft"), ("first", "Draft"), ("public", "Live")}
    assert found.index(("second", "Draft")) < found.index(("first", "Draft"))


def test_drafts_of_old_pages_show_when_they_were_saved(person, mongo):
    editor = person("Editors")
    editor_is, live = Actor.of(editor.user), {"published": now() - timedelta(days=400)}
    public = editing.create(editor_is, type="basic-page", parent_id=None, slug="public", title="public", fields=live).id
    mongo["cms.nodes"].update_one({"_id": public}, {"$set": {"metadata.updated": live["published"]}})
    for n in range(waiting.NAMED):
        editing.create(editor_is, type="basic-page", parent_id=None, slug=f"new-{n}", title=f"new {n}", fields={})
    drafts.save_draft(editor_is, public, nonce(public), {"detail.text": "Drafted"}, TagChange())
    html = editor.get("/admin/").content.decode().partition('id="drafts"')[2].partition("</section>")[0]
    assert 'change/">public</a> <span>Live, with unpublished changes · just now' in html


def test_unsaved_text_is_offered(person):
    author, other = person("Authors"), person("Editors")
    copy = ObjectId()
    typed = [("title", "Half a thought"), ("text", "And")]
    working_copies.store(author.user.pk, copy, 1, typed, type="basic-page", node_id=None)
    html = author.get("/admin/").content.decode()
    assert f'href="/admin/nodes/node/typed/{copy}/">Half a thought</a>' in html
    assert author.get(f"/admin/nodes/node/typed/{copy}/").status_code == 200
    assert "Half a thought" not in other.get("/admin/").content.decode()


def test_moderators_see_the_oldest_held_comments(person):
    moderator = person("Moderators")
    assert "No comments are pending." in moderator.get("/admin/").content.decode()
    target = Target("nodes.node", str(node(slug="discussed")))
    held = [services.hold(target, author=CommentAuthor("A"), source=f"Held {n}", token=f"h{n}").held for n in range(4)]
    html = moderator.get("/admin/").content.decode()
    assert f'href="/admin/marginalia_comments/moderation/#held-{held[0].id}">A: Held 0</a>' in html
    assert "Held 3" not in html


@pytest.mark.parametrize(
    ("group", "labels"),
    [
        ("Moderators", {"Pending comments", "Reported comments"}),
        ("Editors", {"Drafts", "Unpublished changes", "Scheduled", "Expiring this week"}),
    ],
)
def test_cards_match_permissions(person, group, labels):
    client = person(group)
    waiting_pages()
    target = Target("nodes.node", str(node(slug="discussed")))
    services.hold(target, author=CommentAuthor("A"), source="Held", token="held")
    services.post(target, author=CommentAuthor("A"), source="Rude", token="rude")
    flags.flag(selectors.recent(1)[0], "ip_hash:x")
    assert set(cards(client)) == labels


def test_problems_are_shown_to_users_who_can_fix_them(person):
    root, author, photo = person(), person("Authors"), upload(gallery())
    long_ago = now() - timedelta(minutes=10)
    files = database()["cms.assets.files"]
    stopped = {**document(photo), "_id": ObjectId()}
    stopped["metadata"] = {**stopped["metadata"], "slug": "stopped", "locked": long_ago, "content_id": None}
    files.insert_one(stopped | {"filename": "stopped.jpg"})
    queue.put("unheard-of", [], {})
    database()["jobs"].update_many(
        {"kind": "unheard-of"}, {"$set": {"state": queue.FAILED, "tries": 8, "error": "no such kind"}}
    )
    assert {"Stalled uploads": "1", "Failed jobs": "1"}.items() <= cards(root).items()
    assert not {"Stalled uploads", "Failed jobs"} & set(cards(author))
    for address in ("/admin/nodes/photo/stalled/", "/admin/jobs/"):
        assert author.get(address).status_code == 403
        assert author.post(address).status_code == 403
    assert "stopped.jpg" in root.get("/admin/nodes/photo/stalled/").content.decode()
    assert "no such kind" in root.get("/admin/jobs/").content.decode()
    assert "1 upload was deleted" in root.post("/admin/nodes/photo/stalled/", follow=True).content.decode()
    assert "1 job will be retried" in root.post("/admin/jobs/", follow=True).content.decode()
    assert not {"Stalled uploads", "Failed jobs"} & set(cards(root))
    assert files.find_one({"_id": photo})
    assert "No stalled uploads" in root.get("/admin/nodes/photo/stalled/").content.decode()
    assert "No failed jobs" in root.get("/admin/jobs/").content.decode()


def test_jobs_page_lists_scheduled_tasks(person, monkeypatch):
    moment = datetime(2031, 5, 4, 12, tzinfo=UTC)
    root = person()
    name = nightly.stored_as
    monkeypatch.setattr(backend, "_scheduled", {name: nightly})
    monkeypatch.setattr(scheduling, "now", lambda: moment)
    page = root.get("/admin/jobs/").content.decode()
    assert "Scheduled tasks" in page
    assert row(page, name) == ["30 3 * * *", "May 5, 2031, 3:30 AM", "–", "–"]
    scheduling.enqueue_due()
    monkeypatch.setattr(scheduling, "now", lambda: moment + timedelta(days=1))
    scheduling.enqueue_due()
    page = root.get("/admin/jobs/").content.decode()
    assert row(page, name)[1:] == ["May 6, 2031, 3:30 AM", "May 5, 2031, 3:30 AM", "Waiting"]
    worker.work()
    assert row(root.get("/admin/jobs/").content.decode(), name)[3] == "Done"


def row(page, name):
    """Return the cells after a name in a table."""
    [cells] = re.findall(rf">{re.escape(name)}</th>(.*?)</tr>", page, re.DOTALL)
    return [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<td>(.*?)</td>", cells, re.DOTALL)]


def test_empty_site_explains_the_first_steps(person):
    root, author = person(), person("Authors")
    html = root.get("/admin/").content.decode()
    assert "There is nothing here yet" in html
    for address in re.findall(
        r'href="(/admin/nodes/[^"]*)"', html.partition('id="welcome"')[2].partition("</section>")[0]
    ):
        assert root.get(address).status_code == 200, address
    assert "An editor has to add the first section" in author.get("/admin/").content.decode()
    node()
    assert "There is nothing here yet" not in root.get("/admin/").content.decode()
    assert "Nothing needs your attention" in root.get("/admin/").content.decode()


def test_types_are_offered_after_a_section_can_contain_them(person):
    root = person()
    with registered(Season, Concert):
        html = root.get("/admin/").content.decode()
        assert "Add page" in html
        assert "Add blog post" not in html
        assert "Add concert" not in html
        node("blog", "news")
        node("season", "season")
        html = root.get("/admin/").content.decode()
        assert "Add blog post" in html
        assert "Add concert" in html


def test_dashboard_costs_the_same_at_any_size(person, commands):
    root = person()
    waiting_pages()
    root.get("/admin/")
    with commands.recorded():
        root.get("/admin/")
    few = len(commands)
    for i in range(30):
        node(slug=f"more-{i}", published=None)
    with commands.recorded():
        root.get("/admin/")
    assert len(commands) <= few + 2
    assert few <= MOST_COMMANDS, commands.names


def test_counts_stop_at_a_limit():
    assert index.format_count(1_000) == "1,000"
    assert index.format_count(1_001) == "1,000+"


def test_lists_have_a_labelled_search_box(person):
    root = person()
    html = root.get("/admin/marginalia_comments/storeddiscussion/?q=auth&label__startswith=A").content.decode()
    assert '<label for="searchbar">Search for</label>' in html
    assert '<input type="hidden" name="label__startswith" value="A">' in html
