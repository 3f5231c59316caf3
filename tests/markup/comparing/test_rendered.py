"""Differences of two texts as readers see them: the new version's HTML, with removed and added content marked."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.markup import html
from marginalia.markup.comparing.rendered import mark_changes
from marginalia.markup.comparing.sequences import Budget
from marginalia.markup.markdown import render
from marginalia.markup.text import html_to_text
from tests.markup.properties import holds

REMOVED = re.compile(r'<del title="-">.*?</del>', re.DOTALL)
ADDED = re.compile(r'<ins title="\+">.*?</ins>', re.DOTALL)


def marked(old, new, budget=None):
    """Return the differences of two Markdown texts on one line, with `[-removed-]` and `{+added+}`."""
    blocks = mark_changes(render(old, "article"), render(new, "article"), removed="-", added="+", budget=budget)
    text = "".join(block.html for block in blocks).replace("\n", "")
    text = re.sub(r'<del title="-">(.*?)</del>', r"[-\1-]", text)
    return re.sub(r'<ins title="\+">(.*?)</ins>', r"{+\1+}", text)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a", "a", "<p>a</p>"),
        ("the quick fox", "the slow fox", "<p>the [-quick-]{+slow+} fox</p>"),
        ("one two", "one **two**", "<p>one [-two-]{+<strong>two</strong>+}</p>"),
        ("[a](/b)", "[a](/c)", '<p>[-<a href="/b">a</a>-]{+<a href="/c">a</a>+}</p>'),
        ("a", "a\n\nb & c", "<p>a</p><p>{+b &amp; c+}</p>"),
        ("a &lt; b", "a &amp; b", "<p>a [-&lt;-]{+&amp;+} b</p>"),
        ("- a\n- b\n- c", "- a\n- c", "<ul><li>a</li><li>[-b-]</li><li>c</li></ul>"),
        ("one\n\ntwo", "two\n\none", "<p>[-one-]</p><p>two</p><p>{+one+}</p>"),
        ("## One two", "### One two", '<h2>[-One two-]</h2><h3 id="s-one-two">{+One two+}</h3>'),
        ("![a](photo:1)", "![a](photo:2)", '<p>[-<img src="photo:1" alt="a">-]{+<img src="photo:2" alt="a">+}</p>'),
        ("$x$ and", "$y$ and", '[-<code class="language-math">x</code>-]{+<code class="language-math">y</code>+} and'),
        ("Some words\n\n---", "Some words", "<p>Some words</p>[-<hr>-]"),
        ("今日は晴れです", "今日は雨です", "<p>今日は[-晴れ-]{+雨+}です</p>"),
    ],
)
def test_changes_are_marked(old, new, expected):
    assert expected in marked(old, new)


def test_insert_is_replaced_as_a_whole_and_keeps_its_place():
    old, new = ("text\n\n::photo{photo=photo:%s}" % (f"{number}" * 24) for number in (1, 2))
    assert re.search(r"\[-<div data-insert=.*?1{24}.*?</div>-\]\{\+<div data-insert=.*?2{24}", marked(old, new))
    moved = mark_changes(render(new, "article"), render(f"first\n\n{new}", "article"), removed="-", added="+")
    assert [block.kind for block in moved] == ["added", "same", "same"], "the insert is now on another line"


def test_table_rows_are_matched():
    head = "| a | b |\n|---|---|\n| 1 | 2 |\n"
    assert "<tr><td>{+3+}</td><td>{+4+}</td></tr></tbody></table>" in marked(head, f"{head}| 3 | 4 |")


def test_text_counts_as_changed_when_the_budget_is_used_up():
    assert marked("a b c", "x b y", Budget(0)) == "<p>[-a b c-]{+x b y+}</p>"


def test_deep_nesting_is_compared():
    quotes = "> " * 90
    assert "[-a-]{+b+}" in marked(f"{quotes}a", f"{quotes}b")


PARTS = st.sampled_from(
    ["one", "two", "*three*", "**four** five", "- six\n- seven", "> eight", "`nine` & ten", "| a |\n|---|\n| b |"]
)
TEXTS = st.lists(PARTS, max_size=8).map("\n\n".join)


@pytest.mark.slow
@holds
@given(old=TEXTS, new=TEXTS)
def test_both_versions_can_be_read_from_the_differences(old, new):
    before, after = (render(text, "article") for text in (old, new))
    found = "".join(block.html for block in mark_changes(before, after, removed="-", added="+"))
    assert html.clean(found, "article").replace("\n", "") == found.replace("\n", ""), "the marks are in valid places"
    assert _words(REMOVED.sub("", found)) == _words(after)
    assert _words(ADDED.sub("", found)) == _words(before)


def _words(text):
    return html_to_text(text.replace("<", " <")).split()
