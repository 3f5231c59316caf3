"""The listener of the page cache: which pages are served without a command, and when they are compared again."""

import os
import threading
import time
from collections.abc import Iterator

import pytest
from bson import ObjectId
from pymongo import MongoClient

from cms.testing.build import node, nonce, save
from marginalia.comments.posting import services as comments
from marginalia.comments.types import CommentAuthor, Target
from marginalia.mongo import clock, indexes
from reader import change_stream
from reader.collections import HEARTBEATS
from reader.page_cache import listener, own_writes, stamps, storage
from tests.reader.page_cache import listening_races as races
from tests.reader.page_cache.changing import LONG
from tests.support.processes import until

# The commands that the listener can send during a request.
OF_LISTENER = {"getMore", "killCursors", "update"}


@pytest.fixture
def listening(mongo) -> Iterator[threading.Event]:
    """Listen during the test. The event stops the listener."""
    stopping = threading.Event()
    thread = threading.Thread(target=listener.run, args=(stopping,))
    thread.start()
    until(lambda: stamps._words[stamps._EPOCH])
    yield stopping
    stopping.set()
    thread.join()


@pytest.fixture
def get(client, commands):
    """Return a function that requests a page, and returns its text and the names of the commands that it needed."""

    def request(path="/blog/post", **options):
        with commands.recorded():
            response = client.get(path, **options)
        return response.content.decode(errors="replace"), [name for name in commands.names if name not in OF_LISTENER]

    return request


@pytest.fixture
def known(get, listening, post):
    """Return a function that requests pages until they are served without a command."""

    def serve(path="/blog/post"):
        until(lambda: get(path)[1] == [], seconds=10)

    serve()
    return serve


@pytest.fixture
def another_server(mongo) -> Iterator:
    """Return the database for writes of another server. They reach this process only through the change stream."""
    with MongoClient(os.environ["TEST_MONGODB_URI"]) as client:
        yield client[mongo.name]


def test_without_a_listener_every_page_is_compared(post, get):
    get()
    assert [get()[1], get()[1]] == [["aggregate"]] * 2


def test_unchanged_page_is_served_without_a_command(known, get):
    assert get() == (get()[0], [])
    assert get(headers={"Accept-Encoding": "gzip"})[1] == []


def test_page_served_without_a_command_has_all_headers(client, known):
    storage.clear()
    first = client.get("/blog/post")
    known()
    again = client.get("/blog/post")
    assert {**again.headers, "X-Request-ID": ""} == {**first.headers, "X-Request-ID": ""}
    security = {"Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options", "Permissions-Policy"}
    assert security < set(again.headers)
    unchanged = client.get("/blog/post", headers={"if-none-match": first["ETag"]})
    assert unchanged.status_code == 304
    assert unchanged.headers.items() >= {name: first[name] for name in (*security, "Cache-Control", "Vary")}.items()


@pytest.mark.parametrize("seconds", [600, -600])
def test_process_with_a_wrong_clock_still_serves_pages_without_a_command(known, monkeypatch, seconds):
    with monkeypatch.context() as patched:
        patched.setattr(clock, "datetime", races.shifted(seconds))
        storage.cache.clear()  # as if this were another process
        known()
    storage.cache.clear()
    known()


def test_own_change_is_shown_by_the_next_request(known, get, post):
    for number in range(5):
        known()
        save(post, nonce(post), detail__text=f"Text number {number}")
        assert f"Text number {number}" in get()[0]


def test_own_comment_is_shown_by_the_next_request(known, get, post):
    for number in range(5):
        known()
        comments.post(
            Target("nodes.node", str(post)), author=CommentAuthor("Bea"), source=f"No. {number}", token=f"{number}"
        )
        assert f"No. {number}" in get()[0]


def test_own_change_does_not_wait_for_the_stream(known, get, post, monkeypatch):
    handle = listener.Listener._handle

    def handle_heartbeats(self, event):
        if event["ns"]["coll"] == HEARTBEATS:
            handle(self, event)

    monkeypatch.setattr(listener.Listener, "_handle", handle_heartbeats)
    save(post, nonce(post), detail__text="New text")
    assert "New text" in get()[0]


def test_change_by_another_server_is_shown_soon(known, get, post, another_server):
    for number in range(3):
        known()
        text, sent = f"From elsewhere {number}", time.monotonic()
        another_server["cms.nodes"].update_one(
            {"_id": post}, {"$set": {"metadata.detail.text": text, "metadata.nonce": ObjectId()}}
        )
        until(lambda text=text: text in get()[0], seconds=5)
        assert time.monotonic() - sent < 1


def test_changes_to_other_pages_cause_no_command(known, get, post):
    folder = node("folder", "folder")
    other = node("basic-page", "about", parent=folder, text=LONG)
    get()
    known()
    save(other, nonce(other), detail__text=LONG + "End.")
    assert get()[1] == []


def test_silent_listener_makes_pages_be_compared(known, get, listening, monkeypatch):
    monkeypatch.setattr(stamps, "hear_until", lambda moment: None)
    time.sleep(stamps.HEARD_WITHIN / 1e9)
    assert get()[1] == ["aggregate"]


def test_heartbeats_of_other_servers_prove_nothing(listening, monkeypatch):
    """The monotonic clocks of two machines can't be compared."""
    heard = []
    monkeypatch.setattr(stamps, "hear_until", heard.append)
    own = listener.Listener()
    own._send_heartbeat()
    beats = [own._sent[-1] + 10**9, own._sent[-1]]
    for beat in beats:
        own._handle({"operationType": "update", "ns": {"coll": HEARTBEATS}, "beat": beat})
    assert heard == beats[1:]


