"""Web servers with the site's settings, and wrk, which generates and measures load."""

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
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from cms.serving import web_server
from marginalia.local.embedded import Embedded
from marginalia.local.ports import free_port

CONNECTIONS = 4
BARE_SETTINGS = Path(__file__).with_name("bare_gunicorn.py")
WORKERS = 2
# Maximum number of seconds per load. A load without any response is repeated with a longer duration, up to this limit.
MAX_SECONDS = 16


@dataclass(frozen=True)
class Load:
    """Results of one run of wrk.

    Attributes:
        rate: Requests per second.
        p99: The 99th percentile of the latencies in milliseconds.
        web: CPU milliseconds that the web server needs per request.
        mongod: CPU milliseconds that MongoDB needs per request.
    """

    requests: int
    rate: float
    p99: float
    web: float
    mongod: float


class Web:
    """A running gunicorn, its port, and the MongoDB that it uses."""

    def __init__(self, port: int, process: psutil.Process, mongod: psutil.Process) -> None:
        self.port = port
        self.process = process
        self.mongod = mongod

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, dict[str, str], bytes]:
        """Return the status, the headers by lowercase name, and the body of a response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path, headers=dict(headers or {}))
            response = connection.getresponse()
            return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
        finally:
            connection.close()

    def load(
        self,
        path: str,
        seconds: int,
        headers: Mapping[str, str] | None = None,
        script: Path | None = None,
        connections: int = CONNECTIONS,
    ) -> Load:
        """Load one path, or the paths from a wrk script.

        Args:
            path: The path.
            seconds: How long the load runs.
            headers: Additional request headers.
            script: The wrk script.
            connections: The number of concurrent connections.

        Raises:
            RuntimeError: A response was an error, or there was no response.
        """
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "10s"]
        for name, value in (headers or {}).items():
            command += ["-H", f"{name}: {value}"]
        if script:
            command += ["-s", str(script)]
        command.append(f"http://127.0.0.1:{self.port}{path}")
        before = self.cpu_seconds()
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        web, mongod = (after - b for after, b in zip(self.cpu_seconds(), before, strict=True))
        if "Non-2xx" in output or "Socket errors" in output:
            raise RuntimeError(f"{path}: {output}")
        rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
        count = re.search(r"(\d+) requests in", output)
        assert rate is not None
        assert count is not None
        requests = int(count[1])
        if not requests:
            if seconds >= MAX_SECONDS:
                raise RuntimeError(f"{path}: no answer within {seconds} s; this machine is too busy to measure")
            return self.load(path, 4 * seconds, headers, script, connections)
        costs = (seconds * 1_000 / requests for seconds in (web, mongod))
        return Load(requests, float(rate[1]), _milliseconds(output, "99%"), *costs)

    def cpu_seconds(self) -> tuple[float, float]:
        """Return the CPU seconds of the web server's processes and of MongoDB since they started."""
        processes = [self.process, *self.process.children()]
        times = [process.cpu_times() for process in (*processes, self.mongod)]
        *web, mongod = (time.user + time.system for time in times)
        return sum(web), mongod


def _milliseconds(text: str, name: str) -> float:
    match = re.search(rf"{name}\s+([\d.]+)(us|ms|s)\b", text)
    assert match is not None
    return float(match[1]) * {"us": 0.001, "ms": 1, "s": 1_000}[match[2]]


@contextmanager
def serve(
    application: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    python: str = sys.executable,
    arguments: Sequence[str] = (),
) -> Iterator[Web]:
    """Serve an application with gunicorn, as `manage.py serve` does, with WORKERS workers.

    Args:
        application: The WSGI application.
        folder: The folder that contains the embedded MongoDB and the log.
        environment: Additional environment variables.
        python: The Python interpreter.
        arguments: Additional arguments for gunicorn, which override the site's.
    """
    port = free_port()
    log = folder / f"web-{port}.log"
    mongod = Embedded(folder).running()
    assert mongod is not None
    command = [python, *web_server.gunicorn_command(port, application)[1:], *arguments]
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
        except subprocess.TimeoutExpired:  # ignored, because the exception would discard the results
            process.kill()
            process.wait()


def serve_bare(folder: Path, arguments: Sequence[str] = ()) -> AbstractContextManager[Web]:
    """Serve the bare view in the same way as `serve`."""
    return serve("benchmarks.bare:application", folder, arguments=("--config", str(BARE_SETTINGS), *arguments))


@contextmanager
def serve_watched(folder: Path, **environment: str) -> Iterator[tuple[Web, Callable[[], Counter[str]]]]:
    """Serve the site as `benchmarks.watched`.

    Yields:
        The server, and a function that returns the sum of its workers' counts.
    """
    with tempfile.TemporaryDirectory(dir=folder) as watched:

        def counts() -> Counter[str]:
            time.sleep(1)  # longer than the interval at which workers write counts
            return sum((Counter(json.loads(file.read_text())) for file in Path(watched).glob("*.json")), Counter())

        with serve("benchmarks.watched:application", folder, {"WATCHED": watched, **environment}) as server:
            yield server, counts


def require_wrk() -> None:
    """Exit with a message if wrk is not installed."""
    if shutil.which("wrk") is None:
        sys.exit("The benchmarks need wrk to load pages. On Debian, run apt-get install wrk.")


def _wait(web: Web, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until every worker has probably served a request, because the first request to each worker is slower."""
    deadline = time.monotonic() + 120
    responses = 0
    while responses < 10 * WORKERS:
        try:
            web.get("/")
            responses += 1
        except OSError:
            time.sleep(0.05)
        if time.monotonic() > deadline or process.poll() is not None:
            raise RuntimeError(f"gunicorn doesn't respond: {log.read_text()[-2000:]}")
