"""The admin's start page: what waits, for whom, and what it costs to tell."""

import re
from datetime import timedelta

import pytest
from bson import ObjectId
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.test import Client

from cms.dashboard import start
from comments.posting import services
from comments.types import Author, Target
from mongo import jobs
from mongo.clock import now
from mongo.connection import database
from nodes.services import drafts, editing
from nodes.types import Actor, TagChange
from tests.support.nodes.build import EDITOR, node, nonce
from tests.support.nodes.photo_build import document, gallery, upload

# Sent for the session and the account as well; asked of a site of any size.
MOST_COMMANDS = 24


@pytest.fixture
def person(mongo):
    """Make an account that may log in to the admin: person("Authors"), person() for one that may do everything."""

    def make(group=None):
        name = group or "root"
        user = get_user_model().objects.create_user(
            name, f"{name}@example.org", "pw", is_staff=True, is_superuser=not group
        )
        user.groups.set(Group.objects.filter(name=group))
        client = Client()
        client.force_login(user)
        client.user = user
        return client

    return make


def cards(client) -> dict[str, str]:
    """Return {label: count} of the start page."""
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


def test_everything_that_waits_is_counted(person):
    root = person()
    waiting_pages()
    services.hold(
        Target("nodes.node", str(node(slug="discussed"))),
        author=Author("A"),
        source="Held",
        token="h",
        reasons=["links"],
    )
    assert cards(root) == {
        "Comments that wait": "1", "Flagged comments": "0", "Not published": "1", "With a draft": "1", "Scheduled": "1",
        "Expire within a week": "1",
    }  # fmt: skip
    html = root.get("/admin/").content.decode()
    for state in ("unpublished", "drafted", "scheduled", "expiring"):
        listed = root.get(f"/admin/nodes/node/?state={state}")
        assert len(listed.context["rows"]) == 1
        assert f"?state={state}" in html
    assert re.search(r'id="coming".*>Later<', html)


def test_authors_see_their_own_and_no_more(person):
    author = person("Authors")
    waiting_pages()
    assert set(cards(author).values()) == {"0"}
    assert "Later" not in author.get("/admin/").content.decode()
    editing.create(Actor.of(author.user), type="basic-page", parent_id=None, slug="mine", title="Mine", fields={})
    assert cards(author)["Not published"] == "1"
    html = author.get("/admin/").content.decode()
    assert ">Mine<" in html
    assert "Unfinished" not in html


def test_editors_are_told_which_are_theirs(person):
    editor = person("Editors")
    node(slug="other", published=None)
    editing.create(Actor.of(editor.user), type="basic-page", parent_id=None, slug="mine", title="Mine", fields={})
    html = editor.get("/admin/").content.decode()
    found = re.search(r'href="(/admin/nodes/node/\?state=unpublished&amp;author=\w+)">Yours: 1<', html)
    listed = editor.get(found[1].replace("&amp;", "&"))
    assert [row["node"].metadata.title for row in listed.context["rows"]] == ["Mine"]


@pytest.mark.parametrize(
    ("group", "labels"),
    [
        ("Moderators", {"Comments that wait", "Flagged comments"}),
        ("Authors", {"Not published", "With a draft", "Scheduled", "Expire within a week"}),
    ],
)
def test_cards_are_of_what_one_may_do(person, group, labels):
    client = person(group)
    node(published=None)
    assert set(cards(client)) == labels


def test_troubles_are_told_to_those_who_can_help_and_mended_from_there(person):
    root, author, photo = person(), person("Authors"), upload(gallery())
    long_ago = now() - timedelta(minutes=10)
    files = database()["cms.assets.files"]
    stopped = {**document(photo), "_id": ObjectId()}
    stopped["metadata"] = {**stopped["metadata"], "slug": "stopped", "locked": long_ago, "content_id": None}
    files.insert_one(stopped | {"filename": "stopped.jpg"})
    jobs.put("unheard-of", {})
    database()["jobs"].update_many(
        {"kind": "unheard-of"}, {"$set": {"state": jobs.FAILED, "tries": jobs.TRIES, "error": "no such kind"}}
    )
    assert {"Stalled uploads": "1", "Failed jobs": "1"}.items() <= cards(root).items()
    assert not {"Stalled uploads", "Failed jobs"} & set(cards(author))
    for address in ("/admin/nodes/photo/stalled/", "/admin/jobs/"):
        assert author.get(address).status_code == 403
        assert author.post(address).status_code == 403
    assert "stopped.jpg" in root.get("/admin/nodes/photo/stalled/").content.decode()
    assert "no such kind" in root.get("/admin/jobs/").content.decode()
    assert "1 upload was cleared away" in root.post("/admin/nodes/photo/stalled/", follow=True).content.decode()
    assert "1 job is tried again" in root.post("/admin/jobs/", follow=True).content.decode()
    assert not {"Stalled uploads", "Failed jobs"} & set(cards(root))
    assert files.find_one({"_id": photo})
    assert "No upload has stalled" in root.get("/admin/nodes/photo/stalled/").content.decode()
    assert "No job has failed" in root.get("/admin/jobs/").content.decode()


def test_a_new_site_says_how_to_begin(person):
    root, author = person(), person("Authors")
    html = root.get("/admin/").content.decode()
    assert "There is nothing here yet" in html
    for address in re.findall(
        r'href="(/admin/nodes/[^"]*)"', html.partition('id="welcome"')[2].partition("</section>")[0]
    ):
        assert root.get(address).status_code == 200, address
    assert "An editor makes the first section" in author.get("/admin/").content.decode()
    node()
    assert "There is nothing here yet" not in root.get("/admin/").content.decode()
    assert "Nothing waits for you" in root.get("/admin/").content.decode()


def test_the_start_page_costs_the_same_at_any_size(person, commands):
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


def test_counts_stop_at_a_bound():
    assert start.number(1_000) == "1,000"
    assert start.number(1_001) == "1,000+"
