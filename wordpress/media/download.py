"""Downloads from the old site.

Only the site's own hosts are allowed. Time and size are limited, per file and per run.
"""

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Network, ip_address
from typing import BinaryIO
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from wordpress.export.old_site import host_of

__all__ = ["DownloadError", "DownloadsStopped", "Downloader", "Limits", "PrivateNetwork", "is_public"]

# How many seconds to wait for the next bytes from the server.
STALL_SECONDS = 20
PIECE = 64 * 1024
# How many redirects are followed per file. They must lead to one of the site's own hosts, but can switch to https, and
# can add or remove "www.".
MAX_REDIRECTS = 3
LIMIT_REACHED = gettext_lazy("the limit for one run was reached")
# The part of the IPv6 address space from which public addresses are assigned, and the prefix of IPv6 addresses that
# represent IPv4 addresses (RFC 6052).
_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
SAFE = "/%:@!$&'()*+,;=~-._"


class DownloadError(Exception):
    """A file can't be downloaded. The message is the reason, as a clause such as "it is incomplete"."""


class DownloadsStopped(Exception):
    """No more files can be downloaded in this run. The message contains the reason."""


class PrivateNetwork(DownloadsStopped):
    """The old site is in a private network, from which downloads aren't allowed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the size (in bytes) and the duration (in seconds) of downloads, per file and per run.

    Attributes:
        failures: How many requests in a row can fail without a response before the run ends.
    """

    file_bytes: int = 200 * 1024 * 1024
    file_seconds: float = 300
    total_bytes: int = 50 * 1024**3
    total_seconds: float = 12 * 3600
    failures: int = 10


class Downloader:
    """A downloader for files of an old site. `site` is the URL of its front page.

    If the site is on a private network, nothing is downloaded unless `private` is True.
    """

    def __init__(self, site: str, limits: Limits, *, private: bool = False) -> None:
        host = host_of(site)
        self.hosts = {host}
        if host.endswith(".wordpress.com"):
            # WordPress.com stores the files of a site on this host.
            self.hosts.add(f"{host.removesuffix('.wordpress.com')}.files.wordpress.com")
        self.ports = {None, 80, 443, _port(site)}
        self.limits = limits
        self.private = private
        self.files = self.bytes = self.failures = 0
        self.started = time.monotonic()

    def fetch(self, url: str, into: BinaryIO) -> None:
        """Download `url` and write the bytes to the file `into`.

        Raises:
            DownloadError: This file can't be downloaded.
            DownloadsStopped: The run has reached a limit.
        """
        if self.failures >= self.limits.failures:
            raise DownloadsStopped(_("the old site didn't respond %(n)d times in a row") % {"n": self.failures})
        if self.bytes >= self.limits.total_bytes or time.monotonic() - self.started > self.limits.total_seconds:
            raise DownloadsStopped(LIMIT_REACHED)
        deadline = time.monotonic() + self.limits.file_seconds
        try:
            for _hop in range(MAX_REDIRECTS + 1):
                location = self._fetch(url, into, deadline)
                if not location:
                    self.files += 1
                    return
                url = urljoin(url, location)
        except (OSError, http.client.HTTPException) as error:
            self.failures += 1
            if time.monotonic() > deadline:
                raise DownloadError(_("it took more than %(n)g seconds") % {"n": self.limits.file_seconds}) from error
            raise DownloadError(str(error) or type(error).__name__) from error
        except ValueError as error:
            raise DownloadError(_("its URL is invalid")) from error
        raise DownloadError(_("it has too many redirects"))

    def _fetch(self, url: str, into: BinaryIO, deadline: float) -> str:
        """Download a file and return "", or, if the response is a redirect, return the URL to which it redirects."""
        parts = self._check_url(url)
        with closing(_Connection(parts, private=self.private)) as connection, _until(deadline, connection):
            query = f"?{quote(parts.query, safe=SAFE + '?')}" if parts.query else ""
            headers = {"Accept-Encoding": "identity", "User-Agent": "Marginalia", "Connection": "close"}
            connection.request("GET", (quote(parts.path, safe=SAFE) or "/") + query, headers=headers)
            response = connection.getresponse()
            self.failures = 0
            if response.status in (301, 302, 303, 307, 308):
                return response.getheader("Location") or ""
            if response.status != 200:
                raise DownloadError(_("the old site returned %(status)s") % {"status": response.status})
            self._copy(response, into, deadline)
        return ""

    def _copy(self, response: http.client.HTTPResponse, into: BinaryIO, deadline: float) -> None:
        declared = response.length
        copied = 0
        max_bytes = min(self.limits.file_bytes, self.limits.total_bytes - self.bytes)
        is_too_large = (declared or 0) > max_bytes
        while not is_too_large and time.monotonic() <= deadline and (piece := response.read1(PIECE)):
            copied += len(piece)
            into.write(piece)
            is_too_large = copied > max_bytes
        self.bytes += copied
        if is_too_large and max_bytes < self.limits.file_bytes:
            raise DownloadsStopped(LIMIT_REACHED)
        if is_too_large:
            raise DownloadError(_("it has more than %(n)d bytes") % {"n": max_bytes})
        if time.monotonic() > deadline or (declared is not None and copied != declared):
            raise OSError("it is incomplete")
        into.flush()

    def _check_url(self, url: str) -> SplitResult:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or parts.username is not None:
            raise DownloadError(_("its URL is not on the web"))
        if host_of(url) not in self.hosts or parts.port not in self.ports:
            raise DownloadError(_("it is on another host than the old site"))
        return parts


