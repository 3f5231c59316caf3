"""`manage.py serve`: run MongoDB, the web server and the worker with one command. `make run` uses this command."""

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

from cms.serving import startup
from marginalia.local import embedded
from marginalia.local.embedded import Embedded
from marginalia.local.mongod import MongodError
from marginalia.local.processes import RestartingProcess, stop
from marginalia.mongo import servers
from marginalia.mongo.management.base import COULD_NOT_RUN


class Command(BaseCommand):
    help = (
        "Set up the site, and run it until you press Ctrl-C. The command starts the worker and the web server. If "
        "MONGODB_URI isn't set, the command also starts MongoDB."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--port", type=int, default=settings.PORT, help="port on 127.0.0.1 (default: %(default)s, from PORT)"
        )
        parser.add_argument("--with-parent", action="store_true", help="stop when the parent process exits")

    def handle(self, *args: Any, **options: Any) -> None:
        os.umask(0o077)  # inherited by all processes that this command starts
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            signal.signal(signal.SIGHUP, signal.default_int_handler)
        parent = os.getppid() if options["with_parent"] else None
        try:
            self._serve(options["port"], parent)
        except KeyboardInterrupt:
            self._write("Ended.")
        except (startup.CannotServe, MongodError, servers.UnsuitableServer) as error:
            raise CommandError(str(error), returncode=COULD_NOT_RUN) from error

    def _serve(self, port: int, parent: int | None) -> None:
        started = time.monotonic()
        url = f"http://127.0.0.1:{port}/"
        with ExitStack() as cleanup:
            claim = cleanup.enter_context(startup.claim_var_folder(settings.VAR_DIR / "serve.json", url))
            startup.require_free_port(port)
            server = self._start_database(cleanup)
            self._write("Setting up …")
            startup.set_up()
            if startup.load_demo():
                self._write("Loaded the demo site.")
            login = startup.create_first_login()
            worker = startup.create_worker(claim)
            cleanup.callback(worker.end)
            web = startup.start_web_server(port, claim)
            cleanup.callback(stop, web)
            # This callback runs before all other callbacks, so that a second Ctrl-C can't interrupt the shutdown.
            cleanup.callback(_ignore_signals)
            startup.wait_until_ready(url, web)
            self._announce(url, login, time.monotonic() - started)
            try:
                self._watch(web, worker, server, parent)
            finally:
                self._write("Stopping. Requests in progress are completed first.")

    def _start_database(self, cleanup: ExitStack) -> Embedded | None:
        """Start the embedded server and return it.

        If MONGODB_URI is set, check that database instead, and return None.

        Raises:
            CannotServe: The database can't satisfy the write concern.
        """
        host = settings.DATABASES["default"]["HOST"]
        scheme, _, folder = host.partition(":")
        if scheme != "embedded":
            self._write(f"MongoDB is at {servers.check(host)}.")
            if reason := servers.unmet_write_concern(settings.DATABASES["default"]):
                raise startup.CannotServe(reason)
            return None
        server = embedded.for_folder(Path(folder))
        state = server.start()
        cleanup.callback(server.stop)
        cleanup.callback(_ignore_signals)
        self._write(f"MongoDB is running as process {state.pid} on port {state.port}. Its data is in {server.dbpath}.")
        return server

    def _announce(self, url: str, login: startup.Login | None, seconds: float) -> None:
        lines = [f"\nThe site is up ({seconds:.1f} s):  {url}", f"  admin:     {url}admin/"]
        if login is None:
            lines.append("  accounts:  run manage.py createsuperuser to create one")
        else:
            lines.append(f"  user:      {login.name}")
            source = f"stored in {login.password_file}" if login.password_file else "the one that you set"
            # Show the password only on a terminal, because a log file may be readable by more people than the password
            # file.
            is_shown = login.password is not None and self.stdout.isatty()
            lines.append(f"  password:  {login.password}  ({source})" if is_shown else f"  password:  {source}")
        lines.append("  reachable: only from this machine; for a public site, see docs/how-to/deploy.md")
        self._write("\n".join([*lines, "Press Ctrl-C to stop it."]))

    def _watch(
        self, web: subprocess.Popen[bytes], worker: RestartingProcess, server: Embedded | None, parent: int | None
    ) -> None:
        while parent is None or os.getppid() == parent:
            if web.poll() is not None:
                raise startup.CannotServe(
                    f"The web server ended unexpectedly (exit code {web.returncode}). See its messages above."
                )
            worker.ensure_running()
            if server is not None:
                server.ensure_running(self._write)
            time.sleep(0.2)

    def _write(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def _ignore_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
