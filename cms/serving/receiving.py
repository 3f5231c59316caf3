"""How waitress takes in requests here: within deadlines, bounds and a share of memory and disk.

Connections cost a thread only once their request is here, so what has to be bounded is how many there are, for how long, and
how much of them lies about. What is over a bound takes from the one that has been sending for longest.
"""

import copy
import time
from collections.abc import Iterable
from typing import Any

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.task import WSGITask

from cms.serving import draining

# The addresses that take pictures; everywhere else bodies are forms.
UPLOADS = ("/admin/nodes/photo/", "/api/v1/photos")
FORM_BYTES = 16 * 1024 * 1024
HEADER_BYTES = 32 * 1024
# Of a body, in memory; the rest is in a temporary file.
MEMORY_BYTES = 64 * 1024
# Of all bodies that are not complete, in one process.
UNFINISHED_BYTES = 2 * 1024 * 1024 * 1024
# In one process: with a temporary file for each, fewer than the usual 1,024 open files.
CONNECTIONS = 400

HEADER_SECONDS = 10.0
BODY_SECONDS = 30.0
LEAST_BYTES_A_SECOND = 2_000  # after BODY_SECONDS
IDLE_SECONDS = 10.0  # between two requests
STALLED_SECONDS = 60.0  # of a reader who takes nothing of an answer


class Parser(HTTPRequestParser):
    """A request that arrives."""

    adj: Adjustments

    def __init__(self, adj: Adjustments) -> None:
        super().__init__(adj)
        self.began = time.monotonic()

    def parse_header(self, header_plus: bytes) -> None:
        """Read the header. Raises ParsingError where it cannot be read, or two servers could see two different bodies."""
        try:
            super().parse_header(header_plus)
        except ValueError as error:  # an address or a length that Python's own parsers refuse
            raise ParsingError("Header is invalid") from error
        if self.chunked and "CONTENT_LENGTH" in self.headers:
            raise ParsingError("Both Content-Length and Transfer-Encoding")
        if self.body_rcv is not None and not self.path.startswith(UPLOADS):
            self.adj = copy.copy(self.adj)
            self.adj.max_request_body_size = FORM_BYTES

    def is_overdue(self, now: float) -> bool:
        """Return whether the request should be here by now, or more of it."""
        if not self.headers_finished:
            return now - self.began > HEADER_SECONDS
        return bool(now - self.began > BODY_SECONDS + self.body_bytes_received / LEAST_BYTES_A_SECOND)


class Task(WSGITask):
    """The answer to a request: the last one of its connection where the process was about to end when it came."""

    def __init__(self, channel: "Channel", request: Parser) -> None:
        super().__init__(channel, request)
        if draining.has_begun():
            self.request.headers["CONNECTION"] = "close"


class Channel(HTTPChannel):
    """A connection."""

    parser_class = Parser
    task_class = Task

    @property
    def is_idle(self) -> bool:
        """Whether nothing is received, answered or sent."""
        return self.request is None and not self.requests and not self.total_outbufs_len

    @property
    def is_unfinished(self) -> bool:
        """Whether all it holds is the beginning of a request, or nothing."""
        return not self.requests and not self.total_outbufs_len

    def is_overdue(self, now: float) -> bool:
        """Return whether the other end has been silent, or slow, for too long, at a time of the clock time.monotonic()."""
        if self.is_unfinished and self.request is not None:
            return bool(self.request.is_overdue(now))
        if self.requests and not self.total_outbufs_len:
            return False  # the site is at work
        most = STALLED_SECONDS if self.total_outbufs_len else IDLE_SECONDS
        # waitress notes it by the clock of time.time().
        return bool(time.time() - self.last_activity + (now - time.monotonic()) > most)

    @property
    def began(self) -> float:
        """When the other end began to keep us waiting, by the clock of time.monotonic()."""
        return float(self.request.began) if self.request else 0.0

    @property
    def received_bytes(self) -> int:
        """Of a body that is not complete."""
        return int(self.request.body_bytes_received) if self.request else 0


def tend(channels: Iterable[Channel]) -> None:
    """Close overdue connections; then, where there are too many or hold too much, those that wait for longest."""
    now = time.monotonic()
    kept = []
    for channel in channels:
        if channel.is_overdue(now):
            channel.handle_close()
        else:
            kept.append(channel)
    waiting = sorted((one for one in kept if one.is_unfinished), key=lambda one: one.began)
    number, size = len(kept), sum(one.received_bytes for one in waiting)
    for channel in waiting:
        if number < CONNECTIONS and size <= UNFINISHED_BYTES:
            break
        number, size = number - 1, size - channel.received_bytes
        channel.handle_close()


def options(largest: int) -> dict[str, Any]:
    """Return what waitress is told, for pictures of so many bytes."""
    return {
        "ident": "",
        "recv_bytes": 65_536,
        "max_request_header_size": HEADER_BYTES,
        "max_request_body_size": largest + FORM_BYTES,
        "inbuf_overflow": MEMORY_BYTES,
        # Of an answer: what is more waits in its thread for a reader who is slow.
        "outbuf_high_watermark": 32 * 1024 * 1024,
        # Django reads what a proxy says where BEHIND_PROXY says that there is one.
        "clear_untrusted_proxy_headers": False,
        # tend() sees to both.
        "connection_limit": 2**31,
        "channel_timeout": 2**31,
    }
