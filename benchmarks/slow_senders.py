"""Web servers side by side: slow senders, restarts, memory of an upload, pages a second (docs/reference/benchmarks.md)."""

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
PATIENCE = SLOW = 2.0
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
    """A way to serve: its command for an application and a port; how it is restarted: "instances", "HUP" or ""."""

    name: str
    command: Callable[[str, int], list[str]]
    environment: dict[str, str]
    restart: str
    has_front: bool = False


def ours(application: str, port: int) -> list[str]:
    """Return the product's own command."""
    from cms.serving import web_server

    return web_server.gunicorn_command(application, port)


def granian(application: str, port: int, workers: int = 2, threads: int = 12) -> list[str]:
    """Return Granian's command."""
    numbers = ["--workers", str(workers), "--blocking-threads", str(threads), "--port", str(port)]
    return [str(GRANIAN), "--interface", "wsgi", "--no-ws", *numbers, application]


def _servers() -> Iterator[Server]:
    yield Server("gunicorn's threads", ours, {}, "instances")
    if shutil.which("nginx"):
        yield Server("the same behind nginx, which buffers", ours, {}, "", has_front=True)
    if GRANIAN.exists():
        yield Server("Granian", granian, {}, "HUP")


@contextmanager
def served(server: Server, application: str, folder: Path) -> Iterator[tuple[int, psutil.Process]]:
    """Serve an application; yield the port to ask, and the server's process."""
    from marginalia.local.ports import free_port

    back = free_port()
    front = free_port()
    environment = {**os.environ, "WEB_CONCURRENCY": "2", **server.environment}
    commands = [server.command(application, back)]
    if server.has_front:
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, front=front, back=back))
        commands.append(["nginx", "-c", str(folder / "nginx.conf"), "-g", "daemon off;"])
    with (folder / "server.log").open("ab") as log:
        running = [subprocess.Popen(one, env=environment, cwd=ROOT, stdout=log, stderr=log) for one in commands]
    port = front if server.has_front else back
    try:
        deadline = time.monotonic() + 180
        while not all(asked(port, "/", 10)[0] < 500 for _ in range(10)):
            if time.monotonic() > deadline:
                raise RuntimeError((folder / "server.log").read_text()[-2_000:])
            time.sleep(0.2)
        yield port, psutil.Process(running[0].pid)
    finally:
        for one in reversed(running):
            one.terminate()
        for one in running:
            try:
                one.wait(20)
            except subprocess.TimeoutExpired:  # Granian, where it is ended while it starts
                one.kill()
                one.wait()


def asked(port: int, path: str, patience: float = PATIENCE) -> tuple[int, float]:
    """Return the status of an answer on a connection of its own (599 if there is none), and the seconds that it took."""
    began = time.monotonic()
    answer = b""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=patience) as opened:
        opened.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        while part := opened.recv(65_536):
            answer += part
    return int(answer[9:12] or b"599"), time.monotonic() - began


def _read(port: int, path: str) -> str:
    """Return, of REQUESTS requests, how many were answered, and the longest that one took."""
    found = [asked(port, path) for _ in range(REQUESTS)]
    answered = sum(status == 200 for status, _seconds in found)
    return f"{answered}/{REQUESTS}, {max(seconds for _status, seconds in found):.2f} s"


