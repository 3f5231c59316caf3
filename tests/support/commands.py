"""Counting and explaining what is really sent to MongoDB: assertNumQueries does not see raw commands or GridFS."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pymongo import monitoring

# What the driver says by itself.
CHATTER = {"hello", "ismaster", "ping", "endSessions", "buildInfo", "killCursors", "isMaster"}


@dataclass
class CommandLog:
    """The commands that were sent while recording, in order."""

    sent: list[monitoring.CommandStartedEvent] = field(default_factory=list)

    @contextmanager
    def recorded(self) -> Iterator["CommandLog"]:
        """Record the commands of the block, those of an earlier block forgotten."""
        self.sent = []
        listen(self)
        try:
            yield self
        finally:
            forget(self)

    @property
    def names(self) -> list[str]:
        """The names of the recorded commands: ["find", "update", …]."""
        return [event.command_name for event in self.sent]

    @property
    def written(self) -> set[str]:
        """The names of the collections that the recorded commands wrote to."""
        writes = ("insert", "update", "delete", "findAndModify")
        return {str(event.command[name]) for event in self.sent if (name := event.command_name) in writes}

    def __len__(self) -> int:
        return len(self.sent)


_listeners: list[CommandLog] = []


def listen(log: CommandLog) -> None:
    """Have a log keep every command from now on."""
    _listeners.append(log)


def forget(log: CommandLog) -> None:
    """End what `listen` began. A log that compares equal is another one."""
    _listeners[:] = [one for one in _listeners if one is not log]


class _Listener(monitoring.CommandListener):
    def started(self, event: monitoring.CommandStartedEvent) -> None:
        if event.command_name not in CHATTER:
            for log in _listeners:
                log.sent.append(event)

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        """Only what is sent counts."""

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        """Only what is sent counts."""


# Registered for every client that is made after this import, in this process.
monitoring.register(_Listener())


def explain(db: Any, event: monitoring.CommandStartedEvent) -> dict[str, Any]:
    """Return the server's plan and execution figures for a recorded find or aggregate."""
    command = {
        k: v for k, v in event.command.items() if k not in ("lsid", "$clusterTime", "$db", "txnNumber", "maxTimeMS")
    }
    return db.command("explain", command, verbosity="executionStats")


def stages(plan: Any) -> set[str]:
    """Return the names of all stages of an explained plan, such as {"FETCH", "IXSCAN"}."""
    found: set[str] = set()
    if isinstance(plan, dict):
        if isinstance(stage := plan.get("stage"), str):
            found.add(stage)
        for key, value in plan.items():
            if key != "rejectedPlans":
                found |= stages(value)
    elif isinstance(plan, list):
        for value in plan:
            found |= stages(value)
    return found
