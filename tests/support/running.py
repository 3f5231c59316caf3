"""The site as a process, started with `manage.py serve`, with gunicorn, or like a systemd service."""

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
    """A site that is run by `manage.py serve`, with its own var folder and port."""

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

    def manage(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run manage.py with these arguments in the site's environment."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            **{"timeout": 120, **options},
        )

    def start(self) -> str:
        """Start the site, and return its output once it is up."""
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
        until(lambda: "Press Ctrl-C" in self.output.read_text() or self.run.poll() is not None, seconds=90)
        assert self.run.poll() is None, self.output.read_text()
        return self.output.read_text()

    def stop(self, number: int = signal.SIGINT) -> int:
        """Send a signal, wait for the process to end, and return its exit code."""
        self.run.send_signal(number)
        return self.run.wait(60)

    def fetch(self, path: str = "") -> int:
        """Return a page's HTTP status."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=20) as page:
                return page.status
        except urllib.error.HTTPError as error:
            return error.code

    @property
    def mongod(self) -> State | None:
        """Return the state of the embedded MongoDB, or None if it isn't running."""
        return Embedded(self.var).running()

    @property
    def gunicorn(self) -> int:
        """Return the id of gunicorn's main process, which is a child of the guard."""
        worker = listener(self.port)
        parent = int(re.search(r"PPid:\s+(\d+)", Path(f"/proc/{worker}/status").read_text())[1])
        return parent if "gunicorn" in command_line(parent) and "guard.py" not in command_line(parent) else worker

    def remaining_processes(self) -> list[str]:
        """Return the command lines of processes that were started for this var folder and are still running."""
        variable = f"\0VAR_DIR={self.var}\0".encode()
        command_lines = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                environ = b"\0" + (process / "environ").read_bytes()
                if variable in environ and (line := command_line(int(process.name))):
                    command_lines.append(line)
        return command_lines


class Web:
    """A running web server, with its port."""

    def __init__(self, port: int, process: subprocess.Popen[bytes], log: Path) -> None:
        self.port = port
        self.process = process
        self.log = log

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Return a response's status, its headers by lower-case name, and its body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path, headers={"Host": f"localhost:{self.port}", **headers})
            response = connection.getresponse()
            return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        finally:
            connection.close()

    def open_connection(self, data: bytes = b"") -> socket.socket:
        """Open a connection, send `data`, and return the connection."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        connection.sendall(data)
        return connection

    def is_up(self) -> bool:
        """Return whether the server responds. Fail if the server's process has ended."""
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.get("/healthz")[0] == 200
        except OSError:
            return False


@contextmanager
def served(folder: Path, **environment: str) -> Iterator[Web]:
    """Serve the site like `manage.py serve`, with one worker and the test database."""
    port, log = free_port(), folder / "web.log"
    own = {"DJANGO_SETTINGS_MODULE": "tests.settings", "WEB_CONCURRENCY": "1", "VAR_DIR": str(folder)}
    own |= {"TEST_MONGODB_NAME": connection.settings_dict["NAME"], "SECRET_KEY": settings.SECRET_KEY}
    with log.open("wb") as output:
        command = web_server.gunicorn_command(port)
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


# LISTEN_PID must be the service's process id, so the process that sets this variable has to exec the service.
_EXEC_SERVICE = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.execve(sys.argv[2], sys.argv[2:], {**os.environ, "LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())})
"""


class Service:
    """A program that is started like a systemd service with `Type=notify` and socket activation."""

    def __init__(self, command: list[str], listening: socket.socket, folder: Path, environment: dict[str, str]) -> None:
        self._command = command
        self._listening = listening
        self._folder = folder
        self._environment = environment
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the program and wait until it reports that it is ready."""
        address = self._folder / f"notify-{free_port()}"
        descriptor = self._listening.fileno()
        command = [sys.executable, "-c", _EXEC_SERVICE, str(descriptor), *self._command]
        log_path = self._folder / "service.log"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifications, log_path.open("ab") as log:
            notifications.bind(str(address))
            notifications.setblocking(False)
            environment = {**self._environment, "NOTIFY_SOCKET": str(address)}
            self.process = subprocess.Popen(
                command,
                pass_fds=[descriptor],
                env=environment,
                cwd=ROOT,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

            def is_ready() -> bool:
                assert self.process.poll() is None, log_path.read_text()
                with contextlib.suppress(BlockingIOError):
                    return b"READY=1" in notifications.recv(4096)
                return False

            until(is_ready, seconds=180)

    def stop(self) -> None:
        """Terminate the program and wait until it ends. Kill it after 20 seconds, the units' TimeoutStopSec."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                workers = psutil.Process(self.process.pid).children(recursive=True)
                for process in (self.process, *workers):
                    process.kill()
                self.process.wait()
            self.process = None

    def restart(self) -> None:
        """Stop and start the program, like `systemctl restart`."""
        self.stop()
        self.start()
