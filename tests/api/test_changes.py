"""The list of changes: order, uniqueness, due dates, visibility for readers, and its horizon."""

import json
from datetime import timedelta
from itertools import pairwise

import pytest
from django.core.management import call_command

from api.changes import change_log
from api.changes import relay as relaying
from api.changes.change_log import COMMENTS, NODE, PHOTO, RESET, SETTINGS, SUBTREE, Entry, Overtaken
from api.changes.relay import GRACE, relay
from api.rights.scopes import Scope
from cms.testing import build
from marginalia.comments.posting import services as comments
from marginalia.comments.types import CommentAuthor
from marginalia.mongo import indexes
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.selectors import editable_nodes
from nodes.services import drafts, editing, site, trash
from nodes.types import TagChange
from tests.support.changes import lose_history
from tests.support.comments import site as discussed
from tests.support.concurrency import run_concurrently
from tests.support.nodes import photo_build

LATER = timedelta(minutes=10)


@pytest.fixture
def begun(mongo):
    """The id of a blog. The list of changes starts after its creation."""
    blog = build.node("blog", "news")
    relay()
    return blog


def entries(**query):
    """Return (kind, id, public) of the entries since the list started."""
    found = database()["cms.changes"].find({"key": {"$not": {"$regex": "^(first|begun):"}}, **query}).sort("_id", 1)
    return [(one["kind"], one["id"], one["public"]) for one in found]


def news(**query):
    """Return what the next round lists: (kind, id, public)."""
    before = entries(**query)
    relay()
    return entries(**query)[len(before) :]


def save(key, **mine):
    return build.save(key, build.nonce(key), **mine)


def post(blog, slug="hello", **fields):
    return build.node("blog-entry", slug, parent=blog, **fields)


def test_list_that_has_not_started_returns_503(visitor, mongo):
    answer = visitor.get("/changes")
    assert (answer.status_code, answer["Content-Type"]) == (503, "application/problem+json")
    assert "Start a worker" in json.loads(answer.content)["detail"]
    relay()
    said = visitor.read("/changes")
    assert (said["changes"], said["more"]) == ([], False)
    assert [one["kind"] for one in visitor.read("/changes?since=0")["changes"]] == [RESET, RESET]


def test_changes_are_listed_in_order_and_once(visitor, begun):
    since = visitor.read("/changes")["next"]
    first = post(begun, "first")
    relay()
    second = post(begun, "second")
    nonce = save(first, title="Again").nonce
    relay()
    editing.change_tags(second, TagChange(frozenset({"ink"}), frozenset()))
    site.save_settings({"name": "Quill"}, {"name": "Marginalia"})
    assert (relay(), relay()) == (2, 0)
    said = visitor.read(f"/changes?since={since}")
    assert [(one["kind"], one["id"]) for one in said["changes"]] == [
        (NODE, str(first)),
        (NODE, str(second)),
        (NODE, str(first)),
        (NODE, str(second)),
        (SETTINGS, "site"),
    ]
    assert [one["number"] for one in said["changes"]] == list(range(since + 1, since + 6))
    assert said["changes"][2]["nonce"] == str(nonce)
    assert (said["next"], said["more"]) == (since + 5, False)
    some = visitor.read(f"/changes?since={since}&limit=2")
    assert (len(some["changes"]), some["next"], some["more"]) == (2, since + 2, True)


def test_several_changes_within_a_round_are_listed_once(begun):
    key = post(begun)
    for number in range(3):
        save(key, title=f"No. {number}")
    assert news() == [(NODE, str(key), True)]


def test_list_without_news_returns_304(visitor, begun):
    since = visitor.read("/changes")["next"]
    answer = visitor.get(f"/changes?since={since}")
    relay()
    assert visitor.get(f"/changes?since={since}", If_None_Match=answer["ETag"]).status_code == 304
    post(begun)
    relay()
    assert visitor.get(f"/changes?since={since}", If_None_Match=answer["ETag"]).status_code == 200


def test_concurrent_relays_list_each_change_once(begun):
    made = []

    def work(number):
        for step in range(4):
            if number == 0:
                made.append(post(begun, f"p{step}"))
            relay()

    run_concurrently(4, work)
    relay()
    assert [id for _kind, id, _public in entries()] == [str(key) for key in made]
    numbers = [one["_id"] for one in database()["cms.changes"].find({"_id": {"$gt": 1}}).sort("_id", 1)]
    assert all(after == before + 1 for before, after in pairwise(numbers))


