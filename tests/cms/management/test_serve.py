"""`manage.py serve`, as `make run` calls it, with its own var folder and port."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from marginalia.local.ports import is_free
from marginalia.local.processes import command_line
from marginalia.mongo.management.base import COULD_NOT_RUN
from marginalia.testing.mongod import EphemeralMongod, Member
from tests.support.processes import ROOT, until
from tests.support.running import Site

pytestmark = pytest.mark.slow


@pytest.fixture
def site(tmp_path):
    site = Site(tmp_path / "var")
    yield site
    if site.run is not None and site.run.poll() is None:
        site.stop()
    until(lambda: not site.remaining_processes())


def refusal(site):
    """Return the output of a refused start: one line. The exit code must be that of "could not run"."""
    result = site.manage("serve")
    assert result.returncode == COULD_NOT_RUN
    assert "Traceback" not in result.stderr
    line = result.stderr.strip().splitlines()[-1]
    assert line.startswith("CommandError: ")
    return line.removeprefix("CommandError: ")


def test_first_start_creates_a_site_and_stop_ends_it(site):
    said = site.start()
    assert site.fetch("admin/login/") == 200
    assert site.url in said
    assert f"{site.url}admin/" in said
    kept = site.var / "editor-password"
    assert f"password:  stored in {kept}\n" in said
    assert kept.read_text() not in said, "what is no terminal may have other readers"
    assert kept.stat().st_mode & 0o077 == 0

    assert site.stop() == 0
    assert "Traceback" not in site.output.read_text()
    assert site.remaining_processes() == []
    assert is_free(site.port)


def test_site_is_served_once_and_survives_its_mongod(site):
    site.start()
    assert refusal(site) == f"Process {site.run.pid} already serves this site at {site.url}. Stop it first."
    neighbour = Site(site.var.with_name("neighbour"))
    neighbour.environment["PORT"] = str(site.port)
    assert re.match(rf"Port {site.port} is in use by process \d+ \(.*gunicorn.*\)\. Run PORT=", refusal(neighbour))
    assert neighbour.remaining_processes() == []

    # Emails and other jobs run without another command.
    until(lambda: any(line.strip().endswith("manage.py work") for line in site.remaining_processes()))
    counted = site.manage(
        "shell", "-v0", "-c", "from django.contrib.auth.models import User; print(User.objects.count())"
    )
    assert counted.stdout.strip() == "1", counted.stderr

    before = site.mongod
    os.kill(before.pid, signal.SIGKILL)
    until(lambda: site.mongod and site.mongod != before)
    assert site.fetch("admin/login/") == 200
    assert f"was restarted as process {site.mongod.pid}" in site.output.read_text()


def test_terminal_shows_the_password_once(site):
    site.var.mkdir()
    ours, theirs = os.openpty()
    command = [sys.executable, "manage.py", "serve"]
    site.run = subprocess.Popen(command, cwd=ROOT, env=site.environment, stdout=theirs, start_new_session=True)
    os.close(theirs)
    said = ""
    while "Press Ctrl-C" not in said:
        said += os.read(ours, 65_536).decode()
    kept = site.var / "editor-password"
    assert f"password:  {kept.read_text()}  (stored in {kept})" in said
    assert site.stop() == 0
    os.close(ours)


@pytest.mark.parametrize(
    "words",
    [
        ["makemigrations", "--check", "--dry-run"],
        pytest.param(["check"], marks=pytest.mark.slow),
        pytest.param(["--help"], marks=pytest.mark.slow),
        pytest.param(["collectstatic", "--noinput"], marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
def test_commands_without_a_database_start_no_mongod(site, words):
    result = site.manage(*words)
    assert result.returncode == 0, result.stderr
    assert not (site.var / "mongod.json").exists()


def test_command_starts_mongod_for_its_own_duration(site):
    result = site.manage("migrate", "-v0")
    assert result.returncode == 0, result.stderr
    assert (site.var / "mongod.json").exists()
    assert site.mongod is None
    assert site.remaining_processes() == []


def test_mongod_runs_in_the_foreground(site):
    site.var.mkdir()
    run = subprocess.Popen(
        [sys.executable, "manage.py", "mongod"], cwd=ROOT, env=site.environment, stdout=subprocess.PIPE, text=True
    )
    said = [run.stdout.readline(), run.stdout.readline()]
    state = site.mongod
    assert said[0] == f"mongod is running as process {state.pid} on port {state.port}. Press Ctrl-C to stop it.\n"
    assert said[1] == f"Its URI, with the password, is in {site.var / 'mongod.json'}.\n"
    second = site.manage("mongod")
    assert second.returncode == COULD_NOT_RUN
    assert f"Process {run.pid} (" in second.stderr
    assert "runs the MongoDB of" in second.stderr
    run.send_signal(signal.SIGINT)
    assert run.wait(20) == 0
    assert run.stdout.read() == "mongod has ended.\n"
    assert site.mongod is None


def test_serve_refuses_the_mongod_of_another_command(site):
    site.var.mkdir()
    with subprocess.Popen(
        [sys.executable, "manage.py", "mongod"], cwd=ROOT, env=site.environment, stdout=subprocess.PIPE, text=True
    ) as run:
        run.stdout.readline()
        assert refusal(site).startswith(f"Process {run.pid} (")
        assert site.manage("migrate", "-v0").returncode == 0  # commands can use it
        run.send_signal(signal.SIGINT)


def test_missing_mongod_is_reported_with_its_setting(site):
    site.environment["MONGOD"] = str(site.var / "none")
    result = site.manage("migrate")
    assert result.returncode == COULD_NOT_RUN
    assert result.stderr.strip() == f"MONGOD is {site.var / 'none'}, which can't be executed. Correct the path."


@pytest.fixture
def terminal():
    """Return a pseudo-terminal, because the tests themselves can run under nohup, which the site would respect."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_stop_the_site(site, number):
    site.start()
    assert site.stop(number) == 0
    assert site.remaining_processes() == []


