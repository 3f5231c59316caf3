"""Stands between a server and the process that started it: the server never outlives it, however that one ends.

Run as a script (``python -I -S guard.py GRACE SIGNAL FOLDER COMMAND …``), so it imports nothing of ours. Its standard
input is a pipe whose other end the starter holds, and the kernel closes it even after kill -9. At the end of that
pipe, or when a signal comes, the guard ends the command: by SIGNAL, and after GRACE seconds by SIGKILL. Then it
deletes FOLDER, unless that is "".
"""

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h
STARTER_PIPE = 0  # standard input


def main() -> int:
    """Run the command until it ends, its starter is gone or a signal comes; return the command's exit status."""
    grace, polite, folder, *command = sys.argv[1:]
    death_signal = signal.Signals[polite]
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(wake)  # a signal's number becomes a byte in the pipe
    prctl = getattr(ctypes.CDLL(None), "prctl", None)  # Linux: the command does not survive a killed guard either
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        preexec_fn=prctl and (lambda: prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)),
        start_new_session=True,
    )
    while child.poll() is None:
        ready, _, _ = select.select([STARTER_PIPE, woken], [], [])
        if STARTER_PIPE in ready or os.read(woken, 1)[0] != signal.SIGCHLD:
            child.send_signal(death_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=float(grace))
            child.kill()  # nothing, if it has ended
            child.wait()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)  # workers that a killed master left behind
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


if __name__ == "__main__":
    sys.exit(main())
