"""Child processes that end with whoever needs them, and file locks that the kernel gives back: what servers stand on."""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

GUARD = Path(__file__).with_name("guard.py")


def guarded(
    command: Sequence[str],
    *,
    lease: Path,
    grace: float,
    death_signal: signal.Signals = signal.SIGTERM,
    hold: int | None = None,
    remove: Path | None = None,
    output: IO[bytes] | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start `command` under a guard (see guard.py) and return the guard's process, whose exit status is the command's.

    The guard ends the command with `death_signal`, and after `grace` seconds with SIGKILL: once nobody holds a lock on the
    file `lease`, or at SIGTERM. `hold` is the descriptor of a locked file that it keeps locked and writes its
    process id into; `remove` is a folder that it deletes at the end.
    """
    guard = [sys.executable, "-I", "-S", str(GUARD), "--lease", str(lease), "--grace", str(grace)]
    guard += ["--death-signal", death_signal.name]
    if hold is not None:
        guard += ["--hold", str(hold)]
    if remove is not None:
        guard += ["--remove", str(remove)]
    return subprocess.Popen(
        [*guard, "--", *command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
        env={**os.environ, **(environment or {})},
        pass_fds=() if hold is None else (hold,),
        start_new_session=True,  # Ctrl-C in the terminal is for whoever started us
    )


def end(guard: subprocess.Popen[bytes], grace: float) -> None:
    """End a guarded command and wait until it is gone; its guard has `grace` seconds and a few more for it."""
    guard.send_signal(signal.SIGTERM)
    try:
        guard.wait(grace + 5)
    except subprocess.TimeoutExpired:
        guard.kill()
        guard.wait()


def open_lock(path: Path) -> int:
    """Return a descriptor of this lock file, made if need be; whoever closes it gives its lock back."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def is_locked(path: Path, kind: int = fcntl.LOCK_SH) -> bool:
    """Whether another process holds an flock on this file that excludes one of this kind."""
    try:
        lock = path.open("rb")
    except FileNotFoundError:
        return False
    with lock:
        try:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def command_line(pid: int) -> str:
    """The words of a living process's command line, joined by spaces; "" when it is gone or cannot be read."""
    if Path("/proc/self/cmdline").exists():
        with contextlib.suppress(OSError):
            return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
        return ""
    listed = subprocess.run(["ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return listed.stdout.strip()


def listener(port: int) -> int | None:
    """The process that listens on this TCP port, where the system tells (Linux, own processes or root); else None."""
    sockets = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        with contextlib.suppress(FileNotFoundError):
            for line in table.read_text().splitlines()[1:]:
                words = line.split()
                if words[3] == "0A" and int(words[1].rpartition(":")[2], 16) == port:  # 0A: TCP_LISTEN
                    sockets.add(f"socket:[{words[9]}]")
    if not sockets:
        return None
    for process in sorted(Path("/proc").glob("[0-9]*"), key=lambda path: int(path.name)):
        with contextlib.suppress(OSError):
            if any(os.readlink(descriptor) in sockets for descriptor in (process / "fd").iterdir()):
                return int(process.name)
    return None
