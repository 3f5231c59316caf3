"""`manage.py upgrade_nodes`: documents of older versions of a type are rewritten, while people save."""

import io
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

import pytest
from bson import ObjectId
from django.core.management import CommandError, call_command
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cms.testing.build import EDITOR, node, nonce, save, stored
from marginalia.mongo import doctor
from marginalia.mongo.clock import now
from nodes.content import upgrading
from nodes.selectors import editable_nodes
from nodes.services import derived, drafts, editing, integrity, trash, upgrades
from nodes.types import TagChange
from reader.selectors import faceted_lists
from tests.support.nodes.content import FacetedDish, NewDish, OldDish, installed, registered
from tests.support.nodes.release import save_with_mark
from tests.support.processes import python

pytestmark = pytest.mark.slow


@pytest.fixture
def blog(mongo):
    with registered(OldDish):
        yield node("blog", "blog")


def dish(blog, slug="stew", **fields):
    given = {f"detail.{name}": value for name, value in {"serves": 4, "amount": "2 l", **fields}.items()}
    return node("dish", slug, parent=blog, text="Hot stew", **given)


def upgrade(*options: str) -> tuple[int, str]:
    """Return the exit code and the output."""
    printed = io.StringIO()
    try:
        call_command("upgrade_nodes", *options, stdout=printed)
    except CommandError as error:
        return error.returncode, printed.getvalue()
    return 0, printed.getvalue()


def found_by_amount(section) -> list[ObjectId]:
    """Return the dishes that a reader finds by their amount."""
    return [one.pk for one in faceted_lists.filtered(section, "dish", [("amount", "2 l")], now(), size=9).nodes]


def draft_nonce(node_id: ObjectId) -> ObjectId:
    return editable_nodes.load(node_id).draft.nonce


def findings():
    return {found.name for found in doctor.examine() if found.name.startswith("type-")}


def test_all_documents_of_a_type_are_upgraded_once(blog, mongo):
    live, drafted, thrown = (dish(blog, slug) for slug in ("live", "drafted", "thrown"))
    drafts.save_draft(EDITOR, drafted, nonce(drafted), {"detail.serves": 6})
    trash.trash(EDITOR, thrown, nonce(thrown))
    before, revisions_before = nonce(live), list(mongo["cms.revisions"].find())
    other = stored(blog)
    assert findings() == set()
    with installed(NewDish):
        assert findings() == {"type-outdated"}
        read = {one: editable_nodes.load(one).live.fields for one in (live, drafted)}
        assert upgrade("dish", "--dry-run") == (
            0,
            "Dry run: would upgrade 3 documents and refresh 0. 0 can't be upgraded.\n",
        )
        assert "schema_version" not in stored(live)
        assert upgrade("dish") == (0, "Upgraded 3 documents and refreshed 0. 0 can't be upgraded.\n")
        assert upgrade() == (0, "Upgraded 0 documents and refreshed 0. 0 can't be upgraded.\n")
        assert findings() == set()
        assert {one: editable_nodes.load(one).live.fields for one in (live, drafted)} == read
        draft = mongo["cms.nodes"].find_one({"_id": drafted})["draft"]["metadata"]
        assert (draft["schema_version"], draft["detail"]["servings"]) == (3, 6)
        assert mongo["cms.trash"].find_one({"_id": thrown})["metadata"]["schema_version"] == 3
        trash.restore(EDITOR, thrown)
    # It is no edit.
    assert nonce(live) == before
    assert list(mongo["cms.revisions"].find()) == revisions_before
    assert stored(blog) == other


def test_new_facet_finds_nodes_saved_before(blog, mongo):
    live, thrown, other = dish(blog, "live"), dish(blog, "thrown"), dish(blog, "other", amount="")
    trash.trash(EDITOR, thrown, nonce(thrown))
    before, history = mongo["cms.nodes"].find_one({"_id": live}), list(mongo["cms.revisions"].find())
    with installed(FacetedDish):
        assert found_by_amount(blog) == []
        assert upgrade("dish", "--dry-run") == (
            0,
            "Dry run: would upgrade 0 documents and refresh 2. 0 can't be upgraded.\n",
        )
        assert mongo["cms.nodes"].find_one({"_id": live}) == before
        assert upgrade("dish") == (0, "Upgraded 0 documents and refreshed 2. 0 can't be upgraded.\n")
        assert upgrade("dish") == (0, "Upgraded 0 documents and refreshed 0. 0 can't be upgraded.\n")
        # Cached pages of readers are outdated.
        assert found_by_amount(blog) == [live]
        trash.restore(EDITOR, thrown)
        assert set(found_by_amount(blog)) == {live, thrown}
    after = mongo["cms.nodes"].find_one({"_id": live})
    assert (after["metadata"], list(mongo["cms.revisions"].find())) == (before["metadata"], history)
    assert mongo["cms.nodes"].find_one({"_id": other})["derived"].get("facets") is None


