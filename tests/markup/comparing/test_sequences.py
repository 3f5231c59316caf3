import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.markup.comparing.sequences import Block, Budget, best_pairs, common_blocks, regions
from tests.markup.properties import holds


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("abc", "abc", [Block(0, 0, 3)]),
        ("abc", "xyz", []),
        ("abc", "abxc", [Block(0, 0, 2), Block(2, 3, 1)]),
        ("abc", "c", [Block(2, 0, 1)]),
        ("xaya", "aza", [Block(1, 0, 1), Block(3, 2, 1)]),
        ("aabb", "abab", [Block(0, 0, 1), Block(2, 1, 1), Block(3, 3, 1)]),
    ],
)
def test_common_blocks_are_found(old, new, expected):
    found = common_blocks(old, new)
    assert sum(block.size for block in found) == sum(block.size for block in expected)
    if expected and len(found) == len(expected):
        assert [block.size for block in found] == [block.size for block in expected]


sequences = st.lists(st.integers(0, 6), max_size=40)


@holds
@given(sequences, sequences)
def test_blocks_are_equal_ordered_and_disjoint(old, new):
    at_old = at_new = 0
    for block in common_blocks(old, new):
        assert block.size > 0
        assert old[block.old : block.old + block.size] == new[block.new : block.new + block.size]
        assert block.old >= at_old
        assert block.new >= at_new
        assert not (at_old and block.old == at_old and block.new == at_new)
        at_old, at_new = block.old + block.size, block.new + block.size


@holds
@given(sequences, sequences)
def test_regions_cover_both_sides(old, new):
    at_old = at_new = 0
    for region, equal in regions(old, new):
        assert (region.old_start, region.new_start) == (at_old, at_new)
        assert (old[region.old_start : region.old_end] == new[region.new_start : region.new_end]) or not equal
        at_old, at_new = region.old_end, region.new_end
    assert (at_old, at_new) == (len(old), len(new))


def longest_common(old, new):
    """Return the length of the longest common subsequence, with the textbook algorithm."""
    row = [0] * (len(new) + 1)
    for part in old:
        before = row[:]
        for j, other in enumerate(new):
            row[j + 1] = before[j] + 1 if part == other else max(before[j + 1], row[j])
    return row[-1]


@holds
@given(st.lists(st.integers(0, 2), max_size=30), st.lists(st.integers(0, 2), max_size=30))
def test_shortest_edit_script_is_found_without_anchors(old, new):
    doubled_old, doubled_new = [part for part in old for _ in "ab"], [part for part in new for _ in "ab"]
    found = sum(block.size for block in common_blocks(doubled_old, doubled_new))
    assert found == longest_common(doubled_old, doubled_new)


@pytest.mark.parametrize("alphabet", [1, 2, 50, 10**9])
def test_long_sequences_stay_within_their_budget(alphabet):
    numbers = random.Random(1)
    old, new = ([numbers.randrange(alphabet) for _ in range(size)] for size in (20_000, 19_000))
    budget = Budget(200_000)
    common_blocks(old, new, budget)
    assert budget.steps > -2 * (len(old) + len(new))


def test_exhausted_budget_still_matches_the_ends():
    assert common_blocks("a1b", "a2b", Budget(0)) == [Block(0, 0, 1), Block(2, 2, 1)]


@pytest.mark.parametrize(
    ("similarities", "expected"),
    [
        ([[1.0]], [(0, 0)]),
        ([[0.0]], [(0, 0)]),
        ([[0.9, 0.0], [0.0, 0.9]], [(0, 0), (1, 1)]),
        ([[0.0, 0.0], [0.0, 0.0]], [(0, 0), (1, 1)]),
        ([[0.0, 0.0, 0.0], [0.9, 0.0, 0.0], [0.0, 0.9, 0.0]], [(1, 0), (2, 1)]),
        ([[0.1, 0.8]], [(0, 1)]),
        ([[0.1, 0.2]], []),
        ([[0.5], [0.9]], [(1, 0)]),
    ],
)
def test_best_pairs_are_found(similarities, expected):
    count_new = len(similarities[0])
    assert best_pairs(len(similarities), count_new, lambda i, j: similarities[i][j]) == expected


def test_long_lists_are_not_compared():
    assert best_pairs(60, 61, lambda i, j: 1 / 0) == []
    assert best_pairs(60, 60, lambda i, j: 1 / 0) == [(index, index) for index in range(60)]