def test_listener_continues_after_any_error(mongo, monkeypatch):
    stopping, calls = threading.Event(), []

    def fail(self, stopping):
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("unexpected")
        stopping.set()

    monkeypatch.setattr(listener.Listener, "listen", fail)
    listener.run(stopping)
    assert len(calls) == 2


def test_stopped_listener_makes_pages_be_compared(known, get, listening):
    listening.set()
    until(lambda: not stamps._words[stamps._EPOCH])
    assert get()[1] == ["aggregate"]


def test_new_epoch_makes_pages_be_compared(known, get):
    stamps.begin_epoch(stamps.primary())
    stamps.hear_until(time.monotonic_ns())
    assert get()[1] == ["aggregate"]
    known()


def test_page_of_another_primary_is_compared(known, get, monkeypatch):
    monkeypatch.setattr(stamps, "primary", lambda: 7)
    stamps.stamp(["lists"])  # compared, and its data now comes from another primary than the listener's
    assert [get()[1], get()[1]] == [["aggregate"]] * 2


def test_without_a_known_primary_nothing_is_heard(mongo, monkeypatch):
    """On a sharded cluster, the elections of the shards are unknown."""
    monkeypatch.setattr(stamps, "primary", lambda: 0)
    stamps.end_epoch()
    before = mongo[HEARTBEATS].count_documents({})
    listener.Listener().listen(threading.Event())  # ends at once
    assert (stamps._words[stamps._EPOCH], mongo[HEARTBEATS].count_documents({})) == (0, before)


def test_page_that_is_due_to_change_is_not_served_without_a_command(known, get):
    entry = next(iter(storage.cache.entries.values()))
    entry.expires = clock.now()
    assert get()[1] != []


def test_change_while_the_page_is_read_invalidates_its_proof(known, get, post, monkeypatch):
    from reader.page_cache import middleware

    read_state = middleware.read_state

    def changed_meanwhile(*args):
        state = read_state(*args)
        stamps.stamp([f"node-{post}"])
        return state

    monkeypatch.setattr(middleware, "read_state", changed_meanwhile)
    stamps.stamp(["lists"])
    assert [get()[1], get()[1]] == [["aggregate"]] * 2


def test_primary_that_changes_while_the_stream_is_opened_ends_the_epoch(mongo, monkeypatch):
    opened = change_stream.listening

    def changed_meanwhile(heartbeats):
        monkeypatch.setattr(stamps, "primary", lambda: 7)
        return opened(heartbeats)

    monkeypatch.setattr(change_stream, "listening", changed_meanwhile)
    before = stamps.primary()
    listener.Listener().listen(threading.Event())  # ends at once
    assert stamps._words[stamps._PRIMARY] == before
    stamps.end_epoch()


def test_changes_while_no_process_listens_are_shown(known, get, listening, post, another_server):
    listening.set()
    until(lambda: not stamps._words[stamps._EPOCH])
    another_server["cms.nodes"].update_one(
        {"_id": post}, {"$set": {"metadata.detail.text": "Unheard", "metadata.nonce": ObjectId()}}
    )
    stopping = threading.Event()
    thread = threading.Thread(target=listener.run, args=(stopping,))
    thread.start()
    try:
        until(lambda: get("/")[0] and stamps._words[stamps._HEARD_UNTIL])
        assert "Unheard" in get()[0]
    finally:
        stopping.set()
        thread.join()


def test_stamp_never_returns_to_an_old_value(mongo, monkeypatch):
    """A process that writes a stamp late must not restore the stamp of a page that was read between two changes."""
    number, proofs, inside = stamps._number, [], []

    def interrupted(key):
        if not inside:
            inside.append(key)
            stamps.stamp([key])
            proofs.append(stamps.prove([key], stamps.snapshot()))
            stamps.stamp([key])
            inside.clear()
        return number(key)

    monkeypatch.setattr(stamps, "_number", interrupted)
    stamps.stamp(["node-1"])
    current = stamps._words[number("node-1")]
    assert proofs
    assert current not in [value for proof in proofs for _number, value in proof.stamps]


@pytest.mark.parametrize(
    ("name", "command"),
    [("endSessions", {"endSessions": [{"id": 1}]}), ("aggregate", {"aggregate": 1}), ("find", {"find": "cms.nodes"})],
)
def test_commands_that_write_no_page_have_no_keys(name, command):
    assert list(own_writes.written_keys(name, command)) == []


def test_api_is_always_compared(known, get):
    get("/api/v1/nodes")
    assert all(get("/api/v1/nodes")[1] for _ in range(3))


def test_heartbeats_stop_without_requests(known, mongo, monkeypatch):
    monkeypatch.setattr(stamps, "ASKED_WITHIN", 0)
    time.sleep(2 * listener.HEARTBEAT_INTERVAL)
    beat = mongo["cms.heartbeats"].find_one()["beat"]
    time.sleep(2 * listener.HEARTBEAT_INTERVAL)
    assert mongo["cms.heartbeats"].find_one()["beat"] == beat


def test_dropped_collection_begins_a_new_epoch(known, get, another_server):
    epoch = stamps._words[stamps._EPOCH]
    another_server["cms.trash"].drop()
    try:
        until(lambda: stamps._words[stamps._EPOCH] not in (0, epoch), seconds=10)
    finally:
        indexes.ensure()
