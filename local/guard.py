"""Stands between a server and whoever started it: the server never outlives its users, however those end.

Run as a script (``python -I -S guard.py --lease FILE [options] -- COMMAND …``), so it imports nothing of ours.
Whoever needs the server holds a shared flock on the lease file; the kernel gives it back even after kill -9. The guard
waits for the exclusive one: once it has it nobody needs the server any more, and the guard ends it. A new user blocks
on the lease until the guard is gone. SIGTERM to the guard ends the server at once.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> int:
    """Run the command until it ends, the lease is free or a signal comes; return the command's exit status."""
    options = _parse()
    if options.hold is not None:  # a lock file that the starter locked for us: it names us for as long as we live
        os.ftruncate(options.hold, 0)
        os.pwrite(options.hold, str(os.getpid()).encode(), 0)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(wake)  # a signal's number becomes a byte in the pipe
    death_signal = signal.Signals[options.death_signal]
    child = subprocess.Popen(options.command, preexec_fn=_die_with(os.getpid(), death_signal), start_new_session=True)
    threading.Thread(target=_wait_for_lease, args=(options.lease, wake), daemon=True).start()
    while child.poll() is None:
        if os.read(woken, 1)[0] != signal.SIGCHLD:
            _end(child, death_signal, options.grace)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)  # workers that a killed master left behind
    if options.remove:
        shutil.rmtree(options.remove, ignore_errors=True)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lease", required=True, help="file whose shared flock the users hold")
    parser.add_argument("--hold", type=int, help="descriptor of a locked file that gets our pid")
    parser.add_argument("--grace", type=float, default=30, help="seconds between the polite signal and SIGKILL")
    parser.add_argument("--death-signal", default="SIGTERM", help="signal that ends the command")
    parser.add_argument("--remove", help="folder to delete at the end")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def _wait_for_lease(path: str, wake: int) -> None:
    lease = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lease, fcntl.LOCK_EX)  # kept until we exit
    os.write(wake, b"\0")


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
