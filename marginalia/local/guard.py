"""A guard process between a server and the process that started it.

When that process exits, the guard stops the server. The guard runs as a script (``python -I -S guard.py GRACE SIGNAL
FOLDER COMMAND …``), so it can't import modules from this package. Its standard input is a pipe from the process that
started it. The kernel closes the other end even if that process is killed with kill -9. When the pipe is closed or a
signal arrives, the guard sends SIGNAL to the command, and SIGKILL after GRACE seconds. Then it deletes FOLDER, unless
FOLDER is "".
"""

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1  # from linux/prctl.h
STARTER_PIPE = 0  # standard input


def main() -> int:
    """Run the command until it exits, the parent process exits, or a signal arrives. Return the exit status."""
    grace, signal_name, folder, *command = sys.argv[1:]
    death_signal = signal.Signals[signal_name]
    wakeup_read, wakeup_write = os.pipe()
    os.set_blocking(wakeup_write, False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(wakeup_write)  # Python writes the number of each signal to the pipe, as one byte
    prctl = getattr(ctypes.CDLL(None), "prctl", None)  # on Linux, the command is also killed if the guard is killed
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        preexec_fn=prctl and (lambda: prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)),
        start_new_session=True,
    )
    while child.poll() is None:
        ready, _, _ = select.select([STARTER_PIPE, wakeup_read], [], [])
        if STARTER_PIPE in ready or os.read(wakeup_read, 1)[0] != signal.SIGCHLD:
            child.send_signal(death_signal)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=float(grace))
            child.kill()  # has no effect if the child has exited
            child.wait()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)  # kills workers that a killed master left behind
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


if __name__ == "__main__":
    sys.exit(main())
