import sys
import time

import pytest
from hypothesis import given, settings

from marginalia.markup.markdown import render
from marginalia.markup.markdown.limits import MAX_DEPTH, MAX_MARKS
from marginalia.markup.text import html_to_text
from tests.markup.policy import violations
from tests.markup.properties import holds, markdown, soup

PROFILES = pytest.mark.parametrize("profile", ["article", "comment"])


@PROFILES
@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("", ""),
        ("*a* **b** ~~c~~ `d`", "<p><em>a</em> <strong>b</strong> <s>c</s> <code>d</code></p>"),
        ("a\n\nb", "<p>a</p>\n<p>b</p>"),
        ("a\r\n\r\nb", "<p>a</p>\n<p>b</p>"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
        ("3. a", '<ol start="3">\n<li>a</li>\n</ol>'),
        ("> a", "<blockquote>\n<p>a</p>\n</blockquote>"),
        ("```py\nx < 1\n```", '<pre><code class="language-py">x &lt; 1\n</code></pre>'),
        ("```\n\nx\n```", "<pre><code>\nx\n</code></pre>"),
        ("---", "<hr>"),
        ("[a](javascript:b)", "<p>[a](javascript:b)</p>"),
        ("a\x00b\u202ec\ud800", "<p>abc\ufffd</p>"),
        ("&lt;b&gt; &copy;", "<p>&lt;b&gt; ©</p>"),
    ],
)
def test_markdown_renders_in_both_profiles(source, html, profile):
    assert render(source, profile) == html


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("## Über *uns*", '<h2 id="s-über-uns">Über <em>uns</em></h2>'),
        ("# a\n## b", '<h2 id="s-a">a</h2>\n<h3 id="s-b">b</h3>'),
        ("[b](#a)\n## a", '<p><a href="#s-a">b</a></p>\n<h2 id="s-a">a</h2>'),
        ("a\nb", "<p>a\nb</p>"),
        ("a <b>c</b> <script>d</script>", "<p>a <b>c</b> </p>"),
        ("<div class=alignleft>\n\n*a*\n\n</div>", '<div class="alignleft">\n<p><em>a</em></p>\n</div>'),
        ('![a](/b.jpg "c")', '<p><img src="/b.jpg" alt="a" title="c"></p>'),
        ("[a](https://b.example)", '<p><a href="https://b.example" rel="noopener">a</a></p>'),
        ("[a](/b)", '<p><a href="/b">a</a></p>'),
        (
            "|a|b|\n|:-|-:|\n|1|2|",
            '<table>\n<thead>\n<tr>\n<th align="left">a</th>\n<th align="right">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n'
            '<td align="left">1</td>\n<td align="right">2</td>\n</tr>\n</tbody>\n</table>',
        ),
    ],
)
def test_markdown_renders_in_articles(source, html):
    assert render(source, "article") == html


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("# a\n## b", "<p><strong>a</strong></p>\n<p><strong>b</strong></p>"),
        ("a\n---", "<p><strong>a</strong></p>"),
        ("a\nb", "<p>a<br>\nb</p>"),
        ("a <b>c</b> <!-- d -->", "<p>a &lt;b&gt;c&lt;/b&gt; &lt;!-- d --&gt;</p>"),
        ("<div>\n*a*\n</div>", "<p>&lt;div&gt;<br>\n<em>a</em><br>\n&lt;/div&gt;</p>"),
        ("![a](/b.jpg)", '<p><a href="/b.jpg" rel="ugc nofollow noopener">a</a></p>'),
        ("[a](/b)", '<p><a href="/b" rel="ugc nofollow noopener">a</a></p>'),
    ],
)
def test_markdown_renders_in_comments(source, html):
    assert render(source, "comment") == html


def test_stricter_profile_is_the_default():
    assert render("<b>a</b> ![b](/c)") == render("<b>a</b> ![b](/c)", "comment")


@pytest.mark.slow_after(1)
@PROFILES
@settings(holds, max_examples=400)
@given(source=markdown)
def test_rendered_markdown_is_clean(source, profile):
    assert violations(render(source, profile), profile) == []


@PROFILES
@holds
@given(source=soup)
def test_rendered_markdown_with_html_is_clean(source, profile):
    assert violations(render(source, profile), profile) == []


@pytest.mark.parametrize("mark", [">", "- ", "1. ", "> - "])
def test_text_nested_too_deep_is_not_lost(mark):
    html = render(mark * 3 * MAX_DEPTH + "treasure", "comment")
    assert "treasure" in html
    assert html.count("<blockquote>") + html.count("<li>") <= MAX_DEPTH + 2


def test_render_near_the_recursion_limit_returns_the_text():
    def deep(left):
        return render("- " * 50 + "*treasure*", "comment") if not left else deep(left - 1)

    frames = 0
    frame = sys._getframe()
    while frame := frame.f_back:
        frames += 1
    assert "treasure" in deep(sys.getrecursionlimit() - frames - 60)


