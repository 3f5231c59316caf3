"""Web servers compared by slow senders, restarts, upload memory and pages per second (docs/internals/benchmarks.md)."""

import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from benchmarks import report, site

SENDERS, REQUESTS = 200, 20
UPLOAD_MB = 150
ROUNDS, SECONDS = (1, 1) if site.QUICK else (2, 2)
TIMEOUT = SLOW = 2.0
READERS = 4
ROOT = Path(__file__).parents[1]
GRANIAN = Path(sys.executable).with_name("granian")
HEADER = b"POST /comments/post HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
NGINX = """
user root; pid {folder}/nginx.pid; error_log {folder}/nginx.log; worker_processes 2; events {{ worker_connections 2048; }}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
    uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s; client_max_body_size 210m; keepalive_requests 1000000;
    server {{ listen 127.0.0.1:{front}; location / {{ proxy_pass http://127.0.0.1:{back}; proxy_set_header Host $host; }} }}
}}
"""


@dataclass(frozen=True)
class Server:
    """A web server.

    Attributes:
        command: A function that returns the command for an application and a port.
        restart: How the server restarts: "instances", "HUP" or "".
    """

    name: str
    command: Callable[[str, int], list[str]]
    environment: dict[str, str]
    restart: str
    has_front: bool = False


def gunicorn(application: str, port: int) -> list[str]:
    """Return the command that the site itself uses."""
    from cms.serving import web_server

    return web_server.gunicorn_command(port, application)


def granian(application: str, port: int, workers: int = 2, threads: int = 12) -> list[str]:
    """Return the command for Granian."""
    numbers = ["--workers", str(workers), "--blocking-threads", str(threads), "--port", str(port)]
    return [str(GRANIAN), "--interface", "wsgi", "--no-ws", *numbers, application]


def _servers() -> Iterator[Server]:
    yield Server("gunicorn's threads", gunicorn, {}, "instances")
    if shutil.which("nginx"):
        yield Server("the same behind nginx, which buffers", gunicorn, {}, "", has_front=True)
    if GRANIAN.exists():
        yield Server("Granian", granian, {}, "HUP")


@contextmanager
def run_server(server: Server, application: str, folder: Path) -> Iterator[tuple[int, psutil.Process]]:
    """Serve an application, and yield its port and the server's process."""
    from marginalia.local.ports import free_port

    back = free_port()
    front = free_port()
    environment = {**os.environ, "WEB_CONCURRENCY": "2", **server.environment}
    commands = [server.command(application, back)]
    if server.has_front:
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, front=front, back=back))
        commands.append(["nginx", "-c", str(folder / "nginx.conf"), "-g", "daemon off;"])
    with (folder / "server.log").open("ab") as log:
        processes = [
            subprocess.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=log) for command in commands
        ]
    port = front if server.has_front else back
    try:
        deadline = time.monotonic() + 180
        while not all(request(port, "/", 10)[0] < 500 for _ in range(10)):
            if time.monotonic() > deadline:
                raise RuntimeError((folder / "server.log").read_text()[-2_000:])
            time.sleep(0.2)
        yield port, psutil.Process(processes[0].pid)
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:  # Granian was terminated while it was starting
                process.kill()
                process.wait()


def request(port: int, path: str, timeout: float = TIMEOUT) -> tuple[int, float]:
    """Request a page on a new connection. Return its status, or 599 without a response, and the duration in seconds."""
    started = time.monotonic()
    response = b""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=timeout) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        while part := connection.recv(65_536):
            response += part
    return int(response[9:12] or b"599"), time.monotonic() - started


def _read(port: int, path: str) -> str:
    """Send REQUESTS requests. Return the number of successful requests and the longest time as text."""
    results = [request(port, path) for _ in range(REQUESTS)]
    succeeded = sum(status == 200 for status, _seconds in results)
    return f"{succeeded}/{REQUESTS}, {max(seconds for _status, seconds in results):.2f} s"


def slow_senders(port: int, path: str) -> tuple[str, str]:
    """Return one reader's results, first without other clients, then with clients that send one byte per second."""
    alone = _read(port, path)
    stopping = threading.Event()
    connections = []
    for _ in range(SENDERS):
        with suppress(OSError):
            connections.append(socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT))
            connections[-1].sendall(HEADER + b"Content-Length: 10000\r\n\r\n")

    def send() -> None:
        while not stopping.wait(1):
            for connection in connections:
                with suppress(OSError):
                    connection.sendall(b"x")

    sender = threading.Thread(target=send)
    sender.start()
    try:
        return alone, _read(port, path)
    finally:
        stopping.set()
        sender.join()
        for connection in connections:
            connection.close()