def test_stalled_relay_writes_nothing(begun):
    seen = change_log.last()
    post(begun)
    relay()
    count = database()["cms.changes"].count_documents({})
    stale = Entry("stale", NODE, "x", None, True, seen.resume, seen.until)
    with pytest.raises(Overtaken):
        change_log.append(seen, [stale])
    assert database()["cms.changes"].count_documents({}) == count
    change_log.append(change_log.last(), [stale])
    assert database()["cms.changes"].count_documents({}) == count + 1


def test_due_dates_are_listed_once(begun):
    soon = now() + LATER / 2
    appears = post(begun, "appears", published=soon)
    ends = post(begun, "ends", expires=soon)
    section = build.node("blog", "opens", published=soon)
    changes = post(begun, "changes")
    nonce = drafts.save_draft(build.EDITOR, changes, build.nonce(changes), {"title": "Soon"}).nonce
    drafts.schedule(build.EDITOR, changes, nonce, soon)
    relay()
    before = entries()
    assert (relay(soon), entries()) == (0, before)
    assert relay(soon + LATER) == 4
    assert {(kind, id) for kind, id, _public in entries()[len(before) :]} == {
        (NODE, str(appears)),
        (NODE, str(ends)),
        (SUBTREE, str(section)),
        (NODE, str(changes)),
    }
    assert relay(soon + LATER) == 0
    assert [public for _kind, id, public in entries() if id == str(ends)] == [True, True]


def test_next_relay_completes_the_due_dates_of_a_dead_one(begun):
    soon = now() + LATER / 2
    posts = [post(begun, f"p{number}", published=soon) for number in range(3)]
    relay()
    relay(soon + LATER)
    # The numbers left by a relay that had listed one of three nodes.
    whole = list(database()["cms.changes"].find({"key": {"$regex": "^published:"}}).sort("_id", 1))
    database()["cms.changes"].delete_many({"_id": {"$gt": whole[0]["_id"]}})
    assert relay(soon + LATER) == 2
    told = [one["id"] for one in database()["cms.changes"].find({"key": {"$regex": "^published:"}}).sort("_id", 1)]
    assert told == [str(key) for key in posts]


def test_change_of_a_section_lists_its_contents(begun):
    folder = build.node("folder", "folder")
    inner = build.node("folder", "inner", parent=folder)
    build.node("basic-page", "page", parent=inner)
    assert [one for one in news() if one[1] == str(inner)] == [(SUBTREE, str(inner), True)]
    told = [(SUBTREE, str(inner), True)]
    for act in (
        lambda: save(inner, slug="renamed"),
        lambda: save(inner, parent_id=None),
        lambda: save(inner, published=None),
        lambda: save(inner, published=build.PAST),
        lambda: trash.trash(build.EDITOR, inner, build.nonce(inner)),
        lambda: trash.restore(build.EDITOR, inner),
    ):
        act()
        assert news() == told
    save(inner, title="Another")
    assert news() == [(NODE, str(inner), True)]


def test_readers_see_no_changes_of_hidden_nodes(begun):
    draft = post(begun, "draft", published=None)
    dark = build.node("blog", "dark", published=None)
    inside = post(dark, "inside")
    live = post(begun, "live")
    assert {one for one in news() if one[2]} == {(NODE, str(live), True)}
    for key in (draft, inside):
        save(key, title="Another")
    save(draft, published=now() + LATER)
    save(inside, published=None)
    drafts.save_draft(build.EDITOR, live, build.nonce(live), {"title": "Not yet"})
    trash.trash(build.EDITOR, draft, build.nonce(draft))
    assert {one[1] for one in news(public=True)} == set()
    assert {one[1] for one in entries(public=False)} >= {str(draft), str(inside), str(live)}


def test_hidden_saves_do_not_change_readers_numbers(visitor, account, asker, begun):
    editor, live = asker(account("ed", "Editors"), Scope.READ), post(begun, "live")
    relay()
    since, of_editors = visitor.read("/changes")["next"], editor.read("/changes")["next"]
    dark = post(begun, "dark", published=None)
    for number in range(3):
        save(dark, title=f"Hidden {number}")
        relay()
    assert visitor.read("/changes")["next"] == visitor.read(f"/changes?since={since}")["next"] == since
    assert visitor.get(f"/changes?since={since + 1}").status_code == 410
    assert len(editor.read(f"/changes?since={of_editors}")["changes"]) == 3
    save(live, title="Seen")
    relay()
    (change,) = visitor.read(f"/changes?since={since}")["changes"]
    assert (change["id"], change["number"]) == (str(live), since + 1)


