"""Pinned posts are first in their section, and only on its first page."""

from datetime import UTC, datetime

import pytest
from bson import ObjectId

from cms.testing.build import node, nonce, save
from nodes.collections import keys_of
from nodes.models import version_cache
from reader.selectors import pinned
from tests.support.commands import explain, stages


@pytest.fixture
def blog(mongo) -> ObjectId:
    blog = node("blog", "news")
    for day in range(1, 25):
        node("blog-entry", f"p{day}", parent=blog, published=datetime(2021, 1, day, tzinfo=UTC))
    return blog


def pin(mongo, *slugs: str, is_pinned: bool = True) -> None:
    for slug in slugs:
        found = mongo["cms.nodes"].find_one({"metadata.slug": slug})["_id"]
        save(found, nonce(found), detail__is_pinned=is_pinned)


def pages(client) -> list[list[str]]:
    """Return the slugs on each page of the blog, from the first to the last."""
    found, cursor = [], ""
    while cursor is not None:
        listing = client.get("/news", {"from": cursor} if cursor else {}).context["listing"]
        found.append([entry.metadata.slug for entry in listing.nodes])
        cursor = listing.older
    return found


def test_pinned_post_is_first_and_listed_once(client, blog, mongo):
    every = [f"p{day}" for day in range(24, 0, -1)]
    assert [slug for page in pages(client) for slug in page] == every
    pin(mongo, "p24", "p3")
    first, *others = pages(client)
    assert first[:3] == ["p24", "p3", "p23"]
    assert sorted(slug for page in (first, *others) for slug in page) == sorted(every)
    page = client.get("/news").content.decode()
    assert page.count('<span class="pin">Pinned</span>') == 2
    pin(mongo, "p24", "p3", is_pinned=False)
    assert [slug for page in pages(client) for slug in page] == every


def test_first_page_is_the_same_on_the_way_back(client, blog, mongo):
    pin(mongo, "p3")
    first = client.get("/news").context["listing"]
    second = client.get("/news", {"from": first.older}).context["listing"]
    back = client.get("/news", {"from": second.newer}).context["listing"]
    assert [entry.metadata.slug for entry in back.nodes] == [entry.metadata.slug for entry in first.nodes]
    assert back.newer is None
    # Beyond the end of the list, there is nothing.
    assert not client.get("/news", {"from": "<0.0.507f1f77bcf86cd799439011"}).context["listing"].nodes


def test_newest_three_pinned_posts_are_first(client, blog, mongo):
    pin(mongo, *(f"p{day}" for day in range(1, 9)))
    found = pages(client)
    assert found[0][:4] == ["p8", "p7", "p6", "p24"]
    assert sorted(slug for page in found for slug in page) == sorted(f"p{day}" for day in range(1, 25))


def test_pinned_post_must_be_live_and_is_first_only_there(client, blog, mongo):
    pin(mongo, "p3")
    made = mongo["cms.nodes"].find_one({"metadata.slug": "p3"})["_id"]
    assert client.get("/").context["listing"].nodes[0].metadata.slug == "p24"
    assert '<span class="pin">' not in client.get("/news/archive/2021").content.decode()
    save(made, nonce(made), published=None)
    assert pages(client)[0][0] == "p24"


def test_pinned_posts_are_found_by_an_index(client, blog, mongo, commands):
    pin(mongo, "p3")
    version_cache.clear()
    with commands.recorded():
        client.get("/news", {"from": ""})
    sent = {tuple(e.command.get("hint", {})): explain(mongo, e) for e in commands.sent if e.command_name == "find"}
    for index, returned in (("by_pin", 1), ("by_section", 11)):
        plan = sent[tuple(keys_of(index))]
        assert not stages(plan) & {"COLLSCAN", "SORT"}
        run = plan["executionStats"]
        assert (run["nReturned"], run["totalDocsExamined"]) == (returned, returned)
    assert pinned.MAX_PINNED == 3
