"""A site run for real: `manage.py serve` in a var folder and on a port of its own."""

import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from django.conf import settings
from django.db import connection

from cms.serving import web_server
from marginalia.local.embedded import Embedded, State
from marginalia.local.ports import free_port, listener
from marginalia.local.processes import command_line
from tests.support.processes import ROOT, until


class Site:
    """A var folder, a port, and the runs of `manage.py serve` for them."""

    def __init__(self, var: Path, **environment: str) -> None:
        self.var = var
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self.environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if name not in ("MONGODB_URI", "ALLOWED_HOSTS", "DEBUG")
            },
            "DJANGO_SETTINGS_MODULE": "cms.settings",
            "VAR_DIR": str(var),
            "MONGODB_DATABASE": "marginalia",
            "PORT": str(self.port),
            "DEMO": "0",
            **environment,
        }
        self.run: subprocess.Popen[bytes] | None = None
        self.output = var / "output"

    def manage(self, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a command of manage.py in the site's environment."""
        return subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            **{"timeout": 120, **options},
        )

    def start(self) -> str:
        """Start serving; return what it printed until it was up."""
        self.var.mkdir(exist_ok=True)
        with self.output.open("w") as output:
            self.run = subprocess.Popen(
                [sys.executable, "manage.py", "serve"],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        until(lambda: "Ctrl-C ends it" in self.output.read_text() or self.run.poll() is not None, seconds=90)
        assert self.run.poll() is None, self.output.read_text()
        return self.output.read_text()

    def stop(self, number: int = signal.SIGINT) -> int:
        """Send a signal, wait for the end and return the exit status."""
        self.run.send_signal(number)
        return self.run.wait(60)

    def fetch(self, path: str = "") -> int:
        """The status of a page."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=20) as page:
                return page.status
        except urllib.error.HTTPError as error:
            return error.code

    @property
    def mongod(self) -> State | None:
        """The embedded server, if it runs."""
        return Embedded(self.var).running()

    @property
    def gunicorn(self) -> int:
        """gunicorn's process, not one of its workers: the child of the guard."""
        worker = listener(self.port)
        parent = int(re.search(r"PPid:\s+(\d+)", Path(f"/proc/{worker}/status").read_text())[1])
        return parent if "gunicorn" in command_line(parent) and "guard.py" not in command_line(parent) else worker

    def left(self) -> list[str]:
        """The command lines of the processes that were started for this var folder and still run."""
        own = f"\0VAR_DIR={self.var}\0".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if own in b"\0" + (process / "environ").read_bytes() and (line := command_line(int(process.name))):
                    found.append(line)
        return found


class Web:
    """A web server on a port of its own."""

    def __init__(self, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
        self.port, self.process, self.log = port, process, log

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers (names in small letters) and body of the answer."""
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            asked.request("GET", path, headers={"Host": f"localhost:{self.port}", **headers})
            answer = asked.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            asked.close()

    def opened(self, sent: bytes = b"") -> socket.socket:
        """Return a connection on which these bytes were sent."""
        made = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        made.sendall(sent)
        return made

    def is_up(self) -> bool:
        """Return whether it answers. Fails if the process has ended."""
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.get("/healthz")[0] == 200
        except OSError:
            return False


@contextmanager
def served(folder: Path, **environment: str) -> Iterator[Web]:
    """Serve the site as `manage.py serve` does, one worker, on the database of the tests."""
    port, log = free_port(), folder / "web.log"
    own = {"DJANGO_SETTINGS_MODULE": "tests.settings", "WEB_CONCURRENCY": "1", "VAR_DIR": str(folder)}
    own |= {"TEST_MONGODB_NAME": connection.settings_dict["NAME"], "SECRET_KEY": settings.SECRET_KEY}
    with log.open("wb") as output:
        command = web_server.gunicorn_command("cms.wsgi:application", port)
        process = subprocess.Popen(
            command, env={**os.environ, **own, **environment}, cwd=folder, stdout=output, stderr=output
        )
    try:
        web = Web(port, process, log)
        until(web.is_up, seconds=60)
        yield web
    finally:
        process.terminate()
        process.wait(30)


# LISTEN_PID is the program's own, so what sets it has to become the program.
_BECOME = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.execve(sys.argv[2], sys.argv[2:], {**os.environ, "LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())})
"""


class Service:
    """A program that is started as systemd starts a service of `Type=notify` with a socket of its own."""

    def __init__(self, command: list[str], listening: socket.socket, folder: Path, environment: dict[str, str]) -> None:
        self._command, self._listening, self._folder, self._environment = command, listening, folder, environment
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the program; return when it says that it is ready."""
        address = self._folder / f"notify-{free_port()}"
        passed = self._listening.fileno()
        become = [sys.executable, "-c", _BECOME, str(passed), *self._command]
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told, (self._folder / "service.log").open("ab") as log:
            told.bind(str(address))
            told.setblocking(False)
            environment = {**self._environment, "NOTIFY_SOCKET": str(address)}
            self.process = subprocess.Popen(
                become, pass_fds=[passed], env=environment, cwd=ROOT, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

            def is_ready() -> bool:
                assert self.process.poll() is None, Path(log.name).read_text()
                with contextlib.suppress(BlockingIOError):
                    return b"READY=1" in told.recv(4096)
                return False

            until(is_ready, seconds=180)

    def stop(self) -> None:
        """End the program and wait until it has ended; kill it after the units' TimeoutStopSec."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                workers = psutil.Process(self.process.pid).children(recursive=True)
                for one in (self.process, *workers):
                    one.kill()
                self.process.wait()
            self.process = None

    def restart(self) -> None:
        """Do as `systemctl restart`."""
        self.stop()
        self.start()
