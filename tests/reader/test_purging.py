"""Purging a CDN: every change that outdates a page is sent, repeated after a failure, and nothing else."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.test import Client
from pymongo import MongoClient
from pymongo.errors import AutoReconnect
from pymongo.server_description import ServerDescription
from pymongo.write_concern import WriteConcern

from cms.testing.build import node, nonce, save
from marginalia.comments.posting import services as comments
from marginalia.comments.types import CommentAuthor
from marginalia.mongo import doctor
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from marginalia.tasks import worker
from marginalia.testing.mongod import EphemeralMongod
from nodes.models import Node
from reader import cdn, page_cache, purging
from reader.change_stream import PIPELINE, HistoryLost
from reader.collections import collections
from reader.doctor import caches_told
from tests.docs.pages import started_by
from tests.reader.page_cache.changing import CHANGES, NOTHING, World
from tests.support.processes import ROOT, until
from tests.support.scraping import Scraped

LONG = "Words of the beginning. " * 100


class Cache(ThreadingHTTPServer):
    """A cache that notes the purged keys, after refusing a number of requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Hearing)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.heard: list[set[str]] = []
        self.refusals = 0

    def times(self, key: str) -> int:
        return sum(key in keys for keys in self.heard)


class _Hearing(BaseHTTPRequestHandler):
    server: Cache

    def do_PURGE(self) -> None:
        refused = self.server.refusals > 0
        if refused:
            self.server.refusals -= 1
        else:
            self.server.heard.append(set(self.headers["Xkey-Purge"].split()))
        self.send_response(503 if refused else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def caching() -> Iterator[Cache]:
    with Cache() as cache:
        threading.Thread(target=cache.serve_forever, args=(0.01,), daemon=True).start()
        yield cache
        cache.shutdown()


@pytest.fixture
def cache(mongo, settings, monkeypatch) -> Iterator[Cache]:
    for name, seconds in {"REPEAT_AFTER": 0.1, "RETRY_AFTER": 0.01, "STORE_INTERVAL": 0, "BATCH_TIME": 0.02}.items():
        monkeypatch.setattr(purging, name, seconds)
    with caching() as cache:
        settings.CDN_PURGE_URLS = [cache.url]
        yield cache


@contextmanager
def following() -> Iterator[None]:
    """Run what a worker does alongside its jobs."""
    stopping = threading.Event()
    thread = threading.Thread(target=purging.purge, args=(stopping,))
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(10)
        assert not thread.is_alive()


def begun(cache: Cache) -> None:
    """Wait until a cache has dropped everything, and the position after that is stored."""
    until(lambda: cache.times(purging.LISTS) >= 2 and purging.last_notified(cache.url))
    cache.heard.clear()


def test_cache_is_purged_twice_for_each_change(cache):
    post = node("blog-entry", "post", parent=node("blog", "blog"), text=LONG)
    with following():
        begun(cache)
        save(post, nonce(post), detail__text=LONG + "End.")
        until(lambda: cache.times(f"node-{post}") == cache.times(purging.TEXTS) == 2)
        assert not cache.times(purging.LISTS)
        posted = comments.post(Node.objects.get(pk=post), author=CommentAuthor("Bea"), source="Hello", token="t" * 16)
        until(lambda: cache.times(f"discussion-{posted.comment.target.id}") >= 2)
        assert not cache.times(purging.LISTS)
        save(post, nonce(post), title="Another")
        until(lambda: cache.times(purging.LISTS) == 2)


def test_failed_purge_is_repeated(cache, caplog):
    post = node("blog-entry", "post", parent=node("blog", "blog"), text=LONG)
    with following():
        begun(cache)
        cache.refusals = 3
        save(post, nonce(post), detail__text=LONG + "End.")
        until(lambda: cache.times(f"node-{post}") >= 2)
    assert cache.refusals == 0
    said = [record.getMessage() for record in caplog.records if record.name == "reader.purging"]
    assert [f"{cache.url} doesn't receive purges: HTTPError" in said[0], said[1:]] == [
        True,
        [f"{cache.url} receives purges again."],
    ]


def test_worker_continues_where_the_last_one_ended(cache):
    post = node("blog-entry", "post", parent=node("blog", "blog"), text=LONG)
    with following():
        begun(cache)
    save(post, nonce(post), detail__text=LONG + "End.")
    assert not cache.times(f"node-{post}")
    with following():
        until(lambda: cache.times(f"node-{post}") == 2)
    assert not cache.times(purging.LISTS)


def test_purge_works_despite_slow_round_trips(cache, monkeypatch):
    """The driver measures this for some seconds for a member that hung and then became the primary."""
    post = node("blog-entry", "post", parent=node("blog", "blog"), text=LONG)
    monkeypatch.setattr(ServerDescription, "min_round_trip_time", 2.0)
    with following():
        begun(cache)
        save(post, nonce(post), detail__text=LONG + "End.")
        until(lambda: cache.times(f"node-{post}") == 2)


def test_progress_is_stored_without_waiting_for_a_majority(cache, commands):
    """Otherwise purges would stop while a secondary hangs."""
    with commands.recorded(), following():
        begun(cache)
    stored = [one.command for one in commands.sent if one.command_name == "update"]
    assert stored
    assert all(one["update"] == "cms.purges" and one["writeConcern"] == {"w": 1} for one in stored)


def lost_position() -> dict[str, str]:
    """Return a resume token from which the server cannot resume, because it is the token of a change that never happened."""
    with database().watch() as stream:
        database()["probe"].insert_one({})
        token = stream.next()["_id"]["_data"]
    earlier = int(token[2:10], 16) - 1  # the seconds of its timestamp, after a byte for the type
    return {"_data": f"{token[:2]}{earlier:08X}{token[10:]}"}


def test_lost_history_purges_all_pages(cache):
    with following():
        begun(cache)
    positions = database()["cms.purges"]
    lost = lost_position()
    positions.update_one({"_id": cache.url}, {"$set": {"resume": lost}})
    with following():
        until(lambda: cache.times(purging.LISTS) >= 2)
        until(lambda: positions.find_one({"_id": cache.url, "resume": {"$ne": lost}}))


def test_long_time_without_a_worker_purges_all_pages(cache):
    """Changes of that time are not examined, because they may be many, and no page is cached for so long."""
    assert timedelta(seconds=purging.MAX_PAGE_AGE) == cdn.MAX_AGE
    post = node("blog-entry", "post", parent=node("blog", "blog"), text=LONG)
    with following():
        begun(cache)
    save(post, nonce(post), detail__text=LONG + "End.")
    database()["cms.purges"].update_one({}, {"$set": {"at": now() - timedelta(seconds=61)}})
    with following():
        until(lambda: cache.times(purging.LISTS) >= 2)
    assert not cache.times(f"node-{post}")


def test_failure_during_lost_history_does_not_stop_the_purges(cache, monkeypatch):
    tries = []

    def lost(*_: object) -> None:
        tries.append(1)
        raise HistoryLost

    def away() -> None:
        raise AutoReconnect("away")

    monkeypatch.setattr(purging.Purger, "_follow", lost)
    monkeypatch.setattr(purging, "database", away)
    with following():
        until(lambda: len(tries) > 3)


def test_unreachable_cache_does_not_delay_the_others(cache, settings):
    page = node()
    with caching() as other:
        settings.CDN_PURGE_URLS = [other.url, cache.url]
        other.refusals = 10**9
        with following():
            begun(cache)
            save(page, nonce(page), title="Another")
            until(lambda: cache.times(purging.LISTS) == 2)
        assert not other.heard
        assert purging.last_notified(other.url) is None


told: list[tuple[str, set[str]]] = []


def tell(cache: str, keys: set[str]) -> None:
    """A function for purging a cache of another kind."""
    told.append((cache, set(keys)))


def test_custom_function_purges_another_cache(cache, settings):
    settings.CDN_PURGE_URLS = ["https://cache.example.org/service/7"]
    settings.CDN_PURGER = f"{__name__}.tell"
    told.clear()
    with following():
        until(lambda: len(told) == 2)
    assert told == [("https://cache.example.org/service/7", {purging.LISTS})] * 2


def test_purging_without_a_cache_does_nothing(mongo, settings):
    assert settings.CDN_PURGE_URLS == []
    with following():
        pass
    assert mongo["cms.purges"].count_documents({}) == 0


def test_worker_purges_alongside_its_jobs(cache):
    stopping = threading.Event()
    worker.begin_beside(stopping)
    begun(cache)
    stopping.set()


def test_doctor_and_metrics_report_unpurged_caches(mongo, settings):
    def found() -> tuple[list[str], float | None]:
        examination = doctor.Examination("default", mongo, collections(), production=False)
        scraped = Scraped(Client().get("/metrics").content.decode())
        named = [(one.name, one.where) for one in caches_told(examination)]
        return named, scraped("caches_silent_seconds") if "caches_silent_seconds" in scraped.names else None

    settings.METRICS_NETWORKS = ["127.0.0.0/8"]
    assert found() == ([], None)
    cache, other = settings.CDN_PURGE_URLS = ["http://127.0.0.1:1", "http://127.0.0.1:2"]
    mongo["cms.purges"].insert_one({"_id": cache, "resume": {}, "at": now()})
    named, silent = found()
    assert named == [("cache-not-told", other)]
    assert silent == math.inf
    mongo["cms.purges"].insert_one({"_id": other, "resume": {}, "at": now() - timedelta(minutes=4)})
    named, silent = found()
    assert named == [("cache-not-told", other)]
    assert 240 <= silent < 300
    mongo["cms.purges"].update_many({}, {"$set": {"at": now()}})
    assert found()[0] == []


@contextmanager
def heard_on_three(tmp_path):
    """Three members, and a worker that purges a cache.

    Yields a client, a function that finds the primary's process, and a function that changes something and returns the
    seconds until the purge.
    """
    with EphemeralMongod(3) as servers, caching() as cache, (tmp_path / "log").open("wb") as log:
        uri = servers.uri
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "TEST_MONGODB_URI": uri,
            "LOG_LEVEL": "WARNING",
            "TEST_MONGODB_NAME": "test_purging",
            "CDN_PURGE_URLS": cache.url,
        }
        command = [sys.executable, *started_by("marginalia-work.service")[1:]]
        worker = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            with MongoClient(uri, heartbeatFrequencyMS=500, timeoutMS=30_000) as client:
                made = client["test_purging"].get_collection("discussions", write_concern=WriteConcern("majority"))

                def behind(id: str) -> float:
                    made.insert_one({"_id": id})
                    acknowledged = time.monotonic()
                    until(lambda: cache.times(f"discussion-{id}"))
                    return time.monotonic() - acknowledged

                def primary() -> int:
                    host, port = client.primary
                    return next(one.pid for one in servers.members if one.address == f"{host}:{port}")

                # From then on, the worker continues and purges single pages.
                until(lambda: client["test_purging"]["cms.purges"].find_one({"_id": cache.url}), seconds=60)
                yield client, primary, behind
        finally:
            worker.terminate()
            worker.wait(30)


