"""Tags in their normalized form."""

import pytest

from nodes import tags


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        (" a  b ", "a b"),
        ("a,b", "a b"),
        ("and/or", "and/or"),
        ("/news/", "news"),
        ("// a /", "a"),
        ("///", ""),
        ("\u3164\u2800", ""),
        ("x" * (tags.LONGEST - 1) + "/y", "x" * (tags.LONGEST - 1)),
    ],
)
def test_tag_is_normalized_and_has_a_url(typed, stored):
    assert tags.normalized(typed) == stored


@pytest.mark.parametrize("tag", [".", "..", "a/../b", "./a", "a/."])
def test_tag_with_a_part_of_dots_has_no_url(tag):
    assert tags.has_no_address(tag)


@pytest.mark.parametrize("tag", ["...", "a.b", ".net", "v1."])
def test_other_dots_in_a_tag_are_allowed(tag):
    assert not tags.has_no_address(tag)
