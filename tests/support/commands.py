"""Record and explain the commands that are sent to MongoDB. assertNumQueries doesn't see raw commands and GridFS."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pymongo import monitoring

# Commands that the driver sends on its own.
DRIVER_COMMANDS = {"hello", "ismaster", "ping", "endSessions", "buildInfo", "killCursors", "isMaster"}


@dataclass
class CommandLog:
    """The commands that were sent during a recording, in order."""

    sent: list[monitoring.CommandStartedEvent] = field(default_factory=list)

    @contextmanager
    def recorded(self) -> Iterator["CommandLog"]:
        """Record the commands that are sent in the block, and forget the commands from earlier blocks."""
        self.sent = []
        listen(self)
        try:
            yield self
        finally:
            stop_listening(self)

    @property
    def names(self) -> list[str]:
        """Return the names of the recorded commands, for example ["find", "update"]."""
        return [event.command_name for event in self.sent]

    @property
    def written(self) -> set[str]:
        """Return the names of the collections that the recorded commands wrote to."""
        writes = ("insert", "update", "delete", "findAndModify")
        return {str(event.command[name]) for event in self.sent if (name := event.command_name) in writes}

    def __len__(self) -> int:
        return len(self.sent)


_listeners: list[CommandLog] = []


def listen(log: CommandLog) -> None:
    """Add every command to the log from now on."""
    _listeners.append(log)


def stop_listening(log: CommandLog) -> None:
    """Stop adding commands to the log. Logs are compared by identity, because two logs can be equal."""
    _listeners[:] = [listener for listener in _listeners if listener is not log]


class _Listener(monitoring.CommandListener):
    def started(self, event: monitoring.CommandStartedEvent) -> None:
        if event.command_name not in DRIVER_COMMANDS:
            for log in _listeners:
                log.sent.append(event)

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        """Do nothing, because only sent commands are recorded."""

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        """Do nothing, because only sent commands are recorded."""


# This affects only the clients that this process creates after this import.
monitoring.register(_Listener())


def explain(db: Any, event: monitoring.CommandStartedEvent) -> dict[str, Any]:
    """Return the server's plan and execution statistics for a recorded find or aggregate."""
    options = ("lsid", "$clusterTime", "$db", "txnNumber", "maxTimeMS")
    command = {key: value for key, value in event.command.items() if key not in options}
    return db.command("explain", command, verbosity="executionStats")


def stages(plan: Any) -> set[str]:
    """Return the names of all stages of an explained plan, for example {"FETCH", "IXSCAN"}."""
    names: set[str] = set()
    if isinstance(plan, dict):
        if isinstance(stage := plan.get("stage"), str):
            names.add(stage)
        for key, value in plan.items():
            if key != "rejectedPlans":
                names |= stages(value)
    elif isinstance(plan, list):
        for value in plan:
            names |= stages(value)
    return names
