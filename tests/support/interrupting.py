"""Stopping or interrupting a piece of work just before it sends a certain command: no name of the code is replaced."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.support import commands

Wanted = Callable[[Mapping[str, Any]], bool]


class Stopped(BaseException):
    """The work ended here, as if its process had been killed."""


class _Trap(list):
    """Stands where a CommandLog keeps its commands, and acts once, before the first that is waited for."""

    def __init__(self, name: str, collection: str, wanted: Wanted, act: Callable[[], Any]) -> None:
        super().__init__()
        self.name, self.collection, self.wanted, self.act, self.has_acted = name, collection, wanted, act, False

    def append(self, event: Any) -> None:
        command = event.command
        if self.has_acted or event.command_name != self.name or command[self.name] != self.collection:
            return
        if self.wanted(command):
            self.has_acted = True
            self.act()


@contextmanager
def before(name: str, collection: str, act: Callable[[], Any], wanted: Wanted = lambda command: True) -> Iterator[None]:
    """Do `act` once, when the block is about to send its first command `name` to `collection` that is `wanted`."""
    trap = _Trap(name, collection, wanted, act)
    log = commands.CommandLog(trap)
    commands.listen(log)
    try:
        yield
    finally:
        commands.forget(log)
    assert trap.has_acted, f"no {name} of {collection} was sent"


@contextmanager
def stopped_before(name: str, collection: str, wanted: Wanted = lambda command: True) -> Iterator[None]:
    """End the block, as a crash would, when it is about to send its first command `name` to `collection` that is `wanted`."""

    def stop() -> None:
        raise Stopped

    with before(name, collection, stop, wanted):
        try:
            yield
        except Stopped:
            return
