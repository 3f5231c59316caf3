"""Large files and large pictures in little memory: the benchmark's own promises, on less data."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file_nor_a_picture_of_100_megapixels_break_the_bounds():
    command = [sys.executable, str(ROOT / "benchmarks/photos.py"), "--mb", "800"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("kept") == 7
