"""Creating and saving nodes: the compare-and-set, the merge, and the stored document."""

import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from bson import ObjectId
from django.contrib.auth import get_user_model
from django.urls import URLResolver, get_resolver

from cms.testing.build import EDITOR, PAST, node, nonce, save, stored
from nodes import errors
from nodes.models import stored_site
from nodes.services import drafts, editing, placement, trash, write
from nodes.types import Actor, Change, TagChange
from tests.support.nodes import photo_build


def test_created_node_has_the_documented_shape(mongo):
    node_id = node("basic-page", "About", title="About us", text="Hello")
    document = mongo["cms.nodes"].find_one()
    assert document["_id"] == node_id
    assert set(document) == {"_id", "metadata", "derived"}
    metadata = document["metadata"]
    assert set(metadata) == {
        "nonce", "type", "parent_id", "slug", "title", "created", "updated", "published", "expires", "author", "tags",
        "summary", "detail",
    }  # fmt: skip
    assert metadata["slug"] == "about"
    assert metadata["expires"].year == 9999
    assert metadata["author"] == {"_id": None, "name": "Ann"}


def test_create_writes_a_revision_first(mongo):
    node_id = node()
    revision = mongo["cms.revisions"].find_one()
    assert revision["_id"] == nonce(node_id)
    assert revision["parent"] is None
    assert revision["metadata"] == stored_naive(mongo, node_id)


def stored_naive(mongo, node_id):
    return mongo["cms.nodes"].find_one({"_id": node_id})["metadata"]


@pytest.mark.parametrize("nothing", ["", "\u200b", "\u3164\u2800", "\u00ad\u034f"])
def test_invisible_title_is_refused(mongo, nothing):
    with pytest.raises(errors.InvalidField, match="Enter a title"):
        editing.create(EDITOR, type="basic-page", parent_id=None, slug="a", title=nothing)
    page = node()
    with pytest.raises(errors.InvalidField, match="Enter a title"):
        save(page, nonce(page), title=nothing)
    with pytest.raises(errors.InvalidField, match="Enter a title"):
        drafts.save_draft(EDITOR, page, nonce(page), {"title": nothing})
    with pytest.raises(errors.InvalidField, match="name"):
        save(page, nonce(page), author={"_id": None, "name": nothing or "\u200b"})


def test_account_with_an_invisible_name_uses_its_login():
    account = get_user_model()(username="ann@example.org", first_name="\u200b", last_name="\u3164")
    assert Actor.of(account).name == "ann"


def test_photo_with_an_invisible_description_is_not_published(mongo):
    with pytest.raises(errors.NotReady):
        photo_build.upload(photo_build.gallery(), fields={"published": PAST, "detail.alt": "\u200b"})


@pytest.mark.parametrize("tag", [".", "..", "a/../b"])
def test_tag_of_dots_is_refused_with_a_sentence(mongo, tag):
    page = node()
    for work in (
        lambda: node(slug="other", tags=(tag,)),
        lambda: save(page, nonce(page), tags=TagChange(frozenset({tag}))),
        lambda: editing.change_tags(page, TagChange(frozenset({tag}))),
        lambda: drafts.save_draft(EDITOR, page, nonce(page), {}, TagChange(frozenset({tag}))),
        lambda: photo_build.upload(photo_build.gallery(), tags=(tag,)),
    ):
        with pytest.raises(errors.FieldRefused, match="can't be a tag"):
            work()


def test_repeated_create_makes_one_node(mongo):
    chosen = ObjectId()
    made = [
        editing.create(EDITOR, type="basic-page", parent_id=None, slug="a", title="A", node_id=chosen) for _ in range(2)
    ]
    assert made[0].nonce == made[1].nonce
    assert mongo["cms.nodes"].count_documents({}) == 1


def test_slug_is_unique_in_its_section_and_a_free_one_offered(mongo):
    node(slug="news")
    with pytest.raises(errors.SlugTaken) as caught:
        node(slug="news")
    assert caught.value.free == "news-2"
    folder = node("folder", "folder")
    assert node(slug="news", parent=folder)


@pytest.mark.parametrize("slug", ["a b", "a/b", ".hidden", "x" * 201, "a?b", "-a", "a‮b", "a\x00"])
def test_slug_that_cannot_be_a_url_is_refused(mongo, slug):
    with pytest.raises(errors.InvalidSlug):
        node(slug=slug)
    assert mongo["cms.nodes"].count_documents({}) == 0


@pytest.mark.parametrize("slug", ["straße", "关于", "о-нас", "हिन्दी", "a_b-1"])
def test_slug_of_any_script_is_accepted(mongo, slug):
    assert stored(node(slug=slug))["slug"] == slug


NEEDED = ("admin", "tag", "static", "search", "media", "comments", "preview", "feed", "log-in", "healthz", "readyz")


@pytest.mark.parametrize("slug", NEEDED)
def test_slug_reserved_by_a_route_is_refused(mongo, slug):
    with pytest.raises(errors.InvalidSlug, match="already uses"):
        node(slug=slug)


