import re
import unicodedata
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.markup.characters import scrub
from marginalia.markup.text import (
    SLUG_LENGTH,
    excerpt,
    fold,
    highlight,
    html_to_text,
    is_empty,
    reading_minutes,
    slugify,
)
from tests.markup.properties import holds, soup


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a  b\n c<br>d</p><p>e</p>", "a b c\nd\n\ne"),
        ("<h1>a</h1><div>b</div><div>c</div>", "a\n\nb\nc"),
        ("<ul><li>a<ul><li>b</li></ul></li><li><p>c</p></li></ul>d", "a\nb\nc\n\nd"),
        ("x<pre>  a\n\n\tb</pre>y", "x\n\n  a\n\n    b\n\ny"),
        ("<table><tr><th>a</th><th>b</th></tr><tr><td>c</td><td>d</td></tr></table>", "a\tb\nc\td"),
        ("<p>&lt;b&gt; &amp; &eacute;&#x41;</p>", "<b> & éA"),
        ("a<script>b</script><style>c</style><!-- d -->e", "ae"),
        ("<b>a</b><i>b</i>", "ab"),
        ('<p>a <img src="x" alt="b"> c</p>', "a c"),
        ("<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby>", "漢(かん)"),
        ("\u202ea&#x202e;&#1;b", "ab"),
        ("1 < 2", "1 < 2"),
        ("", ""),
    ],
)
def test_html_to_text_returns_plain_text(html, text):
    assert html_to_text(html) == text


@holds
@given(soup)
def test_any_html_becomes_plain_text(html):
    text = html_to_text(html)
    assert text == text.strip(" \t\n")
    assert "\n\n\n" not in text or "<pre" in html.lower()
    assert not set(text) & set("\x00\x01\x02\x03\x04\u202e")


@pytest.mark.parametrize(
    ("html", "words", "text"),
    [
        ("<p>one two three</p>", 3, "one two three"),
        ("<p>one two, three</p>", 2, "one two…"),
        ("<p>one</p><p>two</p>", 5, "one two"),
        ("<h2>Head</h2><p>one two</p><pre>x</pre>", 5, "one two"),
        ("<h2>Only a head</h2>", 2, "Only a…"),
        ("<p>一二三四五。六七</p>", 5, "一二三四五。…"),
        ("<p>" + "ก" * 100 + "</p>", 2, "ก" * 10 + "…"),
        ("<p>" + "x" * 1000 + "</p>", 3, "x" * 15 + "…"),
        ("<p>a &lt;b&gt; c</p>", 2, "a <b>…"),
        ("<p>a – b</p>", 1, "a…"),
        ("<p>A sentence. Another</p>", 2, "A sentence. …"),
        ("", 5, ""),
        ("<p>a</p>", 0, "…"),
    ],
)
def test_excerpt_is_cut_at_words(html, words, text):
    assert excerpt(html, words) == text


@holds
@given(soup, st.integers(0, 12))
def test_excerpts_are_one_short_line(html, words):
    text = excerpt(html, words)
    assert "\n" not in text
    assert sum(any(map(str.isalnum, word)) for word in text.split()) <= words
    assert excerpt(escape(text), words) == text


def finder(terms):
    """Return a function that finds these terms in a line of text, regardless of case."""

    def find(line):
        places = (
            (m.start(), m.end(), n) for n, term in enumerate(terms) for m in re.finditer(re.escape(term), line, re.I)
        )
        return sorted(places) if "" not in terms else []

    return find


def marked(text, terms, **options):
    """Return the pieces as one string, terms in brackets."""
    return "".join(f"[{piece}]" if term else piece for piece, term in highlight(text, finder(terms), **options))


@pytest.mark.parametrize(
    ("text", "terms", "around", "expected"),
    [
        ("The quick brown fox", ["quick"], 80, "The [quick] brown fox"),
        ("北京是中国的首都", ["中国"], 80, "北京是[中国]的首都"),
        ("红楼梦", ["红楼", "楼梦"], 80, "[红楼梦]"),
        ("one two three four five six seven", ["four"], 6, "… three [four] five …"),
        ("one two three four five six seven", [], 3, "one two …"),
        ("one two three four five six seven", ["zzz"], 3, "one two …"),
        ("天地玄黄宇宙洪荒日月盈昃", ["洪"], 4, "… 宇宙[洪]荒日 …"),
        ("天地玄黄宇宙洪荒日月盈昃", [], 2, "天地玄黄 …"),
        ("a\n\n<b>x</b>", ["x"], 80, "a · <b>[x]</b>"),
        ("Ink\n\nMade of oak.\n\nIt fades\nslowly", ["oak"], 80, "Ink · Made of [oak]. It fades slowly"),
        ("", ["x"], 80, ""),
        (
            "Sorts:\n\nPaper\tWeight\nRag\t120 g\n\nAll else.",
            ["rag"],
            80,
            "Sorts: Paper · Weight / [Rag] · 120 g / All else.",
        ),
    ],
)
def test_highlight_marks_the_terms(text, terms, around, expected):
    assert marked(text, terms, around=around) == expected


