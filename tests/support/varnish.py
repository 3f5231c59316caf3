"""Varnish with deploy/varnish.vcl, in front of one or two ports of this machine."""

import http.client
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from marginalia.local.ports import free_port
from marginalia.local.processes import start_guarded, stop
from tests.support.processes import ROOT, until

VCL = (ROOT / "deploy/varnish.vcl").read_text()


@dataclass(frozen=True)
class Varnish:
    """A running Varnish, with its ports for readers and for purges."""

    port: int
    purges: int
    guard: int = 0

    @property
    def child(self) -> int:
        """Return the id of the process that serves requests. If this process dies, the manager process restarts it."""
        [manager] = psutil.Process(self.guard).children()
        [child] = manager.children()
        return int(child.pid)

    @property
    def purge_url(self) -> str:
        return f"http://127.0.0.1:{self.purges}"

    def ask(
        self, path: str, method: str = "GET", port: int = 0, content: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Return a response's status, its headers by lower-case name, and its body."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=30)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, content, headers={"Host": "localhost", **sent})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()


def configured(*sites: int) -> str:
    """Return the VCL for web processes on these ports. For two processes, uncomment the lines with #2."""
    text = VCL if len(sites) == 1 else re.sub("^#2", "", VCL, flags=re.MULTILINE)
    for port, site in zip((8000, 8001), sites, strict=False):
        assert text.count(f'.port = "{port}";') == 1
        text = text.replace(f'.port = "{port}";', f'.port = "{site}";')
    return text


@contextmanager
def varnish(*sites: int, at: tuple[int, int] | None = None) -> Iterator[Varnish]:
    """Run Varnish in front of one or two ports of a site. For a restart, `at` sets Varnish's own ports."""
    port, purges = at or (free_port(), free_port())
    with tempfile.TemporaryDirectory(prefix="varnish-") as folder:
        text, log = Path(folder, "site.vcl"), Path(folder, "log")
        text.write_text(configured(*sites))
        listening = ["-a", f"127.0.0.1:{port}", "-a", f"purges=127.0.0.1:{purges}"]
        # Without a jail, all Varnish processes run as the user who owns the folder.
        command = ["varnishd", "-F", "-j", "none", "-n", f"{folder}/work", "-f", str(text), *listening]
        with log.open("wb") as output:
            guard = start_guarded([*command, "-s", "malloc,64m"], grace=20, output=output)
        instance = Varnish(port, purges, guard.pid)
        try:
            until(lambda: guard.poll() is not None or _is_up(instance), seconds=60)
            assert guard.poll() is None, log.read_text()
            yield instance
        finally:
            stop(guard)


def _is_up(instance: Varnish) -> bool:
    """Return whether Varnish responds and finds the site healthy."""
    try:
        return instance.ask("/healthz")[0] == 200
    except OSError:
        return False