def test_slug_that_starts_a_route_is_refused(mongo):
    first = {route.strip("^/").partition("/")[0] for route in routes(get_resolver())}
    slugs_of_routes = {part for part in first if re.fullmatch(r"[a-z][a-z-]*", part)}
    assert {"admin", "healthz", "comments"} <= slugs_of_routes
    for slug in slugs_of_routes:
        with pytest.raises(errors.InvalidSlug, match="already uses"):
            node(slug=slug)


def routes(resolver, before=""):
    """Yield every route of the URL configuration."""
    for pattern in resolver.url_patterns:
        route = before + str(pattern.pattern)
        yield from routes(pattern, route) if isinstance(pattern, URLResolver) else (route,)


def test_slug_reserved_by_a_route_of_a_blog_is_refused(mongo):
    blog = node("blog", "blog")
    with pytest.raises(errors.InvalidSlug, match="already uses"):
        node("blog-entry", "feed", parent=blog)


@pytest.mark.parametrize(
    ("parent", "child"),
    [("blog", "basic-page"), ("blog", "folder"), ("folder", "blog-entry"), ("gallery", "basic-page")],
)
def test_parent_of_the_wrong_type_is_refused(mongo, parent, child):
    section = node(parent, "section")
    with pytest.raises(errors.InvalidPlace):
        node(child, "child", parent=section)


def test_only_changed_fields_are_set(mongo, commands):
    node_id = node(text="one")
    mongo["cms.nodes"].update_one({}, {"$set": {"metadata.detail.unknown": 1, "metadata.other": 2}})
    with commands.recorded():
        save(node_id, nonce(node_id), title="New", detail__text="one", summary="")
    (update,) = [e.command["updates"][0] for e in commands.sent if e.command.get("update") == "cms.nodes"]
    assert set(update["u"]["$set"]) == {"metadata.title", "metadata.nonce", "metadata.updated", "derived"}
    assert stored(node_id)["detail"]["unknown"] == 1
    assert stored(node_id)["other"] == 2


def test_save_with_the_current_nonce_returns_a_new_one(mongo):
    node_id = node()
    seen = nonce(node_id)
    saved = save(node_id, seen, title="New")
    assert saved.nonce == nonce(node_id) != seen
    assert stored(node_id)["title"] == "New"


def test_stale_compare_and_set_changes_nothing(mongo):
    """Tests the nonce in the filter of the update."""
    node_id = node(title="Old")
    stale = mongo["cms.nodes"].find_one()
    save(node_id, nonce(node_id), title="Theirs")
    assert write.compare_and_set(EDITOR, stale, Change({"title": "Mine"})) is None
    assert stored(node_id)["title"] == "Theirs"


def test_disjoint_fields_merge(mongo):
    node_id = node(title="Title", summary="Summary")
    seen = nonce(node_id)
    save(node_id, seen, title="Theirs", summary="Summary")
    saved = save(node_id, seen, title="Title", summary="Mine")
    assert saved.merged == ("title",)
    assert (stored(node_id)["title"], stored(node_id)["summary"]) == ("Theirs", "Mine")


def test_edits_of_different_paragraphs_both_survive(mongo, ann, bob):
    node_id = node(text="one\n\ntwo\n\nthree")
    seen = nonce(node_id)
    editing.save(ann, node_id, seen, {"detail.text": "ONE\n\ntwo\n\nthree"})
    editing.save(bob, node_id, seen, {"detail.text": "one\n\ntwo\n\nTHREE"})
    assert stored(node_id)["detail"]["text"] == "ONE\n\ntwo\n\nTHREE"


def test_conflict_keeps_both_versions(mongo):
    node_id = node(title="Base")
    seen = nonce(node_id)
    save(node_id, seen, title="Theirs")
    with pytest.raises(errors.EditConflict) as caught:
        save(node_id, seen, title="Mine")
    (conflict,) = caught.value.merge.conflicts
    assert (conflict.path, conflict.base, conflict.mine, conflict.theirs) == ("title", "Base", "Mine", "Theirs")
    assert stored(node_id)["title"] == "Theirs"


def test_missing_base_makes_every_difference_a_conflict(mongo):
    node_id = node(title="Base", summary="same")
    seen = nonce(node_id)
    save(node_id, seen, title="Theirs")
    mongo["cms.revisions"].delete_one({"_id": seen})
    with pytest.raises(errors.EditConflict) as caught:
        save(node_id, seen, title="Mine", summary="same")
    assert [c.path for c in caught.value.merge.conflicts] == ["title"]


def test_second_submit_of_a_form_causes_no_conflict(mongo):
    node_id = node(title="Base")
    seen = nonce(node_id)
    first = save(node_id, seen, title="Mine")
    second = save(node_id, seen, title="Mine")
    assert second.nonce == first.nonce
    assert mongo["cms.revisions"].count_documents({"node_id": node_id}) == 2


def test_repeated_save_still_updates_the_site_version(mongo):
    node_id = node(title="Base")
    seen = nonce(node_id)
    save(node_id, seen, title="Other")
    before = stored_site.read().versions
    save(node_id, seen, title="Other")
    after = stored_site.read().versions
    assert all(getattr(after, name) != getattr(before, name) for name in ("site", "lists", "texts"))


