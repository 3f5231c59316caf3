"""What `manage.py serve` is made of: the claim on a var folder, the first set-up, the web server."""

import fcntl
import hashlib
import json
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

from cms import servers
from cms.environment import kept_secret
from local.mongod import is_free
from local.processes import command_line, end, guarded, listener, open_lock
from mongo import indexes
from nodes.models import Node

EDITOR = "editor"
LEAVING_SECONDS = 5.0  # how long the rest of a killed run may still hold a port
NOTICING_SECONDS = 5.0  # how long a run may take on a busy machine to notice that who started it is gone
ENDING_SECONDS = 60.0  # how long a run that ends may take to give the folder back
GRACE_SECONDS = 15.0  # for requests under way when the site ends
READY_SECONDS = 60.0
WORKER_PAUSE_SECONDS = 5.0  # between two starts of the worker
LOG_BYTES = 10_000_000


class CannotServe(Exception):
    """The site cannot be served here and now; the text is one sentence that says why."""


@contextmanager
def claimed(lock: Path, url: str) -> Iterator[None]:
    """Hold this var folder for one run. Raises CannotServe, naming the process, when another run serves from it.

    A run that was killed may leave its web server for a moment: that one's guard holds the lock, and is waited for.
    """
    held = open_lock(lock)
    began = time.monotonic()
    try:
        while True:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                _wait_for_holder(os.pread(held, 1000, 0), time.monotonic() - began)
        _note(held, url, ending=False)
        try:
            yield
        finally:
            _note(held, url, ending=True)
    finally:
        os.close(held)


def _note(held: int, url: str, *, ending: bool) -> None:
    os.ftruncate(held, 0)
    os.pwrite(held, json.dumps({"pid": os.getpid(), "url": url, "ending": ending}).encode(), 0)


def _wait_for_holder(note: bytes, waited: float) -> None:
    holder = json.loads(note or "{}")
    if holder and not holder["ending"] and command_line(holder["pid"]) and waited > NOTICING_SECONDS:
        raise CannotServe(f"Process {holder['pid']} serves this site already, at {holder['url']}.")
    if waited > ENDING_SECONDS:
        raise CannotServe(f"Process {holder.get('pid', 'unknown')} should have ended and still holds this site's data.")
    time.sleep(0.1)


def require_port(port: int) -> None:
    """Return once the port can be listened on. Raises CannotServe, naming who holds it."""
    deadline = time.monotonic() + LEAVING_SECONDS
    while not is_free(port):
        holder = listener(port)
        ours = holder is None or "cms.wsgi" in command_line(holder)
        if not ours or time.monotonic() > deadline:
            who = f"process {holder} ({command_line(holder)[:80]})" if holder else "another program"
            raise CannotServe(f"Port {port} is held by {who}; PORT={port + 1} make run takes another.")
        time.sleep(0.1)


def set_up() -> None:
    """Bring the database and the static files to this version; what is up to date is left alone."""
    call_command("migrate", interactive=False, verbosity=0)
    indexes.ensure()
    _collect_static(settings.VAR_DIR / "static.digest")


def load_demo() -> bool:
    """Load the demo site into an empty database, unless DEMO says no; return whether it was.

    A load that was broken off is taken up again: the command leaves what is there as it is.
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
    """The first account's name; its password while it is still the one made here, and the file that keeps it."""

    name: str
    password: str | None
    kept_in: Path


def first_login() -> Login | None:
    """Make the demo editor in a database without users; None where somebody else made the accounts.

    Only a local site gets one: elsewhere `manage.py createsuperuser` asks for a name and a password.
    """
    users = get_user_model().objects
    kept_in = settings.VAR_DIR / "editor-password"
    editor = users.filter(username=EDITOR).first()
    if editor is None:
        if not settings.LOCAL or users.exists():
            return None
        editor = users.create_superuser(EDITOR, "", kept_secret(kept_in, size=12))
    if not kept_in.exists():
        return None
    password = kept_secret(kept_in)
    return Login(EDITOR, password if editor.check_password(password) else None, kept_in)


def _collect_static(stamp: Path) -> None:
    """Run collectstatic when a source file, or what is made of it, is not as it was after the last time."""
    digest = hashlib.sha256(repr(settings.STORAGES["staticfiles"]).encode())
    for finder in get_finders():
        for path, storage in finder.list([]):
            found = os.stat(storage.path(path))
            digest.update(f"{path}:{found.st_size}:{found.st_mtime_ns}\n".encode())
    if (
        stamp.exists()
        and stamp.read_text() == digest.hexdigest()
        and (settings.STATIC_ROOT / "staticfiles.json").exists()
    ):
        return
    call_command("collectstatic", interactive=False, verbosity=0)
    stamp.write_text(digest.hexdigest())


def start_web(port: int, lease: Path) -> subprocess.Popen[bytes]:
    """Start the web server on this loopback port, to end with whoever holds the lock `lease`; return its guard."""
    return guarded(servers.command("cms.wsgi:application", port), lease=lease, grace=GRACE_SECONDS)


class Worker:
    """The process that does the queue's jobs (mails). One that has ended, say because MongoDB had, is started again."""

    def __init__(self, lease: Path) -> None:
        self._lease = lease
        self._not_before = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    def look(self) -> None:
        """Start the process if it does not run and its next try is due. To be called now and then."""
        if time.monotonic() < self._not_before or (self._process and self._process.poll() is None):
            return
        log = settings.VAR_DIR / "log" / "work.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        if log.exists() and log.stat().st_size > LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
        with log.open("ab") as output:
            command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "work"]
            self._process = guarded(command, lease=self._lease, grace=GRACE_SECONDS, output=output)
        self._not_before = time.monotonic() + WORKER_PAUSE_SECONDS

    def end(self) -> None:
        """End the process and wait until it is gone."""
        if self._process is not None:
            end(self._process, GRACE_SECONDS)


def wait_until_answering(url: str, web: subprocess.Popen[bytes]) -> None:
    """Return once the site's first page comes without an error. Raises CannotServe when it does not."""
    host = next((name for name in settings.ALLOWED_HOSTS if not name.startswith((".", "*"))), "localhost")
    deadline = time.monotonic() + READY_SECONDS
    answer = "nothing"
    while time.monotonic() < deadline:
        if web.poll() is not None:
            raise CannotServe(f"The web server ended (status {web.returncode}); its reason stands above.")
        try:
            with _direct.open(urllib.request.Request(url, headers={"Host": host}), timeout=10) as page:
                page.read()
                return
        except urllib.error.HTTPError as error:
            if error.code < 500:  # a redirect to https, a home page that is not there yet
                return
            answer = f"status {error.code}"
            time.sleep(0.5)
        except OSError:
            time.sleep(0.05)
    raise CannotServe(f"The site's first page does not come ({answer}); the reason stands above.")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: object) -> None:
        return None


_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
