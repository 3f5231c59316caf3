"""docs/explanation/architecture.md: its figures are those that tools/ measures."""

import re
import subprocess
import sys

import pytest

from tests.support.site_settings import ROOT
from tools import rooms

TEXT = (ROOT / "docs/explanation/architecture.md").read_text()
PACKAGES = {
    name: tuple(map(int, figures))
    for name, *figures in re.findall(
        r"^\| `([a-z.]+)` \| \S+ \| (\d+) \| \S+ \| (\d+) \| \S+ \| (\d+) \|$", TEXT, re.MULTILINE
    )
}
WAYS = [tuple(map(int, row)) for row in re.findall(r"^\| [a-z, \']+ \| \d+ \| (\d+) \| (\d+) \|$", TEXT, re.MULTILINE)]


def test_no_package_has_more_rooms_floors_or_arrows_than_is_said():
    houses = rooms.houses()
    assert [house.package for house in houses if not house.is_within_bounds] == []
    measured = {h.package: (len(h.rooms), len(h.chain), len(h.upward)) for h in houses}
    assert measured.keys() == PACKAGES.keys() == set(rooms.PACKAGES)
    for package, figures in measured.items():
        said = PACKAGES[package]
        assert all(one <= other for one, other in zip(figures, said, strict=True)), f"{package}: {figures}, not {said}"


@pytest.mark.slow
def test_the_ways_are_as_long_as_is_said():
    done = subprocess.run([sys.executable, "-m", "tools.ways"], cwd=ROOT, capture_output=True, text=True, check=True)
    measured = re.findall(r"^\| [a-z ]+ \| (\d+) \| (\d+) \| `", done.stdout, re.MULTILINE)
    assert [tuple(map(int, row)) for row in measured] == WAYS
    assert len(WAYS) == 4
