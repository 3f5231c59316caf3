"""Large files and pictures in little memory: the memory figures of the benchmark, on less data.

Tests don't measure time.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_memory_and_time_of_huge_photos_are_bounded():
    command = [sys.executable, str(ROOT / "benchmarks/photos.py"), "--mb", "800"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    bounds = [line.split()[0] for line in done.stdout.splitlines() if " MiB" in line and "(at most" in line]
    assert bounds == ["kept"] * 5, done.stdout + done.stderr