def slow_senders(port: int, path: str) -> tuple[str, str]:
    """Return what a reader meets alone, and beside senders of a byte a second."""
    alone = _read(port, path)
    over = threading.Event()
    opened = []
    for _ in range(SENDERS):
        with suppress(OSError):
            opened.append(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
            opened[-1].sendall(HEADER + b"Content-Length: 10000\r\n\r\n")

    def send() -> None:
        while not over.wait(1):
            for one in opened:
                with suppress(OSError):
                    one.sendall(b"x")

    sender = threading.Thread(target=send)
    sender.start()
    try:
        return alone, _read(port, path)
    finally:
        over.set()
        sender.join()
        for one in opened:
            one.close()


def upload(port: int, process: psutil.Process) -> str:
    """Return by how many MiB the peak resident set of the server's processes grows when a body of UPLOAD_MB comes."""
    before = _peaks(process)
    block = b"x" * (1 << 20)
    with socket.create_connection(("127.0.0.1", port), timeout=120) as opened:
        head = HEADER.replace(b"/comments/post", b"/admin/nodes/photo/take") + b"Connection: close\r\n"
        opened.sendall(head + b"Content-Length: %d\r\n\r\n" % (UPLOAD_MB << 20))
        for _ in range(UPLOAD_MB):
            opened.sendall(block)
        answer = opened.recv(65_536)
        if b" 200 " not in answer[:20]:
            raise RuntimeError(f"the upload was not taken: {answer!r}")
    return f"+{max(after - before.get(pid, after) for pid, after in _peaks(process).items()):.0f}"


def _peaks(process: psutil.Process) -> dict[int, float]:
    found = {}
    for one in (process, *process.children(recursive=True)):
        lines = Path(f"/proc/{one.pid}/status").read_text().splitlines()
        found[one.pid] = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    return found


def restart(path: str, port: int, again: Callable[[], object]) -> str:
    """Return what readers met during a restart: requests, those that failed, those that took over SLOW, the slowest."""
    found: list[tuple[int, float]] = []
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            found.append(asked(port, path, 60))

    readers = [threading.Thread(target=read) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    try:
        time.sleep(1)
        again()
        time.sleep(2)
    finally:
        over.set()
        for reader in readers:
            reader.join()
    failed = sum(status != 200 for status, _seconds in found)
    slow = sum(seconds > SLOW for _status, seconds in found)
    return f"{len(found):,}: {failed} failed, {slow} > {SLOW:.0f} s, {max(s for _status, s in found):.2f} s"


def restarted(server: Server, path: str, folder: Path) -> str:
    """Measure a restart in the server's own way."""
    if server.restart == "HUP":
        with served(server, "cms.wsgi:application", folder) as (port, process):

            def reload() -> None:
                process.send_signal(signal.SIGHUP)
                time.sleep(8)

            return restart(path, port, reload)
    from tests.support.running import Service

    environment = {**os.environ, "WEB_CONCURRENCY": "1", **server.environment}
    command = [sys.executable, "-m", "gunicorn", "--config", str(ROOT / "cms" / "serving" / "gunicorn_conf.py")]
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        both = [Service(command, listening, folder, environment) for _ in range(2)]
        try:
            for one in both:
                one.start()
            port = listening.getsockname()[1]
            for _ in range(20):
                asked(port, path, 60)

            def each() -> None:
                for one in both:
                    one.restart()

            return restart(path, port, each)
        finally:
            for one in both:
                one.stop()


def rate(port: int, path: str) -> float:
    """Return pages a second, as wrk finds them over four connections."""
    command = ["wrk", "-t1", "-c4", f"-d{SECONDS}s", f"http://127.0.0.1:{port}{path}"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(said.partition("Requests/sec:")[2].split()[0])


def main() -> None:
    """Measure, print, publish."""
    with site.served_by_mongod() as folder:
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
                with served(server, "benchmarks.bare:application", folder) as (port, _process):
                    bare.setdefault(server.name, []).append(rate(port, "/"))
                with served(server, "cms.wsgi:application", folder) as (port, _process):
                    kept.setdefault(server.name, []).append(rate(port, path))
        for server in servers:
            with served(server, "cms.wsgi:application", folder) as (port, _process):
                alone, beside = slow_senders(port, path)
            with served(server, "benchmarks.bare:application", folder) as (port, process):
                growth = upload(port, process)
            again = restarted(server, path, folder) if server.restart else ""
            speeds = [f"{statistics.median(found[server.name]):,.0f}" for found in (bare, kept)]
            rows.append([server.name, alone, beside, again, growth, *speeds])
        report.publish("slow_senders", [_table(rows)])  # asks the server for its version


def _table(rows: list[list[Any]]) -> report.Table:
    return report.Table(
        "Slow senders",
        f"Web servers with two processes of 12 threads. *Reader*: requests for the front page, one after the other, that were "
        f"answered within {PATIENCE:.0f} s, and the longest; *beside {SENDERS}*: while so many senders of forms send a "
        f"byte a second. *Restart*: {READERS} readers while two instances on one socket are restarted one after the other "
        "(Granian: its workers, by SIGHUP). *Upload*: growth of the peak memory of any of the server's processes, in MiB, "
        f"while a body of {UPLOAD_MB} MB comes. Pages a second by wrk over 4 connections, medians of {ROUNDS}. "
        "`python -m benchmarks slow_senders` (nginx and Granian 2.8.7 where they are installed).",
        ["", "Reader", f"Beside {SENDERS}", "Restart", "Upload", "Bare view", "Kept page"],
        rows,
    )
