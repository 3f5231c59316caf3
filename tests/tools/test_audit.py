"""The exit code of `make audit`: success only if every locked package was checked and none is vulnerable."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from marginalia.local.ports import free_port
from tools.audit import CLEAN, UNKNOWN, VULNERABLE, audit, verdict
from tools.lock import LOCK

ADVISORY = {
    "id": "TEST-1",
    "modified": "2026-01-01T00:00:00Z",
    "summary": "Of a test",
    "affected": [
        {
            "package": {"ecosystem": "PyPI", "name": "gunicorn"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.0"}]}],
        }
    ],
}


@contextmanager
def advisories(*, about: str = "", status: int = 200) -> Iterator[list[str]]:
    """Serve advisories, and yield the arguments for querying them."""

    class Service(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = {"vulns": [ADVISORY]} if asked["package"]["name"] == about else {}
            body = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield ["--vulnerability-service", "osv", "--osv-url", f"http://127.0.0.1:{server.server_port}/"]
        server.shutdown()


def report(**differing: object) -> str:
    """Return pip-audit's report about the locked packages: nothing for each, except changes for the last one."""
    lines = [line.partition(" ")[0].split("==") for line in LOCK.read_text().splitlines() if "==" in line]
    packages: list[dict[str, object]] = [{"name": name, "version": version, "vulns": []} for name, version in lines]
    packages[-1] = differing or packages[-1]
    return json.dumps({"dependencies": packages})


def test_packages_without_advisories_pass():
    status, said = verdict(report(), "")
    assert status == CLEAN
    assert said.startswith("No advisory lists any of the ")


def test_advisory_is_reported():
    vulnerable = {"name": "one", "version": "1.0", "vulns": [{"id": "TEST-1", "fix_versions": []}]}
    assert verdict(report(**vulnerable), "") == (VULNERABLE, "one 1.0: TEST-1, mended in no version")


@pytest.mark.parametrize(
    "output",
    [report(name="one", skip_reason="not found"), '{"dependencies": []}', "{}", "", "Not JSON"],
    ids=["one not known", "none asked", "no list", "nothing", "another text"],
)
def test_missing_response_does_not_pass(output):
    assert verdict(output, "")[0] == UNKNOWN


@pytest.mark.slow
def test_unreachable_service_is_reported():
    status, said = audit(["--vulnerability-service", "osv", "--osv-url", f"http://127.0.0.1:{free_port()}/"])
    assert status == UNKNOWN
    assert said.startswith("Not audited: ")
    assert "refused" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "expected", "part"),
    [
        ({}, CLEAN, "No advisory lists any of the "),
        ({"about": "gunicorn"}, VULNERABLE, "TEST-1, mended in 99.0"),
        ({"status": 404}, UNKNOWN, "Not audited: "),
        ({"status": 503}, UNKNOWN, "Not audited: "),
    ],
    ids=["nothing known", "one known", "another service", "out of order"],
)
def test_reachable_service_is_evaluated(options, expected, part):
    with advisories(**options) as where:
        status, said = audit(where)
    assert status == expected, said
    assert part in said
