"""Every query of readers' pages: an index scan without a sort in memory and without unneeded documents."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from bson import ObjectId

from benchmarks import bulk_nodes
from cms.testing.build import EDITOR, node, nonce
from marginalia.mongo import indexes
from marginalia.mongo.clock import now
from nodes.models import version_cache
from nodes.selectors import slugs
from nodes.services import editing
from reader import page_cache
from tests.support.commands import explain, stages

POSTS = 24
COLD = 11
# Maximum number of commands of a page: the site, the page itself, and related data.
WARM = {
    "/": 4,  # the numbers of comments
    "/live/post-3": 4,
    "/live": 3,
    "/folder": 3,
    "/folder/page-3": 2,
    "/tag/t": 4,  # nodes, photos and the description
    "/author/ann": 3,  # posts and photos
    "/none": 10,  # redirects, also those of an old site, and pages with similar URLs, titles or words
    "/sitemap.xml": 1,
}


@pytest.fixture
def site(mongo) -> ObjectId:
    """A blog of live posts, with as many hidden ones between them, and whole hidden sections."""
    folder, live, hidden = node("folder", "folder"), node("blog", "live"), node("blog", "hidden")

    def rows() -> Iterator[bulk_nodes.Row]:
        for number in range(POSTS):
            day = datetime(2022, 1, 1, tzinfo=UTC) + timedelta(days=11 * number)
            yield row("blog-entry", live, f"post-{number}", day)
            yield row("blog-entry", hidden, f"unseen-{number}", day + timedelta(days=1))
            yield row("blog-entry", live, f"draft-{number}", None)
            yield row("blog-entry", live, f"gone-{number}", day)
            yield row("basic-page", folder, f"page-{number}", day)
            yield row("basic-page", folder, f"unpublished-{number}", None)
            yield row("basic-page", None, f"top-{number}", day if number % 2 else None)

    assert sum(bulk_nodes.insert(rows())) == 7 * POSTS
    expired = {"$set": {"metadata.expires": datetime(2023, 1, 1, tzinfo=UTC)}}
    assert mongo["cms.nodes"].update_many({"metadata.slug": {"$regex": "^gone-"}}, expired).modified_count == POSTS
    moved = node(slug="moved", parent=folder)
    editing.save(EDITOR, moved, nonce(moved), {"slug": "moved-on"})
    editing.save(EDITOR, hidden, nonce(hidden), {"published": None})
    return live


def row(type: str, parent: ObjectId | None, slug: str, published: datetime | None) -> bulk_nodes.Row:
    made = datetime(2022, 1, 1, tzinfo=UTC)
    return bulk_nodes.Row(ObjectId(), EDITOR, type, parent, slug, slug, published, made, ("t",), "Some words.")


def addresses(client) -> list[str]:
    """Return URLs of every kind of page, also of later pages of lists and back."""
    further = []
    for path in ("/", "/live", "/tag/t", "/author/ann", "/live/archive/2022"):
        listing = client.get(path).context["listing"]
        further.append(f"{path}?from={listing.older}")
        middle = client.get(further[-1]).context["listing"]
        further.append(f"{path}?from={middle.newer}")
    return [
        "/",
        "/live",
        "/folder",
        "/folder/page-3",
        "/live/post-3",
        "/live/post-0",
        f"/live/post-{POSTS - 1}",
        "/tag/t",
        "/author/ann",
        "/author/ann/feed/atom",
        "/live/archive",
        "/live/archive/2022",
        "/live/archive/2022/02",
        "/feed/rss",
        "/live/feed/atom",
        "/tag/t/feed/json",
        "/sitemap.xml",
        "/sitemap-sections-1.xml",
        "/sitemap-blog-entry-1.xml",
        "/sitemap-basic-page-1.xml",
        "/robots.txt",
        "/folder/moved",
        "/folder?from=page-2",
        "/search/suggestions?q=post",
        *further,
    ]


def forget() -> None:
    """Clear the caches of this process, except the section tree."""
    version_cache.clear()
    page_cache.storage.clear()


def figures(plan: dict) -> tuple[int, int]:
    """Return (documents read, documents returned) of an explained find or aggregate."""
    if "stages" in plan:
        plan = plan["stages"][0]["$cursor"]
    run = plan["executionStats"]
    return run["totalDocsExamined"], run["nReturned"]


def is_search(command) -> bool:
    pipeline = command.get("pipeline")
    return bool(pipeline) and "derived.terms" in pipeline[0].get("$match", {})


def test_every_query_uses_an_index_and_reads_little(client, site, mongo, commands):
    seen = 0
    for address in addresses(client):
        forget()
        with commands.recorded():
            assert client.get(address).status_code in (200, 301), address
        for event in commands.sent:
            if event.command_name not in ("find", "aggregate") or is_search(event.command):
                continue
            seen += 1
            plan = explain(mongo, event)
            found = stages(plan)
            told = f"{address}: {event.command}"
            assert found & {"IXSCAN", "IDHACK", "EOF", "COUNT_SCAN"}, told
            assert not found & {"COLLSCAN", "SORT"}, told
            read, returned = figures(plan)
            assert read <= 2 * returned, f"{read} read, {returned} returned, {told}"
    assert seen > 60


@pytest.mark.slow
def test_renamed_index_works_as_well(client, site, mongo):
    declared = {name: one for name, one in mongo["cms.nodes"].index_information().items() if name != "_id_"}
    try:
        for name, one in declared.items():
            mongo["cms.nodes"].drop_index(name)
            mongo["cms.nodes"].create_index(one.pop("key"), name=f"{name}_2", **one)
        for address in addresses(client):
            forget()
            assert client.get(address).status_code in (200, 301), address
    finally:
        for name in declared:
            mongo["cms.nodes"].drop_index(f"{name}_2")
        indexes.ensure()


def test_search_is_bounded(client, site, commands):
    with commands.recorded():
        assert client.get("/search", {"q": "words"}).status_code == 200
    searches = [event.command for event in commands.sent if is_search(event.command)]
    assert searches
    assert all(command["pipeline"][1]["$limit"] <= 2_000 and command["maxTimeMS"] <= 1_500 for command in searches)


def test_pages_stay_within_their_command_budget(client, site, commands):
    for address, most in WARM.items():
        client.get(address)
        page_cache.storage.clear()
        with commands.recorded():
            client.get(address)
        assert len(commands) <= most, (address, [(e.command_name, e.command) for e in commands.sent])
        editing.save(EDITOR, site, nonce(site), {"summary": f"Changed for {address}."})
        with commands.recorded():
            client.get(address)
        # For unknown paths, the redirects of old sites and similar pages are queried too.
        assert len(commands) <= COLD + 4 * (address == "/none"), address


def test_late_page_of_a_list_costs_no_more_than_the_first(client, site, mongo, commands):
    keys = []
    cursor = ""
    while cursor is not None:
        with commands.recorded():
            listing = client.get("/live", {"from": cursor} if cursor else {}).context["listing"]
        (event,) = [e for e in commands.sent if e.command.get("limit") == 11]
        keys.append(explain(mongo, event)["executionStats"]["totalKeysExamined"])
        cursor = listing.older
    assert len(keys) == 3
    assert max(keys) <= 30


def test_counts_are_cached_until_the_site_changes(client, site, commands):
    client.get("/live/archive")
    with commands.recorded():
        client.get("/live/archive")
    assert len(commands.names) == 1, "the versions that it is kept under"
    node("blog-entry", "one-more", parent=site, published=now())
    with commands.recorded():
        client.get("/live/archive")
    assert "aggregate" in commands.names[1:]


def sent_by(commands, mongo, work) -> tuple[list[dict], object]:
    """Return the explained finds and aggregates that `work` sends, and its result."""
    with commands.recorded():
        answer = work()
    return [explain(mongo, event) for event in commands.sent if event.command_name in ("find", "aggregate")], answer


def test_free_slug_is_found_with_few_reads(site, mongo, commands):
    slugs.conflicts_with_route("post", site)
    for title, found in (("p", "p"), ("post", "post"), ("post-3", "post-3-2")):
        plans, slug = sent_by(commands, mongo, lambda title=title: slugs.find_free(title, site))
        assert slug == found
        assert sum(plan["executionStats"]["totalKeysExamined"] for plan in plans) <= 2 * slugs.TRIED


@pytest.mark.slow
def test_free_slug_has_the_first_free_number(site):
    taken = [f"many-{number}" for number in range(2, 5 * slugs.TRIED) if number != 3 * slugs.TRIED]
    rows = (row("blog-entry", site, slug, None) for slug in ("many", *taken))
    assert sum(bulk_nodes.insert(rows)) == 1 + len(taken)
    assert slugs.find_free("many", site) == f"many-{3 * slugs.TRIED}"
