"""Simulate crashes between any two writes, with a forked child process that kills itself before its n-th write."""

import os
import signal
import warnings
from collections.abc import Callable
from typing import Any

from tests.support import commands

WRITES = {"insert", "update", "delete", "findAndModify", "commitTransaction"}


class _Dying(list):
    """A replacement for a CommandLog's list that kills the process after a number of writes."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self._remaining = writes

    def append(self, event: Any) -> None:
        if event.command_name in WRITES:
            if not self._remaining:
                os.kill(os.getpid(), signal.SIGKILL)
            self._remaining -= 1


def killed_after_writes(writes: int, work: Callable[[], Any]) -> bool:
    """Call `work` in a child process that is killed after this many writes. Return False if it finished before that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        status = 1
        try:
            warnings.simplefilter("ignore")
            commands.listen(commands.CommandLog(_Dying(writes)))
            work()
            status = 0
        finally:
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    if os.WIFSIGNALED(ended):
        return True
    assert os.WEXITSTATUS(ended) == 0, "the child failed by itself"
    return False
