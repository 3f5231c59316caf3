"""Worker processes count together: each reports the counts of all, including killed ones."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from cms.testing.build import node
from tests.support.processes import ROOT, until
from tests.support.running import served
from tests.support.scraping import Scraped

# Increments a counter, prints its process id, and waits for a command.
PROCESS = """
import sys
from cms.requests.metrics import multiprocess
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
Counter("marginalia_refused", "Grows.", registry=multiprocess.REGISTRY).inc()
Gauge("marginalia_waiting", "At the moment.", multiprocess_mode="livesum", registry=multiprocess.REGISTRY).inc()
print(multiprocess.process_number(), flush=True)
sys.stdin.readline()
registry = CollectorRegistry()
registry.register(multiprocess.AllProcessesCollector())
print(generate_latest(registry).decode(), flush=True)
"""


@pytest.fixture
def start(tmp_path):
    """Start a process that counts, and return it with its process id."""
    running = []

    def start():
        environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "metrics"), "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            [sys.executable, "-c", PROCESS], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        running.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in running:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def test_counts_add_up_and_survive_their_process(start, tmp_path):
    (first, number), (second, other) = start(), start()
    assert (number, other) == ("0", "1")
    first.send_signal(signal.SIGKILL)
    first.wait()
    # Gauges of an ended process vanish, counters stay.
    said = Scraped(second.communicate("now\n")[0])
    assert (said("refused_total"), said("waiting")) == (2, 1)
    third, taken = start()
    assert taken == "0"
    said = Scraped(third.communicate("now\n")[0])
    assert (said("refused_total"), said("waiting")) == (3, 1)
    assert len(list((tmp_path / "metrics").glob("counter_*.db"))) == 2


@pytest.mark.slow
def test_any_worker_reports_the_metrics_of_all(mongo, tmp_path):
    node()
    with served(tmp_path, WEB_CONCURRENCY="2", METRICS_NETWORKS="127.0.0.0/8") as web:

        def scraped() -> Scraped:
            status, _headers, body = web.get("/metrics")
            assert status == 200
            return Scraped(body.decode())

        def workers() -> set[int]:
            return {child.pid for child in psutil.Process(web.process.pid).children()}

        before = scraped()("request_seconds_count")
        until(lambda: len(workers()) == 2)
        for _ in range(20):
            assert web.get("/page")[0] == 200
        assert {scraped()("request_seconds_count") - before for _ in range(10)} == {20}
        ended = min(workers())
        os.kill(ended, signal.SIGKILL)
        until(lambda: len(workers() - {ended}) == 2 and web.is_up())
        until(lambda: {scraped()("request_seconds_count") - before for _ in range(5)} == {20})