HOSTILE = [
    *(
        "[",
        "]",
        "[]",
        "[a](",
        "![",
        "![](",
        ">",
        "> ",
        "- ",
        "- a\n",
        "1. ",
        "*",
        "**a ",
        "*a_ ",
        "`a",
        "~~a ",
        "<",
        "<a ",
    ),
    *(
        "<!-- ",
        "<?",
        "&",
        "\\",
        "|",
        "|a\n|-\n",
        "http://",
        "http://(",
        "http://a.b ",
        "www.",
        "a@a.",
        "\n",
        "[a]: b\n",
    ),
    *(
        "[a]: <\n",
        '[a]: b "\n',
        "# a\n",
        "a\n===\n",
        "<div>\n\n",
        "<b>",
        "\x00",
        "\u202e",
        "<h2 id=a>",
        "![a](photo:b)",
    ),
    *("\u0301", "\t"),
]


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["article", "comment"])
@pytest.mark.parametrize("pattern", HOSTILE)
def test_hostile_markdown_renders_in_bounded_time(pattern, profile):
    """8 KB take less than half a second. The generous limit only excludes hours."""
    source = pattern * (8_000 // len(pattern))
    start = time.process_time()
    html = render(source, profile)
    assert time.process_time() - start < 10
    assert len(html) < 30 * len(source) + 10_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        "|" + "a|" * 500 + "\n|" + "-|" * 500 + "\n" + "a\n" * 5_000,
        "[a]: http://x/" + "y" * 20_000 + "\n\n" + "[a] " * 20_000,
        "[a" * 10_000 + "](b)" * 10_000,
        "![a" * 10_000 + "](b)" * 10_000,
        "".join("  " * level + "- a\n" for level in range(300)),
        "*a " * 20_000 + "b* " * 20_000,
        "[a](" + "(" * 50_000,
        "<http://" + "a" * 100_000,
    ],
    ids=["wide table", "long reference", "nested links", "nested images", "lists", "emphasis", "brackets", "autolink"],
)
def test_hostile_markdown_renders_to_bounded_size(source):
    start = time.process_time()
    assert len(render(source, "article")) < 30 * len(source) + 10_000
    assert time.process_time() - start < 10


LONGER = [
    *(
        "#\n",
        "# a\n\n",
        "[](a)",
        "![](a)",
        "[a]",
        "<h2>",
        "<dt>",
        "<td>",
        "a\n***\n",
        "-\n",
        "-\n\n",
        "- - - - - - - - a\n\n\nb\n\n",
    ),
    *(
        "```\n",
        "&nbsp;",
        "&",
        "www.a.b ",
        "<http:a>",
        "*a*",
        ">" * MAX_DEPTH + "a\n\n",
        "- " * 29 + "a\n\n\nb\n\n",
        "1)\n",
        "a\n",
    ),
    *("||||||\n|-|-|-|-|-|\n||||||\n\n", "|a|b\n-|-\n|\n|\n|\n\n", "|\n|-\n|\n\n"),
]


@pytest.mark.parametrize("profile", ["article", "comment"])
@pytest.mark.parametrize("size", [100, pytest.param(10_000, marks=pytest.mark.slow)])
def test_html_is_at_most_thirty_times_as_long(size, profile):
    """So a caller that stores the HTML knows the maximum size for the longest text."""
    for pattern in LONGER:
        for source in (
            pattern * (size // len(pattern)),
            "[a]: <http://a.example/b>\n\n" + pattern * (size // len(pattern)),
        ):
            assert len(render(source, profile)) < 30 * len(source) + 10_000, pattern
    for columns in (1, 2, 3, 10, 100, 1_000):
        table = "|" + "a|" * columns + "\n|" + ":-:|" * columns + "\n" + "|\n" * (size // 2)
        assert len(render(table, profile)) < 30 * len(table) + 10_000, columns


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["article", "comment"])
@pytest.mark.parametrize("pattern", HOSTILE)
def test_megabyte_of_hostile_markdown_renders_in_time(pattern, profile):
    source = pattern * (1_000_000 // len(pattern))
    start = time.process_time()
    render(source, profile)
    assert time.process_time() - start < 60


def test_text_of_only_marks_is_shown_as_typed():
    source = "[" * MAX_MARKS + "\n\n\n<b>*x*"
    assert render(source, "article") == f"<p>{'[' * MAX_MARKS}</p>\n<p>&lt;b&gt;*x*</p>"


def test_large_table_is_rendered():
    rows = "".join(f"| {n} | x | y |\n" for n in range(500))
    assert render("| a | b | c |\n|---|---|---|\n" + rows, "comment").count("<td>") == 1500


def test_long_text_keeps_every_word():
    source = "\n\n".join(f"## Part {n}\n\nSome *words* of [part {n}](#x), number {n}." for n in range(500))
    assert html_to_text(render(source, "article")).count("number") == 500
