"""The number of worker processes on a machine, or in a container's share of it."""

import os
from typing import Any

import pytest

from marginalia.local import cores


@pytest.fixture
def machine(monkeypatch, tmp_path) -> Any:
    """Let the scheduler report a number of cores for this process, and set the content of the quota file, if any."""

    def be(number: int, quota: str = "") -> None:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _process: set(range(number)), raising=False)
        file = tmp_path / "cpu.max"
        if quota:
            file.write_text(f"{quota}\n")
        monkeypatch.setattr(cores, "QUOTA", file)

    return be


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        ("", 16),
        ("max 100000", 16),
        ("3200000 100000", 16),
        ("400000 100000", 4),
        ("150000 100000", 2),
        ("5000 100000", 1),
    ],
)
def test_usable_cores_respect_scheduler_and_quota(machine, quota, expected):
    machine(16, quota)
    assert cores.usable_cores() == expected


@pytest.mark.parametrize(("number", "expected"), [(1, 2), (2, 2), (4, 4), (16, 16)])
def test_one_worker_starts_per_core_and_at_least_two(machine, number, expected):
    machine(number)
    assert cores.default_workers() == expected
