"""Run an action, or simulate a crash, just before code sends a certain MongoDB command, without patching the code."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.support import commands

Condition = Callable[[Mapping[str, Any]], bool]


class Stopped(BaseException):
    """A simulated crash that ends a block."""


class _Trap(list):
    """A replacement for a CommandLog's list that calls `act` once, before the first matching command."""

    def __init__(self, name: str, collection: str, condition: Condition, act: Callable[[], Any]) -> None:
        super().__init__()
        self.name = name
        self.collection = collection
        self.condition = condition
        self.act = act
        self.has_acted = False

    def append(self, event: Any) -> None:
        command = event.command
        if self.has_acted or event.command_name != self.name or command[self.name] != self.collection:
            return
        if self.condition(command):
            self.has_acted = True
            self.act()


@contextmanager
def before_command(
    name: str, collection: str, act: Callable[[], Any], condition: Condition = lambda command: True
) -> Iterator[None]:
    """Call `act` once, before the block sends the first command `name` to `collection` that meets the condition."""
    trap = _Trap(name, collection, condition, act)
    log = commands.CommandLog(trap)
    commands.listen(log)
    try:
        yield
    finally:
        commands.stop_listening(log)
    assert trap.has_acted, f"no {name} of {collection} was sent"


@contextmanager
def stopped_before_command(name: str, collection: str, condition: Condition = lambda command: True) -> Iterator[None]:
    """End the block like a crash, before it sends the first command `name` to `collection` that meets the condition."""

    def stop() -> None:
        raise Stopped

    with before_command(name, collection, stop, condition):
        try:
            yield
        except Stopped:
            return
