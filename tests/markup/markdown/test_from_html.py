"""HTML becomes Markdown that renders as the same page. What Markdown can't express stays HTML."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from marginalia.markup.html import clean
from marginalia.markup.html.canonical import canonical
from marginalia.markup.markdown import render
from marginalia.markup.markdown.from_html import MAX_TAGS, to_markdown
from tests.wordpress.sources import FRAGMENTS


def convert(html: str) -> str | None:
    return to_markdown(clean(html, "article"))


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<h2>Title</h2><p>One <b>two</b> <i>three</i>.</p>", "## Title\n\nOne **two** *three*."),
        ('<a href="/a" title="b">c</a>', '[c](/a "b")'),
        ('<a href="/a b(c)">c</a>', "[c](</a%20b(c)>)"),
        ('<a href="https://a.example/">https://a.example/</a>', "<https://a.example/>"),
        ("<p>one<br>two</p>", "one\\\ntwo"),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"),
        ("<ul><li>a</li></ul><ul><li>b</li></ul>", "- a\n\n* b"),
        ('<ol start="9"><li><p>a</p><p>b</p></li><li><p>c</p></li></ol>', "9. a\n\n   b\n\n10. c"),
        ("<blockquote><p>a</p><cite>b</cite></blockquote>", "> a\n>\n> <cite>b</cite>"),
        ("<pre><code class='language-python'>a\n\n```</code></pre>", "````python\na\n\n```\n````"),
        ("<p><code>a`b</code> <kbd>c</kbd> x<sup>2</sup></p>", "`` a`b `` <kbd>c</kbd> x^2^"),
        ("<dl><dt>a</dt><dd>b</dd></dl>", "a\n: b"),
        ('<p><img src="photo:a" alt="b"></p>', "![b](photo:a)"),
        ('<figure><img src="photo:a" alt="b"><figcaption>c "d"</figcaption></figure>', '![b](photo:a "c \\"d\\"")'),
        ('<a href="/x"><img src="photo:a" alt="b"></a>', "[![b](photo:a)](/x)"),
        (
            "<table><thead><tr><th>a</th><th align='right'>b</th></tr></thead>"
            "<tbody><tr><td>c | d</td><td align='right'>e</td></tr></tbody></table>",
            "| a | b |\n| --- | --: |\n| c \\| d | e |",
        ),
        ('<div data-insert="button{link=/a text=b}" data-line="0"></div>', "::button{link=/a text=b}"),
        ('<div data-insert="note{kind=tip}"><p>a</p></div>', ":::note{kind=tip}\n\na\n\n:::"),
        (
            '<p>a<sup class="footnote-ref"><a id="fnref.1" href="#fn.1">1</a></sup></p><div class="footnotes"><ol>'
            '<li id="fn.1"><p>b <a class="footnote-back" href="#fnref.1">↩︎</a></p><p>c</p></li></ol></div>',
            "a[^1]\n\n[^1]: b\n\n    c",
        ),
        ("<p>snake_case, 2 * 3 and [a]</p>", "snake_case, 2 * 3 and [a]"),
        ("<p>*a* and 1. b</p>", "\\*a\\* and 1. b"),
        ("<p>1. a</p><p># b</p><p>::c</p>", "1\\. a\n\n\\# b\n\n\\::c"),
        ("<p>me@a.example, www.a.example, https://a.example</p>", None),
        ("<p><b>重点：</b>后面</p>", "<strong>重点：</strong>后面"),
        ("<p>&nbsp;</p>", "&nbsp;"),
        ('<h2 id="old-id">Title</h2>', '## <a id="s-old-id"></a>Title'),
    ],
)
def test_html_becomes_markdown(html, markdown):
    converted = convert(html)
    assert converted is not None
    assert "<p>" not in converted
    assert markdown in (None, converted)


@pytest.mark.parametrize(
    "html",
    [
        '<p class="alignright">a</p>',
        "<table><tbody><tr><td>a</td></tr></tbody></table>",
        '<table><tbody><tr><td colspan="2">a</td></tr></tbody></table>',
        "<pre>a\n\nb</pre>",
        '<figure><img alt="a" src="photo:a"><figcaption><a href="/">b</a></figcaption></figure>',
        "<details><summary>a</summary><p>b</p></details>",
    ],
)
def test_only_the_block_that_markdown_cannot_express_stays_html(html):
    assert convert(f"<p><i>before</i></p>{html}<p><i>after</i></p>") == f"*before*\n\n{html}\n\n*after*"


def test_content_of_an_aligned_division_becomes_markdown():
    html = '<div class="alignleft"><p>a <b>b</b></p></div>'
    assert convert(html) == '<div class="alignleft">\n\na **b**\n\n</div>'


def test_links_to_headings_still_work():
    html = '<h2 id="h-a">A</h2><p><a href="#h-a">a</a></p><h2>B</h2><p><a href="#b">b</a></p>'
    rendered = render(convert(html), "article")
    assert 'id="s-h-a"' in rendered
    assert 'href="#s-h-a"' in rendered
    assert '<h2 id="s-b">' in rendered
    assert 'href="#s-b"' in rendered


PIECES = st.one_of(
    FRAGMENTS,
    st.sampled_from(
        ["<em>", "</em>", "<ol>", "<h3 id=a>", "1. ", "- ", "# ", "::gallery", "[^1]", "[x]: y", "http://a.b/c_(d)"]
        + ["a@b.cc", "$x$", "==", "~a~", "!", "|", "`", "\\", "<img src='photo:5f' alt='a]b'>", "<figcaption>"]
        + ["<td align=right>", "<div data-insert='note{kind=tip}'>", "<pre><code>\n", "<details>", "重点：", "<a id=q>"]
    ),
)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join))
@example("<strong>a<br></strong>")
@example("<pre>\n\n\na</pre>")
def test_markdown_renders_as_the_same_page(html):
    cleaned = clean(html, "article")
    markdown = to_markdown(cleaned)
    assert markdown is None or canonical(render(markdown, "article")) == canonical(cleaned)


@pytest.mark.parametrize(
    "html",
    [
        "<p>" + "<b>" * 90 + "a",
        "<ul><li>" * 49 + "a",
        "<blockquote>" * 90 + "a",
        "<div class='alignleft'>" * 90 + "a",
    ],
    ids=["inline", "lists", "quotations", "divisions"],
)
def test_deep_nesting_is_converted_or_kept(html):
    cleaned = clean(html, "article")
    markdown = to_markdown(cleaned)
    assert markdown is None or canonical(render(markdown, "article")) == canonical(cleaned)


@pytest.mark.parametrize("html", ["<p>a</p>" * (MAX_TAGS + 1), "a" * 1_000_001], ids=["tags", "length"])
def test_huge_text_is_kept(html):
    assert to_markdown(html) is None
