"""Network addresses: the address of a request, and the key under which its comments are counted.

The address itself is never stored. A keyed hash of its network is stored apart from the comments for 30 days (by a
TTL index).
"""

import ipaddress

from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from marginalia.comments import conf
from marginalia.comments.backends import backend
from marginalia.comments.types import Target

# The prefix of an address that is hashed. It identifies a household, not a device.
PREFIX_BITS = {4: 24, 6: 48}


def remote(request: HttpRequest) -> str:
    """Return the address of the connection: the default of COMMENTS["ADDRESS"]."""
    return str(request.META.get("REMOTE_ADDR", ""))


def forwarded(request: HttpRequest) -> str:
    """Return the address that the nearest proxy reports.

    Use this only behind a proxy that sets X-Forwarded-For itself.
    """
    return str(request.META.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip() or remote(request)


def key(request: HttpRequest) -> str:
    """Return a keyed hash of the truncated address of the request. It reveals nothing without the site's secret key."""
    address = conf.load("ADDRESS")(request)
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        network = "unknown"
    else:
        if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:
            parsed = parsed.ipv4_mapped
        network = str(ipaddress.ip_network((parsed, PREFIX_BITS[parsed.version]), strict=False))
    return salted_hmac("comments.ip_hashes", network, algorithm="sha256").hexdigest()[:32]


def record(target: Target, slug: str, ip_hash: str) -> None:
    """Store the network from which a comment was first sent, for 30 days. `ip_hash` is a `key`."""
    backend().ip_hashes.record(target, slug, ip_hash)


def find(target: Target, slug: str) -> str:
    """Return the ip hash of a comment, "" if it is not stored, or no longer stored."""
    return backend().ip_hashes.find(target, slug)


def erase(target: Target, slug: str) -> int:
    """Delete the ip hash of a comment. Return the number of deleted records."""
    return backend().ip_hashes.erase(target, slug)
