"""HTML becomes Markdown of comments, which shows the same letters and never HTML as it was typed."""

import random

import pytest

from marginalia.comments.imports.from_html import MAX_LENGTH, to_markdown
from marginalia.markup.html.sanitizer import clean
from marginalia.markup.markdown import render
from marginalia.markup.text import html_to_text


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<p>foo<b> bar </b>baz <i><b>x</b></i></p><p>y</p>", "foo **bar** baz ***x***\n\ny"),
        ("a <b>b</b>, <i>c d</i>! <s>e</s> <b>f</b><i>g</i>", "a **b**, *c d*! ~~e~~ **f***g*"),
        ("foo<b>(bar)</b>baz <em><i>x</i></em>", "foo(bar)baz x"),
        ("a<br>b<br><br>c", "a\nb\n\nc"),
        ("a *b* _c_ d_e [f] \\ `g` ~h~ | &amp;lt;", "a \\*b\\* \\_c\\_ d_e \\[f\\] \\\\ \\`g\\` \\~h\\~ \\| \\&lt;"),
        ("see https://example.org/a_b*c", "see https://example.org/a_b*c"),
        ('<a href="https://x.org/?a=1&amp;b=2">https://x.org/?a=1&amp;b=2</a>', "<https://x.org/?a=1&b=2>"),
        ('<a href="https://x.org/a (b)">l <b>k</b></a>', "[l **k**](<https://x.org/a (b)>)"),
        ('<a href="javascript:x()">l</a><a>m</a>', "lm"),
        ("<u>u</u> <kbd>k</kbd> <mark>m</mark> H<sub>2</sub>O", "u k m H2O"),
        ("<h1>T</h1><div>one</div><div>two</div>", "**T**\n\none\n\ntwo"),
        ('<img src="https://x.org/y.png" alt="pic">', "[pic](https://x.org/y.png)"),
        ("<blockquote>a<br>- b<p>c</p></blockquote>d", "> a\n> \\- b\n>\n> c\n\nd"),
        ("<ol><li><p>1</p><p>2</p></li><li>x<ul><li>y</li></ul></li></ol>", "1. 1\n\n   2\n2. x\n   - y"),
        ("<pre>a\n\n  *b*\n</pre><code>a`b</code>", "```\na\n\n  *b*\n```\n\n``a`b``"),
        ("<p>1. a</p><p># b</p><p>&gt; c</p><p><span>- d</span></p>", "1\\. a\n\n\\# b\n\n\\> c\n\n\\- d"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"),
        ("x<hr>y<i> </i>", "x\n\n---\n\ny"),
        ("<script>x()</script><p onclick=x()>a", "a"),
    ],
)
def test_html_becomes_markdown(html, markdown):
    assert to_markdown(html) == markdown


def test_rendered_markdown_has_the_same_letters():
    chance = random.Random(49)
    inline, blocks = ["b", "i", "em", "strong", "u", "s", "code", "a", "span", "sub"], ["p", "blockquote", "h2", "div"]
    tags = [*inline, *blocks, "ul", "ol", "li", "pre", "table", "tr", "td", "br", "hr"]
    words = ["one", "two *x*", "- three", "4. four", "a_b", "# six", "`", "&lt;b&gt;", "[y](z)", " ", "\n", "==", "~~"]
    for _attempt in range(300):
        pieces = []
        for _piece in range(chance.randrange(1, 15)):
            tag = chance.choice(tags)
            kind = chance.choice(["word", "word", "open", "close"])
            link = ' href="https://x.org"' if tag == "a" else ""
            pieces.append({"word": chance.choice(words), "open": f"<{tag}{link}>", "close": f"</{tag}>"}[kind])
        html = "".join(pieces)
        wanted, found = html_to_text(clean(html)), html_to_text(render(to_markdown(html)))
        assert list(filter(str.isalpha, found)) == list(filter(str.isalpha, wanted)), html


@pytest.mark.slow
def test_nested_and_long_html_is_converted_in_time():
    for html in ("<b>" * 60_000 + "x", "<blockquote>" * 16_000 + "x", "<ul><li>" * 20_000 + "x", " " * 199_000 + "x"):
        assert "x" in to_markdown(html)
    assert to_markdown("<b>" * MAX_LENGTH) == "<b>" * MAX_LENGTH
