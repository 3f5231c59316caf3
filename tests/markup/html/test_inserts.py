"""Directives become elements that survive cleaning, and are resolved when a text is shown."""

import pytest

from marginalia.markup.html import clean, inserts
from marginalia.markup.html.inserts import Placeholder, resolve_inserts
from marginalia.markup.markdown import render


def found(source: str) -> list[Placeholder]:
    seen: list[Placeholder] = []
    resolve_inserts(render(source, "article"), lambda placeholder, _content: seen.append(placeholder) or "")
    return sorted(seen, key=lambda placeholder: placeholder.line)


def shown(source: str) -> str:
    return resolve_inserts(
        render(source, "article"), lambda placeholder, content: f"[{placeholder.source}|{content.strip()}]"
    )


def test_leaf_insert_needs_its_own_line():
    assert found("text\n::gallery{section=a}\nmore ::gallery{x}") == [Placeholder("gallery{section=a}", 2)]


def test_container_contains_markdown_and_containers():
    html = shown(":::note{kind=tip}\n*a*\n\n:::: warning\n- b\n::::\n:::\n\nend")
    assert html.startswith("[note{kind=tip}|<p><em>a</em></p>\n[warning|<ul>\n<li>b</li>\n</ul>]")
    assert html.endswith("]\n<p>end</p>")


def test_attributes_reach_the_resolver_as_typed():
    spelled = 'a{b="<i> & \\" \'x\' data-insert=c"}'
    assert found(f"::{spelled}") == [Placeholder(spelled, 1)]


@pytest.mark.parametrize("source", ["```\n::a\n:::b\n:::\n```", "    ::a", "`::a`", "<pre>\n::a\n</pre>"])
def test_code_contains_no_inserts(source):
    assert found(source) == []


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        (":::a\nx", [(1, "not closed")]),
        ("x\n\n:::", [(3, "closes nothing")]),
        ("> :::a\n\n:::", [(1, "not closed"), (3, "closes nothing")]),
        ("- :::a\n  - x\n  :::\n- :::b", [(1, ""), (4, "not closed")]),
        (":::a\n" * 5 + ":::\n" * 5, [(1, "too deep"), *((line, "") for line in range(2, 6))]),
    ],
)
def test_containers_begin_and_end_in_the_same_block(source, faults):
    deepest_first = {(one.line, one.fault) for one in found(source)}
    assert len(deepest_first) == len(faults)
    assert sorted(fault for _line, fault in deepest_first) == sorted(fault for _line, fault in faults)


def test_comments_have_no_inserts():
    assert render("::gallery{section=a}", "comment") == "<p>::gallery{section=a}</p>"
    assert clean('<div data-insert="a">x</div>', "comment") == "<p>x</p>"


@pytest.mark.parametrize(
    "source",
    [
        '::a{b="<script>alert(1)</script>"}',
        "::a{b='\" onclick=x'}",
        ":::a\n</div></div><div data-insert=b>\n:::",
        ":::a",
    ],
)
def test_cleaning_twice_changes_nothing(source):
    html = render(source, "article")
    assert clean(html, "article") == html
    assert "<script" not in html


def test_only_marked_elements_are_inserts():
    html = clean('<div title=" data-insert=a">x</div><p data-insert="a">y</p><div data-line="1">z</div>', "article")
    assert resolve_inserts(html, lambda placeholder, _content: "!") == html


def test_inserts_nested_too_deep_keep_their_content():
    deep = '<div data-insert="a">' * 20 + "x" + "</div>" * 20
    html = resolve_inserts(clean(deep, "article"), lambda _placeholder, content: f"({content})")
    assert html.count("(") == inserts.MAX_DEPTH
    assert "data-insert" not in html
    assert "x" in html
