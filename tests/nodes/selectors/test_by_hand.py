"""Lists ordered by hand: what readers see, page by page, with one index."""

from datetime import UTC, datetime, timedelta

import pytest

from cms.testing.build import node, nonce, save
from marginalia.mongo.clock import now
from nodes.collections import keys_of
from nodes.models import tree
from nodes.selectors import by_hand, stored_nodes
from nodes.services import ordering
from tests.support.commands import explain, stages
from tests.support.nodes.content import Chapter, Handbook, News, registered

FUTURE = now() + timedelta(days=300)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.fixture
def book(mongo):
    """A handbook of twelve live chapters, with as many hidden ones between them."""
    with registered(Handbook, Chapter, News):
        section = node("handbook", "book", text="About it.")
        for number in range(12):
            node("chapter", f"n-{number:02}", parent=section)
            hidden = {"published": None} if number % 2 else {"expires": LONG_AGO}
            node("chapter", f"hidden-{number:02}", parent=section, **hidden)
        yield section


def slugs(nodes) -> list[str]:
    return [one.metadata.slug for one in nodes]


def walk(section, size: int) -> list[str]:
    found, cursor = [], ""
    while True:
        nodes, cursor = by_hand.page(section, now(), size=size, cursor=cursor)
        found += slugs(nodes)
        if not cursor:
            return found


def scrambled(section) -> list[str]:
    """Reverse the order, and return the slugs of the live chapters."""
    ids = [one.pk for one in by_hand.all_nodes(section, size=100)[0]]
    ordering.arrange(section, ids, ids[::-1])
    return [f"n-{number:02}" for number in reversed(range(12))]


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("size", [1, 5, 12, 100])
def test_pages_follow_each_other(mongo, book, size):
    assert walk(book, size) == sorted(walk(book, size))
    turned = scrambled(book)
    assert walk(book, size) == turned
    # If the section was listed in another order before, some pages have no position.
    mongo["cms.nodes"].update_many({"metadata.slug": {"$gt": "n-05"}}, {"$unset": {"position": ""}})
    first = [f"n-{number:02}" for number in range(6, 12)]
    assert walk(book, size) == first + [f"n-{number:02}" for number in reversed(range(6))]


@pytest.mark.slow
def test_neighbours_follow_the_list(mongo, book):
    post = node("news", "post", parent=book)
    hidden_section = node("handbook", "inner", parent=book)
    scrambled(book)
    for without in (False, True):
        if without:
            mongo["cms.nodes"].update_many({"metadata.slug": {"$lt": "n-05"}}, {"$unset": {"position": ""}})
        order = [slug for slug in walk(book, 100) if slug != "inner"]
        assert "post" in order
        for at, slug in enumerate(order):
            before, after = by_hand.neighbours(stored_nodes.find(book, slug), now())
            assert (before and before.metadata.slug) == (order[at - 1] if at else None)
            assert (after and after.metadata.slug) == (order[at + 1] if at + 1 < len(order) else None)
    assert (post, hidden_section) == tuple(stored_nodes.find(book, slug).pk for slug in ("post", "inner"))


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("cursor", ["a", "$gt", ".", "G.slug", "\n", "8000"])
def test_invalid_cursor_is_refused(book, cursor):
    with pytest.raises(ValueError, match=r".*"):
        by_hand.page(book, now(), size=3, cursor=cursor)


def test_pages_of_readers_use_the_index_and_read_little(client, book, mongo, commands):
    scrambled(book)
    cursor = by_hand.page(book, now(), size=5)[1]
    seen = 0
    for address in ("/book", f"/book?from={cursor}", "/book/n-05", "/book/n-11", "/book/n-00"):
        with commands.recorded():
            assert client.get(address).status_code == 200
        for event in commands.sent:
            if event.command_name != "find" or event.command.get("hint") != keys_of(by_hand.INDEX):
                continue
            seen += 1
            plan = explain(mongo, event)
            assert "IXSCAN" in stages(plan)
            assert not stages(plan) & {"COLLSCAN", "SORT"}
            run = plan["executionStats"]
            assert run["totalDocsExamined"] <= 2 * run["nReturned"], event.command
    # Before the first page, pages without a position are looked up.
    assert seen == 2 + 3 * 2 + 1


def test_late_page_costs_no_more_than_the_first(book, mongo, commands):
    scrambled(book)
    keys, cursor = [], None
    while cursor != "":
        with commands.recorded():
            _nodes, cursor = by_hand.page(book, now(), size=3, cursor=cursor or "")
        (event,) = commands.sent
        keys.append(explain(mongo, event)["executionStats"]["totalKeysExamined"])
    assert len(keys) == 4
    assert max(keys) <= keys[0] + 4


class TestPages:
    def test_pages_posts_and_sections_share_one_order(self, client, book):
        inner, other = node("handbook", "inner", parent=book), node("handbook", "abc", parent=book)
        post = node("news", "post", parent=book)
        ordering.move_to_start(book, post)
        ordering.move_to_start(book, inner)
        found = client.get("/book").context["pages"]
        assert slugs(found)[:3] == ["inner", "post", "n-00"]
        assert slugs(found)[-1] == "abc"
        html = client.get("/book").content.decode()
        assert html.index('href="/book/inner"') < html.index('href="/book/post"') < html.index('href="/book/n-00"')
        # Menus have the sections in the same order.
        menu = html[html.index('class="inside"') : html.index("</nav>")]
        assert menu.index("Inner") < menu.index("Abc")
        ordering.move_to_start(book, other)
        assert [link.title for link in tree.current().live_children(book, now())] == ["Abc", "Inner"]

    def test_page_has_its_neighbours(self, client, book):
        scrambled(book)
        answer = client.get("/book/n-05")
        assert (answer.context["older"].metadata.slug, answer.context["newer"].metadata.slug) == ("n-06", "n-04")
        assert 'rel="next" href="/book/n-04"' in answer.content.decode()
        ordering.move_to_end(book, answer.context["node"].pk)
        assert client.get("/book/n-05").context["newer"] is None
        by_name = node("chapter", "alone", parent=None)
        save(by_name, nonce(by_name), parent_id=node("folder", "folder"))
        assert "older" not in client.get("/folder/alone").context

    def test_further_pages_work_and_invalid_ones_return_404(self, client, book, monkeypatch):
        monkeypatch.setattr(Handbook, "page_size", 5)
        first = client.get("/book").context
        assert slugs(first["pages"]) == [f"n-{number:02}" for number in range(5)]
        second = client.get("/book", {"from": first["pages_after"]})
        assert slugs(second.context["pages"]) == [f"n-{number:02}" for number in range(5, 10)]
        assert client.get("/book", {"from": "nothing"}).status_code == 404

    def test_sitemap_lists_the_contents(self, client, book):
        assert "/book</loc>" in client.get("/sitemap-sections-1.xml").content.decode()
        assert client.get("/sitemap-chapter-1.xml").content.decode().count("/book/n-") == 12
