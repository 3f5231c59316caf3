"""How often who may ask: what is counted is a token's requests, and every request that may change something.

A request that changes much is counted as several: for each change of a bulk, and for the bytes of its body. A visitor who reads
is not counted, so that no reader costs a write.
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

SECONDS = 60
# Bytes of JSON that count as one more change: longer texts take longer to render and to compare.
BYTES_A_WRITE = 20_000
JSON_TYPES = frozenset({"application/json", "application/merge-patch+json"})


@dataclass(frozen=True)
class Asked:
    """A counted request: its key, how many it counts as, the limit, and the result."""

    key: str
    cost: int
    limit: int
    counted: RateLimitResult


def count(request: HttpRequest, who: str, *, is_reading: bool) -> None:
    """Count a request under `who`. Raises Problem (429) when it is one too many."""
    kind = "READS" if is_reading else "WRITES"
    limit = settings.API[f"{kind}_PER_MINUTE"]
    cost = 1 if is_reading else 1 + _length(request) // BYTES_A_WRITE
    # A request that costs more than a minute allows uses up a whole minute.
    _count(request, f"api:{kind.lower()}:{who}", min(cost, limit), limit)


def count_changes(request: HttpRequest, number: int) -> None:
    """Count the changes that a counted request makes beyond its first. Raises Problem (429) when they are too many."""
    asked: Asked = request.api_counted
    cost = min(number - 1, asked.limit - asked.cost)
    if cost > 0:
        _count(request, asked.key, cost, asked.limit)


def _count(request: HttpRequest, key: str, cost: int, limit: int) -> None:
    counted = rate_limit.count(key, limit=limit, seconds=SECONDS, token=secrets.token_hex(8), cost=cost)
    request.api_counted = Asked(key, cost, limit, counted)
    if not counted.allowed:
        raise Problem("too-many-requests", headers={"Retry-After": str(counted.reset_seconds)})


def _length(request: HttpRequest) -> int:
    """Return how many bytes of JSON a request has; pictures have limits of their own."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isdecimal() and request.content_type in JSON_TYPES else 0


@contextmanager
def alone(what: str) -> Iterator[None]:
    """Keep other processes and threads from doing `what` in the block. Raises Problem (429) if one is doing it.

    The lock ends after a minute, even if the block takes longer or its process dies.
    """
    key = f"api:alone:{what}"
    token = secrets.token_hex(8)
    if not rate_limit.allow(key, limit=1, seconds=SECONDS, token=token):
        told = "Another request like this one is under way. Send this one when that has ended."
        raise Problem("too-many-requests", told, headers={"Retry-After": str(RETRY_AFTER)})
    try:
        yield
    finally:
        rate_limit.refund(key, token=token)


def network(request: HttpRequest) -> str:
    """Return what a visitor is counted under: a keyed hash of the network, from which nothing can be read."""
    return f"network:{ip_hash.key(request)}"


def tell(request: HttpRequest, response: HttpResponse) -> None:
    """Say in an answer how often who asked may ask again: RateLimit-Limit, -Remaining and -Reset, in seconds."""
    asked: Asked | None = getattr(request, "api_counted", None)
    if asked:
        told = (("Limit", asked.limit), ("Remaining", asked.counted.remaining), ("Reset", asked.counted.reset_seconds))
        for name, value in told:
            response[f"RateLimit-{name}"] = str(value)