def upload(port: int, process: psutil.Process) -> str:
    """Return the increase in MiB of the server's peak memory during an upload of UPLOAD_MB."""
    before = _peaks(process)
    block = b"x" * (1 << 20)
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
        head = HEADER.replace(b"/comments/post", b"/admin/nodes/photo/take") + b"Connection: close\r\n"
        connection.sendall(head + b"Content-Length: %d\r\n\r\n" % (UPLOAD_MB << 20))
        for _ in range(UPLOAD_MB):
            connection.sendall(block)
        response = connection.recv(65_536)
        if b" 200 " not in response[:20]:
            raise RuntimeError(f"the upload was not accepted: {response!r}")
    return f"+{max(after - before.get(pid, after) for pid, after in _peaks(process).items()):.0f}"


def _peaks(process: psutil.Process) -> dict[int, float]:
    peaks = {}
    for member in (process, *process.children(recursive=True)):
        lines = Path(f"/proc/{member.pid}/status").read_text().splitlines()
        peaks[member.pid] = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    return peaks


def read_during_restart(path: str, port: int, restart: Callable[[], object]) -> str:
    """Return the results for readers during a restart.

    The text contains the numbers of requests, failures and slow requests, and the longest time.
    """
    results: list[tuple[int, float]] = []
    stopping = threading.Event()

    def read() -> None:
        while not stopping.is_set():
            results.append(request(port, path, 60))

    readers = [threading.Thread(target=read) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    try:
        time.sleep(1)
        restart()
        time.sleep(2)
    finally:
        stopping.set()
        for reader in readers:
            reader.join()
    failed = sum(status != 200 for status, _seconds in results)
    slow = sum(seconds > SLOW for _status, seconds in results)
    return f"{len(results):,}: {failed} failed, {slow} > {SLOW:.0f} s, {max(s for _status, s in results):.2f} s"


def measure_restart(server: Server, path: str, folder: Path) -> str:
    """Measure the kind of restart that the server supports."""
    if server.restart == "HUP":
        with run_server(server, "cms.wsgi:application", folder) as (port, process):

            def reload_workers() -> None:
                process.send_signal(signal.SIGHUP)
                time.sleep(8)

            return read_during_restart(path, port, reload_workers)
    from tests.support.running import Service

    environment = {**os.environ, "WEB_CONCURRENCY": "1", **server.environment}
    command = [sys.executable, "-m", "gunicorn", "--config", str(ROOT / "cms" / "serving" / "gunicorn_conf.py")]
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        services = [Service(command, listening, folder, environment) for _ in range(2)]
        try:
            for service in services:
                service.start()
            port = listening.getsockname()[1]
            for _ in range(20):
                request(port, path, 60)

            def restart_both() -> None:
                for service in services:
                    service.restart()

            return read_during_restart(path, port, restart_both)
        finally:
            for service in services:
                service.stop()


def pages_per_second(port: int, path: str) -> float:
    """Return the number of pages per second, measured by wrk over four connections."""
    command = ["wrk", "-t1", "-c4", f"-d{SECONDS}s", f"http://127.0.0.1:{port}{path}"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(output.partition("Requests/sec:")[2].split()[0])


def main() -> None:
    """Measure the servers, and publish the results."""
    with site.temporary_site() as folder:
        site.set_up()
        from benchmarks.web import require_wrk

        require_wrk()
        path = "/"
        rows = []
        kept: dict[str, list[float]] = {}
        bare: dict[str, list[float]] = {}
        servers = list(_servers())
        for _ in range(ROUNDS):
            for server in servers:
                with run_server(server, "benchmarks.bare:application", folder) as (port, _process):
                    bare.setdefault(server.name, []).append(pages_per_second(port, "/"))
                with run_server(server, "cms.wsgi:application", folder) as (port, _process):
                    kept.setdefault(server.name, []).append(pages_per_second(port, path))
        for server in servers:
            with run_server(server, "cms.wsgi:application", folder) as (port, _process):
                alone, alongside = slow_senders(port, path)
            with run_server(server, "benchmarks.bare:application", folder) as (port, process):
                growth = upload(port, process)
            restart = measure_restart(server, path, folder) if server.restart else ""
            speeds = [f"{statistics.median(rates[server.name]):,.0f}" for rates in (bare, kept)]
            rows.append([server.name, alone, alongside, restart, growth, *speeds])
        report.publish(
            "slow_senders", [_table(rows)]
        )  # inside the block, because the report contains MongoDB's version


def _table(rows: list[list[Any]]) -> report.Table:
    return report.Table(
        "Slow senders",
        "This table compares web servers with two processes of 12 threads each. "
        "*Reader* shows how many requests for the front page, sent one after the other, got a response within "
        f"{TIMEOUT:.0f} s, and the longest response time. "
        f"*With {SENDERS} senders* shows the same while {SENDERS} clients submit forms at one byte per second. "
        f"*Restart* shows the same for {READERS} readers while two instances on one socket are restarted one after the "
        "other (Granian restarts its workers on SIGHUP). "
        f"*Upload* is how much the peak memory of a server process grows, in MiB, during an upload of {UPLOAD_MB} MB. "
        f"*Bare view* and *Cached page* are pages per second with wrk and 4 connections (medians of {ROUNDS} rounds).",
        ["", "Reader", f"With {SENDERS} senders", "Restart", "Upload", "Bare view", "Cached page"],
        rows,
    )
