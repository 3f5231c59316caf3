"""`manage.py serve`: the whole site from one command, which `make run` calls."""

import os
import signal
import subprocess
import time
from argparse import ArgumentParser
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from cms.serving import set_up
from marginalia.local import embedded
from marginalia.local.embedded import Embedded
from marginalia.local.mongod import MongodError
from marginalia.local.processes import Restarted, end
from marginalia.mongo import servers
from marginalia.mongo.management.base import COULD_NOT_RUN


class Command(BaseCommand):
    help = "Serve the site: MongoDB (unless MONGODB_URI names one), set-up and the web server, until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=settings.PORT, help="on 127.0.0.1; default: %(default)s (PORT)")
        parser.add_argument(
            "--with-parent", action="store_true", help="end when the process that started this one does"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        os.umask(0o077)  # of the processes that it starts, too
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup
            signal.signal(signal.SIGHUP, signal.default_int_handler)
        parent = os.getppid() if options["with_parent"] else None
        try:
            self._serve(options["port"], parent)
        except KeyboardInterrupt:
            self._say("Ended.")
        except (set_up.CannotServe, MongodError, servers.UnsuitableServer) as error:
            raise CommandError(str(error), returncode=COULD_NOT_RUN) from error

    def _serve(self, port: int, parent: int | None) -> None:
        began = time.monotonic()
        url = f"http://127.0.0.1:{port}/"
        with ExitStack() as cleanup:
            claim = cleanup.enter_context(set_up.claimed(settings.VAR_DIR / "serve.json", url))
            set_up.require_port(port)
            server = self._database(cleanup)
            self._say("Setting up …")
            set_up.set_up()
            if set_up.load_demo():
                self._say("Loaded the demo site.")
            login = set_up.first_login()
            worker = set_up.worker(claim)
            cleanup.callback(worker.end)
            web = set_up.start_web(port, claim)
            cleanup.callback(end, web)
            cleanup.callback(_deafen)  # called first: ending takes a moment, and a second Ctrl-C must not break it off
            set_up.wait_until_answering(url, web)
            self._announce(url, login, time.monotonic() - began)
            try:
                self._watch(web, worker, server, parent)
            finally:
                self._say("Ending: requests under way are answered first.")

    def _database(self, cleanup: ExitStack) -> Embedded | None:
        """Check the database that MONGODB_URI names, or start the embedded one and return it, to be kept up."""
        host = settings.DATABASES["default"]["HOST"]
        scheme, _, folder = host.partition(":")
        if scheme != "embedded":
            self._say(f"MongoDB is at {servers.check(host)}.")
            if reason := servers.unmet_write_concern(settings.DATABASES["default"]):
                raise set_up.CannotServe(reason)
            return None
        server = embedded.of(Path(folder))
        state = server.start()
        cleanup.callback(server.stop)
        cleanup.callback(_deafen)
        self._say(f"MongoDB is process {state.pid} on port {state.port}, its data in {server.dbpath}.")
        return server

    def _announce(self, url: str, login: set_up.Login | None, seconds: float) -> None:
        lines = [f"\nThe site is up ({seconds:.1f} s):  {url}", f"  admin:     {url}admin/"]
        if login is None:
            lines.append("  accounts:  manage.py createsuperuser makes one")
        else:
            lines.append(f"  user:      {login.name}")
            kept = f"kept in {login.kept_in}" if login.kept_in else "the one you gave it"
            # A log file of this output may have other readers than the file that keeps it.
            is_shown = login.password is not None and self.stdout.isatty()
            lines.append(f"  password:  {login.password}  ({kept})" if is_shown else f"  password:  {kept}")
        lines.append("  for:       this machine; a public site needs a proxy in front (docs/how-to/deploy.md)")
        self._say("\n".join([*lines, "Ctrl-C ends it."]))

    def _watch(
        self, web: subprocess.Popen[bytes], worker: Restarted, server: Embedded | None, parent: int | None
    ) -> None:
        while parent is None or os.getppid() == parent:
            if web.poll() is not None:
                raise set_up.CannotServe(f"The web server ended by itself (status {web.returncode}).")
            worker.ensure_running()
            if server is not None:
                server.ensure_running(self._say)
            time.sleep(0.2)

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def _deafen() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