def test_line_ends_of_a_browser_are_no_change(mongo):
    node_id = node(text="one\n\ntwo")
    seen = nonce(node_id)
    assert save(node_id, seen, detail__text="one\r\n\r\ntwo").nonce == seen


def test_texts_are_stored_with_newlines_and_kept_if_only_the_line_ends_differ(mongo):
    node_id = node(text="one\r\ntwo\rthree\n")
    assert stored(node_id)["detail"]["text"] == "one\ntwo\nthree\n"
    # As stored by an earlier release.
    mongo["cms.nodes"].update_one({"_id": node_id}, {"$set": {"metadata.detail.text": "one\r\ntwo\rthree"}})
    save(node_id, nonce(node_id), title="Renamed", detail__text="one\r\ntwo\r\nthree")
    assert (stored(node_id)["title"], stored(node_id)["detail"]["text"]) == ("Renamed", "one\r\ntwo\rthree")


def test_rename_keeps_the_old_address(mongo):
    node_id = node(slug="old")
    save(node_id, nonce(node_id), slug="new")
    kept = mongo["cms.redirects"].find_one()
    assert (kept["_id"], kept["node_id"]) == ({"parent_id": None, "slug": "old"}, node_id)


def test_section_cannot_move_into_itself_or_below(mongo):
    outer = node("folder", "outer")
    inner = node("folder", "inner", parent=outer)
    for target in (outer, inner):
        with pytest.raises(errors.InvalidPlace):
            save(outer, nonce(outer), parent_id=target)
    assert stored(outer)["parent_id"] is None
    save(inner, nonce(inner), parent_id=None)
    assert stored(inner)["parent_id"] is None


def test_two_concurrent_moves_make_no_cycle(mongo):
    """Tests the counter of moves in the transaction, with 20 rounds of a below b and b below a."""
    with ThreadPoolExecutor(2) as pool:
        for round_ in range(20):
            a, b = node("folder", f"a{round_}"), node("folder", f"b{round_}")
            barrier = Barrier(2)

            def move(section, target, barrier=barrier):
                barrier.wait()
                try:
                    save(section, nonce(section), parent_id=target)
                except errors.InvalidPlace:
                    return False
                return True

            moved = list(pool.map(move, (a, b), (b, a)))
            assert sorted(moved) == [False, True]
            assert {stored(a)["parent_id"], stored(b)["parent_id"]} in ({None, a}, {None, b})


def test_move_refuses_a_section_in_the_trash(mongo):
    folder = node("folder", "folder")
    with pytest.raises(errors.InvalidPlace):
        placement.check_ancestors(folder, ObjectId())


def test_empty_slug_is_derived_from_the_title(mongo):
    first, second = (node(slug="", title="Good News") for _ in range(2))
    assert [stored(first)["slug"], stored(second)["slug"]] == ["good-news", "good-news-2"]


def test_repeated_create_with_other_text_saves_that_text(mongo, ann, bob):
    """The add form is saved, then edited after Back and saved again."""
    chosen = ObjectId()

    def make(actor=ann, **fields):
        return editing.create(
            actor, type="basic-page", parent_id=None, slug="", title="A", node_id=chosen,
            fields={path.replace("__", "."): v for path, v in fields.items()},
        )  # fmt: skip

    first = make(detail__text="one", summary="s")
    editing.save(bob, chosen, first.nonce, {"title": "Bob's"})
    make(detail__text="one two", summary="s")
    make(detail__text="one two three", summary="s")
    assert (stored(chosen)["title"], stored(chosen)["detail"]["text"]) == ("Bob's", "one two three")
    with pytest.raises(errors.NodeGone):
        make(bob, detail__text="not his to make")


def test_create_does_not_restore_a_page_trashed_meanwhile(mongo, ann):
    node_id = node()
    trash.trash(ann, node_id, nonce(node_id))
    with pytest.raises(errors.NodeGone):
        editing.create(ann, type="basic-page", parent_id=None, slug="a", title="A", node_id=node_id)


def test_form_saved_again_merges_with_its_own_save(mongo, ann, bob):
    """Edited and saved again after Back: no conflict with the own save, and no other editor's save undone."""
    node_id, form = node(title="T", text="one"), ObjectId()
    seen = nonce(node_id)
    editing.save(ann, node_id, seen, {"title": "T", "detail.text": "one two"}, form=form)
    editing.save(bob, node_id, nonce(node_id), {"title": "Bob's"})
    saved = editing.save(ann, node_id, seen, {"title": "T", "detail.text": "one two three"}, form=form)
    assert saved.changed == ("detail.text",)
    assert (stored(node_id)["title"], stored(node_id)["detail"]["text"]) == ("Bob's", "one two three")
    with pytest.raises(errors.EditConflict):
        editing.save(bob, node_id, seen, {"detail.text": "uno"}, form=ObjectId())


def test_missing_expiry_is_stored_as_a_far_date(mongo):
    node_id = node()
    save(node_id, nonce(node_id), expires=None)
    assert stored(node_id)["expires"].year == 9999
