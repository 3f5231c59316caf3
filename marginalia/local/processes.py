"""Child processes that are stopped when the process that started them exits."""

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
PAUSE_SECONDS = 5.0  # minimum time between two starts of a process that keeps exiting
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
    """Start `command` under a guard (see guard.py). Return the guard's process, which exits with the command's status.

    The guard stops the command when this process exits or `stop` is called.

    Args:
        command: The program and its arguments.
        grace: The number of seconds between `death_signal` and SIGKILL.
        death_signal: The first signal that the guard sends to stop the command.
        claims: File descriptors of claims (see claims.py) that are held until the guard has exited.
        remove: A folder that the guard deletes after the command has exited.
        output: The file for the command's output.
        environment: Environment variables to add.
    """
    guard = [sys.executable, "-I", "-S", str(GUARD), str(grace), death_signal.name, str(remove or "")]
    return subprocess.Popen(
        [*guard, *command],
        stdin=subprocess.PIPE,  # the guard notices when this process closes the pipe
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
        env={**os.environ, **(environment or {})},
        pass_fds=claims,
        start_new_session=True,  # Ctrl-C in the terminal then reaches only the process that starts the guard
    )


def stop(guard: subprocess.Popen[bytes]) -> None:
    """Stop a guarded command and wait until it has exited."""
    assert guard.stdin is not None
    guard.stdin.close()
    guard.wait()


class RestartingProcess:
    """A guarded command that is restarted whenever it exits. Its output is written to a log file."""

    def __init__(self, command: Sequence[str], *, log: Path, grace: float, claims: Sequence[int] = ()) -> None:
        self._command = command
        self._log = log
        self._grace = grace
        self._claims = claims
        self._not_before = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    def ensure_running(self) -> None:
        """Start the command if it isn't running and the next attempt is due. Call this method regularly."""
        if time.monotonic() < self._not_before or (self._process and self._process.poll() is None):
            return
        with open_log(self._log) as output:
            self._process = start_guarded(self._command, grace=self._grace, claims=self._claims, output=output)
        self._not_before = time.monotonic() + PAUSE_SECONDS

    def end(self) -> None:
        """Stop the command and wait until it has exited."""
        if self._process is not None:
            stop(self._process)


def open_log(path: Path) -> IO[bytes]:
    """Open a log file for appending. Only its owner can read the file.

    If the file is already long, it is renamed to NAME.log.1, and a new file is opened.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size > LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
    path.touch(0o600)
    path.chmod(0o600)
    return path.open("ab")


def command_line(pid: int) -> str:
    """Return the command line of the process `pid`, joined with spaces, or "" if the process has exited."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
    return ""


def is_alive(pid: int) -> bool:
    """Return whether a process with this id is running."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # the process belongs to another user
        pass
    return True
