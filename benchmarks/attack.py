"""A flood of comments from many networks, beside readers: every acknowledged comment is stored, and readers stay fast."""

import json
import re
import socket
import statistics
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from benchmarks import busy_site, report, site

POSTERS = 20 if site.QUICK else 200
NETWORKS = 1_000 if site.QUICK else 10_000
# How many comments the posters send per second together, if the site answers fast enough.
RATE = 100 if site.QUICK else 500
SECONDS = 10 if site.QUICK else 60
# How many pages the reader requests per second.
PAGES_PER_SECOND = 50
WARM_UP_CONNECTIONS = 8
GOAL = 2.0
CSRF = "a" * 32
LENGTH = re.compile(rb"\r\nContent-Length: (\d+)", re.IGNORECASE)
COLUMNS = [
    "",
    "Pages",
    "p50, ms",
    "p99, ms",
    "p99 of unchanged pages, ms",
    "Comments acknowledged",
    "Refused",
    "Stored",
    "Queue, ms",
]
ABOUT = """{POSTERS} posters send comments from {NETWORKS:,} networks for {SECONDS} s, up to {RATE} comments per second in
total. At the same time, a reader requests {PAGES_PER_SECOND} pages per second from the page cache and from the pages with
the comments. A comment is *acknowledged* if the site has accepted it. *Refused* counts all other responses. *Stored* is
the number of new comments in the database. *Queue* is the median time to read the moderation queue. *Unchanged pages*
don't get new comments, so they needn't be rendered again. Both workers have cached all pages before the measurement. The
times include waiting for the page before. The reader's 99th percentile during the attack should be at most {GOAL:g}
times as long as before (measured: {ratio:.1f} times, and {unchanged_ratio:.1f} times for unchanged pages). During the
attack, the web server used {web:.2f} cores, MongoDB {mongod:.2f}, and the posters {posters:.2f}."""


def main() -> None:
    """Measure a reader alone and during the flood, and publish the results."""
    with site.temporary_site() as folder:
        import os

        os.environ["BEHIND_PROXY"] = "on"
        site.set_up(1_000)
        paths = busy_site.public_paths()[:500]
        report.publish("attack", [_table(folder, paths)])


def _table(folder: Path, paths: list[str]) -> report.Table:
    from benchmarks import web

    with web.serve("cms.wsgi:application", folder) as server:
        _warm_up(server.port, paths)
        quiet = _read(server.port, paths, SECONDS)
        before = _stored()
        attack = _start_attack(server.port, folder)
        cpu_before = server.cpu_seconds()
        queue: list[float] = []
        stopping = threading.Event()
        watcher = threading.Thread(target=_watch_queue, args=(stopping, queue))
        watcher.start()
        flooded = _read(server.port, paths, SECONDS)
        cpu = [(after - earlier) / SECONDS for after, earlier in zip(server.cpu_seconds(), cpu_before, strict=True)]
        acknowledged, refused, posters = json.loads(attack.communicate(timeout=60 + SECONDS)[0])
        stopping.set()
        watcher.join()
        stored = _stored() - before
    if stored != acknowledged:
        print(f"WRONG: {acknowledged} comments were acknowledged, but {stored} are stored.", flush=True)
    attacked = _attacked_paths()
    before_attack, during_attack = _percentiles(quiet, attacked), _percentiles(flooded, attacked)
    rows: list[list[object]] = [
        ["before", f"{len(quiet):,}", *(f"{value:.1f}" for value in before_attack), "", "", "", ""],
        [
            "during the attack",
            f"{len(flooded):,}",
            *(f"{value:.1f}" for value in during_attack),
            f"{acknowledged:,}",
            f"{refused:,}",
            f"{stored:,}",
            f"{1_000 * statistics.median(queue):.0f}",
        ],
    ]
    _median_ratio, ratio, unchanged_ratio = (
        during / quiet_time for during, quiet_time in zip(during_attack, before_attack, strict=True)
    )
    ratios = {"ratio": ratio, "unchanged_ratio": unchanged_ratio}
    about = ABOUT.format(**globals(), **ratios, web=cpu[0], mongod=cpu[1], posters=posters)
    return report.Table("An attack with comments", about, COLUMNS, rows)


def _warm_up(port: int, paths: list[str]) -> None:
    """Request each page on several connections, so that all workers have cached it. Long pages aren't shared by workers.

    A connection always leads to the same worker.
    """
    for _number in range(WARM_UP_CONNECTIONS):
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        for path in paths:
            connection.request("GET", path)
            connection.getresponse().read()
        connection.close()


def _stored() -> int:
    from marginalia.comments import conf
    from marginalia.mongo.connection import database

    comments = database(conf.database_alias())
    return sum(comments[name].count_documents({}) for name in ("comments", "comments.pending"))


