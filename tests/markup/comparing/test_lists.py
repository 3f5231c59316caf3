"""Three-way merge of lists by item."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.markup.comparing.lists import merge

LISTS = st.lists(st.sampled_from("abcdef"), max_size=8)


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "merged"),
    [
        ("abc", "abc", "abc", "abc"),
        ("abc", "abX", "abc", "abX"),
        ("abc", "Xbc", "abY", "XbY"),
        ("abc", "XYc", "abZ", "XYZ"),
        ("abc", "bc", "abcd", "bcd"),
        ("abc", "abcX", "abcY", "abcYX"),
        ("abc", "abcX", "abcX", "abcX"),
        ("", "X", "Y", "YX"),
        ("abc", "aXbc", "abYc", "aXbYc"),
        ("abc", "", "abc", ""),
        ("aab", "ab", "aab", "ab"),
        ("abc", "bac", "bca", "bac"),
        ("abcd", "bcda", "bacd", "bacd"),
        ("abc", "aXbc", "abcX", "aXbcX"),
        ("abca", "Xabca", "abcaX", "XabcaX"),
        ("abc", "aabc", "abca", "aabca"),
    ],
)
def test_change_of_one_side_is_merged(base, mine, theirs, merged):
    found = merge(base, mine, theirs)
    assert found.is_whole
    assert "".join(found.mine) == merged


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "ours", "others"),
    [
        ("abc", "aXc", "aYc", "aXc", "aYc"),
        ("abc", "aXc", "aYcZ", "aXcZ", "aYcZ"),
        ("abc", "ac", "aYc", "ac", "aYc"),
    ],
)
def test_item_changed_by_both_sides_is_a_conflict(base, mine, theirs, ours, others):
    found = merge(base, mine, theirs)
    assert not found.is_whole
    assert ("".join(found.mine), "".join(found.theirs)) == (ours, others)


@pytest.mark.slow
@given(base=LISTS, mine=LISTS, theirs=LISTS)
def test_additions_of_both_sides_are_kept(base, mine, theirs):
    found = merge(base, mine, theirs)
    assert set(mine) - set(base) <= set(found.mine)
    assert set(theirs) - set(base) <= set(found.theirs)


@given(base=LISTS, mine=LISTS)
def test_changes_of_one_side_are_merged_unchanged(base, mine):
    for found in (merge(base, mine, base), merge(base, base, mine)):
        assert found.is_whole
        assert list(found.mine) == mine