def test_second_start_is_quick_and_keeps_the_password(site):
    site.start()
    password = (site.var / "editor-password").read_text()
    collected = (site.var / "static" / "staticfiles.json").stat().st_mtime_ns
    assert site.stop() == 0
    said = site.start()
    assert password not in said
    assert f"password:  stored in {site.var / 'editor-password'}" in said
    assert (site.var / "static" / "staticfiles.json").stat().st_mtime_ns == collected
    times = psutil.Process(site.run.pid).cpu_times()
    assert times.user + times.system < 5  # CPU seconds, because elapsed time depends on other processes


@pytest.mark.parametrize(
    "victims", [["run"], ["gunicorn"], ["mongod", "gunicorn"], ["run", "gunicorn", "mongod", "guards"]]
)
def test_site_restarts_after_kill_9(site, victims):
    site.start()
    pids = {"run": [site.run.pid], "gunicorn": [site.gunicorn], "mongod": [site.mongod.pid]}
    pids["guards"] = [
        child.pid for child in psutil.Process(site.run.pid).children() if "guard.py" in command_line(child.pid)
    ]
    acknowledged = []
    writer = threading.Thread(target=write, args=(site.mongod.uri, acknowledged))
    writer.start()
    until(lambda: len(acknowledged) > 20)
    for victim in victims:
        for pid in pids[victim]:
            os.kill(pid, signal.SIGKILL)
    if "run" not in victims:
        assert site.run.wait(30) == COULD_NOT_RUN
        assert "The web server ended unexpectedly" in site.output.read_text()
    else:
        site.run.wait(30)
    site.start()
    assert site.fetch("admin/login/") == 200
    writer.join()
    with MongoClient(site.mongod.uri) as client:
        assert client.marginalia.kept.count_documents({"_id": {"$in": acknowledged}}) == len(acknowledged)


def write(uri, acknowledged):
    """Insert documents and note the acknowledged ones, until the server is gone or there are many."""
    with contextlib.suppress(PyMongoError), MongoClient(uri, timeoutMS=1000) as client:
        for number in range(2000):
            client.marginalia.kept.insert_one({"_id": number})
            acknowledged.append(number)


def test_copy_of_the_folder_is_served_at_the_same_time(site):
    site.start()
    assert site.stop() == 0
    copy = Site(site.var.with_name("copy"))
    shutil.copytree(site.var, copy.var)
    try:
        with ThreadPoolExecutor(2) as pool:
            assert all(pool.map(Site.start, (copy, site)))
        assert copy.mongod.port != site.mongod.port
        assert [one.fetch("admin/login/") for one in (copy, site)] == [200, 200]
    finally:
        copy.stop()
    assert site.fetch("admin/login/") == 200


def test_site_stops_with_the_make_that_started_it(site):
    site.var.mkdir()
    with (site.var / "output").open("w") as output:
        maker = subprocess.Popen(
            [sys.executable, "-c", "import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]])"]
            + ["manage.py", "serve", "--with-parent"],
            cwd=ROOT,
            env=site.environment,
            stdout=output,
            start_new_session=True,
        )
    until(lambda: "Press Ctrl-C" in (site.var / "output").read_text(), seconds=90)
    maker.kill()
    maker.wait()
    assert site.url in site.start()


def test_external_replica_set_is_used(site):
    with EphemeralMongod() as server:
        site.environment["MONGODB_URI"] = server.uri
        site.start()
        assert site.fetch("admin/login/") == 200
        assert site.stop() == 0
        assert not (site.var / "mongod").exists()
        with MongoClient(server.uri) as client:
            assert client.marginalia.auth_user.count_documents({}) == 1


def test_unreachable_server_is_refused(site):
    site.environment["MONGODB_URI"] = "mongodb://127.0.0.1:9/"
    assert refusal(site).startswith("MongoDB at 127.0.0.1:9 cannot be reached")


def test_standalone_server_is_refused(site, tmp_path):
    with Member(tmp_path / "data", replset="") as server:
        site.environment["MONGODB_URI"] = server.uri
        assert "is a standalone server" in refusal(site)


def test_port_in_use_is_reported_with_its_process(site):
    with socket.create_server(("127.0.0.1", site.port)):
        assert f"Port {site.port} is in use by process {os.getpid()} (" in refusal(site)
