"""Readers in a process of their own: they ask for addresses over kept connections, as fast as they are answered."""

import json
import random
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate

# Addresses that a connection draws before it begins, again and again in this order.
DRAWN = 50_000


@dataclass(frozen=True)
class Readings:
    """What the readers found: pages, seconds, milliseconds that half of the pages and 99 % took at most, and the processor's
    milliseconds that one cost the readers themselves."""

    pages: int
    seconds: float
    p50: float
    p99: float
    own: float

    @property
    def rate(self) -> float:
        """Pages a second."""
        return self.pages / self.seconds

    def waits(self) -> tuple[str, str]:
        """Return p50 and p99, as tables say them."""
        return f"{self.p50:.1f}", f"{self.p99:.1f}"


def read(port: int, paths: Sequence[str], seconds: float, connections: int) -> Readings:
    """Ask for addresses by Zipf's law, the first the most often, for so long. Raises RuntimeError where no page is answered."""
    weights = list(accumulate(1 / rank for rank in range(1, len(paths) + 1)))
    times: list[list[float]] = [[] for _ in range(connections)]
    wrong: list[str] = []

    def work(number: int) -> None:
        drawn = random.Random(number).choices(paths, cum_weights=weights, k=DRAWN)
        try:
            _ask(port, drawn, begun + seconds, times[number])
        except Exception as error:  # noqa: BLE001 - told once all have ended
            wrong.append(repr(error))

    begun = time.perf_counter()
    before = time.process_time()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise RuntimeError(wrong[0])
    spent = time.process_time() - before
    took = time.perf_counter() - begun
    every = sorted(one for some in times for one in some)
    p50, p99 = (every[int(len(every) * part)] * 1_000 for part in (0.5, 0.99))
    return Readings(len(every), took, p50, p99, spent * 1_000 / len(every))


def _ask(port: int, paths: Sequence[str], end: float, times: list[float]) -> None:
    stream = None
    turn = 0
    while (began := time.perf_counter()) < end:
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
        times.append(time.perf_counter() - began)


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    print(json.dumps(asdict(read(**asked))))
