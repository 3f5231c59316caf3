"""The files of deploy/ are consistent: command lines, settings, addresses, and references in documents."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.urls import reverse

from cms.serving import web_server
from tests.docs.pages import DEPLOY, ROOT, commands_of, started_by, tried
from tests.support.site_settings import documented, production

pytestmark = pytest.mark.slow

CONTAINERFILE = (DEPLOY / "Containerfile").read_text()
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
UNITS = ("marginalia@.service", "marginalia-work.service")
MEMBERS = ("db1", "db2", "db3")


def exec_form(instruction: str) -> list[str]:
    """Return the words of the last instruction of a kind in the Containerfile."""
    return json.loads(re.findall(rf"^{instruction} (\[.*\])$", CONTAINERFILE, re.MULTILINE)[-1])


def serving(words: list[str]) -> tuple[list[str], str]:
    """Return the Python arguments that serve the site, without the address, and the address."""
    words = list(words)
    address = ""
    if "--bind" in words:
        at = words.index("--bind")
        address = words.pop(at + 1)
        words.pop(at)
    return words, address


def entries(text: str, name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", text, re.MULTILINE)


def test_web_server_has_the_same_command_line_everywhere():
    command = ["-m", "gunicorn"]  # which reads gunicorn.conf.py in the site's folder
    assert serving(started_by("marginalia@.service")[1:]) == (command, "")  # the socket has the address
    assert serving(COMPOSE["site"]["command"]) == (command, "127.0.0.1:8000")
    assert serving(exec_form("CMD")) == (command, "0.0.0.0:8000")
    assert exec_form("ENTRYPOINT") == ["python3"]


def test_gunicorn_and_serve_use_the_same_settings():
    command = web_server.gunicorn_command(8000)
    read, imported = ROOT / "gunicorn.conf.py", ROOT / "cms/serving/gunicorn_conf.py"
    assert command[command.index("--config") + 1] == str(imported)
    assert "from cms.serving.gunicorn_conf import *" in read.read_text()


def test_worker_has_the_same_command_line_everywhere():
    words = started_by("marginalia-work.service")[1:]
    assert words == COMPOSE["work"]["command"] == ["manage.py", "work"]


def test_all_files_use_the_same_address_of_the_site():
    assert entries((DEPLOY / "marginalia.socket").read_text(), "ListenStream") == ["127.0.0.1:8000"]
    passed_to = re.findall(r"proxy_pass (\S+);", (DEPLOY / "nginx.conf").read_text())
    assert set(passed_to) == {"http://127.0.0.1:8000", "http://127.0.0.1:8000/api/v1/photos/may-send"}
    assert reverse("api-may-send-photos") == "/api/v1/photos/may-send"
    assert "http://127.0.0.1:8000/healthz" in exec_form(r"    CMD")[-1]
    assert COMPOSE["site"]["network_mode"] == "service:proxy"
    assert "ports" not in COMPOSE["site"]


def test_proxy_listens_on_ipv4_and_ipv6():
    listened = re.findall(r"listen (.+);", (DEPLOY / "nginx.conf").read_text())
    assert listened == ["443 ssl", "[::]:443 ssl", "80", "[::]:80"]


def test_guide_states_the_disk_limit_of_nginx():
    """Connections times megabytes: of the server's own limits, and of the locations in order."""
    conf = (DEPLOY / "nginx.conf").read_text()

    def bounded(zone: str, size: str) -> tuple[int, int]:
        [connections] = re.findall(rf"limit_conn marginalia_{zone} (\d+);", conf)
        return int(connections), int(size.removesuffix("m"))

    body, upload = re.findall(r"client_max_body_size (\d+m);", conf)
    page, copy, original = re.findall(r"proxy_max_temp_file_size (\d+m);", conf)
    found = [bounded("senders", body), bounded("all", page), bounded("copies", copy), bounded("originals", original)]
    rows = re.findall(
        r"^\|.*\| (\d+) \| (\d+) MB \| ([\d.]+) GB \|$", (ROOT / "docs/how-to/deploy.md").read_text(), re.M
    )
    assert [(int(connections), int(size)) for connections, size, _sum in rows] == [*found, bounded("uploads", upload)]
    assert [int(connections) * int(size) / 1000 for connections, size, _sum in rows] == [float(row[2]) for row in rows]


