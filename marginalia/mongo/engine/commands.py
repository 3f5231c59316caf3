"""What is sent to MongoDB, seen from the driver: for what counts commands and names the slow ones."""

import threading
from typing import Protocol

from pymongo import monitoring


class CommandObserver(Protocol):
    """What is told of each command, in the thread that sends it. Quick: it stands between every command and its answer."""

    def sent(self) -> None:
        """A command is on its way: it holds one connection until it is answered."""

    def answered(self, name: str, collection: str, seconds: float) -> None:
        """The answer is here, or the failure. `name` is the command's, `collection` what it was about, "" for none."""


class CommandReporter(monitoring.CommandListener):
    """Tells a Watch; never what was asked for or answered."""

    def __init__(self, watch: CommandObserver) -> None:
        self._watch = watch
        self._about = threading.local()

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        # A getMore names a cursor where others name their collection.
        named = event.command.get("collection") or event.command.get(event.command_name)
        self._about.collection = named if isinstance(named, str) else ""
        self._watch.sent()

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        self._ended(event)

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        self._ended(event)

    def _ended(self, event: monitoring.CommandSucceededEvent | monitoring.CommandFailedEvent) -> None:
        self._watch.answered(event.command_name, self._about.collection, event.duration_micros / 1_000_000)
