"""Commands sent to MongoDB, as the driver reports them, to count commands and log slow ones."""

import threading
from typing import Protocol

from pymongo import monitoring


class CommandObserver(Protocol):
    """An observer that is called for each command in the sending thread.

    It must be fast, because commands wait for it.
    """

    def sent(self) -> None:
        """Handle the sending of a command, which occupies a connection until it is answered."""

    def answered(self, name: str, collection: str, seconds: float) -> None:
        """Handle the answer to a command, or its failure.

        Args:
            name: The name of the command.
            collection: The collection of the command, or "" if it has none.
            seconds: How long the command took.
        """


class CommandReporter(monitoring.CommandListener):
    """A listener that reports commands to a CommandObserver, without their contents and answers."""

    def __init__(self, observer: CommandObserver) -> None:
        self._observer = observer
        self._current = threading.local()

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        # In getMore, the value of the first key is a cursor id, whereas other commands have their collection there.
        collection_name = event.command.get("collection") or event.command.get(event.command_name)
        self._current.collection = collection_name if isinstance(collection_name, str) else ""
        self._observer.sent()

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        self._ended(event)

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        self._ended(event)

    def _ended(self, event: monitoring.CommandSucceededEvent | monitoring.CommandFailedEvent) -> None:
        self._observer.answered(event.command_name, self._current.collection, event.duration_micros / 1_000_000)