def test_readers_continue_when_only_hidden_changes_are_left(visitor, begun):
    relay()
    since = visitor.read("/changes")["next"]
    post(begun, "dark", published=None)
    relay()
    # As after CHANGES_DAYS in which nothing public changed.
    database()["cms.changes"].delete_many({"public": True})
    assert visitor.read("/changes")["next"] == visitor.read(f"/changes?since={since}")["next"] == since
    assert visitor.get(f"/changes?since={since - 1}").status_code == 410
    key = post(begun, "seen")
    relay()
    assert [one["id"] for one in visitor.read(f"/changes?since={since}")["changes"]] == [str(key)]


def test_list_without_numbers_for_readers_restarts(visitor, begun):
    post(begun)
    relay()
    since = database()["cms.changes"].find_one(sort=[("_id", -1)])["_id"]
    # As an older release stored the list.
    database().command("collMod", "cms.changes", validationLevel="off")
    database()["cms.changes"].update_many({}, {"$unset": {"shown": 1}})
    assert visitor.get("/changes").status_code == 503
    relay()
    assert visitor.get(f"/changes?since={since}").status_code == 410
    begins = visitor.read("/changes")["next"]
    key = post(begun, "next")
    relay()
    assert [one["id"] for one in visitor.read(f"/changes?since={begins}")["changes"]] == [str(key)]
    indexes.ensure()


def test_maintenance_writes_are_not_listed(mongo, begun):
    key, photo = post(begun), photo_build.upload(photo_build.gallery())
    relay()
    mongo["cms.nodes"].update_one({"_id": key}, {"$set": {"comments": [], "comments_epoch": 1}})
    noted = {"metadata.locked": now(), "metadata.superseded": now(), "metadata.doomed": now()}
    mongo["cms.assets.files"].update_one({"_id": photo}, {"$set": noted})
    assert news() == []


def test_saved_draft_keeps_pages_cached(begun, monkeypatch):
    live = post(begun, "live")
    relay()
    before = site_version()
    nonce = drafts.save_draft(build.EDITOR, live, build.nonce(live), {"title": "Not yet"}).nonce
    assert news() == [(NODE, str(live), False)]
    drafts.discard_draft(live, nonce)
    assert news() == [(NODE, str(live), False)]
    nonce = drafts.save_draft(build.EDITOR, live, build.nonce(live), {"title": "Not yet"}).nonce
    assert site_version() == before
    # A scheduled draft ends cached pages even if its writer died before it renewed the version.
    monkeypatch.setattr(drafts, "invalidate", lambda: None)
    drafts.schedule(build.EDITOR, live, nonce, now() + LATER)
    relay()
    assert site_version() != before


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("act", ["unpublish", "expire", "hide", "trash", "delete"])
def test_readers_are_notified_of_hidden_and_deleted_nodes(begun, act):
    dark = build.node("blog", "dark", published=None)
    key = post(begun)
    relay()
    if act == "unpublish":
        save(key, published=None)
        # Later changes are not listed.
        save(key, title="Hidden")
    elif act == "expire":
        save(key, expires=now() - timedelta(seconds=1))
    elif act == "hide":
        save(key, parent_id=dark)
    else:
        trash.trash(build.EDITOR, key, build.nonce(key))
        if act == "delete":
            trash.delete(key)
    assert news() == [(NODE, str(key), True)]
    assert database()["cms.changes"].find_one({"id": str(key)}, sort=[("_id", -1)])["nonce"] is None


@pytest.mark.parametrize("act", ["unpublish", "trash"])
def test_expiry_and_earlier_changes_are_listed_in_the_end(begun, act):
    key = post(begun)
    save(key, expires=now() + timedelta(milliseconds=1))
    relay()
    # The page has expired, but this is listed only after GRACE. By then, the page is deleted.
    if act == "unpublish":
        save(key, published=None)
    else:
        trash.trash(build.EDITOR, key, build.nonce(key))
    assert news(public=True) == [(NODE, str(key), True)]


def test_users_with_all_permissions_see_changes_of_drafts(visitor, account, asker, begun):
    since = visitor.read("/changes")["next"]
    draft = post(begun, "draft", published=None)
    live = post(begun, "live")
    relay()

    def told(who):
        return [one["id"] for one in who.read(f"/changes?since={since}")["changes"]]

    assert told(asker(account("ed", "Editors"), Scope.READ)) == [str(draft), str(live)]
    assert told(asker(account("ann", "Authors"), Scope.READ)) == [str(live)]
    assert told(asker(account("eve", "Editors"))) == told(visitor) == [str(live)]


