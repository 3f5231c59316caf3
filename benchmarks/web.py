"""Web servers as the product starts them, and wrk, which loads them."""

import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from cms.serving import web_server
from marginalia.local.embedded import Embedded
from marginalia.local.ports import free_port

CONNECTIONS = 4
WORKERS = 2
# Seconds of one load: a machine that is held up for a moment is asked again.
LONGEST = 16


@dataclass(frozen=True)
class Load:
    """What a run of wrk found: requests a second, milliseconds that 99 % of them took at most, and the processors' milliseconds
    that one cost the web server and MongoDB."""

    requests: int
    rate: float
    p99: float
    web: float
    mongod: float


class Web:
    """gunicorn on a port of its own."""

    def __init__(self, port: int, process: psutil.Process, mongod: psutil.Process) -> None:
        self.port = port
        self.process = process
        self.mongod = mongod

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path, headers=dict(headers or {}))
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def loaded(
        self,
        path: str,
        seconds: int,
        headers: Mapping[str, str] | None = None,
        script: Path | None = None,
        connections: int = CONNECTIONS,
    ) -> Load:
        """Load one address, or those of a script for wrk, for longer where none is answered. Raises RuntimeError."""
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "10s"]
        for name, value in (headers or {}).items():
            command += ["-H", f"{name}: {value}"]
        if script:
            command += ["-s", str(script)]
        command.append(f"http://127.0.0.1:{self.port}{path}")
        before = self.spent()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        web, mongod = (after - b for after, b in zip(self.spent(), before, strict=True))
        if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
            raise RuntimeError(f"{path}: {done.stdout}")
        rate = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
        count = re.search(r"(\d+) requests in", done.stdout)
        assert rate is not None
        assert count is not None
        requests = int(count[1])
        if not requests:
            if seconds >= LONGEST:
                raise RuntimeError(f"{path}: no answer within {seconds} s; this machine is too busy to measure")
            return self.loaded(path, 4 * seconds, headers, script, connections)
        spent = (seconds * 1_000 / requests for seconds in (web, mongod))
        return Load(requests, float(rate[1]), _milliseconds(done.stdout, "99%"), *spent)

    def spent(self) -> tuple[float, float]:
        """Return the processors' seconds of the web server's processes and of MongoDB."""
        processes = [self.process, *self.process.children()]
        times = [process.cpu_times() for process in (*processes, self.mongod)]
        *web, mongod = (time.user + time.system for time in times)
        return sum(web), mongod


def _milliseconds(text: str, name: str) -> float:
    found = re.search(rf"{name}\s+([\d.]+)(us|ms|s)\b", text)
    assert found is not None
    return float(found[1]) * {"us": 0.001, "ms": 1, "s": 1_000}[found[2]]


@contextmanager
def started(
    application: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    python: str = sys.executable,
    arguments: Sequence[str] = (),
) -> Iterator[Web]:
    """Serve an application with gunicorn, set as `manage.py serve` sets it, but WORKERS workers. Its lines go to the folder.

    `arguments`: more of gunicorn's own, which win.
    """
    port = free_port()
    log = folder / f"web-{port}.log"
    mongod = Embedded(folder).running()
    assert mongod is not None
    command = [python, *web_server.gunicorn_command(application, port)[1:], *arguments]
    process_environment = {**os.environ, "WEB_CONCURRENCY": str(WORKERS), **(environment or {})}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=process_environment, stdout=output, stderr=output, cwd=Path(__file__).parents[1]
        )
    try:
        web = Web(port, psutil.Process(process.pid), psutil.Process(mongod.pid))
        _wait(web, process, log)
        yield web
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:  # figures that were taken are not lost over it
            process.kill()
            process.wait()


@contextmanager
def watched(folder: Path, **environment: str) -> Iterator[tuple[Web, Callable[[], Counter[str]]]]:
    """Serve the site as `benchmarks.watched`; yield its server, and what tells what its workers have done."""
    with tempfile.TemporaryDirectory(dir=folder) as told:

        def counts() -> Counter[str]:
            time.sleep(1)  # longer than from one writing to the next
            return sum((Counter(json.loads(file.read_text())) for file in Path(told).glob("*.json")), Counter())

        with started("benchmarks.watched:application", folder, {"WATCHED": told, **environment}) as server:
            yield server, counts


def require_wrk() -> None:
    """Exit with a sentence where wrk is missing."""
    if shutil.which("wrk") is None:
        sys.exit("The benchmarks load pages with wrk: on Debian, apt-get install wrk")


def _wait(web: Web, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return once every worker has answered: the first request of each imports what later ones need."""
    deadline = time.monotonic() + 120
    answered = 0
    while answered < 10 * WORKERS:
        try:
            web.get("/")
            answered += 1
        except OSError:
            time.sleep(0.05)
        if time.monotonic() > deadline or process.poll() is not None:
            raise RuntimeError(f"gunicorn does not answer: {log.read_text()[-2000:]}")
