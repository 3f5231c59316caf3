"""gunicorn's worker processes, which it starts, watches and ends: Buffering has waitress in it, Threaded is gunicorn's own."""

import os
import tempfile
import time
from importlib import import_module
from typing import Any

import gunicorn.http.wsgi
from gunicorn.workers.base import Worker
from gunicorn.workers.gthread import ThreadWorker
from waitress import wasyncore
from waitress.server import create_server
from waitress.task import ThreadedTaskDispatcher

from cms.serving import draining, receiving
from cms.serving.frames import with_room

# Between two looks at connections that nothing comes from.
TICK_SECONDS = 0.5
# How long a process that ends listens to connections between two requests.
LINGER_SECONDS = 1.0


class Threaded(ThreadWorker):
    """gunicorn's own threads: one reads a request for as long as its sender takes."""

    handle = with_room(ThreadWorker.handle)

    def init_process(self) -> None:
        """Begin; the name of the server is not told."""
        gunicorn.http.wsgi.SERVER = ""
        super().init_process()

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Begin to end."""
        draining.begin()
        super().handle_exit(sig, frame)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answer what is no request; the line about it does not say from where it came."""
        super().handle_error(req, client, ("", -1), exc)


class Threads(ThreadedTaskDispatcher):
    """waitress's threads: each answers one request after the other."""

    handler_thread = with_room(ThreadedTaskDispatcher.handler_thread)


class Buffering(Worker):
    """waitress: a thread gets a request when all of it is here, so that slow senders hold none."""

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Begin to end."""
        draining.begin()
        super().handle_exit(sig, frame)

    def run(self) -> None:
        """Answer requests until told to end; then those that have come already, for as long as gunicorn allows."""
        self._connections: dict[int, Any] = {}
        threads = Threads()
        threads.set_thread_count(self.cfg.threads)
        self._listen(threads)
        next_look = 0.0
        while self.alive and self.ppid == os.getppid():
            self.notify()
            wasyncore.loop(timeout=TICK_SECONDS, use_poll=True, map=self._connections, count=1)
            if time.monotonic() > next_look:
                next_look = time.monotonic() + TICK_SECONDS
                receiving.tend(self._channels())
        self._drain()
        threads.shutdown(timeout=0)

    def _listen(self, threads: Threads) -> None:
        settings = import_module(os.environ["DJANGO_SETTINGS_MODULE"])
        bodies = settings.VAR_DIR / "receiving"
        bodies.mkdir(parents=True, exist_ok=True)
        tempfile.tempdir = str(bodies)
        sockets = [listener.sock for listener in self.sockets]
        options = receiving.options(settings.PHOTOS["MAX_BYTES"])
        create_server(self.wsgi, map=self._connections, _dispatcher=threads, sockets=sockets, **options)
        for server in self._servers():
            server.channel_class = receiving.Channel

    def _drain(self) -> None:
        for server in self._servers():
            server.accepting = False
        began = time.monotonic()
        while self._channels() and time.monotonic() - began < self.cfg.graceful_timeout - 1:
            self.notify()
            wasyncore.loop(timeout=TICK_SECONDS / 5, use_poll=True, map=self._connections, count=1)
            for channel in self._channels():
                if channel.is_idle and time.monotonic() - began > LINGER_SECONDS:
                    channel.handle_close()

    def _servers(self) -> list[Any]:
        return [one for one in self._connections.values() if hasattr(one, "channel_class")]

    def _channels(self) -> list[receiving.Channel]:
        return [one for one in self._connections.values() if isinstance(one, receiving.Channel)]