def test_comments_are_listed_once_per_discussion(mongo, rules):
    target = discussed.entry()
    relay()
    for number in range(3):
        comments.post(target, author=CommentAuthor("Ann"), source=f"No. {number}", token=f"{number}")
    assert news() == [(COMMENTS, str(target), True)]
    assert news() == []
    key = target.pk
    node = editable_nodes.load(next(one["_id"] for one in mongo["cms.nodes"].find() if str(one["_id"]) == key)).node
    save(node.pk, published=None)
    relay()
    comments.close(target)
    assert news() == [(COMMENTS, str(target), False)]


def test_photos_are_listed_without_their_bytes(begun):
    gallery = photo_build.gallery()
    relay()
    photo = photo_build.upload(gallery)
    assert news() == [(PHOTO, str(photo), True)]
    photo_build.replace(photo, photo_build.pictures.jpeg())
    assert set(news()) == {(PHOTO, str(photo), True)}


def test_number_beyond_the_horizon_returns_410(visitor, begun):
    since = visitor.read("/changes")["next"]
    for number in range(3):
        post(begun, f"p{number}")
    relay()
    # As the TTL index does with old entries.
    database()["cms.changes"].delete_many({"_id": {"$lt": since + 2}})
    assert len(visitor.read(f"/changes?since={since + 1}")["changes"]) == 2
    for beyond in (since, 0, since + 10):
        answer = visitor.get(f"/changes?since={beyond}")
        said = json.loads(answer.content)
        assert (answer.status_code, said["type"]) == (410, "/api/v1/#gone")
        assert "Start again" in said["detail"]
    assert visitor.get("/changes?since=-1").status_code == 422


def test_horizon_is_a_setting(mongo):
    index = mongo["cms.changes"].index_information()["horizon"]
    assert (index["key"], index["expireAfterSeconds"]) == ([("marked", 1)], 90 * 24 * 60 * 60)


def test_lost_history_is_reported_as_a_reset(visitor, begun):
    key = post(begun)
    relay()
    since = visitor.read("/changes")["next"]
    lose_history()
    save(key, title="Missed")
    relay()
    said = visitor.read(f"/changes?since={since}")
    assert [one["kind"] for one in said["changes"]] == [RESET, RESET]
    save(key, title="Told")
    assert news() == [(NODE, str(key), True)]
    # Numbers assigned before a restored backup are below.
    assert said["next"] >= round(now().timestamp() * 1000) - 60_000


def test_list_whose_entries_have_expired_continues_numbering(visitor, begun):
    since = visitor.read("/changes")["next"]
    database()["cms.changes"].delete_many({})
    relay()
    assert visitor.read("/changes")["next"] > since


def test_idle_relay_stores_its_progress(begun):
    before = change_log.last()
    for _ in range(3):
        site.invalidate()
    moment = now() + LATER
    assert relay(moment) == 0
    after = change_log.last()
    assert (after.number, after.until) == (before.number, moment - GRACE)
    assert after.resume != before.resume


def test_listed_change_ends_the_cached_response(visitor, begun):
    key = post(begun)
    relay()
    version = site_version()
    save(key, title="Again")
    saved = site_version()
    relay()
    # The save has renewed the version of the site.
    assert site_version() == saved != version
    assert visitor.read(f"/nodes/{key}?fields=title")["title"] == "Again"
    # The writer died before it renewed the version.
    database()["cms.nodes"].update_one({"_id": key}, {"$set": {"metadata.title": "Unversioned"}})
    assert visitor.read(f"/nodes/{key}?fields=title")["title"] == "Again"
    assert news() == [(NODE, str(key), True)]
    assert visitor.read(f"/nodes/{key}?fields=title")["title"] == "Unversioned"


def site_version():
    return database()["cms.site"].find_one()["lists"]


def test_more_events_than_one_batch_are_listed(begun, monkeypatch):
    monkeypatch.setattr(relaying, "BATCH", 2)
    for _ in range(6):
        site.invalidate()
    keys = [post(begun, f"p{number}") for number in range(3)]
    assert [id for _kind, id, _public in news()] == [str(key) for key in keys]


def test_worker_runs_the_relay(begun):
    key = post(begun)
    call_command("work", "--once", verbosity=0)
    assert entries() == [(NODE, str(key), True)]
