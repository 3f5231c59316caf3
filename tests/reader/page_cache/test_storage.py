"""Storage of cached pages: in a process, within a limit of bytes, and in memory shared by all workers."""

import gc
import gzip
import multiprocessing
import tracemalloc
from dataclasses import replace
from datetime import timedelta

import pytest
from bson import ObjectId

from cms.testing.build import EDITOR, node, nonce
from marginalia.mongo.clock import now
from nodes.models.dependencies import Dependencies
from nodes.models.stored_site import Site, StoredSettings, Versions
from nodes.services import editing
from nodes.types import NO_TAGS
from reader.page_cache import storage
from reader.page_cache.cacheable import cache_key, is_unbounded
from reader.page_cache.entries import Entry, StoredState
from reader.page_cache.storage import PageCache, SharedPages, cache

VERSIONS = Versions(ObjectId(), ObjectId(), ObjectId())


def save(node_id, text):
    return editing.save(EDITOR, node_id, nonce(node_id), {"detail.text": text}, NO_TAGS)


def test_cached_page_is_compressed_as_accepted(post, client):
    first = client.get("/blog/post", headers={"accept-encoding": "gzip, br"})
    kept = client.get("/blog/post", headers={"accept-encoding": "br, gzip;q=0.5"})
    plain = client.get("/blog/post")
    refused = client.get("/blog/post", headers={"accept-encoding": "gzip; q=0.0, identity"})
    assert not any("Content-Encoding" in whole.headers for whole in (plain, refused))
    assert refused.content == plain.content
    for packed in (first, kept):
        assert packed["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed.content) == plain.content
        assert int(packed["Content-Length"]) == len(packed.content) < len(plain.content) / 2
        assert packed["ETag"] == plain["ETag"]
        assert "Accept-Encoding" in packed["Vary"]
    assert "Accept-Encoding" in plain["Vary"]
    for accepted in ("gzip", "identity"):
        headers = {"if-none-match": packed["ETag"], "accept-encoding": accepted}
        assert client.get("/blog/post", headers=headers).status_code == 304


def test_unescaped_bytes_share_no_key(rf):
    raw, escaped = (rf.get("/", QUERY_STRING=query) for query in ("from=Ã©", "from=%C3%83%C2%A9"))
    assert (raw.GET["from"], escaped.GET["from"]) == ("é", "Ã©")
    assert (cache_key(raw), cache_key(escaped)) == (None, ("http", "testserver", "/", "from", "Ã©"))


def test_head_is_answered_from_the_cache_without_a_body(post, client):
    client.get("/blog/post")
    answer = client.head("/blog/post")
    assert answer.status_code == 200
    assert not answer.content


def test_urls_with_parameters_displace_no_others():
    own = PageCache(100_000)

    def put(*key, **options):
        own.put(("http", "testserver", *key), entry(b"x" * 4_000, **options))

    put("/blog")
    for number in range(100):
        put("/about", "from", f"junk{number}", is_unbounded=True)
    assert own.get(("http", "testserver", "/blog"))
    assert own.get(("http", "testserver", "/about", "from", "junk99"))
    room = len(own.entries)
    assert room > 10
    for number in range(room):
        put(f"/page-{number}")
    assert own.get(("http", "testserver", "/page-0"))
    assert own.size <= own.max_bytes


def test_cached_bytes_are_limited():
    small = PageCache(100_000)
    for n in range(200):
        small.put((str(n),), entry(b"x" * 1_000))
        assert small.size <= small.max_bytes
    assert small.get(("199",))
    assert small.get(("0",)) is None
    small.put(("big",), entry(b"x" * 20_000))
    assert small.get(("big",)) is None


@pytest.mark.slow
def test_memory_of_cached_pages_is_counted_fully(mongo, client):
    folder = node("folder", "folder", published=now() - timedelta(days=2))
    client.get("/folder")
    tracemalloc.start()
    try:
        for number in range(150):
            client.get("/folder", {"from": f"{number:a>1800}"})
            client.get("/api/v1/nodes", {"section": str(folder), "cursor": f"{number:a>200}"})
        assert len(cache.entries) > 300
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        counted = cache.size
        storage.clear()
        gc.collect()
        freed = before - tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert freed < 1.3 * counted


@pytest.mark.parametrize("host", ["EXAMPLE.org", "example.org.", "example.org:0080", "example.org:81"])
def test_host_in_another_spelling_displaces_no_page(host, settings, rf):
    settings.SITE_URL, settings.ALLOWED_HOSTS = "https://example.org", ["example.org"]
    assert not is_unbounded(rf.get("/", headers={"host": "example.org"}))
    assert is_unbounded(rf.get("/", headers={"host": host}))


class TestShared:
    """A page cached by one process is found by others.

    This is simulated by clearing the cache, and tested once with a process.
    """

    def test_page_of_another_process_is_not_rendered_again(self, post, client, commands):
        made = client.get("/blog/post")
        cache.clear()
        with commands.recorded():
            found = client.get("/blog/post")
        assert len(commands) == 1
        assert (found.content, found["ETag"]) == (made.content, made["ETag"])
        assert found["Content-Security-Policy"] == made["Content-Security-Policy"]

    def test_newer_page_of_another_process_replaces_the_own(self, post, client, commands):
        client.get("/blog/post")
        (own,) = cache.entries.items()
        save(post, "Second text")
        client.get("/blog/post")
        cache.put(*own)
        with commands.recorded():
            assert b"Second text" in client.get("/blog/post").content
        assert len(commands) == 1

    def test_outdated_shared_page_is_rendered_again(self, post, client):
        client.get("/blog/post")
        cache.clear()
        save(post, "Second text")
        assert b"Second text" in client.get("/blog/post").content

    def test_shared_page_is_compared_with_all_its_discussions(self):
        """The other page has a discussion that the own page lacks, and that has started since."""
        other = replace(entry(b""), discussions={"a": "1", "b": ""}, expires=now() + timedelta(minutes=1))
        site = Site(VERSIONS, None, 0, StoredSettings())
        assert other.is_current(StoredState(site, {"a": "1", "b": ""}, None))
        assert not other.is_current(StoredState(site, {"a": "1"}, None))

    def test_pages_with_parameters_are_not_shared(self):
        shared = SharedPages(100_000)
        shared.put(("http", "testserver", "/", "from", "junk"), entry(b"1", is_unbounded=True))
        assert shared.get(("http", "testserver", "/", "from", "junk")) is None

    def test_parent_finds_the_page_that_its_child_stored(self):
        shared, key = SharedPages(100_000), ("http", "testserver", "/")
        child = multiprocessing.get_context("fork").Process(target=shared.put, args=(key, entry(b"of the child")))
        child.start()
        child.join(10)
        assert shared.get(key).compressed == b"of the child"
        assert shared.get(("http", "testserver", "/other")) is None

    def test_second_page_in_a_slot_replaces_the_first(self):
        shared = SharedPages(SharedPages.SLOT_SIZE)
        shared.put(("one",), entry(b"1"))
        shared.put(("two",), entry(b"2"))
        assert shared.get(("one",)) is None
        assert shared.get(("two",)).compressed == b"2"

    def test_page_overwritten_while_it_is_read_is_not_found(self):
        shared = SharedPages(SharedPages.SLOT_SIZE)
        shared.put(("one",), entry(b"1" * 1_000))
        assert shared.get(("one",))
        shared._memory[600:700] = b"2" * 100
        assert shared.get(("one",)) is None

    def test_page_that_is_too_long_is_not_shared(self):
        shared = SharedPages(100_000)
        shared.put(("long",), entry(b"x" * shared.SLOT_SIZE))
        assert shared.get(("long",)) is None

    def test_shared_cache_of_size_zero_stores_nothing(self):
        shared = SharedPages(0)
        shared.put(("one",), entry(b"1"))
        assert shared.get(("one",)) is None


def entry(packed: bytes, **options: bool) -> Entry:
    return Entry(VERSIONS, Dependencies(), {}, now(), packed, "", (), **options)
