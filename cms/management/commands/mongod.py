"""`manage.py mongod`: run the embedded server in the foreground."""

import signal
import threading
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from marginalia.local import embedded
from marginalia.local.mongod import MongodError
from marginalia.mongo.management.base import COULD_NOT_RUN


class Command(BaseCommand):
    help = "Run the embedded MongoDB in the foreground until you press Ctrl-C. If MongoDB crashes, it is restarted."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        scheme, _, folder = settings.DATABASES["default"]["HOST"].partition(":")
        if scheme != "embedded":
            raise CommandError(
                "MONGODB_URI is set, so there is no embedded MongoDB to run. Remove it from the "
                "settings to use the embedded MongoDB.",
                returncode=COULD_NOT_RUN,
            )
        server = embedded.for_folder(Path(folder))
        _on_signals(signal.default_int_handler)
        try:
            self._run(server)
        except KeyboardInterrupt:  # the server was still starting
            _on_signals(signal.SIG_IGN)
        except MongodError as error:
            raise CommandError(str(error), returncode=COULD_NOT_RUN) from error
        server.stop()
        self.stdout.write("mongod has ended.")

    def _run(self, server: embedded.Embedded) -> None:
        state = server.start()
        self.stdout.write(f"mongod is running as process {state.pid} on port {state.port}. Press Ctrl-C to stop it.")
        self.stdout.write(f"Its URI, with the password, is in {server.var / 'mongod.json'}.")
        self.stdout.flush()
        # The signal handler sets an event instead of raising an exception. If an exception were raised in a finalizer,
        # it would be lost, and a second Ctrl-C would interrupt the shutdown.
        stopping = threading.Event()
        _on_signals(lambda _number, _frame: stopping.set())
        while not stopping.wait(0.5):
            server.ensure_running(self.stderr.write)


def _on_signals(handler: Any) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, handler)
