"""No uploaded file makes the site fail, store more than its size, or use much memory."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from photos.assets.cleaning import SLACK
from tests.fuzz import pictures

FIXED, FEW, MANY = 20_260_101, 200, 100_000
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_few_mutated_pictures_are_refused_or_whole():
    check(pictures.came_of(FIXED, FEW), FEW)


@pytest.mark.slow
def test_100_000_mutated_pictures_are_refused_or_whole():
    """In a separate process, to measure its memory."""
    command = [sys.executable, "-m", "tests.fuzz.pictures", str(FIXED + 1), str(MANY)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    came = json.loads(done.stdout)
    check(came, MANY)
    assert came["memory"] < 300


def check(came: dict[str, Any], count: int) -> None:
    assert came["raised"] == {}
    assert came["accepted"] + came["refused"] == count
    # Some files are accepted and some refused.
    assert came["accepted"] > count / 20
    assert came["longer"] <= SLACK
