"""Varnish with deploy/varnish.vcl, in front of a port of this machine."""

import http.client
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from local.ports import free_port
from tests.support.processes import ROOT, until

VCL = (ROOT / "deploy/varnish.vcl").read_text()


@dataclass(frozen=True)
class Varnish:
    """The port that readers ask, and the one where it hears what to drop."""

    port: int
    purges: int

    @property
    def purge_url(self) -> str:
        return f"http://127.0.0.1:{self.purges}"

    def ask(self, path: str, method: str = "GET", port: int = 0, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers by lower-case name, and body."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=30)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, headers={"Host": "localhost", **sent})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()


@contextmanager
def varnish(site: int) -> Iterator[Varnish]:
    """Run Varnish in front of a site on this port."""
    assert VCL.count('.port = "8000";') == 1
    found = Varnish(free_port(), free_port())
    with tempfile.TemporaryDirectory(prefix="varnish-") as folder:
        text = Path(folder, "site.vcl")
        text.write_text(VCL.replace('.port = "8000";', f'.port = "{site}";'))
        listening = ["-a", f"127.0.0.1:{found.port}", "-a", f"purges=127.0.0.1:{found.purges}"]
        # Of one user, whom the folder belongs to.
        command = [
            "varnishd",
            "-F",
            "-j",
            "none",
            "-n",
            f"{folder}/work",
            "-f",
            str(text),
            *listening,
            "-s",
            "malloc,64m",
        ]
        with Path(folder, "log").open("w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
            try:
                until(lambda: process.poll() is not None or _is_up(found), seconds=60)
                assert process.poll() is None, Path(folder, "log").read_text()
                yield found
            finally:
                process.terminate()
                process.wait(20)


def _is_up(found: Varnish) -> bool:
    """Return whether it answers, and finds the site well."""
    try:
        return found.ask("/healthz")[0] == 200
    except OSError:
        return False