def test_example_settings_contain_every_production_variable():
    written = (DEPLOY / "example.env").read_text()
    named = dict(line.split("=", 1) for line in written.splitlines())
    assert named.keys() == production().keys()
    of_units = {
        entry.partition("=")[0] for unit in UNITS for entry in entries((DEPLOY / unit).read_text(), "Environment")
    }
    assert of_units
    assert named.keys() | of_units <= documented().keys()
    for service in ("site", "work"):
        assert (DEPLOY / COMPOSE[service]["env_file"]).resolve() == ROOT / ".env"
        assert "environment" not in COMPOSE[service]
    in_image = re.findall(r"(\w+)=", " ".join(re.findall(r"^ENV (.*)$", CONTAINERFILE, re.MULTILINE)))
    assert all(name.startswith(("PYTHON", "PROMETHEUS")) for name in in_image)


def test_members_have_the_options_of_the_guide():
    [page] = [yaml.safe_load(block.text) for block in tried("deploy.md", "yaml")]
    net, tls = page["net"], page["net"]["tls"]
    for member in MEMBERS:
        flags = dict(word.removeprefix("--").partition("=")[::2] for word in COMPOSE[member]["command"][1:])
        assert flags == {
            "replSet": page["replication"]["replSetName"],
            "bind_ip_all": "",
            "auth": "",
            "keyFile": page["security"]["keyFile"],
            "tlsMode": tls["mode"],
            "tlsCertificateKeyFile": tls["certificateKeyFile"].replace("db1", member),
            "tlsCAFile": tls["CAFile"],
            "tlsAllowConnectionsWithoutCertificates": "",
        }
    assert page["security"]["authorization"] == "enabled"
    assert tls["allowConnectionsWithoutCertificates"] is True
    assert net["port"] == 27017


def test_members_have_the_names_of_the_guide():
    [initiate, *_] = [sent for block in tried("deploy.md", "js") for sent in commands_of(block.text)]
    hosts = [member["host"] for member in initiate["replSetInitiate"]["members"]]
    [uri] = entries((DEPLOY / "example.env").read_text(), "MONGODB_URI")
    assert uri.partition("@")[2].partition("/")[0].split(",") == hosts
    aliases = [COMPOSE[member]["networks"]["databases"]["aliases"] for member in MEMBERS]
    assert [f"{name}:27017" for [name] in aliases] == hosts
    assert f"replicaSet={initiate['replSetInitiate']['_id']}&" in uri


def test_services_have_the_same_time_to_stop():
    seconds = {entry for unit in UNITS for entry in entries((DEPLOY / unit).read_text(), "TimeoutStopSec")}
    assert {f"{entry}s" for entry in seconds} == {COMPOSE[service]["stop_grace_period"] for service in ("site", "work")}


def test_services_are_restarted_without_a_limit():
    """systemd would also close the socket of the other instance."""
    assert all(entries((DEPLOY / unit).read_text(), "StartLimitIntervalSec") == ["0"] for unit in UNITS)


def test_units_are_sandboxed_alike():
    bounds = [(DEPLOY / unit).read_text().partition("NoNewPrivileges")[2].partition("\n\n")[0] for unit in UNITS]
    assert len(set(bounds)) == 1
    for line in (
        *("=true", "UMask=0077", "CapabilityBoundingSet=", "ProtectSystem=strict", "SystemCallFilter=@system-service"),
        *(f"ProtectKernel{name}=true" for name in ("Logs", "Modules", "Tunables")),
        "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
    ):
        assert f"{line}\n" in bounds[0], line


def test_containers_have_minimal_permissions():
    assert re.search(r"^USER 10001:10001$", CONTAINERFILE, re.MULTILINE)
    for service in ("site", "work"):
        assert COMPOSE[service]["read_only"] is True
        assert COMPOSE[service]["cap_drop"] == ["ALL"]
    # Services that need the database, the internet or both.
    networks: dict[str, Any] = {name: set(COMPOSE[name]["networks"]) for name in ("proxy", "work", *MEMBERS)}
    assert all(networks[member] == {"databases"} for member in MEMBERS)


@pytest.mark.parametrize(
    ("text", "status"), [(CONTAINERFILE, 0), ("FROM debian\nRUN cd /tmp\n", 1)], ids=["ours", "bad"]
)
def test_hadolint_passes_the_containerfile(text, status):
    command = [str(Path(sys.executable).with_name("hadolint")), "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
