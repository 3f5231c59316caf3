"""Commands sent to MongoDB, as the driver reports them; for counting commands and logging slow ones."""

import threading
from typing import Protocol

from pymongo import monitoring


class CommandObserver(Protocol):
    """An observer that is called for each command, in the sending thread. It must be quick: commands wait for it."""

    def sent(self) -> None:
        """Handle the sending of a command, which occupies one connection until it is answered."""

    def answered(self, name: str, collection: str, seconds: float) -> None:
        """Handle the answer or failure of the command `name` on `collection`, which is "" if the command has none."""


class CommandReporter(monitoring.CommandListener):
    """A listener that reports to a CommandObserver, without the contents of commands and answers."""

    def __init__(self, observer: CommandObserver) -> None:
        self._observer = observer
        self._current = threading.local()

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        # getMore has a cursor id where other commands have their collection.
        collection_name = event.command.get("collection") or event.command.get(event.command_name)
        self._current.collection = collection_name if isinstance(collection_name, str) else ""
        self._observer.sent()

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        self._ended(event)

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        self._ended(event)

    def _ended(self, event: monitoring.CommandSucceededEvent | monitoring.CommandFailedEvent) -> None:
        self._observer.answered(event.command_name, self._current.collection, event.duration_micros / 1_000_000)
