"""Fetches files from the old site: from its own host only, each and all together bounded in bytes and in time."""

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

from wordpress.export.old_site import host_of

__all__ = ["DownloadError", "DownloadsStopped", "Downloader", "Limits", "is_public"]

# Seconds without a byte.
STALL = 20
PIECE = 64 * 1024
# Redirects of one file, on the same host: to https, to the name with or without "www.".
HOPS = 3
ENOUGH = "that was as much as is downloaded in one run"
# What is assigned of IPv6, and how IPv4 is reached from it (RFC 6052).
_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
SAFE = "/%:@!$&'()*+,;=~-._"


class DownloadError(Exception):
    """A file cannot be fetched; the text says why, as one clause."""


class DownloadsStopped(Exception):
    """No more can be fetched in this run; the text says why."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bytes and seconds of one file and of all files of a run, and after how many in a row that the old site did not
    answer at all the run ends."""

    file_bytes: int = 200 * 1024 * 1024
    file_seconds: float = 300
    total_bytes: int = 50 * 1024**3
    total_seconds: float = 12 * 3600
    failures: int = 10


class Downloader:
    """Fetches files of the site whose front page is `site`. Hosts in private networks are refused unless `private`."""

    def __init__(self, site: str, limits: Limits, *, private: bool = False) -> None:
        host = host_of(site)
        self.hosts = {host}
        if host.endswith(".wordpress.com"):
            # Where WordPress.com keeps the files of that very site.
            self.hosts.add(f"{host.removesuffix('.wordpress.com')}.files.wordpress.com")
        self.ports = {None, 80, 443, _port(site)}
        self.limits = limits
        self.private = private
        self.files = self.bytes = self.failures = 0
        self.started = time.monotonic()

    def fetch(self, url: str, into: BinaryIO) -> None:
        """Write what is at `url` into a file. Raises DownloadError, and DownloadsStopped when the run has had its share."""
        if self.failures >= self.limits.failures:
            raise DownloadsStopped(f"the old site did not answer {self.failures} times in a row")
        if self.bytes >= self.limits.total_bytes or time.monotonic() - self.started > self.limits.total_seconds:
            raise DownloadsStopped(ENOUGH)
        deadline = time.monotonic() + self.limits.file_seconds
        try:
            for _hop in range(HOPS + 1):
                moved = self._fetch(url, into, deadline)
                if not moved:
                    self.files += 1
                    return
                url = urljoin(url, moved)
        except (OSError, http.client.HTTPException) as error:
            self.failures += 1
            if time.monotonic() > deadline:
                raise DownloadError(f"it took more than {self.limits.file_seconds:g} seconds") from error
            raise DownloadError(str(error) or type(error).__name__) from error
        except ValueError as error:
            raise DownloadError("it has no usable address") from error
        raise DownloadError("it is redirected again and again")

    def _fetch(self, url: str, into: BinaryIO, deadline: float) -> str:
        """Fetch the file, or return where it has moved."""
        parts = self._checked(url)
        with closing(_Connection(parts, private=self.private)) as connection, _until(deadline, connection):
            query = f"?{quote(parts.query, safe=SAFE + '?')}" if parts.query else ""
            headers = {"Accept-Encoding": "identity", "User-Agent": "Marginalia", "Connection": "close"}
            connection.request("GET", (quote(parts.path, safe=SAFE) or "/") + query, headers=headers)
            response = connection.getresponse()
            self.failures = 0
            if response.status in (301, 302, 303, 307, 308):
                return response.getheader("Location") or ""
            if response.status != 200:
                raise DownloadError(f"the old site answered {response.status}")
            self._copy(response, into, deadline)
        return ""

    def _copy(self, response: http.client.HTTPResponse, into: BinaryIO, deadline: float) -> None:
        declared = response.length
        copied = 0
        most = min(self.limits.file_bytes, self.limits.total_bytes - self.bytes)
        is_too_large = (declared or 0) > most
        while not is_too_large and time.monotonic() <= deadline and (piece := response.read1(PIECE)):
            copied += len(piece)
            into.write(piece)
            is_too_large = copied > most
        self.bytes += copied
        if is_too_large and most < self.limits.file_bytes:
            raise DownloadsStopped(ENOUGH)
        if is_too_large:
            raise DownloadError(f"it has more than {most} bytes")
        if time.monotonic() > deadline or (declared is not None and copied != declared):
            raise OSError("it ended too early")
        into.flush()

    def _checked(self, url: str) -> SplitResult:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or parts.username is not None:
            raise DownloadError("it is not on the web")
        if host_of(url) not in self.hosts or parts.port not in self.ports:
            raise DownloadError("it is not on the old site's own host")
        return parts


def is_public(address: str) -> bool:
    """Tell whether an IP address belongs to one host of the public internet.

    An IPv6 address that stands for an IPv4 address (mapped, 6to4, NAT64) is as public as that.
    """
    found = ip_address(address)
    if isinstance(found, IPv4Address):
        return found.is_global and not found.is_multicast
    inner = found.ipv4_mapped or found.sixtofour
    if found in _NAT64:
        inner = IPv4Address(int(found) & 0xFFFF_FFFF)
    return is_public(str(inner)) if inner else found.is_global and found in _UNICAST


class _Connection(http.client.HTTPConnection):
    """A connection to an address that was looked at before anything is sent there; no proxy."""

    def __init__(self, parts: SplitResult, *, private: bool) -> None:
        super().__init__(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80), timeout=STALL)
        self.secure = parts.scheme == "https"
        self.private = private
        self.is_over = False

    def connect(self) -> None:
        """Connect to the host, unless its name stands for an address that is not public."""
        found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(address[0]) for *_kind, address in found))
        if not self.private and not all(is_public(address) for address in addresses):
            raise DownloadsStopped("the old site is in a private network, which --private-network allows")
        self.sock = _first(addresses, self.port)
        if self.is_over:
            raise TimeoutError
        if self.secure:
            context = ssl.create_default_context()
            # The handshake waits until the socket is where a deadline finds it.
            self.sock = context.wrap_socket(self.sock, server_hostname=self.host, do_handshake_on_connect=False)
            self.sock.do_handshake()

    def break_off(self) -> None:
        """End whatever waits for this connection, in any thread."""
        self.is_over = True
        with suppress(OSError):
            if self.sock is not None:
                socket.socket.shutdown(self.sock, socket.SHUT_RDWR)


def _first(addresses: list[str], port: int) -> socket.socket:
    """A socket to the first of some addresses that answers."""
    for address in addresses[:-1]:
        with suppress(OSError):
            return socket.create_connection((address, port), STALL)
    return socket.create_connection((addresses[-1], port), STALL)


@contextmanager
def _until(deadline: float, connection: _Connection) -> Iterator[None]:
    """Break the connection off at the deadline: each byte may come in time, and all of them take days."""
    timer = threading.Timer(max(deadline - time.monotonic(), 0), connection.break_off)
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
