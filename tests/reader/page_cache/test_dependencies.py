"""The pages that a change removes from the cache: all that show it, and no others."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client

from cms.testing.build import EDITOR, PAST, node, nonce
from cms.testing.process_caches import clear_caches
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes.models import Node, stored_site, tree, version_cache
from nodes.models.stored_site import Scope
from nodes.selectors import stored_nodes
from nodes.services import editing, placement
from nodes.services.site import invalidate
from nodes.types import TagChange
from photos import texts
from reader import page_cache
from reader.page_cache.cacheable import CACHED_ROUTES
from reader.selectors import sitemap
from tests.reader.page_cache.changing import CHANGES, FEW_CHANGES, LONG, TAGGED, World, comment, save
from tests.support.interrupting import stopped_before_command
from tests.support.nodes.photo_build import upload

pytestmark = pytest.mark.usefixtures("mongo")


@pytest.fixture
def answered(monkeypatch):
    """The URLs that were answered from the cache."""
    found: list[str] = []
    respond = page_cache.middleware.PageCacheMiddleware.__call__

    def telling(self, request):
        response = respond(self, request)
        found.extend([request.get_full_path()] if request.page_cache in ("hit", "304") else [])
        return response

    monkeypatch.setattr(page_cache.middleware.PageCacheMiddleware, "__call__", telling)
    return found


def reached(before: stored_site.Versions | None) -> Scope | None:
    """Return the scope of the changes since then, by the stored versions."""
    after = stored_site.read().versions
    assert before
    assert after
    names = {scope: scope.name.lower() for scope in Scope}
    new = [scope for scope, name in names.items() if getattr(before, name) != getattr(after, name)]
    assert new == list(Scope)[min(new, default=len(Scope)) :]
    return min(new, default=None)


@pytest.mark.parametrize(
    "changes",
    [FEW_CHANGES, pytest.param(CHANGES, marks=pytest.mark.slow)],
    ids=["few", "all"],
)
def test_cached_pages_equal_fresh_pages_after_any_change(answered, changes):
    world, client = World(), Client()

    def read() -> dict[str, bytes]:
        return {address: client.get(address).content for address in world.addresses()}

    read()
    for what, scope, change in changes:
        before = stored_site.read().versions
        change(world.ids)
        assert reached(before) == scope, what
        shown = read()
        clear_caches()
        # This fills the cache for the next change.
        made = read()
        assert not [address for address in made if made[address] != shown[address]], what
    assert set(answered) >= {"/", "/blog/after", "/shows", "/folder/inner/page", "/gallery/lake"}


@pytest.mark.slow
def test_text_below_the_excerpt_outdates_only_its_own_pages(answered):
    """Also not pages that link to it, or show its title."""
    blog = node("blog", "blog")
    linked = node("blog-entry", "post-0", parent=blog, text=LONG, tags=("paper",), published=now())
    text = f"[The newest](node:{linked})\n\n{LONG}"
    for number in range(1, 50):
        node("blog-entry", f"post-{number}", parent=blog, text=text, tags=("paper",))
    client = Client()
    pages = [f"/blog/post-{number}" for number in range(50)]
    lists = ["/", "/blog", "/tag/paper", "/author/ann", "/blog/archive", "/sitemap.xml", "/api/v1/tags"]
    whole = ["/feed/atom", "/blog/feed/rss", "/api/v1/nodes"]
    for address in (*pages, *lists, *whole):
        client.get(address)
    assert not answered
    save(linked, detail__text=LONG + "End.")
    for address in (*pages, *lists, *whole):
        client.get(address)
    assert answered == [*pages[1:], *lists]
    assert b"End." in client.get("/blog/post-0").content
    assert b"End." in client.get("/feed/atom").content


def test_tag_outdates_only_pages_listed_by_it(answered):
    """By tagging or in a form: lists can show the tag, and related pages show shared tags."""
    blog = node("blog", "blog")
    slots = {name: stored_site.slots([name]) for name in ("paper", "ink", "glue")}
    assert len(set(slots.values())) == 3
    for number in range(10):
        tags = ("paper", "ink") if number == 7 else ("paper",)
        node("blog-entry", f"post-{number}", parent=blog, text=LONG, tags=tags, published=PAST + timedelta(number))
    ids = {one["metadata"]["slug"]: one["_id"] for one in database()["cms.nodes"].find()}
    client, posts = Client(), [f"/blog/post-{number}" for number in range(10)]
    others = [post for post in posts if post not in ("/blog/post-3", "/blog/post-7")]

    def kept() -> list[str]:
        answered.clear()
        for address in (*posts, "/blog", "/tag/paper"):
            client.get(address)
        return list(answered)

    kept()
    assert kept() == [*posts, "/blog", "/tag/paper"]
    editing.change_tags(ids["post-3"], TAGGED)
    assert kept() == others
    assert 'rel="tag">ink' in client.get("/blog/post-3").content.decode()
    # Also a repeated change that is already made, because its writer may have died before it renewed the version.
    editing.change_tags(ids["post-3"], TAGGED)
    assert kept() == others
    save(ids["post-3"], TagChange(added=frozenset({"glue"})))
    assert kept() == [*others[:-2], "/blog/post-7", *others[-2:]]


def test_every_cached_page_records_its_dependencies():
    """Every selector records its dependencies: a response of every route is cached."""
    world, client, kept = World(), Client(), set()
    comment(world.ids["other"])
    target = f"/api/v1/nodes/{world.ids['other']}/comments"
    others = ("/tag", "/author/ann/feed/atom", "/api/v1/", "/api/v1/openapi.json", f"/media/{upload(None)}")
    for address in (*world.addresses(), target, *others):
        before = len(page_cache.storage.cache.entries)
        response = client.get(address)
        if len(page_cache.storage.cache.entries) > before:
            kept.add(response.resolver_match.url_name)
    # The other routes need facets, or a comment.
    assert set(CACHED_ROUTES) - kept == {"api-facets", "api-node-by-path", "api-comment", "api-thread"}


class TestUnrecordedReads:
    """A page that reads data without recording its dependencies is not cached."""

    @pytest.fixture
    def reading(self, mongo, monkeypatch):
        node("basic-page", "page")

        def also(read: Callable[[], object]) -> int:
            find = stored_nodes.resolve

            def resolve(*args):
                read()
                return find(*args)

            monkeypatch.setattr(stored_nodes, "resolve", resolve)
            assert Client().get("/page").status_code == 200
            return len(page_cache.storage.cache.entries)

        return also

    def test_page_with_recorded_dependencies_is_cached(self, reading):
        assert reading(lambda: None) == 1

    def test_unrecorded_read_of_documents_is_not_cached(self, reading):
        assert reading(lambda: database()["cms.nodes"].find_one({})) == 0

    def test_unrecorded_read_of_objects_is_not_cached(self, reading):
        assert reading(lambda: Node.objects.first()) == 0

    def test_page_with_any_dependency_is_cached_until_a_save(self, reading, answered):
        other = node("basic-page", "other", text=LONG)
        assert reading(lambda: stored_nodes.get(other)) == 1
        save(other, detail__text=LONG + "End.")
        Client().get("/page")
        assert not answered


def test_queries_of_other_texts_depend_on_all_texts(mongo):
    other = node("basic-page", "other", text=LONG)
    moment, sections = now(), tree.current()
    for read in (
        lambda: texts.InsertSource({}).node(other),
        lambda: stored_nodes.whole_by_ids([other], moment),
        lambda: stored_nodes.newest_entries(sections, moment, size=1, whole=True),
        lambda: sitemap.entries(sections, "basic-page", 1, moment),
    ):
        with page_cache.middleware.dependencies.recorded() as found:
            read()
        assert found.texts
    with page_cache.middleware.dependencies.recorded() as found:
        stored_nodes.newest_entries(sections, moment, size=1)
    assert not found.texts


def test_value_depending_on_texts_is_read_again(mongo):
    other = node("basic-page", "other", text="First")

    def ask():
        return version_cache.get_or_set("text", now(), lambda: (stored_nodes.get(other).metadata.detail.text, None))

    with page_cache.middleware.dependencies.recorded() as found:
        assert ask() == "First"
    assert found.texts
    save(other, detail__text="Second")
    assert ask() == "Second"


def test_exchanged_addresses_never_show_the_old_page(answered):
    """Neither of two pages that exchange their addresses is shown for the other."""
    one, two = node("basic-page", "one", text="Of one"), node("basic-page", "two", text="Of two")
    client = Client()
    for address in ("/one", "/two"):
        client.get(address)
    for key, slug in ((one, "three"), (two, "one"), (one, "two")):
        save(key, slug=slug)
    assert b"Of two" in client.get("/one").content
    assert b"Of one" in client.get("/two").content
    assert not answered


class TestDeadWriters:
    """A writer is killed between its change and the new versions."""

    @pytest.fixture
    def post(self, mongo):
        return node("blog-entry", "post", parent=node("blog", "blog"), title="First", text=LONG)

    def test_page_shows_the_change_of_a_dead_writer(self, post):
        client = Client()
        client.get("/blog/post")
        with stopped_before_command("update", "cms.site"):
            save(post, detail__text=LONG + "End.")
        assert b"End." in client.get("/blog/post").content

    def test_retry_of_a_dead_writer_outdates_all_pages(self, post):
        client, seen, before = Client(), nonce(post), stored_site.read().versions
        assert b"First" in client.get("/blog").content
        with stopped_before_command("update", "cms.site"):
            save(post, title="Second")
        assert b"First" in client.get("/blog").content
        editing.save(EDITOR, post, seen, {"title": "Second"})
        assert reached(before) == Scope.SITE
        assert b"Second" in client.get("/blog").content

    @pytest.mark.parametrize("fields", [{}, {"detail.seo_description": "Said"}], ids=["alone", "with a save"])
    def test_repeated_tag_of_a_dead_writer_outdates_its_pages(self, post, fields):
        client = Client()
        node("basic-page", "other", tags=("ink",))
        assert b"/blog/post" not in client.get("/tag/ink").content
        with stopped_before_command("update", "cms.site"):
            editing.change_tags(post, TAGGED)
        assert b"/blog/post" not in client.get("/tag/ink").content
        if fields:
            editing.save(EDITOR, post, nonce(post), fields, TAGGED)
        else:
            editing.change_tags(post, TAGGED)
        assert b"/blog/post" in client.get("/tag/ink").content


def test_due_times_are_queried_again_after_a_save(mongo, commands):
    post = node("blog-entry", "post", parent=node("blog", "blog"), text=LONG)
    client = Client()
    client.get("/blog")
    save(post, detail__text=LONG + "End.")
    page_cache.storage.clear()
    with commands.recorded():
        client.get("/blog")
    asked = [event.command.get("pipeline", [{}])[0].get("$match", {}) for event in commands.sent]
    assert any("metadata.expires" in match and "metadata.type" not in match for match in asked)
    before = stored_site.read().versions
    invalidate(Scope.TEXTS)
    assert before
    assert stored_site.read().versions.changed >= before.changed


def test_move_continues_after_a_concurrent_save(mongo):
    """Both write the site document: the move's transaction gets a write conflict and is repeated."""
    section, into = node("folder", "section"), node("folder", "into")
    counted, times = placement.count_move, []

    def meanwhile(seen_tree, session):
        times.append(1)
        if len(times) == 1:
            # The transaction has started with its first read.
            database()["cms.nodes"].find_one({"_id": section}, session=session)
            invalidate(Scope.TEXTS)
        return counted(seen_tree, session)

    placement.count_move = meanwhile
    try:
        save(section, parent_id=into)
    finally:
        placement.count_move = counted
    assert len(times) == 2
    assert database()["cms.nodes"].find_one({"_id": section})["metadata"]["parent_id"] == into
