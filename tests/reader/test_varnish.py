"""The site behind Varnish: no reader misses an acknowledged or due change for more than a second."""

import multiprocessing
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.conf import settings as site_settings
from django.db import connection

from cms.testing.build import node, nonce, save
from marginalia.comments.posting import services as comments
from marginalia.comments.types import CommentAuthor
from marginalia.mongo.clock import now
from nodes.models import Node
from tests.cms.serving import readers
from tests.docs.pages import started_by
from tests.support.processes import ROOT, until
from tests.support.running import Service
from tests.support.varnish import Varnish, varnish

pytestmark = pytest.mark.slow
SECONDS, RATE, PROCESSES = 20, 1_200, 2
# A comment at each turn, a save at every tenth.
TURN = 0.2


@pytest.fixture
def running(mongo, tmp_path) -> Iterator[tuple[Varnish, list[subprocess.Popen[bytes]]]]:
    """Varnish with a site behind it, and the two workers that purge it."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        port = listening.getsockname()[1]
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "WEB_CONCURRENCY": "1",
            "VAR_DIR": str(tmp_path),
            "TEST_MONGODB_NAME": connection.settings_dict["NAME"],
            "SECRET_KEY": site_settings.SECRET_KEY,
            "CDN_PURGE_URLS": "http://127.0.0.1:9",
            "LOG_LEVEL": "WARNING",
        }
        site = Service([sys.executable, *started_by("marginalia@.service")[1:]], listening, tmp_path, environment)
        try:
            site.start()
            with varnish(port) as found:
                environment["CDN_PURGE_URLS"] = found.purge_url
                command = [sys.executable, *started_by("marginalia-work.service")[1:]]
                with (tmp_path / "work.log").open("wb") as log:
                    told = {"cwd": ROOT, "env": environment, "stdout": log, "stderr": log}
                    workers = [subprocess.Popen(command, **told) for _ in range(2)]
                try:
                    until(lambda: mongo["cms.purges"].find_one({"_id": found.purge_url}), seconds=60)
                    yield found, workers
                finally:
                    ended(workers)
        finally:
            site.stop()
    log = (tmp_path / "service.log").read_text() + (tmp_path / "work.log").read_text()
    assert "Traceback" not in log, log


def ended(workers: list[subprocess.Popen[bytes]]) -> None:
    for worker in workers:
        worker.terminate()
        worker.wait(30)


@pytest.fixture
def cache(running) -> Varnish:
    return running[0]


@pytest.fixture
def post(mongo):
    blog = node("blog", "blog")
    return node("blog-entry", "post", parent=blog, title="saved-0-", **{"detail.comments": "open"})


def raced(post, cache: Varnish, seconds: float) -> tuple[float, float, int, float]:
    """Comment and save while readers read.

    Return pages, how many of them came from Varnish, comments, and the maximum seconds that a page was behind.
    """
    context = multiprocessing.get_context("spawn")
    acknowledged = tuple(context.Array("d", [0.0] * 10_000, lock=False) for _ in range(2))
    saves, said = acknowledged
    found = context.Array("d", [0.0] * 3)
    arguments = (cache.port, RATE / PROCESSES, seconds, acknowledged, found)
    processes = [context.Process(target=readers.read, args=arguments) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    target, seen, number, pace = Node.objects.get(pk=post), nonce(post), 0, threading.Event()
    while any(process.is_alive() for process in processes):
        number += 1
        token = "".join("abcdefghijklmnopqrstuvwxyz234567"[(number >> (5 * place)) & 31] for place in range(16))
        comments.post(target, author=CommentAuthor("Bea"), source=f"said-{number}-", token=token)
        said[number] = time.monotonic()
        if number % 10 == 0:
            seen = save(post, seen, title=f"saved-{number // 10}-").nonce
            saves[number // 10] = time.monotonic()
        pace.wait(TURN)
    assert not any(process.exitcode for process in processes)
    pages, hits, behind = found
    return pages, hits, number, behind


def test_no_reader_sees_a_page_stale_for_over_a_second(mongo, post, running, record_property):
    """One of two workers is killed meanwhile."""
    cache, workers = running
    killing = threading.Timer(SECONDS / 2, workers[0].kill)
    killing.start()
    pages, hits, number, behind = raced(post, cache, SECONDS)
    killing.join()
    did = f"{pages / SECONDS:.0f} pages a second, {hits / pages:.3f} from Varnish, {number} comments, {number // 10} saves"
    record_property("did", [f"{did}; at most {behind:.2f} s behind"])
    assert pages > 200 * SECONDS
    assert hits > pages / 2
    assert number > 2 * SECONDS
    assert behind < 1


def test_pages_are_stale_for_longer_without_a_worker(mongo, post, running):
    cache, workers = running
    ended(workers)
    assert raced(post, cache, 5)[-1] > 1


def test_due_pages_appear_and_vanish_within_a_second(mongo, post, cache):
    """Without a purge by the worker."""
    at = now() + timedelta(seconds=3)
    blog = Node.objects.get(pk=post).metadata.parent_id
    node("blog-entry", "coming", parent=blog, title="Coming", published=at)
    save(post, nonce(post), title="Going", expires=at)

    def shown() -> tuple[bool, bool]:
        _status, _headers, body = cache.ask("/blog")
        return b"Coming" in body, b"Going" in body

    until(lambda: shown() == (False, True))
    while (moment := now()) < at + timedelta(seconds=2):
        found = shown()
        if moment < at - timedelta(seconds=0.1):
            assert found == (False, True)
        elif moment > at + timedelta(seconds=1):
            assert found == (True, False)
