"""Readers behind a cache, in their own process, that measure how far their pages are behind acknowledged writes."""

import gzip
import re
import socket
import threading
import time
from typing import Any, BinaryIO

CONNECTIONS = 4
# A page contains the number of the last save and of the last comment. The list contains only saves.
SAVED, SAID = re.compile(rb"saved-(\d+)-"), re.compile(rb"said-(\d+)-")


def read(port: int, rate: float, seconds: float, acknowledged: tuple[Any, Any], found: Any) -> None:
    """Request `rate` pages a second. `acknowledged` contains the times (monotonic) of saves and comments by number, or 0.

    Adds to `found`: the pages, those from the cache, and the maximum seconds that a page was behind.
    """
    end = time.monotonic() + seconds
    results: list[tuple[int, int, float]] = []

    def work(number: int) -> None:
        path = "/blog" if number == 0 else "/blog/post?comments=newest"
        results.append(_read(port, path, rate / CONNECTIONS, end, acknowledged))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == CONNECTIONS, "a reader failed"
    with found.get_lock():
        for pages, hits, oldest in results:
            found[0] += pages
            found[1] += hits
            found[2] = max(found[2], oldest)


def _read(port: int, path: str, rate: float, end: float, acknowledged: tuple[Any, Any]) -> tuple[int, int, float]:
    pages, hits, oldest = 0, 0, 0.0
    asked = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n".encode()
    pace, first = threading.Event(), time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = connection.makefile("rb")
        while (began := time.monotonic()) < end:
            connection.sendall(asked)
            status, headers = stream.readline(), {}
            while (line := stream.readline().strip()) != b"":
                name, _, value = line.partition(b":")
                headers[name.lower()] = value.strip()
            body = gzip.decompress(_body(stream, headers))
            assert status.startswith(b"HTTP/1.1 200"), status
            pages += 1
            # Also the number of the request that rendered the page.
            hits += b" " in headers[b"x-varnish"]
            for pattern, times in zip((SAVED, SAID), acknowledged, strict=True):
                if path != "/blog" or pattern is SAVED:
                    seen = max(map(int, pattern.findall(body)), default=0)
                    if 0 < times[seen + 1] < began:
                        oldest = max(oldest, began - times[seen + 1])
            pace.wait(max(0.0, first + pages / rate - time.monotonic()))
    return pages, hits, oldest


def _body(stream: BinaryIO, headers: dict[bytes, bytes]) -> bytes:
    if b"content-length" in headers:
        return stream.read(int(headers[b"content-length"]))
    # For a page that Varnish is still fetching.
    parts = []
    while size := int(stream.readline(), 16):
        parts.append(stream.read(size))
        stream.readline()
    stream.readline()
    return b"".join(parts)
