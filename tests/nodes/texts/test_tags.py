"""Tags in the one form in which they are stored."""

import pytest

from nodes.texts import tags


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        (" a  b ", "a b"),
        ("a,b", "a b"),
        ("and/or", "and/or"),
        ("/news/", "news"),
        ("// a /", "a"),
        ("///", ""),
        ("x" * (tags.LONGEST - 1) + "/y", "x" * (tags.LONGEST - 1)),
    ],
)
def test_a_tag_has_one_form_and_an_address(typed, stored):
    assert tags.normalized(typed) == stored
