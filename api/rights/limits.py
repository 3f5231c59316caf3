"""Rate limits, which count every request made with a token, and every other request that can change something.

A large request counts more than once: a bulk request counts once per change, and a long body counts several times. Safe
requests from visitors aren't counted, so that reading causes no database writes.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from api.problems import RETRY_AFTER, Problem
from marginalia.comments.posting import ip_hash
from marginalia.mongo import rate_limit
from marginalia.mongo.rate_limit import RateLimitResult

WINDOW_SECONDS = 60
# A request counts as one more change for each BYTES_PER_WRITE bytes in its JSON body, because longer text takes more
# time to render and compare.
BYTES_PER_WRITE = 20_000
JSON_TYPES = frozenset({"application/json", "application/merge-patch+json"})


@dataclass(frozen=True)
class CountedRequest:
    """A counted request: its key, how many requests it counts as, the limit, and the result of counting."""

    key: str
    cost: int
    limit: int
    result: RateLimitResult


def count(request: HttpRequest, who: str, *, is_reading: bool) -> None:
    """Count a request for the client `who`.

    Raises:
        Problem: 429 if the request exceeds the limit.
    """
    kind = "READS" if is_reading else "WRITES"
    limit = settings.API[f"{kind}_PER_MINUTE"]
    cost = 1 if is_reading else 1 + _length(request) // BYTES_PER_WRITE
    # A single request that exceeds the limit on its own is accepted, but uses up the limit for a whole minute.
    _count(request, f"api:{kind.lower()}:{who}", min(cost, limit), limit)


def count_changes(request: HttpRequest, number: int) -> None:
    """Count the changes that a request makes after the first one, which has already been counted.

    Raises:
        Problem: 429 if the changes exceed the limit.
    """
    counted_request: CountedRequest = request.api_counted
    cost = min(number - 1, counted_request.limit - counted_request.cost)
    if cost > 0:
        _count(request, counted_request.key, cost, counted_request.limit)


def _count(request: HttpRequest, key: str, cost: int, limit: int) -> None:
    counted = rate_limit.count(key, limit=limit, seconds=WINDOW_SECONDS, token=secrets.token_hex(8), cost=cost)
    request.api_counted = CountedRequest(key, cost, limit, counted)
    if not counted.allowed:
        raise Problem("too-many-requests", headers={"Retry-After": str(counted.reset_seconds)})


def _length(request: HttpRequest) -> int:
    """Return the number of JSON bytes in a request. Return 0 for photos, which have their own limits."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isdecimal() and request.content_type in JSON_TYPES else 0


@contextmanager
def exclusive(operation: str) -> Iterator[None]:
    """Prevent other processes and threads from running the same operation during the `with` block.

    The lock expires after a minute, even if the block is still running or its process has died.

    Raises:
        Problem: 429 if the operation is already running.
    """
    key = f"api:alone:{operation}"
    token = secrets.token_hex(8)
    if not rate_limit.allow(key, limit=1, seconds=WINDOW_SECONDS, token=token):
        message = (
            "Another request of this kind is in progress. Wait until it has finished, then send this request again."
        )
        raise Problem("too-many-requests", message, headers={"Retry-After": str(RETRY_AFTER)})
    try:
        yield
    finally:
        rate_limit.refund(key, token=token)


def visitor_key(request: HttpRequest) -> str:
    """Return the key under which a visitor's requests are counted: a keyed hash of the visitor's network."""
    return f"network:{ip_hash.key(request)}"


def add_headers(request: HttpRequest, response: HttpResponse) -> None:
    """Add the RateLimit headers (Limit, Remaining, and Reset in seconds) to the response of a counted request."""
    counted_request: CountedRequest | None = getattr(request, "api_counted", None)
    if counted_request:
        headers = (
            ("Limit", counted_request.limit),
            ("Remaining", counted_request.result.remaining),
            ("Reset", counted_request.result.reset_seconds),
        )
        for name, value in headers:
            response[f"RateLimit-{name}"] = str(value)