@contextmanager
def silent(pid):
    """Let the server hang without closing its connections."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.slow
def test_purge_takes_a_second_after_the_primary_hung(tmp_path, record_property):
    with heard_on_three(tmp_path) as (client, primary, behind):
        usual, before = behind("0000:a:1"), client.primary
        until(lambda: len(client.secondaries) == 2)
        next_one, follower = client.secondaries
        with MongoClient(*follower, directConnection=True) as member:
            # Otherwise a majority would take as long as the driver needs to notice the silence.
            member.admin.command("replSetSyncFrom", "{}:{}".format(*next_one))
            member.admin.command("replSetFreeze", 60)
            until(lambda: member.admin.command("replSetGetStatus")["syncSourceHost"] == "{}:{}".format(*next_one))
        with silent(primary()):
            until(lambda: client.primary not in (None, before), seconds=60)
            after = behind("0000:a:2")
    record_property("did", [f"heard after {usual:.2f} s; of the next primary's first change after {after:.2f} s"])
    assert usual < 1
    assert after < 1


@pytest.mark.slow
def test_purge_takes_a_second_after_a_stepdown_and_hang(tmp_path, record_property):
    """It stepped down, and would continue the stream as a secondary, which writes don't wait for."""
    with heard_on_three(tmp_path) as (client, primary, behind):
        former, before = primary(), client.primary
        client.admin.command({"replSetStepDown": 60, "secondaryCatchUpPeriodSecs": 10})
        until(lambda: client.primary not in (None, before), seconds=60)
        usual = behind("0000:a:1")
        with silent(former):
            after = behind("0000:a:2")
    record_property(
        "did", [f"heard after {usual:.2f} s of a stepdown, after {after:.2f} s with the former primary silent"]
    )
    assert usual < 1
    assert after < 1


