"""What `manage.py serve` is made of: the claim on a var folder, the first set-up, the web server."""

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

from cms.environment.secret import kept_secret
from cms.serving import command as servers
from marginalia.local.claims import Claim, Claimed
from marginalia.local.ports import is_free, listener
from marginalia.local.processes import Restarted, command_line, guarded
from marginalia.mongo import indexes
from nodes.models import Node

EDITOR = "editor"
LEAVING_SECONDS = 5.0  # how long the rest of a killed run may still hold a port
GRACE_SECONDS = 15.0  # for requests under way when the site ends
READY_SECONDS = 60.0


class CannotServe(Exception):
    """The site cannot be served here and now; the text is one sentence that says why."""


@contextmanager
def claimed(path: Path, url: str) -> Iterator[Claim]:
    """Claim a var folder for one run. Raises CannotServe, naming the process, where another run serves from it."""
    claim = Claim(path)
    try:
        claim.take()
    except Claimed as claimed:
        pid = claimed.facts.get("pid", "unknown")
        at = claimed.facts.get("url", "unknown")
        raise CannotServe(f"Process {pid} serves this site already, at {at}.") from claimed
    claim.say(url=url)
    try:
        yield claim
    finally:
        claim.say(url=url, ending=True)
        claim.release()


def require_port(port: int) -> None:
    """Return once the port can be listened on. Raises CannotServe, naming who holds it, or why it cannot be."""
    try:
        _await_port(port)
    except (OSError, OverflowError) as error:
        raise CannotServe(f"Port {port} cannot be listened on: {error}.") from error


def _await_port(port: int) -> None:
    deadline = time.monotonic() + LEAVING_SECONDS
    while not is_free(port):
        holder = listener(port)
        ours = holder is None or "cms.wsgi" in command_line(holder)
        if not ours or time.monotonic() > deadline:
            who = f"process {holder} ({command_line(holder)[:80]})" if holder else "another program"
            raise CannotServe(f"Port {port} is held by {who}; PORT={port + 1} make run takes another.")
        time.sleep(0.1)


def set_up() -> None:
    """Bring the database and the static files to this version; what is up to date is left alone. Raises CannotServe for a
    data folder, or a database, that an older version wrote."""
    try:
        indexes.require_present_format()
    except indexes.FormerFormat as error:
        scheme, _, folder = settings.DATABASES["default"]["HOST"].partition(":")
        raise CannotServe(
            f"{folder}: {error} Another VAR_DIR begins anew." if scheme == "embedded" else str(error)
        ) from error
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
    """The first account's name; its password where it was made just now; the file that keeps it while it is still that one."""

    name: str
    password: str | None
    kept_in: Path | None


def first_login() -> Login | None:
    """Make the demo editor in a database without users; None where the operator made the accounts.

    Only a local site gets one: elsewhere `manage.py createsuperuser` asks for a name and a password.
    """
    users = get_user_model().objects
    kept_in = settings.VAR_DIR / "editor-password"
    editor = users.filter(username=EDITOR).first()
    if editor is None:
        if not settings.LOCAL or users.exists():
            return None
        password = kept_secret(kept_in, size=12)
        users.create_superuser(EDITOR, "", password)
        return Login(EDITOR, password, kept_in)
    if not kept_in.exists():
        return None
    return Login(EDITOR, None, kept_in if editor.check_password(kept_secret(kept_in)) else None)


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


def start_web(port: int, claim: Claim) -> subprocess.Popen[bytes]:
    """Start the web server on this loopback port, which keeps the claim until it has ended; return its guard."""
    command = servers.command("cms.wsgi:application", port)
    return guarded(command, grace=GRACE_SECONDS, claims=[claim.descriptor])


def worker(claim: Claim) -> Restarted:
    """Return the process that does the jobs of the queue (mails), not yet started."""
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "work"]
    log = settings.VAR_DIR / "log" / "work.log"
    return Restarted(command, log=log, grace=GRACE_SECONDS, claims=[claim.descriptor])


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
