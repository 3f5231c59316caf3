"""The house of the code: no package has more rooms, longer chains of imports or circles than a reader can take in."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tools.rooms import LONGEST_CHAIN, MOST_ROOMS, PACKAGES, House, houses

ARCHITECTURE = Path(__file__).parents[2] / "docs/explanation/architecture.md"
SMALL = House("small", ("a", "b"), ("a", "b"), ())


@pytest.fixture(scope="module")
def measured():
    return {house.package: house for house in houses()}


@pytest.mark.parametrize("package", PACKAGES)
def test_package_is_within_bounds(measured, package):
    house = measured[package]
    assert not house.upward
    assert house.is_within_bounds, house


def test_bounds_are_of_rooms_chains_and_circles():
    assert SMALL.is_within_bounds
    assert not replace(SMALL, rooms=("a",) * (MOST_ROOMS + 1)).is_within_bounds
    assert not replace(SMALL, chain=("a",) * (LONGEST_CHAIN + 1)).is_within_bounds
    assert not replace(SMALL, upward=(("b", "a"),)).is_within_bounds


def test_architecture_says_what_is_measured(measured):
    rows = re.findall(
        r"^\| `([\w.]+)` \| \d+ \| (\d+) \| \d+ \| (\d+) \| \d+ \| (\d+) \|$", ARCHITECTURE.read_text(), re.M
    )
    told = {package: tuple(map(int, figures)) for package, *figures in rows}
    assert {"cms", "comments", "nodes", "wordpress"} <= set(told)
    for package in told:
        house = measured[package]
        assert told[package] == (len(house.rooms), len(house.chain), len(house.upward)), house
