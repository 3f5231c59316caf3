"""Readers in a separate process. They request paths over persistent connections as fast as the server responds."""

import json
import random
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate

# Number of paths that each connection chooses before it starts. The connection repeats them in this order.
DRAWS = 50_000


@dataclass(frozen=True)
class Readings:
    """Results of readers: pages, seconds, latencies in milliseconds, and the readers' own CPU milliseconds per page."""

    pages: int
    seconds: float
    p50: float
    p99: float
    client_ms: float

    @property
    def rate(self) -> float:
        """Return the number of pages per second."""
        return self.pages / self.seconds

    def format_latencies(self) -> tuple[str, str]:
        """Return p50 and p99 as text for a table."""
        return f"{self.p50:.1f}", f"{self.p99:.1f}"


def run_readers(port: int, paths: Sequence[str], seconds: float, connections: int) -> Readings:
    """Request paths for some seconds according to Zipf's law, so that the first path is requested most often.

    Args:
        port: The port of the server.
        paths: The paths, most popular first.
        seconds: How long the readers run.
        connections: The number of connections, each with its own thread.

    Raises:
        RuntimeError: A request failed, or its status isn't 2xx or 3xx.
    """
    weights = list(accumulate(1 / rank for rank in range(1, len(paths) + 1)))
    times: list[list[float]] = [[] for _ in range(connections)]
    errors: list[str] = []

    def work(number: int) -> None:
        chosen = random.Random(number).choices(paths, cum_weights=weights, k=DRAWS)
        try:
            _request_pages(port, chosen, start + seconds, times[number])
        except Exception as error:  # noqa: BLE001 - raised once all threads have ended
            errors.append(repr(error))

    start = time.perf_counter()
    before = time.process_time()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise RuntimeError(errors[0])
    cpu_seconds = time.process_time() - before
    elapsed = time.perf_counter() - start
    latencies = sorted(latency for connection_times in times for latency in connection_times)
    p50, p99 = (latencies[int(len(latencies) * share)] * 1_000 for share in (0.5, 0.99))
    return Readings(len(latencies), elapsed, p50, p99, cpu_seconds * 1_000 / len(latencies))


def _request_pages(port: int, paths: Sequence[str], end: float, times: list[float]) -> None:
    stream = None
    turn = 0
    while (started := time.perf_counter()) < end:
        path = paths[turn % len(paths)]
        turn += 1
        if stream is None:
            connection = socket.create_connection(("127.0.0.1", port), timeout=60)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream = connection.makefile("rwb")
        stream.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        stream.flush()
        status = stream.readline()
        length = -1
        is_last = False
        chunked = False
        while (line := stream.readline().lower()).strip():
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
            is_last = is_last or line.startswith(b"connection: close")
            chunked = chunked or line.startswith(b"transfer-encoding: chunked")
        if status[9:10] not in (b"2", b"3"):
            raise RuntimeError(f"{path}: {status!r}")
        while chunked and (length := int(stream.readline(), 16)):
            stream.read(length + 2)
        stream.read(length if not chunked else 2)
        if is_last or length < 0:
            stream = None
        times.append(time.perf_counter() - started)


if __name__ == "__main__":
    options = json.load(sys.stdin)
    print(json.dumps(asdict(run_readers(**options))))