def test_removed_facet_is_deleted_from_documents(blog, mongo):
    with installed(FacetedDish):
        made = dish(blog)
    assert upgrade("dish") == (0, "Upgraded 0 documents and refreshed 1. 0 can't be upgraded.\n")
    assert "facets" not in mongo["cms.nodes"].find_one({"_id": made})["derived"]


def test_scheduled_changes_are_refreshed_too(blog, mongo):
    made = dish(blog)
    saved = drafts.save_draft(EDITOR, made, nonce(made), {"detail.text": "Cold stew"})
    drafts.schedule(EDITOR, made, saved.nonce, now() + timedelta(hours=1))
    shown = mongo["cms.nodes"].find_one({"_id": made})["draft"]["derived"]
    mongo["cms.nodes"].update_one({"_id": made}, {"$set": {"draft.derived": {"excerpt": "", "text": ""}}})
    assert upgrade("dish")[0] == 0
    draft = mongo["cms.nodes"].find_one({"_id": made})["draft"]
    assert draft["derived"] == shown
    assert "Cold stew" in shown["text"]


def test_references_of_drafts_are_refreshed_too(blog, mongo):
    made, without = dish(blog), dish(blog, "without")
    drafts.save_draft(EDITOR, made, nonce(made), {"detail.text": f"[Blog](node:{blog})"})
    drafts.save_draft(EDITOR, without, nonce(without), {"detail.text": "Cold"})
    saved = mongo["cms.nodes"].find_one({"_id": made})
    mongo["cms.nodes"].update_one({"_id": made}, {"$unset": {"draft.refs": ""}})
    mongo["cms.nodes"].update_one({"_id": without}, {"$set": {"draft.refs": [blog]}})
    assert upgrade("dish") == (0, "Upgraded 0 documents and refreshed 2. 0 can't be upgraded.\n")
    assert mongo["cms.nodes"].find_one({"_id": made}) == saved
    assert "refs" not in mongo["cms.nodes"].find_one({"_id": without})["draft"]


def test_documents_changed_meanwhile_are_read_again(blog, mongo):
    made = dish(blog)
    drafts.save_draft(EDITOR, made, nonce(made), {"title": "Drafted"})
    with installed(FacetedDish):
        for change in (
            lambda: editing.change_tags(made, TagChange(added=frozenset({"soup"}))),
            lambda: save(made, nonce(made), detail__text="Cold stew", detail__amount="3 l"),
            lambda: drafts.save_draft(EDITOR, made, draft_nonce(made), {"detail.text": f"[Blog](node:{blog})"}),
        ):
            stale = mongo["cms.nodes"].find_one({"_id": made})
            change()
            mongo["cms.nodes"].update_one({"_id": made}, {"$set": {"derived": {"text": "old"}, "draft.refs": ["old"]}})
            assert upgrades._write(stale | {"derived": {}}, "cms.nodes") is upgrades.Outcome.REFRESHED
            now_stored = mongo["cms.nodes"].find_one({"_id": made})
            assert now_stored["derived"] == derived.derive(now_stored["metadata"])
    assert now_stored["derived"]["facets"] == ["dish.amount=3 l"]
    assert (now_stored["draft"]["refs"], now_stored["metadata"]["tags"]) == ([blog], ["soup"])


def test_form_opened_before_the_upgrade_is_saved(blog):
    made = dish(blog)
    seen = nonce(made)
    with installed(NewDish):
        upgrade("dish")
        save(made, seen, detail__servings=6)
        save(made, seen, title="New")
        assert (stored(made)["detail"]["servings"], stored(made)["title"]) == (6, "New")


def test_failed_upgrades_are_reported_and_others_continue(blog, mongo):
    damaged, good = dish(blog, "damaged", amount="unreadable"), dish(blog, "good")
    with installed(NewDish):
        newer = node("dish", "newer", parent=blog)
    mongo["cms.nodes"].update_one({"_id": newer}, {"$set": {"metadata.schema_version": 4}})
    before = stored(damaged), stored(newer)
    with installed(NewDish):
        assert findings() == {"type-outdated", "type-newer"}
        for _again in range(2):
            code, told = upgrade("dish")
            assert code == 1
            assert f"dish {damaged} “Damaged”: " in told
            assert "ValueError: unreadable" in told
            assert f"dish {newer} “Newer”: This content was saved by a newer version" in told
            assert "2 can't be upgraded." in told
    assert (stored(damaged), stored(newer)) == before
    assert stored(good)["schema_version"] == 3


def test_unknown_type_is_refused(blog):
    code, told = upgrade("unheard-of")
    assert (code, told) == (2, "")