def test_highlight_prefers_extracts_with_different_terms():
    hay = " hay" * 30
    text = f"ink{hay} ink{hay} ink and paper{hay} pen{hay}"
    assert marked(text, ["ink", "paper", "pen"], around=5, extracts=1) == "… hay [ink] and [paper] hay …"
    assert marked(text, ["ink", "paper", "pen"], around=5) == "… hay [ink] and [paper] hay … hay [pen] hay …"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        ("… – *", 0),
        ("word", 1),
        ("word " * 320, 1),
        ("word " * 340, 2),
        ("word " * 2_200, 10),
        ("字" * 4_000, 10),
        ("字。" * 2_000 + "word " * 1_100, 10),
        ("ก" * 11_000, 10),
    ],
)
def test_reading_minutes_are_counted(text, expected):
    assert reading_minutes(text) == expected


def test_fold_removes_case_and_accents():
    assert fold("Ink CAFÉ Straße cafe\u0301 \u0301 が Ǆ") == "ink cafe strasse cafe  が dz"


def test_highlight_shows_the_requested_number_of_extracts():
    text = ("needle" + " hay" * 50 + " ") * 5
    assert marked(text, ["needle"], around=5, extracts=2) == "[needle] hay … hay [needle] hay …"


def test_highlight_of_a_dense_text_stays_short():
    pieces = highlight("x " * 50_000, finder(["x"]), around=40)
    assert sum(len(piece) for piece, _ in pieces) < 3 * 6 * 40


@holds
@given(st.text(max_size=60), st.lists(st.text(max_size=3), max_size=3), st.integers(0, 30))
def test_highlight_loses_nothing_within_extracts(text, terms, around):
    shown = "".join(piece for piece, _ in highlight(text, finder(terms), around))
    assert all(letters(extract) in letters(scrub(text)) for extract in shown.split("…"))


def letters(text: str) -> str:
    """Return a text without the space between its words, lines and cells."""
    return re.sub(r"[\s·/]", "", text)


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Hello, World!", "hello-world"),
        ("  --A__b.c/d--  ", "a-b-c-d"),
        ("Größe & Maß", "größe-maß"),
        ("日本語 タイトル", "日本語-タイトル"),
        ("हिन्दी में", "हिन्दी-में"),
        ("don't Don’t", "dont-dont"),
        ("e\u0301te\u0301", "été"),
        ("می\u200cخواهم", "می-خواهم"),
        ("zero\u200bwidth so\u00adft", "zerowidth-soft"),
        ("\u0301x", "x"),
        ("!?", ""),
        ("😀", ""),
        ("", ""),
        ("a" * 100, "a" * 80),
        ("word " * 40, "-".join(["word"] * 16)),
        ("x" * 79 + " yz", "x" * 79),
    ],
)
def test_slugify_handles_any_script(text, slug):
    assert slugify(text) == slug


@holds
@given(st.text(st.characters(), max_size=120))
def test_slugs_are_safe_and_stable(text):
    slug = slugify(text)
    assert slugify(slug) == slug
    assert len(slug) <= SLUG_LENGTH
    assert unicodedata.is_normalized("NFC", slug)
    assert not slug.startswith("-")
    assert not slug.endswith("-")
    assert all(character == "-" or unicodedata.category(character)[0] in "LMN" for character in slug)


@pytest.mark.parametrize(
    "html", ["", "<p></p>", "<p>\u200b</p>", "<p>&#x3164;&shy;</p>", "<ul><li></li></ul>", "<!-- a -->"]
)
def test_html_without_visible_content_is_empty(html):
    assert is_empty(html)


@pytest.mark.parametrize("html", ["<p>a</p>", '<img src="/a.png" alt="">', "<math><mi>x</mi></math>", "<p>&amp;</p>"])
def test_html_with_visible_content_is_not_empty(html):
    assert not is_empty(html)
