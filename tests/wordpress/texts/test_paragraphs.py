"""Paragraphs from blank lines: by example, and for any text."""

import re

import pytest
from hypothesis import given

from tests.wordpress.sources import SOURCES
from wordpress.texts.paragraphs import paragraphs
from wordpress.texts.tokens import TAG, tokens


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", ""),
        ("one", "<p>one</p>"),
        ("one\ntwo\n\nthree", "<p>one<br>\ntwo</p>\n<p>three</p>"),
        ("one\r\n\r\ntwo\rthree", "<p>one</p>\n<p>two<br>\nthree</p>"),
        ("\n\n  one  \n \t\n\n\n two \n", "<p>one</p>\n<p>two</p>"),
        ("one<br />\ntwo\n<br>three", "<p>one<br>\ntwo<br>\nthree</p>"),
        ("a *b* _c_ # d\n    e", "<p>a *b* _c_ # d<br>\ne</p>"),
        ("1 < 2 & 3", "<p>1 &lt; 2 & 3</p>"),
        ("one\n\n&nbsp;\n\ntwo", "<p>one</p>\n<p>two</p>"),
        ("<p>one</p><p>two</p>", "<p>one</p>\n<p>two</p>"),
        ('<p class="x">one\n\ntwo</p>', '<p class="x">one</p>\n<p class="x">two</p>'),
        ("<p>one<p>two", "<p>one</p>\n<p>two</p>"),
        ("text\n<h2>Head\ning</h2>\ntext", "<p>text</p>\n<h2>Head<br>\ning</h2>\n<p>text</p>"),
        ("<h2>Head\n\ning</h2>", "<h2>Head<br>\ning</h2>"),
        ("<em>one\n\ntwo</em> three", "<p><em>one</em></p>\n<p><em>two</em> three</p>"),
        ("<b><i>x</b>y</i>", "<p><b><i>x</i></b><i>y</i></p>"),
        ("</b>x</div>", "<p>x</p>"),
        ("<b>x", "<p><b>x</b></p>"),
        ("<blockquote>one</blockquote>", "<blockquote>\n<p>one</p>\n</blockquote>"),
        ("<div>one</div>", "<div>one</div>"),
        ("<div>one\n\ntwo</div>", "<div><p>one</p>\n<p>two</p>\n</div>"),
        ("<ul>\n\t<li>a\nb</li>\n<li>c</ul>d", "<ul>\n<li>a<br>\nb</li>\n<li>c</li>\n</ul>\n<p>d</p>"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "<ul>\n<li>a<ul>\n<li>b</li>\n</ul>\n</li>\n<li>c</li>\n</ul>"),
        ("<pre>a\n\n  b</pre>", "<pre>a\n\n  b</pre>"),
        ("x <code>a\n\nb</code>", "<p>x <code>a<br><br>b</code></p>"),
        ("<table><tr><td>a<td>b</table>", "<table>\n<tr>\n<td>a</td>\n<td>b</td>\n</tr>\n</table>"),
        ("one<hr>two", "<p>one</p>\n<hr>\n<p>two</p>"),
        ("<p></p>\n\n<p> </p><b></b>", ""),
        ('<a name="x"></a>\n\ny', '<p><a name="x"></a></p>\n<p>y</p>'),
        ("one<!-- comment -->two", "<p>onetwo</p>"),
        ('<img src="a.jpg">\ntext', '<p><img src="a.jpg"><br>\ntext</p>'),
    ],
)
def test_examples_convert(source, expected):
    assert paragraphs(source) == expected


def text_of(html: str) -> str:
    """Return what a reader sees, without blanks."""
    seen = "".join(TAG.sub("", token.source) for token in tokens(html) if token.kind != "comment")
    return re.sub(r"\s|&nbsp;", "", seen.replace("&lt;", "<"))


@given(SOURCES)
def test_text_is_neither_lost_nor_added(source):
    assert text_of(paragraphs(source)) == text_of(source)


@given(SOURCES)
def test_result_is_well_nested(source):
    """By its own parser: every element is closed in reverse order, and no paragraph contains a block."""
    open_names: list[str] = []
    for token in tokens(paragraphs(source)):
        if token.kind == "open":
            assert "p" not in open_names or token.name in ("a", "b", "i", "span")
            open_names.append(token.name)
        elif token.kind == "close":
            assert open_names.pop() == token.name
    assert open_names == []


@given(SOURCES)
def test_converting_twice_changes_nothing(source):
    once = paragraphs(source)
    assert paragraphs(once) == once


@given(SOURCES)
def test_tokens_join_to_the_text(source):
    assert "".join(token.source for token in tokens(source)) == source


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["<", "<!--", "<a '", '<a "', "<code>", "[a ", "[[", "<i>x\n\n", " ", "\n", "[b]", "<p>", "<li>"]
)
def test_time_is_linear_in_the_length(piece):
    """No input makes the import hang. Quadratic time would take minutes."""
    paragraphs(piece * 20_000)
