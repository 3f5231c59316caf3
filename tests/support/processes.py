"""Start processes, and wait for conditions."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]


def until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Wait until a condition is true. Fail if this takes longer than `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def peak_memory(process_id: int | str = "self") -> float:
    """Return a process's peak memory use (resident set) so far, in MiB.

    `getrusage` would also count the memory of the parent process, because its value survives exec.
    """
    lines = Path(f"/proc/{process_id}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def python(code: str, **environment: str) -> subprocess.Popen[str]:
    """Start a Python process that can import the project's code, with pipes for its input and output."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
