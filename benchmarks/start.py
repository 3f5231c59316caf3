"""Measure how long the embedded MongoDB takes to start and stop."""

import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.site import QUICK
from benchmarks.timing import measure_seconds
from marginalia.local.embedded import Embedded

ROUNDS = 1 if QUICK else 5


def main() -> None:
    """Print the median seconds of a first start, a later start, a start after kill -9, and a clean stop."""
    times: dict[str, list[float]] = {}

    def measure(label: str, work: Callable[[], object]) -> None:
        times.setdefault(label, []).append(measure_seconds(work))

    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory(prefix="marginalia-bench-") as folder:
            server = Embedded(Path(folder))
            measure("first start", server.start)
            measure("clean stop", server.stop)
            state = server.start()
            os.kill(state.pid, signal.SIGKILL)
            messages: list[str] = []

            def restart(server: Embedded = server, messages: list[str] = messages) -> None:
                while not messages:
                    server.ensure_running(messages.append)
                    time.sleep(0.01)

            measure("start after kill -9", restart)
            server.stop()
            measure("later start", server.start)
            server.stop()
    for label, seconds in times.items():
        print(f"  {label:20} {statistics.median(seconds):5.2f} s (worst of {ROUNDS}: {max(seconds):.2f})")
