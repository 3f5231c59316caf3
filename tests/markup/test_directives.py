"""Directives in a text: which lines are directives, their attributes, and their spelling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.markup.directives import Line, find_fences, parse, parse_line, to_markdown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("::gallery{section=a}", Line("gallery{section=a}", is_container=False)),
        ("::contents", Line("contents", is_container=False)),
        ("::contents{} \t", Line("contents{}", is_container=False)),
        (":::note", Line("note", is_container=True)),
        ("::::: note {kind=tip}", Line("note{kind=tip}", is_container=True)),
        (":::", Line("", is_container=True)),
    ],
)
def test_directives_are_recognized(text, expected):
    assert parse_line(text) == expected


@pytest.mark.parametrize(
    "text", ["", ":", "::", ":a", ":: a", "::A", "::a b", "a ::b", "::a{b} c"[:0] + "std::x", "::a{" + "b" * 2_000]
)
def test_other_lines_are_no_directives(text):
    assert parse_line(text) is None


def test_values_with_spaces_need_quotation_marks():
    assert parse("a{url=https://a.example/?b=c&d=e}") == ("a", {"url": "https://a.example/?b=c&d=e"})
    assert parse("""a{b=1 c="two words" d='it "is"' e="a \\"b\\" \\\\" }""") == (
        "a",
        {"b": "1", "c": "two words", "d": 'it "is"', "e": 'a "b" \\'},
    )


@pytest.mark.parametrize(
    "spelled",
    ["", "a{", "a{b}", "a{b=}", "a{b=1 b=2}", 'a{b="c}', 'a{b="1"c=2}', "a{=}", "a}", "{b=1}", "a b"],
)
def test_malformed_directive_is_an_error(spelled):
    with pytest.raises(ValueError):
        parse(spelled)


@given(st.text(), st.text())
def test_written_directive_is_parsed_back(one, other):
    """White space becomes one space."""
    attributes = {"one": one, "other": other}
    said = {key: " ".join(value.split()) for key, value in attributes.items()}
    spelled = to_markdown("name", attributes)
    found = parse_line(spelled)
    assert "\n" not in spelled
    assert found is not None
    assert parse(found.source) == ("name", said)


@given(st.text(alphabet="ab= {}\"\\:'", max_size=60))
def test_parsing_ends_for_any_text(text):
    try:
        name, _attributes = parse(text)
    except ValueError:
        return
    assert text.startswith(name)


def test_containers_of_a_text_are_found():
    text = "a\n\n:::note\nb\n\n:::tip\nc\n:::\n:::\n\nd\n:::x\n:::"
    found = find_fences(text)
    assert [text[start:end] for start, end in found.spans] == [":::note\nb\n\n:::tip\nc\n:::\n:::", ":::x\n:::"]
    assert found.is_balanced


@pytest.mark.parametrize("text", [":::note\na", ":::", ":::a\n:::\n:::", "```\n```\n:::a"])
def test_unclosed_containers_are_reported(text):
    assert not find_fences(text).is_balanced


@pytest.mark.parametrize("text", ["```\n:::a\n```", "~~~ x\n:::\n```\n~~~~"])
def test_code_that_shows_a_container_is_one_paragraph(text):
    assert find_fences(f"{text}\n") == (((0, len(text)),), True)


@pytest.mark.parametrize("text", ["```\nx\n```\n    :::a", "a :::b", "`` ` :::a", "```\n:::a"])
def test_containers_in_code_or_lines_are_ignored(text):
    assert find_fences(text) == ((), True)
