"""Comments converted from HTML to Markdown: every word and only the existing formatting is shown."""

import re
from html import unescape

import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from tests.wordpress.sources import SOURCES
from wordpress.texts.markdown import to_markdown
from wordpress.texts.tokens import TAG, tokens


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("", ""),
        ("one\ntwo\n\nthree", "one\\\ntwo\n\nthree"),
        ("<b>bold</b> <i>it.</i>x<em> sp </em>", "**bold** *it*.x *sp*"),
        ("a *b* _c_ [d] `e` <f # g", "a \\*b\\* \\_c\\_ \\[d\\] \\`e\\` \\<f \\# g"),
        ("- one\n2. two\n+ three", "\\- one\\\n2\\. two\\\n\\+ three"),
        ("<b></b>- x", "\\- x"),
        ("a<b> b</b>", "a **b**"),
        ("&lt;b&gt; &amp;copy; AT&amp;T", "\\<b\\> \\&copy; AT&T"),
        ("<a href='https://x.example/(a)'>the [link]</a>", "[the \\[link\\]](<https://x.example/(a)>)"),
        ("<a href='javascript:alert(1)'>bad</a>", "bad"),
        ("<a href='/relative'>here</a>", "here"),
        ("see https://x.example/a_b?c=*d*.", "see <https://x.example/a_b?c=*d*>."),
        (
            "See https://en.wikipedia.org/wiki/Set_(mathematics) or (https://x.example/a_(b)).",
            "See <https://en.wikipedia.org/wiki/Set_(mathematics)> or (<https://x.example/a_(b)>).",
        ),
        ('(https://x.example/a) "https://x.example/b!"', '(<https://x.example/a>) "<https://x.example/b>!"'),
        ("<blockquote>one\n\ntwo</blockquote>", "> one\n>\n> two"),
        ("<ul><li>a<li>b<ul><li>c</ul></ul>", "- a\n- b\n  - c"),
        ("<ol><li>a\n\nb<li>c</ol>", "1. a\n\n   b\n2. c"),
        ("<pre>a\n  ``` b</pre>", "````\na\n  ``` b\n````"),
        ("<code>a`b</code> <code>`</code>", "``a`b`` `` ` ``"),
        ("<h2>Head</h2>text<hr>", "## Head\n\ntext\n\n* * *"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", "a \\| b\n\nc"),
        ("<img src='x.jpg' alt='A_b'>", "A\\_b"),
        ("<strong><a href='https://x.example/'>t</a></strong>", "[t](<https://x.example/>)"),
        ("[...] ping [...]", "\\[...\\] ping \\[...\\]"),
        ("x<br>", "x"),
    ],
)
def test_examples_convert(html, expected):
    assert to_markdown(html) == expected


def words(html: str) -> str:
    """Return what a reader sees, without blanks and the lines between a table's cells."""
    return re.sub(r"[\s\xa0|]", "", unescape(TAG.sub("", html)))


@given(SOURCES)
def test_every_word_is_kept_and_none_added(source):
    source = "".join(token.source for token in tokens(source.replace("\0", "")) if token.kind != "comment")
    shown = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).render(to_markdown(source))
    assert words(shown) == words(source) or "<!" in source


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "<b>",
        "<blockquote>",
        "<ul><li>",
        "!",
        "a!",
        "<b>x",
        "*",
        "\n",
        "<a href='https://x'>",
        "http://x",
        "http://x(",
        "http://x).",
    ],
)
def test_time_is_linear_in_the_length(piece):
    to_markdown(piece * 20_000)
