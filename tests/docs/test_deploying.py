"""docs/how-to/{deploy,backup,upgrade}.md: everything that is not marked as not tested is executed as written."""

import http.client
import json
import os
import re
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from marginalia.local.mongod import locate
from marginalia.local.ports import free_port, is_free
from tests.docs.pages import DEPLOY, ROOT, blocks, commands_of, started_by, tried
from tests.support.processes import until
from tests.support.running import Service

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("openssl"), reason="keys and certificates are made by openssl"),
]
PAGES = ("deploy.md", "backup.md", "upgrade.md")
MEMBERS = ("db1", "db2", "db3")
# Findings of the doctor that this machine cannot fix, because its MongoDB is an older 6.0.
EXPECTED = {"server-end-of-life", "server-faulty"}


def shell(command: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@contextmanager
def running(command: list[str], log: Path, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until the block ends."""
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, **options)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class Deployed:
    """A site as the guide creates it, with names, ports and folders of the machines replaced by those of this test."""

    folder: Path
    ports: tuple[int, ...]
    environment: dict[str, str]
    admin: MongoClient
    web: int

    def here(self, text: str) -> str:
        """Return a text of the guides with the replacements for this machine."""
        for name, port in zip(MEMBERS, self.ports, strict=True):
            text = text.replace(f"{name}.example.org:27017", f"localhost:{port}")
        changes = {
            "/etc/mongodb/": f"{self.folder}/",
            "/srv/marginalia/.venv/bin/python": sys.executable,
            ".venv/bin/python": sys.executable,
            "/srv/marginalia": str(ROOT),
            "127.0.0.1:8000": f"127.0.0.1:{self.web}",
        }
        # In one pass, so that replaced text, such as an interpreter in the clone's own .venv, is not replaced again.
        return re.sub("|".join(map(re.escape, changes)), lambda found: changes[found[0]], text)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        return shell(self.here(command), ROOT, self.environment)


def members(folder: Path, ports: tuple[int, ...], stack: ExitStack) -> None:
    """Create keys and certificates and start three servers as the guide describes, all on this machine."""
    for block in tried("deploy.md", "console")[:2]:
        for command in block.commands():
            done = shell(command.replace("db1.example.org", "localhost"), folder, dict(os.environ))
            assert done.returncode == 0, f"{command}: {done.stderr}"
    [written] = tried("deploy.md", "yaml")
    for name, port in zip(MEMBERS, ports, strict=True):
        text = written.text.replace("127.0.0.1,db1.example.org", "127.0.0.1").replace("port: 27017", f"port: {port}")
        text = text.replace("/var/lib/mongodb", f"{folder}/{name}").replace("/etc/mongodb/", f"{folder}/")
        text = text.replace("/var/log/mongodb/mongod.log", f"{folder}/{name}.log")
        (folder / name).mkdir()
        (folder / f"{name}.conf").write_text(text)
        small = ["--wiredTigerCacheSizeGB", "0.25", "--networkMessageCompressors", "disabled"]
        small += ["--setParameter", "shutdownTimeoutMillisForSignaledShutdown=100"]
        command = [str(locate()), "--config", str(folder / f"{name}.conf"), *small]
        stack.enter_context(running(command, folder / f"{name}.out"))
    for port in ports:
        until(lambda: not is_free(port), seconds=60)  # noqa: B023 - called before the next one


def initiated(folder: Path, ports: tuple[int, ...], here: Callable[[str], str]) -> MongoClient:
    """Send the commands that the guide types into the shell, and return a client of its administrator."""
    lines = [block.text for block in tried("deploy.md", "js")]
    initiate, create_admin, create_user = [sent for text in lines for sent in commands_of(here(text))]
    options: dict[str, Any] = {"tls": True, "tlsCAFile": str(folder / "ca.pem"), "serverSelectionTimeoutMS": 30_000}
    with ExitStack() as stack:
        direct = [
            stack.enter_context(MongoClient("localhost", port, directConnection=True, **options)) for port in ports
        ]
        direct[0].admin.command(initiate)

        def primaries() -> list[MongoClient]:
            return [member for member in direct if member.admin.command("hello")["isWritablePrimary"]]

        until(primaries, seconds=90)
        primaries()[0].admin.command(create_admin)
    hosts = ",".join(f"localhost:{port}" for port in ports)
    admin = MongoClient(
        f"mongodb://{hosts}/?replicaSet=rs0&authSource=admin",
        username=create_admin["createUser"],
        password=create_admin["pwd"],
        **options,
    )
    admin.admin.command(create_user)
    return admin


@pytest.fixture(scope="module")
def deployed(tmp_path_factory) -> Iterator[Deployed]:
    folder = tmp_path_factory.mktemp("deployed")
    ports = tuple(free_port() for _ in MEMBERS)
    with ExitStack() as stack:
        members(folder, ports, stack)
        site = Deployed(folder, ports, {}, None, free_port())
        admin = stack.enter_context(initiated(folder, ports, site.here))
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        written = (DEPLOY / "example.env").read_text()
        said = dict(line.split("=", 1) for line in site.here(written).splitlines())
        own = {"VAR_DIR": str(folder / "var"), "DJANGO_SUPERUSER_PASSWORD": "a long password"}
        # No mail server runs here.
        own["EMAIL_URL"] = "dummymail://"
        own["SECRET_KEY"] = secrets.token_urlsafe(50)
        yield replace(site, environment=kept | said | own, admin=admin)


def test_guide_produces_a_site(deployed):
    """All steps in order: setup, doctor, services, proxy, cron."""
    for block in tried("deploy.md", "console")[2:3]:
        for command in block.commands():
            more = " --no-input" if "createsuperuser" in command else " --json" if "doctor" in command else ""
            done = deployed.run(command + more)
            if "doctor" in command:
                errors = {f["name"]: f for f in json.loads(done.stdout)["findings"] if f["level"] == "error"}
                assert set(errors) <= EXPECTED, errors
            else:
                assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    with ExitStack() as stack:
        web, work = services(deployed)
        listening = stack.enter_context(socket.create_server(("127.0.0.1", deployed.web), backlog=1024))
        for _ in range(2):
            instance = Service(web, listening, deployed.folder, deployed.environment)
            stack.callback(instance.stop)
            instance.start()
        log = deployed.folder / "work.log"
        stack.enter_context(running(work, log, cwd=ROOT, env=deployed.environment))
        until(lambda: answer(deployed, "/readyz") == 200, seconds=60)
        for command in tried("deploy.md", "console")[-1].commands():
            assert command.startswith("curl --fail http://127.0.0.1:8000/")
            assert answer(deployed, command.rpartition(":8000")[2]) == 200, command
        assert answer(deployed, "/") == 301, "to HTTPS"
        asked = {"X-Forwarded-Proto": "https"}
        assert answer(deployed, "/", **asked) == 200
        page = fetch(deployed, "/", **asked).read().decode()
        [style] = re.findall(r'href="(/static/site/site\.[0-9a-f]+\.css)"', page)
        assert "immutable" in fetch(deployed, style, **asked).headers["Cache-Control"]
        if shutil.which("nginx"):
            behind_nginx(deployed, stack)
    for line in tried("deploy.md", "cron")[0].text.splitlines():
        assert re.match(r"\d+ [\d*]+ \* \* [\d*]+ +marginalia  ", line)
        done = deployed.run(line.partition("  cd ")[1].strip() + " " + line.partition("  cd ")[2])
        assert done.returncode == 0, f"{line}: {done.stderr}"


def services(deployed: Deployed) -> list[list[str]]:
    """Return the commands of the two units on this machine."""
    units = ("marginalia@.service", "marginalia-work.service")
    return [[deployed.here(word) for word in started_by(unit)] for unit in units]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: object) -> None:
        return None


def fetch(
    deployed: Deployed, path: str, *, url: str = "", context: ssl.SSLContext | None = None, **headers: str
) -> Any:
    handlers = [urllib.request.ProxyHandler({}), _NoRedirect(), urllib.request.HTTPSHandler(context=context)]
    asked = urllib.request.Request(
        (url or f"http://127.0.0.1:{deployed.web}") + path, headers={"Host": "example.org", **headers}
    )
    return urllib.request.build_opener(*handlers).open(asked, timeout=30)


def answer(deployed: Deployed, path: str, **options: Any) -> int:
    """Return the status of the response, or 0 without a response."""
    try:
        return int(fetch(deployed, path, **options).status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def behind_nginx(deployed: Deployed, stack: ExitStack) -> None:
    """Start nginx in front, with the first member's certificate."""
    secure, plain = free_port(), free_port()
    text = deployed.here((DEPLOY / "nginx.conf").read_text()).replace("listen 443", f"listen 127.0.0.1:{secure}")
    text = text.replace("listen 80", f"listen 127.0.0.1:{plain}")
    text = re.sub(r"listen \[::\].*;", "", text)  # a test machine may have no IPv6
    text = re.sub(r"/etc/letsencrypt/live/example.org/\w+\.pem", f"{deployed.folder}/db1.pem", text)
    folder = deployed.folder / "nginx"
    folder.mkdir()
    text = text.replace("/var/log/nginx", str(folder))
    kept = "".join(
        f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = f"pid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\nhttp {{\naccess_log off;\n{kept}{text}}}\n"
    (folder / "nginx.conf").write_text(main)
    command = ["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder), "-g", "daemon off;"]
    stack.enter_context(running(command, folder / "out"))
    context = ssl.create_default_context(cafile=deployed.folder / "ca.pem")
    over = {"url": f"https://localhost:{secure}", "context": context}
    until(lambda: answer(deployed, "/healthz", **over) == 200)
    assert answer(deployed, "/admin/nodes/photo/", **over) in (200, 302)
    stranger = http.client.HTTPSConnection("localhost", secure, context=context, timeout=30)
    stranger.request("POST", f"/admin/nodes/photo/upload/{'5' * 24}/", b"picture", {"Host": "example.org"})
    assert stranger.getresponse().status == 401
    stranger.close()
    # Headers that a visitor sends about the connection are not trusted.
    assert answer(deployed, "/", **over, **{"X-Forwarded-Proto": "http"}) == 200
    assert answer(deployed, "/", url=f"http://127.0.0.1:{plain}") == 301
    assert fetch(deployed, "/", **over).headers["X-Request-ID"] in (folder / "access.log").read_text()
    watch_the_certificate(deployed, secure)


def watch_the_certificate(deployed: Deployed, port: int) -> None:
    """Run the line of cron that prints a warning before the certificate expires in 825 days."""
    [line] = [block.text for block in tried("operate.md", "cron")]
    command = line.partition("  marginalia  ")[2].replace("-connect example.org:443", f"-connect 127.0.0.1:{port}")
    for days, said in ((14, ""), (900, "The certificate of example.org ends")):
        done = deployed.run(command.replace("1209600", str(days * 86_400)))
        assert (done.returncode, done.stdout[:35]) == (0, said), done.stderr


def test_guide_upgrades_a_site(deployed):
    for block in tried("upgrade.md", "console"):
        for command in block.commands():
            done = deployed.run(command)
            assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    said = [deployed.admin.admin.command(sent) for block in tried("upgrade.md", "js") for sent in block.sent()]
    assert said[0]["featureCompatibilityVersion"]["version"] == "6.0"
    until(lambda: deployed.admin.admin.command("hello")["isWritablePrimary"], seconds=60)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_tested_or_marked_as_not_tested(page):
    """Each block is in a language that the tests above execute, or is marked as not tested."""
    followed = {"console", "yaml", "js", "cron"}
    assert {block.language for block in blocks(page) if block.tried} <= followed
