"""Child processes that end with the process that started them."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

GUARD = Path(__file__).with_name("guard.py")
PAUSE_SECONDS = 5.0  # between two starts of a process that keeps ending
LOG_BYTES = 10_000_000


def start_guarded(
    command: Sequence[str],
    *,
    grace: float,
    death_signal: signal.Signals = signal.SIGTERM,
    claims: Sequence[int] = (),
    remove: Path | None = None,
    output: IO[bytes] | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start `command` under a guard (see guard.py) and return the guard's process, whose exit status is the command's.

    When this process has ended or stop() is called, the guard sends `death_signal`, and after `grace` seconds SIGKILL.
    `claims` are descriptors of claims (see claims.py) that last until the guard has ended; `remove` is a folder that
    it deletes at the end.
    """
    guard = [sys.executable, "-I", "-S", str(GUARD), str(grace), death_signal.name, str(remove or "")]
    return subprocess.Popen(
        [*guard, *command],
        stdin=subprocess.PIPE,  # the guard notices when this process closes it
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
        env={**os.environ, **(environment or {})},
        pass_fds=claims,
        start_new_session=True,  # Ctrl-C in the terminal is for the process that started us
    )


def stop(guard: subprocess.Popen[bytes]) -> None:
    """End a guarded command and wait until it has ended."""
    assert guard.stdin is not None
    guard.stdin.close()
    guard.wait()


class RestartingProcess:
    """A guarded command that is started again when it has ended. Its output goes to a log file."""

    def __init__(self, command: Sequence[str], *, log: Path, grace: float, claims: Sequence[int] = ()) -> None:
        self._command = command
        self._log = log
        self._grace = grace
        self._claims = claims
        self._not_before = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    def ensure_running(self) -> None:
        """Start the command if it isn't running and the next try is due. Must be called regularly."""
        if time.monotonic() < self._not_before or (self._process and self._process.poll() is None):
            return
        with open_log(self._log) as output:
            self._process = start_guarded(self._command, grace=self._grace, claims=self._claims, output=output)
        self._not_before = time.monotonic() + PAUSE_SECONDS

    def end(self) -> None:
        """End the command and wait until it has ended."""
        if self._process is not None:
            stop(self._process)


def open_log(path: Path) -> IO[bytes]:
    """Open a log file for appending, readable only by its owner. A long file is first renamed to NAME.log.1."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size > LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
    path.touch(0o600)
    path.chmod(0o600)
    return path.open("ab")


def command_line(pid: int) -> str:
    """Return a running process's command line, joined by spaces; "" if it has ended or the system doesn't reveal it."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
    return ""


def is_alive(pid: int) -> bool:
    """Return whether a process with this id is running."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # a process of another user
        pass
    return True
