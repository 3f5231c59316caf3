"""How often who may ask: what is counted is a token's requests, and every request that may change something.

A visitor who reads is not counted, so that no reader costs a write.
"""

import secrets

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from api.problems import Problem
from comments.posting import ip_hash
from mongo import rate_limit
from mongo.rate_limit import Counted

SECONDS = 60


def count(request: HttpRequest, who: str, *, is_reading: bool) -> None:
    """Count a request under `who`. Raises Problem (429) when it is one too many."""
    kind = "READS" if is_reading else "WRITES"
    limit = settings.API[f"{kind}_PER_MINUTE"]
    key, token = f"api:{kind.lower()}:{who}", secrets.token_hex(8)
    counted = rate_limit.count(key, limit=limit, seconds=SECONDS, token=token)
    request.api_counted = limit, counted
    if not counted.passed:
        raise Problem("too-many-requests", headers={"Retry-After": str(counted.seconds)})


def network(request: HttpRequest) -> str:
    """Return what a visitor is counted under: a keyed hash of the network, from which nothing can be read."""
    return f"network:{ip_hash.key(request)}"


def tell(request: HttpRequest, response: HttpResponse) -> None:
    """Say in an answer how often who asked may ask again: RateLimit-Limit, -Remaining and -Reset, in seconds."""
    told: tuple[int, Counted] | None = getattr(request, "api_counted", None)
    if told:
        limit, counted = told
        for name, value in (("Limit", limit), ("Remaining", counted.left), ("Reset", counted.seconds)):
            response[f"RateLimit-{name}"] = str(value)
