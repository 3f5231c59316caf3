"""The IP address from which a request was sent, and the hash that is stored instead of the address.

The address itself is never stored. Only a keyed hash of the network that contains the address is stored, separately
from the comments. A TTL index deletes the hash after 30 days.
"""

import ipaddress

from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from marginalia.comments import conf
from marginalia.comments.backends import backend
from marginalia.comments.types import Target

# How many bits of an address are hashed, for each IP version. They identify a network, not a single device.
PREFIX_BITS = {4: 24, 6: 48}


def remote(request: HttpRequest) -> str:
    """Return the address from which the connection was made. This is the default for COMMENTS["ADDRESS"]."""
    return str(request.META.get("REMOTE_ADDR", ""))


def forwarded(request: HttpRequest) -> str:
    """Return the client's address, as reported by the nearest proxy.

    Use this function only behind a proxy that always sets X-Forwarded-For itself.
    """
    return str(request.META.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip() or remote(request)


def address(request: HttpRequest) -> str:
    """Return the address from which the request was sent, as determined by the function COMMENTS["ADDRESS"]."""
    return str(conf.load("ADDRESS")(request))


def key(request: HttpRequest) -> str:
    """Return a keyed hash of the network from which the request was sent.

    The hash reveals nothing about the network to anyone who doesn't know the site's secret key.
    """
    try:
        parsed = ipaddress.ip_address(address(request))
    except ValueError:
        network = "unknown"
    else:
        if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:
            parsed = parsed.ipv4_mapped
        network = str(ipaddress.ip_network((parsed, PREFIX_BITS[parsed.version]), strict=False))
    return salted_hmac("comments.ip_hashes", network, algorithm="sha256").hexdigest()[:32]


def record(target: Target, slug: str, ip_hash: str) -> None:
    """Store the hash of the network from which a comment was first sent, for 30 days.

    `ip_hash` is the result of `key`.
    """
    backend().ip_hashes.record(target, slug, ip_hash)


def find(target: Target, slug: str) -> str:
    """Return the IP hash of a comment, or "" if none is stored or it has expired."""
    return backend().ip_hashes.find(target, slug)


def erase(target: Target, slug: str) -> int:
    """Delete the IP hash of a comment. Return how many documents were deleted."""
    return backend().ip_hashes.erase(target, slug)
