"""The steps of `manage.py serve`: claim the var folder, set up the site, and start the web server and the worker."""

import hashlib
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

from cms.environment.secret import load_or_create_secret
from cms.serving import web_server
from marginalia.local.claims import Claim, Claimed
from marginalia.local.ports import is_free, listener
from marginalia.local.processes import RestartingProcess, command_line, start_guarded
from marginalia.mongo import indexes
from nodes.models import Node

EDITOR_USERNAME = "editor"
PORT_RELEASE_SECONDS = 5.0  # how long to wait for the processes of a killed run to release the port
GRACE_SECONDS = 15.0  # how long running requests have to finish when the site shuts down
READY_SECONDS = 60.0  # how long to wait for the home page to be served


class CannotServe(Exception):
    """The site can't be served. The message contains the reason."""


@contextmanager
def claim_var_folder(path: Path, url: str) -> Iterator[Claim]:
    """Claim a var folder for one run. Other runs that try to claim the folder report `url`.

    Raises:
        CannotServe: Another run has claimed the folder. The message contains the process id of that run.
    """
    claim = Claim(path)
    try:
        claim.acquire()
    except Claimed as claimed:
        pid = claimed.facts.get("pid", "unknown")
        address = claimed.facts.get("url", "unknown")
        raise CannotServe(f"Process {pid} already serves this site at {address}. Stop it first.") from claimed
    claim.record(url=url)
    try:
        yield claim
    finally:
        claim.record(url=url, ending=True)
        claim.release()


def require_free_port(port: int) -> None:
    """Wait until the port is free.

    Raises:
        CannotServe: Another process is using the port, or the operating system doesn't allow this process to use
            it.
    """
    try:
        _wait_for_port(port)
    except (OSError, OverflowError) as error:
        raise CannotServe(f"Port {port} can't be used: {error}. Choose another one with PORT.") from error


def _wait_for_port(port: int) -> None:
    deadline = time.monotonic() + PORT_RELEASE_SECONDS
    while not is_free(port):
        holder = listener(port)
        is_own = holder is None or "cms/serving/gunicorn_conf.py" in command_line(holder)
        if not is_own or time.monotonic() > deadline:
            program = f"process {holder} ({command_line(holder)[:80]})" if holder else "another program"
            raise CannotServe(f"Port {port} is in use by {program}. Run PORT={port + 1} make run to use another one.")
        time.sleep(0.1)


def set_up() -> None:
    """Migrate the database, create indexes and collect static files, unless everything is up to date.

    Raises:
        CannotServe: The data folder or the database was written by an older, incompatible version.
    """
    try:
        indexes.require_present_format()
    except indexes.FormerFormat as error:
        scheme, _, folder = settings.DATABASES["default"]["HOST"].partition(":")
        raise CannotServe(
            f"{folder}: {error} To start with an empty site, set another VAR_DIR."
            if scheme == "embedded"
            else str(error)
        ) from error
    call_command("migrate", interactive=False, verbosity=0)
    indexes.ensure()
    _collect_static(settings.VAR_DIR / "static.digest")


def load_demo() -> bool:
    """If DEMO is on and the database is empty, load the demo site. Return whether it was loaded.

    If an earlier run was interrupted while loading the demo, resume loading. Existing content isn't changed.
    """
    unfinished = settings.VAR_DIR / "demo.unfinished"
    if not settings.DEMO or (Node.objects.exists() and not unfinished.exists()):
        return False
    unfinished.touch()
    call_command("load_demo", verbosity=0)
    unfinished.unlink()
    return True


@dataclass(frozen=True)
class Login:
    """The login data of the first account.

    Attributes:
        password: The password if the account has just been created, or None otherwise.
        password_file: The file that contains the password, or None if the password has been changed.
    """

    name: str
    password: str | None
    password_file: Path | None


def create_first_login() -> Login | None:
    """If the database has no users, create an editor's account. Return the account's login data.

    Return None if an operator has created the accounts. The account is created only on a local site. On a public site,
    operators use `manage.py createsuperuser`.
    """
    users = get_user_model().objects
    password_file = settings.VAR_DIR / "editor-password"
    editor = users.filter(username=EDITOR_USERNAME).first()
    if editor is None:
        if not settings.LOCAL or users.exists():
            return None
        password = load_or_create_secret(password_file, size=12)
        users.create_superuser(EDITOR_USERNAME, "", password)
        return Login(EDITOR_USERNAME, password, password_file)
    if not password_file.exists():
        return None
    return Login(
        EDITOR_USERNAME, None, password_file if editor.check_password(load_or_create_secret(password_file)) else None
    )


def _collect_static(stamp: Path) -> None:
    """Run collectstatic if a source file or the storage settings have changed, or if the result is missing.

    `stamp` is the file that contains the digest of the last run.
    """
    digest = hashlib.sha256(repr(settings.STORAGES["staticfiles"]).encode())
    for finder in get_finders():
        for path, storage in finder.list([]):
            status = os.stat(storage.path(path))
            digest.update(f"{path}:{status.st_size}:{status.st_mtime_ns}\n".encode())
    if (
        stamp.exists()
        and stamp.read_text() == digest.hexdigest()
        and (settings.STATIC_ROOT / "staticfiles.json").exists()
    ):
        return
    call_command("collectstatic", interactive=False, verbosity=0)
    stamp.write_text(digest.hexdigest())


def start_web_server(port: int, claim: Claim) -> subprocess.Popen[bytes]:
    """Start the web server on a loopback port. Return its guard process.

    The guard process holds the claim until the web server exits.
    """
    command = web_server.gunicorn_command(port)
    return start_guarded(command, grace=GRACE_SECONDS, claims=[claim.descriptor])


def create_worker(claim: Claim) -> RestartingProcess:
    """Return the worker process, which runs jobs such as sending emails. Call `ensure_running` to start the process."""
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "work"]
    log = settings.VAR_DIR / "log" / "work.log"
    return RestartingProcess(command, log=log, grace=GRACE_SECONDS, claims=[claim.descriptor])


def wait_until_ready(url: str, web: subprocess.Popen[bytes]) -> None:
    """Wait until the home page is served without a server error.

    Raises:
        CannotServe: The web server has exited, or waiting takes longer than READY_SECONDS.
    """
    host = next((name for name in settings.ALLOWED_HOSTS if not name.startswith((".", "*"))), "localhost")
    deadline = time.monotonic() + READY_SECONDS
    answer = "nothing"
    while time.monotonic() < deadline:
        if web.poll() is not None:
            raise CannotServe(f"The web server ended (exit code {web.returncode}). See its messages above.")
        try:
            with _opener.open(urllib.request.Request(url, headers={"Host": host}), timeout=10) as page:
                page.read()
                return
        except urllib.error.HTTPError as error:
            if error.code < 500:  # for example a redirect to HTTPS, or a home page that hasn't been published yet
                return
            answer = f"status {error.code}"
            time.sleep(0.5)
        except OSError:
            time.sleep(0.05)
    raise CannotServe(f"The site's first page can't be loaded ({answer}). See the messages above.")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: object) -> None:
        return None


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