def test_every_command_keeps_uninstalled_types(mongo):
    with registered(OldDish):
        blog = node("blog", "blog")
        made = dish(blog)
        drafts.save_draft(EDITOR, made, nonce(made), {"detail.serves": 6})
    before = mongo["cms.nodes"].find_one({"_id": made})
    for command, *options in (
        ("check_nodes", "--fix"),
        ("sweep_uploads",),
        ("purge_revisions", "--keep", "1", "--older-than", "0"),
        ("check_links",),
        ("upgrade_nodes",),
    ):
        call_command(command, *options, stdout=io.StringIO())
    assert list(integrity.check()) == []
    assert mongo["cms.nodes"].find_one({"_id": made}) == before
    with registered(OldDish):
        assert editable_nodes.load(made).draft.fields["detail.serves"] == 6


details = st.fixed_dictionaries(
    {"text": st.text("ab\n", max_size=20)},
    optional={
        "serves": st.integers(0, 99),
        "amount": st.sampled_from(["", "2 l", "3", "1 big pot"]),
        "ingredients": st.none() | st.lists(st.sampled_from(["beans", "salt", "oil"]), max_size=5),
        "stars": st.none() | st.integers(0, 5),
    },
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(detail=details)
def test_upgraded_document_equals_what_was_read_before(blog, mongo, detail):
    made = dish(blog, f"dish-{ObjectId()}")
    mongo["cms.nodes"].update_one({"_id": made}, {"$set": {"metadata.detail": detail}})
    with installed(NewDish):
        read = dict(upgrading.upgraded(stored(made)))
        assert [looked.why for looked in upgrades.upgrade("dish") if looked.id == made] == [""]
        assert stored(made) == read
        assert upgrading.upgraded(read) is read


def _sum(ids):
    """Return (servings, the marks of saves) of each dish, as it is read now."""
    found = {}
    for one in ids:
        fields = editable_nodes.load(one).live.fields
        found[one] = fields["detail.servings"], set(fields["detail.notes"].split())
    return found


def _dishes(blog, mongo, count):
    """Return the ids of many dishes with their revisions: copies of one created by the services."""
    first = mongo["cms.nodes"].find_one({"_id": dish(blog, "first", notes="")})
    revision = mongo["cms.revisions"].find_one({"_id": first["metadata"]["nonce"]})
    nodes, saved = [], []
    for number in range(count):
        metadata = {**first["metadata"], "nonce": ObjectId(), "slug": f"dish-{number}"}
        nodes.append({**first, "_id": ObjectId(), "metadata": metadata})
        saved.append({**revision, "_id": metadata["nonce"], "node_id": nodes[-1]["_id"], "metadata": metadata})
    mongo["cms.revisions"].insert_many(saved)
    mongo["cms.nodes"].insert_many(nodes)
    return [one["_id"] for one in nodes]


@pytest.mark.parametrize("count", [100, pytest.param(10_000, marks=pytest.mark.slow)])
def test_editors_can_save_during_the_upgrade(blog, mongo, count):
    ids = _dishes(blog, mongo, count)
    database = {"DJANGO_SETTINGS_MODULE": "tests.settings", "TEST_MONGODB_NAME": connection.settings_dict["NAME"]}
    old = python("from tests.support.nodes.release import main; main()", **database)
    acknowledged: dict[ObjectId, set[str]] = {one: set() for one in ids}
    ended = Event()

    def edit(thread):
        number = 0
        while not ended.is_set():
            number += 1
            if one := save_with_mark(ids, f"new{thread}-{number}"):
                acknowledged[one].add(f"new{thread}-{number}")
            editing.change_tags(random.choice(ids), TagChange(added=frozenset({f"t{thread}"})))

    old.stdin.write(" ".join(map(str, ids)) + "\n")
    old.stdin.flush()
    first = old.stdout.readline()
    with installed(NewDish), ThreadPoolExecutor(2) as pool:
        editing_threads = [pool.submit(edit, thread) for thread in range(2)]
        try:
            code, told = upgrade("dish")
        finally:
            ended.set()
        for thread in editing_threads:
            thread.result()
        assert code == 0, told
        assert ". 0 can't be upgraded." in told
        # The old process continues until its saves are refused.
        out, _err = old.communicate(timeout=120)
        assert old.returncode == 0
        for one, mark in (line.split() for line in [first, *out.splitlines()]):
            acknowledged[ObjectId(one)].add(mark)
        assert mongo["cms.nodes"].count_documents({"metadata.schema_version": {"$ne": 3}, "metadata.type": "dish"}) == 0
        assert _sum(ids) == {one: (4, acknowledged[one]) for one in ids}
        assert findings() == set()
    assert sum(map(len, acknowledged.values())) > 2
    assert not mongo["cms.nodes"].count_documents({"metadata.detail.serves": {"$exists": True}})