def _watch_queue(stopping: threading.Event, times: list[float]) -> None:
    from marginalia.comments.moderation import pending

    while not stopping.wait(0.5):
        started = time.perf_counter()
        pending.cases(pending.available_to("1", 25))
        times.append(time.perf_counter() - started)


def _read(port: int, paths: list[str], seconds: float) -> list[tuple[str, float]]:
    """Request pages at a steady pace, and return their paths and the times of the responses in milliseconds.

    A page that is requested late because the page before it took too long counts from the time when it was due.
    """
    times = []
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    start = time.perf_counter()
    for number in range(int(seconds * PAGES_PER_SECOND)):
        due = start + number / PAGES_PER_SECOND
        time.sleep(max(0, due - time.perf_counter()))
        path = paths[number % len(paths)]
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        if response.status >= 400:
            raise RuntimeError(f"{path}: {response.status}")
        times.append((path, 1_000 * (time.perf_counter() - due)))
    connection.close()
    return times


def _percentiles(times: list[tuple[str, float]], attacked: set[str]) -> tuple[float, float, float]:
    """Return the median and the 99th percentile of all pages, and the 99th percentile of pages without new comments."""
    every = [time for _path, time in times]
    unchanged = [time for path, time in times if path not in attacked]
    return _percentile(every, 50), _percentile(every, 99), _percentile(unchanged, 99)


def _percentile(values: list[float], percent: int) -> float:
    return sorted(values)[int(len(values) * percent / 100)]


def _attacked_posts() -> list[Any]:
    return list(busy_site.ranked_posts()[0][:50])


def _attacked_paths() -> set[str]:
    from marginalia.mongo.clock import now
    from nodes.selectors import stored_nodes

    return {node.get_absolute_url() for node in stored_nodes.whole_by_ids(_attacked_posts(), now())}


def _start_attack(port: int, folder: Path) -> "subprocess.Popen[bytes]":
    from marginalia.comments.posting.tokens import FormToken
    from marginalia.comments.types import Target

    posts = _attacked_posts()
    bodies = []
    for number in range(RATE * SECONDS):
        token = FormToken.new(Target("nodes.node", str(posts[number % len(posts)])))
        values = {"token": FormToken(token.discussion, "", token.nonce, token.begun - 60).signed()}
        values |= {"name": f"Visitor {number}", "text": f"Cheap watches, offer {number}", "csrfmiddlewaretoken": CSRF}
        bodies.append(urlencode(values | {"email": "", "homepage": ""}))
    file = folder / "bodies.json"
    file.write_text(json.dumps(bodies))
    return subprocess.Popen([sys.executable, "-m", "benchmarks.attack", str(port), str(file)], stdout=subprocess.PIPE)


def attack(port: int, bodies: list[str]) -> tuple[int, int, float]:
    """Send the comments at RATE. Return how many were acknowledged, how many were not, and how many cores this used.

    The posters share the cores with the site, so they use sockets, which need much less CPU time than http.client.
    """
    counts = [0, 0]
    lock = threading.Lock()
    requests = [_request(number, body) for number, body in enumerate(bodies)]
    waiting = iter(enumerate(requests))
    start, cpu_start = time.perf_counter(), time.process_time()

    def post() -> None:
        connection: socket.socket | None = None
        while True:
            with lock:
                number, request = next(waiting, (0, b""))
            due = start + number / RATE
            if not request or due > start + SECONDS or time.perf_counter() > start + SECONDS:
                return
            time.sleep(max(0, due - time.perf_counter()))
            try:
                connection = connection or socket.create_connection(("127.0.0.1", port), timeout=60)
                connection.sendall(request)
                accepted = _status(connection) == 302
            except (TimeoutError, OSError):
                connection, accepted = None, False
            with lock:
                counts[0 if accepted else 1] += 1

    threads = [threading.Thread(target=post) for _ in range(POSTERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts[0], counts[1], (time.process_time() - cpu_start) / SECONDS


def _request(number: int, body: str) -> bytes:
    network = number % NETWORKS
    return (
        "POST /comments/post HTTP/1.1\r\n"
        "Host: 127.0.0.1\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n"
        f"Cookie: csrftoken={CSRF}\r\n"
        f"X-Forwarded-For: 10.{network // 256}.{network % 256}.7\r\n"
        f"\r\n{body}"
    ).encode()


def _status(connection: socket.socket) -> int:
    """Read a response to its end, and return its status. If the server closes the connection too early, raise OSError."""
    response = b""
    while True:
        if not (part := connection.recv(65_536)):
            raise ConnectionError("The server closed the connection.")
        response += part
        head, end, body = response.partition(b"\r\n\r\n")
        if end:
            length = LENGTH.search(head)
            if length is None:
                raise ConnectionError("The response has no Content-Length.")
            if len(body) >= int(length[1]):
                return int(head[9:12])


if __name__ == "__main__":
    print(json.dumps(attack(int(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()))))