@pytest.mark.slow
def test_purge_takes_a_second_while_the_old_primary_ends(tmp_path, record_property):
    """It hands over, and answers earlier requests for fifteen seconds more."""
    with heard_on_three(tmp_path) as (client, primary, behind):
        usual, before = behind("0000:a:1"), client.primary
        os.kill(primary(), signal.SIGTERM)
        until(lambda: client.primary not in (None, before), seconds=60)
        after = [behind(f"0000:a:{number}") for number in range(2, 12)]
    record_property("did", [f"heard after {usual:.2f} s, after {max(after):.2f} s at most while the primary ended"])
    assert usual < 1
    assert max(after) < 1


@pytest.mark.parametrize(
    "changes",
    [[one for one in CHANGES if one[0] == "comment"], pytest.param(CHANGES, marks=pytest.mark.slow)],
    ids=["few", "all"],
)
def test_only_outdated_pages_are_purged(mongo, changes):
    """By the keys of all changes: exactly the pages that a worker's page cache considers outdated."""
    world, client = World(), Client()
    with database().watch(PIPELINE, max_await_time_ms=200) as stream:
        for what, _scope, change in changes:
            for address in world.addresses():
                client.get(address)
            while stream.try_next():
                pass
            kept = dict(page_cache.storage.cache.entries)
            change(world.ids)
            keys: set[str] = set()
            while event := stream.try_next():
                keys |= purging.outdated_keys(event)
            old = {at for at, entry in kept.items() if not _holds(entry)}
            dropped = {at for at, one in kept.items() if keys & set(purging.page_keys(one.nodes, one.discussions))}
            assert bool(old) is (what != NOTHING), what
            assert dropped == old, what


def _holds(entry: page_cache.entries.Entry) -> bool:
    return entry.is_current(page_cache.entries.read_state(entry.nodes.own, entry.discussions))
