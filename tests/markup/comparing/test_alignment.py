import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.markup.comparing import diff
from marginalia.markup.comparing.alignment import MAX_PARAGRAPHS, Row, align_items
from marginalia.markup.comparing.sequences import Budget
from tests.markup.properties import holds


def align_texts(old: str, new: str, budget: Budget | None = None) -> list[Row]:
    return align_items(*(diff.split_paragraphs(text, MAX_PARAGRAPHS) for text in (old, new)), budget)


def shown(found):
    """Return rows as strings: "old | new", with [-deleted-] and {+inserted+} words, and marks for one-sided rows."""
    marks = {"equal": "{}", "delete": "[-{}-]", "insert": "{{+{}+}}"}
    sides = ["".join(marks[piece.kind].format(piece.text) for piece in side) for row in found for side in _sides(row)]
    return [
        row.kind if row.kind == "same" else f"{row.kind}: {old} | {new}".strip()
        for row, old, new in zip(found, sides[::2], sides[1::2], strict=True)
    ]


def _sides(row: Row):
    return row.old, row.new


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("", "", []),
        ("a\n\nb", "a\n\nb", ["same", "same"]),
        ("", "a", ["added:  | {+a+}"]),
        ("a", "", ["removed: [-a-] |"]),
        ("one\n\nthree", "one\n\ntwo\n\nthree", ["same", "added:  | {+two+}", "same"]),
        ("one\n\ntwo\n\nthree", "one\n\nthree", ["same", "removed: [-two-] |", "same"]),
        ("one\n\na b c\n\ntwo", "one\n\na x c\n\ntwo", ["same", "changed: a [-b-] c | a {+x+} c", "same"]),
        # A paragraph inserted beside a changed one is not matched with it.
        (
            "a b c d",
            "new words here\n\na b c e",
            ["added:  | {+new words here+}", "changed: a b c [-d-] | a b c {+e+}"],
        ),
        ("one\n\ntwo\n\nthree", "two\n\nthree\n\none", ["left: [-one-] |", "same", "same", "came:  | {+one+}"]),
        # Two paragraphs that changed places: neither became the other.
        (
            "one\n\nhere\n\nthere\n\ntwo",
            "two\n\nhere\n\nthere\n\none",
            ["left: [-one-] |", "came:  | {+two+}", "same", "same", "left: [-two-] |", "came:  | {+one+}"],
        ),
        # As often as on both sides, not more often.
        (
            "one\n\ntwo",
            "two\n\none\n\nx\n\none",
            ["left: [-one-] |", "same", "came:  | {+one+}", "added:  | {+x+}", "added:  | {+one+}"],
        ),
        ("a\n\n\n\nb", "a\n \nb", ["same", "same"]),
        ("a", "a ", ["changed: a | a{+ +}"]),
    ],
)
def test_rows_align_paragraphs(old, new, wanted):
    assert shown(align_texts(old, new)) == wanted


def test_items_are_aligned_like_paragraphs():
    wanted = ["same", "changed: [-salt-] | {+pepper+}", "same", "added:  | {+oil+}"]
    assert shown(align_items(["water", "salt", "rice"], ["water", "pepper", "rice", "oil"])) == wanted


texts = st.lists(st.sampled_from(["a", "b", "cat and dog", "cat or dog", " ", "\n", "\n\n", "\n \n"]), max_size=30).map(
    "".join
)


@holds
@given(texts, texts)
def test_every_paragraph_is_in_exactly_one_row(old, new):
    found = align_texts(old, new)
    for side, text, other in ((0, old, "insert"), (1, new, "delete")):
        pieces = [_sides(row)[side] for row in found]
        assert ["".join(p.text for p in one) for one in pieces if one] == diff.split_paragraphs(text, MAX_PARAGRAPHS)
        assert all(piece.kind != other for one in pieces for piece in one)
    assert all(all(p.kind == "equal" for p in (*row.old, *row.new)) for row in found if row.kind == "same")
    moved = [
        sorted(piece.text for row in found if row.kind == kind for piece in (*row.old, *row.new))
        for kind in ("left", "came")
    ]
    assert moved[0] == moved[1]


def test_only_changes_among_5000_paragraphs_are_marked():
    olds = [f"Paragraph {number} has a few words of its own." for number in range(5_000)]
    news = [*olds[:1_000], "A new one.", *olds[1_000:3_000], "Paragraph 3000 has some words.", *olds[3_001:4_000]]
    news += [*olds[4_001:], olds[4_000]]
    found = align_texts("\n\n".join(olds), "\n\n".join(news))
    kinds = [row.kind for row in found]
    assert (len(found), kinds.count("same")) == (5_002, 4_998)
    unlike = {at: kind for at, kind in enumerate(kinds) if kind != "same"}
    assert unlike == {1_000: "added", 3_001: "changed", 4_001: "left", 5_001: "came"}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["other words", "shuffled", "every one changed", "one of many"])
def test_comparisons_of_5000_paragraphs_are_bounded(way):
    """However little both sides have in common: within the budget, and in a few seconds."""
    chance = random.Random(1)
    olds = [" ".join(chance.choices("abcdefghij", k=30)) + f" {number}" for number in range(5_000)]
    news = {
        "other words": [text.upper() for text in olds],
        "shuffled": chance.sample(olds, len(olds)),
        "every one changed": [text.replace("a", "x") for text in olds],
        "one of many": ["a b c"] * 5_000,
    }[way]
    budget, start = Budget(), time.process_time()
    found = align_texts("\n\n".join(olds), "\n\n".join(news), budget)
    assert time.process_time() - start < 5
    assert budget.steps > -len(olds) * 20
    assert sum(bool(row.old) for row in found) == sum(bool(row.new) for row in found) == 5_000


def test_paragraphs_beyond_the_limit_form_one_row():
    text = "\n\n".join("a" * (MAX_PARAGRAPHS + 1_000))
    found = align_texts(text, f"{text}\n\nb")
    assert len(found) == MAX_PARAGRAPHS + 1
    assert [row.kind for row in found[-2:]] == ["same", "changed"]
    assert found[-1].new[-1].text.endswith("b")
