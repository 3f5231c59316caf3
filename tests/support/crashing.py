"""Stopping a process between any two writes: a forked child that kills itself when it is about to send its n-th."""

import os
import signal
import warnings
from collections.abc import Callable
from typing import Any

from tests.support import commands

WRITES = {"insert", "update", "delete", "findAndModify", "commitTransaction"}


class _Dying(list):
    """Stands where a CommandLog keeps its commands, and kills the process instead of keeping the n-th write."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self._left = writes

    def append(self, event: Any) -> None:
        if event.command_name in WRITES:
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)
            self._left -= 1


def killed_after(writes: int, work: Callable[[], Any]) -> bool:
    """Run `work` in a child that is killed after so many writes; return False if it came to its end before."""
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
