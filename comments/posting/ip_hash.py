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
# The sizes of the networks that moderators can ban.
BANNABLE_BITS = {4: (24,), 6: (64, 48)}
HASH_LENGTH = 32
MAX_FROM_BROWSER = 50
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


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
    sender = _parse(address(request))
    return _hash(str(_network(sender, PREFIX_BITS[sender.version])) if sender else "unknown")


def networks(request: HttpRequest) -> tuple[str, ...]:
    """Return keyed hashes of the networks that contain the request's address and that can be banned, smallest first.

    These are the /24 network of an IPv4 address, and the /64 and /48 networks of an IPv6 address.
    """
    sender = _parse(address(request))
    return tuple(_hash(str(_network(sender, bits))) for bits in BANNABLE_BITS[sender.version]) if sender else ()


def hash_network(typed: str) -> str:
    """Return the keyed hash of the network that a moderator typed, such as 203.0.113.0/24 or 2001:db8::/64.

    An address stands for the smallest network that contains it and that can be banned.

    Raises:
        ValueError: `typed` isn't an address, or a network that can be banned.
    """
    single = _parse(typed)
    if single:
        return _hash(str(_network(single, BANNABLE_BITS[single.version][0])))
    network = ipaddress.ip_network(typed, strict=False)
    if network.prefixlen not in BANNABLE_BITS[network.version]:
        raise ValueError(typed)
    return _hash(str(network))


def _parse(typed: str) -> Address | None:
    try:
        parsed = ipaddress.ip_address(typed)
    except ValueError:
        return None
    return (parsed.ipv4_mapped or parsed) if isinstance(parsed, ipaddress.IPv6Address) else parsed


def _network(address: Address, bits: int) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network((address, bits), strict=False)


def _hash(network: str) -> str:
    return salted_hmac("comments.ip_hashes", network, algorithm="sha256").hexdigest()[:HASH_LENGTH]


def record(target: Target, slug: str, ip_hash: str, networks: tuple[str, ...] = (), browser: str = "") -> None:
    """Store the hashes of the networks and of the browser from which a comment was first sent, for 30 days.

    `ip_hash` is the result of `key`, `networks` that of the function with this name, and `browser` that of
    `tokens.browser_key`, or "".
    """
    backend().ip_hashes.record(target, slug, ip_hash, networks, browser)


def sent_from(browser: str) -> list[tuple[Target, str]]:
    """Return the targets and slugs of the newest comments that were sent from a browser in the last 30 days."""
    return backend().ip_hashes.sent_from(browser, MAX_FROM_BROWSER)


def networks_of(target: Target, slug: str) -> list[str]:
    """Return the hashes of the networks that can be banned because of a comment, the smallest first."""
    return backend().ip_hashes.networks(target, slug)


def find(target: Target, slug: str) -> str:
    """Return the IP hash of a comment, or "" if none is stored or it has expired."""
    return backend().ip_hashes.find(target, slug)


def erase(target: Target, slug: str) -> int:
    """Delete the IP hash of a comment. Return how many documents were deleted."""
    return backend().ip_hashes.erase(target, slug)
