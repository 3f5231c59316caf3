"""Network addresses: whose a request is, and the key under which it is counted.

What is kept is never the address itself but a keyed hash of its network, apart from the comments, for 30 days (by a TTL).
"""

import ipaddress

from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from marginalia.comments import conf
from marginalia.comments.backends import backend
from marginalia.comments.types import Target

# What is left of an address before it is hashed: a household, not a device.
KEPT_BITS = {4: 24, 6: 48}


def remote(request: HttpRequest) -> str:
    """Return who connected: the stock COMMENTS["ADDRESS"]."""
    return str(request.META.get("REMOTE_ADDR", ""))


def forwarded(request: HttpRequest) -> str:
    """Return whom the nearest proxy says it speaks for: for sites behind one that sets X-Forwarded-For itself."""
    return str(request.META.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip() or remote(request)


def key(request: HttpRequest) -> str:
    """Return a keyed hash of the request's truncated address; without the site's secret nothing can be read from it."""
    address = conf.imported("ADDRESS")(request)
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        network = "unknown"
    else:
        if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:
            parsed = parsed.ipv4_mapped
        network = str(ipaddress.ip_network((parsed, KEPT_BITS[parsed.version]), strict=False))
    return salted_hmac("comments.ip_hashes", network, algorithm="sha256").hexdigest()[:32]


def note(target: Target, slug: str, ip_hash: str) -> None:
    """Keep from where a comment was first sent, for 30 days; `ip_hash` is a `key`."""
    backend().ip_hashes.note(target, slug, ip_hash)


def of_comment(target: Target, slug: str) -> str:
    """Return the ip hash that a comment was sent under, "" where it is not kept (any more)."""
    return backend().ip_hashes.of(target, slug)


def erase(target: Target, slug: str) -> int:
    """Forget from where a comment was sent; return how many records went."""
    return backend().ip_hashes.erase(target, slug)
