import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.markup.comparing.diff import Change, diff_words, match_paragraphs
from tests.markup.properties import holds


def shown(changes):
    """Return changes as one string: [-deleted-] {+inserted+}."""
    marks = {"equal": "{}", "delete": "[-{}-]", "insert": "{{+{}+}}"}
    return "".join(marks[change.kind].format(change.text) for change in changes)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ""),
        ("a", "a", "a"),
        ("", "a", "{+a+}"),
        ("a", "", "[-a-]"),
        ("the quick fox", "the slow fox", "the [-quick-]{+slow+} fox"),
        ("one two three four", "uno due tre four", "[-one two three-]{+uno due tre+} four"),
        ("a b", "a  b", "a[- -]{+  +}b"),
        ("Hello, world", "Hello world", "Hello[-,-] world"),
        ("今日は晴れです", "今日は雨です", "今日は[-晴れ-]{+雨+}です"),
        ("a\n\nb\n\nc", "a\n\nc", "a\n\n[-b\n\n-]c"),
        ("a\n\nc", "a\n\nb\n\nc", "a\n\n{+b\n\n+}c"),
        ("first old\n\nsecond", "first new\n\nsecond", "first [-old-]{+new+}\n\nsecond"),
        ("don’t stop", "don’t go", "don’t [-stop-]{+go+}"),
        ("नमस्ते दुनिया", "नमस्ते जगत", "नमस्ते [-दुनिया-]{+जगत+}"),
    ],
)
def test_words_are_compared(old, new, expected):
    assert shown(diff_words(old, new)) == expected


texts = st.lists(
    st.sampled_from(["a", "b", "cat", " ", "\n", "\n\n", "\r\n", "漢", "字", "e\u0301", ".", "-", "\t"]), max_size=40
).map("".join)


def check(old, new):
    changes = diff_words(old, new)
    assert "".join(change.text for change in changes if change.kind != "insert") == old
    assert "".join(change.text for change in changes if change.kind != "delete") == new
    assert all(change.text for change in changes)
    kinds = [change.kind for change in changes]
    assert all(
        one != other and (one, other) != ("insert", "delete") for one, other in zip(kinds, kinds[1:], strict=False)
    )
    return changes


@holds
@given(texts, texts)
def test_pieces_join_to_both_texts(old, new):
    check(old, new)


@holds
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_are_compared(old, new):
    check(old, new)


@holds
@given(texts)
def test_equal_texts_have_no_difference(text):
    assert diff_words(text, text) == ([Change("equal", text)] if text else [])


def test_paragraphs_are_matched_by_their_words():
    assert match_paragraphs(["a b c", "d e f"], ["x", "a b z", "d e"]) == [(0, 1), (1, 2)]


def document(numbers, vocabulary, paragraphs, length):
    return "\n\n".join(" ".join(numbers.choice(vocabulary) for _ in range(length)) for _ in range(paragraphs))


def edited(numbers, text):
    parts = text.split(" ")
    for _ in range(len(parts) // 20):
        parts[numbers.randrange(len(parts))] = "new"
    return " ".join(parts)


many, few = [f"word{number}" for number in range(3000)], ["a", "b"]
LONG = {
    "edited": lambda r: (text := document(r, many, 120, 100), edited(r, text)),
    "unrelated": lambda r: (document(r, many, 120, 100), document(r, many, 120, 100)),
    "one paragraph": lambda r: (text := document(r, many, 1, 12_000), edited(r, text)),
    "two words": lambda r: (document(r, few, 1, 50_000), document(r, few, 1, 50_000)),
    "one letter": lambda r: ("a " * 50_000, "a " * 30_000),
    "short paragraphs": lambda r: ("a\n\n" * 30_000, "b\n\n" * 30_000),
    "ideographs": lambda r: tuple("".join(chr(r.randrange(0x4E00, 0x5200)) for _ in range(30_000)) for _ in range(2)),
    "shuffled": lambda r: (" ".join(many * 5), " ".join(r.sample(many * 5, 15_000))),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", LONG)
def test_long_texts_are_compared_quickly(kind):
    """About 100 KB on each side take less than a second on an idle machine."""
    old, new = LONG[kind](random.Random(1))
    start = time.process_time()
    check(old, new)
    assert time.process_time() - start < 5


def test_changes_of_a_long_text_are_found_exactly():
    numbers = random.Random(2)
    old = document(numbers, many, 150, 100)
    new = old.replace("\n\n", "\n\nInserted. ", 3)
    assert [change for change in diff_words(old, new) if change.kind != "equal"] == [Change("insert", "Inserted. ")] * 3
