"""Readers' HTML beyond clean HTML: formulas, and labels of footnote links. Neither allows scripts."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cms.testing.build import node
from marginalia.markup import maths
from marginalia.markup.html import anchors
from nodes import rendering
from tests.markup.properties import holds
from tests.support.payloads import ALL

TEX = [
    *(
        "\\frac",
        "{",
        "}",
        "^",
        "_",
        "a",
        "1",
        "\\left(",
        "\\right)",
        "&",
        "\\\\",
        "\\sqrt[",
        "]",
        "\\begin{matrix}",
        "\\tag{1}",
    ),
    *("\\end{matrix}", "\\text{<b>}", "\\verb|", "%", "'", "\\over", "\\hline", "\\limits", "\\not"),
]


def for_readers(source: str, language: str = "en") -> str:
    return rendering.for_readers(rendering.to_html(source, "markdown"), language)


class Names(HTMLParser):
    """The elements and attributes of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.words = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found |= {tag, *(name for name, _value in attrs)}

    def handle_data(self, data):
        self.words += data


def test_formula_becomes_mathml_only():
    html = for_readers("$\\frac{a}{b}$ and\n\n$$\n\\sum_{i=0}^n i < 3\n$$")
    assert '<math display="inline"><mrow><mfrac>' in html
    assert '<math display="block">' in html
    assert "<mo>&lt;</mo>" in html


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    "around", ["\\text{{{}}}", "\\href{{{}}}{{x}}", "\\class{{{}}}{{x}}", "\\style{{{}}}{{x}}", "{}", "\\color{{{}}}x"]
)
def test_formula_text_never_becomes_markup(around):
    for payload in ALL:
        html = maths.mathml(around.format(payload)[: maths.MAX_LENGTH], is_block=False) or ""
        assert Names(html).found <= {*maths._TAGS, *maths._VALUES}, payload
        assert "javascript:" not in re.sub(">[^<]*<", "><", html)


@pytest.mark.parametrize(
    "typed", ["\\frac", "\\left(", "x^", "\\begin{matrix}", "\\newcommand{\\a}{\\a\\a}\\a", "{" * 100 + "}" * 100]
)
def test_invalid_formula_stays_as_typed(typed):
    assert f'<code class="language-math">{typed}</code>' in for_readers(f"${typed}$")


@holds
@given(st.lists(st.sampled_from(TEX), max_size=20).map("".join))
def test_any_formula_is_mathml_or_unchanged(typed):
    html = maths.mathml(typed, is_block=True)
    assert html is None or Names(html).found <= {*maths._TAGS, *maths._VALUES}


def test_formulas_beyond_the_limit_stay_as_typed():
    html = for_readers("$" + "a" * 1_900 + "$\n\n" + "".join(f"${'b' * 1_900}{n}$\n\n" for n in range(20)))
    assert html.count("<math") == rendering.MOST_MATHS // 1_900


def test_links_of_footnotes_are_translated():
    html = for_readers("a[^1] b[^1]\n\n[^1]: c")
    assert '<div class="footnotes" role="doc-endnotes" aria-label="Footnotes">' in html
    assert html.count('role="doc-noteref"') == 2
    assert 'role="doc-backlink" aria-label="Back to the text" class="footnote-back" href="#s-fnref:1"' in html
    assert 'aria-label="Back to the text (2)" class="footnote-back" href="#s-fnref:1.2"' in html
    assert len(re.findall(r' id="([^"]*)"', html)) == len(set(re.findall(r' id="([^"]*)"', html))) == 3


def test_character_references_in_formulas_are_scrubbed():
    assert "\u202e" not in (maths.mathml("\\text{a&#x202e;b}", is_block=False) or "\u202e")
    assert "\u202e" not in (maths.mathml("\\text{a\u202eb}", is_block=False) or "\u202e")


def test_headings_link_to_themselves_only_on_pages(client, mongo):
    text = '::contents\n\n## On *lakes*\n\n### [Fish](/x)\n\n<a href="/y">\n<h2>In a link</h2>\n</a>\n\n##### Small'
    node("blog-entry", "on-water", parent=node("blog", "news"), text=text)
    html = client.get("/news/on-water").content.decode()
    link = '<a class="anchor" href="#{}" aria-label="Link to this section"></a></h'
    assert f'<h2 id="s-on-lakes">On <em>lakes</em>{link.format("s-on-lakes")}2>' in html
    assert f"Fish</a>{link.format('s-fish')}3>" in html
    assert html.count('<a class="anchor"') == 2
    # The heading's text is unchanged elsewhere.
    assert '<a href="#s-on-lakes">On lakes</a>' in html
    assert "anchor" not in rendering.for_readers(rendering.to_html(text, "markdown"), "en")


def test_headings_beyond_the_limit_have_no_links():
    html = rendering.to_html("## A\n\n" * (anchors.MAX_HEADINGS + 1), "markdown")
    shown = rendering.for_readers(html, "en", is_page=True)
    assert shown.count('class="anchor"') == anchors.MAX_HEADINGS
    assert re.sub(r'<a class="anchor"[^<>]*></a>', "", shown) == html