def is_public(address: str) -> bool:
    """Return whether an IP address is the address of a single host on the public internet.

    If an IPv6 address represents an IPv4 address (mapped, 6to4 or NAT64), the IPv4 address is checked.
    """
    ip = ip_address(address)
    if isinstance(ip, IPv4Address):
        return ip.is_global and not ip.is_multicast
    embedded_ipv4 = ip.ipv4_mapped or ip.sixtofour
    if ip in _NAT64:
        embedded_ipv4 = IPv4Address(int(ip) & 0xFFFF_FFFF)
    return is_public(str(embedded_ipv4)) if embedded_ipv4 else ip.is_global and ip in _UNICAST


class _Connection(http.client.HTTPConnection):
    """A connection that checks the IP address of the host before anything is sent. It uses no proxy."""

    def __init__(self, parts: SplitResult, *, private: bool) -> None:
        super().__init__(
            parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80), timeout=STALL_SECONDS
        )
        self.secure = parts.scheme == "https"
        self.private = private
        self.is_interrupted = False

    def connect(self) -> None:
        """Connect to the host.

        Raises:
            PrivateNetwork: The host's name resolves to a private address, and private networks aren't allowed.
        """
        results = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(address[0]) for *_kind, address in results))
        if not self.private and not all(is_public(address) for address in addresses):
            raise PrivateNetwork(_("the old site is in a private network"))
        self.sock = _connect_first(addresses, self.port)
        if self.is_interrupted:
            raise TimeoutError
        if self.secure:
            context = ssl.create_default_context()
            # Store the socket before the handshake begins, so that `interrupt` can shut it down during the handshake.
            self.sock = context.wrap_socket(self.sock, server_hostname=self.host, do_handshake_on_connect=False)
            self.sock.do_handshake()

    def interrupt(self) -> None:
        """Shut down the connection, so that a thread that is waiting for data gets an error."""
        self.is_interrupted = True
        with suppress(OSError):
            if self.sock is not None:
                socket.socket.shutdown(self.sock, socket.SHUT_RDWR)


def _connect_first(addresses: list[str], port: int) -> socket.socket:
    """Return a socket that is connected to the first address that accepts a connection."""
    for address in addresses[:-1]:
        with suppress(OSError):
            return socket.create_connection((address, port), STALL_SECONDS)
    return socket.create_connection((addresses[-1], port), STALL_SECONDS)


@contextmanager
def _until(deadline: float, connection: _Connection) -> Iterator[None]:
    """Shut down the connection if the `with` block is still running at the deadline.

    The timeout of the connection isn't enough: a server that keeps sending single bytes never reaches it.
    """
    timer = threading.Timer(max(deadline - time.monotonic(), 0), connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _port(url: str) -> int | None:
    try:
        return urlsplit(url).port
    except ValueError:
        return None
