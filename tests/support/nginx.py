"""nginx with deploy/nginx.conf, in front of one port of this machine."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from marginalia.local.ports import free_port, is_free
from marginalia.local.processes import start_guarded, stop
from tests.support.processes import ROOT, until

CONF = (ROOT / "deploy/nginx.conf").read_text()
# The main configuration. It is similar to Debian's /etc/nginx/nginx.conf, but uses the test's folders.
MAIN = """
user root; pid {folder}/pid; error_log {folder}/error.log; worker_processes auto;
events {{ worker_connections 768; }}
http {{
    client_body_temp_path {folder}/bodies; proxy_temp_path {folder}/answers; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
{site}
}}
"""


@dataclass(frozen=True)
class Nginx:
    """A running nginx, with its port and the folder for its files. bodies/ and answers/ contain buffered data."""

    port: int
    folder: Path

    @property
    def log(self) -> list[str]:
        """Return the lines of the access log."""
        return (self.folder / "access.log").read_text().splitlines()

    def spooled(self) -> int:
        """Return how many bytes of requests and responses nginx buffers on disk, in open but unlinked files."""
        sizes = {}
        for pid in self._workers():
            for entry in Path(f"/proc/{pid}/fd").iterdir():
                try:
                    if str(entry.readlink()).startswith((f"{self.folder}/bodies", f"{self.folder}/answers")):
                        status = entry.stat()
                        sizes[status.st_ino] = status.st_blocks * 512
                except OSError:
                    continue
        return sum(sizes.values())

    def _workers(self) -> list[str]:
        main = (self.folder / "pid").read_text().strip()
        return Path(f"/proc/{main}/task/{main}/children").read_text().split()


def configured(site: int, listening: str, folder: Path, conf: str = CONF) -> str:
    """Return nginx's configuration for a site's port, without TLS. The site still treats all requests as HTTPS."""
    text = conf.replace("127.0.0.1:8000", f"127.0.0.1:{site}").replace("listen 443 ssl", f"listen {listening}")
    text = re.sub(r"^ *(listen (80|\[::\]).*|ssl_certificate.*);$", "", text, flags=re.MULTILINE)
    # The last server redirects port 80 to HTTPS.
    text, number = re.subn(
        r"\nserver \{\n(?:[^\n]*\n){3} *server_name[^\n]*\n *# Here, certbot.*", "", text, flags=re.DOTALL
    )
    assert number == 1
    text = text.replace("$scheme", "https").replace("/var/log/nginx/access.log", f"{folder}/access.log")
    return MAIN.format(folder=folder, site=text.replace("server_name example.org", "server_name localhost example.org"))


@contextmanager
def nginx(site: int, folder: Path, conf: str = CONF) -> Iterator[Nginx]:
    """Run nginx in front of a site on port `site`. nginx's files are in `folder`."""
    port = free_port()
    folder.mkdir()
    file = folder / "nginx.conf"
    file.write_text(configured(site, f"127.0.0.1:{port}", folder, conf))
    command = ["nginx", "-c", str(file), "-p", str(folder), "-g", "daemon off;"]
    config_test = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert config_test.returncode == 0, config_test.stderr
    with (folder / "output").open("wb") as output:
        guard = start_guarded(command, grace=10, output=output)
    try:
        until(lambda: guard.poll() is not None or not is_free(port), seconds=60)
        assert guard.poll() is None, (folder / "error.log").read_text()
        yield Nginx(port, folder)
    finally:
        stop(guard)
