"""Report the commands that are sent to MongoDB, so that the site can count commands and log slow ones."""

import threading
from typing import Protocol

from pymongo import monitoring


class CommandObserver(Protocol):
    """An observer that is called for each command, in the thread that sends the command.

    The observer must be fast, because commands wait for it.
    """

    def sent(self) -> None:
        """Handle a command that has been sent. The command occupies a connection until the server responds."""

    def answered(self, name: str, collection: str, seconds: float) -> None:
        """Handle a command that has succeeded or failed.

        Args:
            name: The name of the command.
            collection: The collection that the command is for, or "" if there is none.
            seconds: How long the command took.
        """


class CommandReporter(monitoring.CommandListener):
    """A listener that reports commands to a CommandObserver, without their contents or responses."""

    def __init__(self, observer: CommandObserver) -> None:
        self._observer = observer
        self._current = threading.local()

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        # In getMore, the value of the first key is a cursor id. In other commands, it is the name of the collection.
        collection_name = event.command.get("collection") or event.command.get(event.command_name)
        self._current.collection = collection_name if isinstance(collection_name, str) else ""
        self._observer.sent()

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        self._ended(event)

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        self._ended(event)

    def _ended(self, event: monitoring.CommandSucceededEvent | monitoring.CommandFailedEvent) -> None:
        self._observer.answered(event.command_name, self._current.collection, event.duration_micros / 1_000_000)
