"""Stands between a server and the process that started it: the server never outlives it, however that one ends.

Run as a script (``python -I -S guard.py --grace SECONDS [options] -- COMMAND …``), so it imports nothing of ours. Its
standard input is a pipe whose other end the starter holds, and the kernel closes it even after kill -9. At the end of
that pipe, and at SIGTERM, the guard ends the command.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1  # linux/prctl.h
STARTER = 0  # standard input


def main() -> int:
    """Run the command until it ends, its starter is gone or a signal comes; return the command's exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--grace", type=float, required=True, help="seconds between the polite signal and SIGKILL")
    parser.add_argument("--death-signal", default="SIGTERM", help="signal that ends the command")
    parser.add_argument("--remove", help="folder to delete at the end")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(wake)  # a signal's number becomes a byte in the pipe
    polite = signal.Signals[options.death_signal]
    child = subprocess.Popen(
        options.command,
        stdin=subprocess.DEVNULL,
        preexec_fn=_die_with(os.getpid(), polite),
        start_new_session=True,
    )
    while child.poll() is None:
        ready, _, _ = select.select([STARTER, woken], [], [])
        if STARTER in ready or os.read(woken, 1)[0] != signal.SIGCHLD:
            _end(child, polite, options.grace)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)  # workers that a killed master left behind
    if options.remove:
        shutil.rmtree(options.remove, ignore_errors=True)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _end(child: subprocess.Popen[bytes], polite: signal.Signals, grace: float) -> None:
    child.send_signal(polite)
    try:
        child.wait(timeout=grace)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _die_with(parent: int, death_signal: signal.Signals) -> Callable[[], None] | None:
    """What the child does before exec so that it does not survive a killed guard (Linux only; None elsewhere)."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl

    def before_exec() -> None:
        prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != parent:  # killed before prctl could tell us
            os._exit(1)

    return before_exec


if __name__ == "__main__":
    sys.exit(main())
