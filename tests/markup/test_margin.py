"""Footnotes in the margin: valid, once for screens and once for print, and as a list in feeds."""

import re
from html.parser import HTMLParser

import pytest

from cms.testing.build import node
from nodes import rendering

SPAN = re.compile(r'<span class="margin-note" id="s-fn:\w+" role="doc-footnote">')


def on_pages(source: str, text_format: str = "markdown") -> str:
    return rendering.for_readers(rendering.to_html(source, text_format), "en", is_page=True)


class Nesting(HTMLParser):
    """Whether elements are closed in order, and which blocks are inside a paragraph."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(html)
        self.wrong += self.open

    def handle_starttag(self, tag, attrs):
        if "p" in self.open and tag in {"p", "ul", "ol", "pre", "div", "aside", "table", "blockquote"}:
            self.wrong.append(tag)
        if tag not in {"br", "hr", "img", "wbr"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def sound(html: str) -> bool:
    ids = re.findall(r'<[^>]* id="([^"]*)"', html)
    return not Nesting(html).wrong and len(ids) == len(set(ids))


def test_note_is_in_the_margin_and_in_the_print_list():
    html = on_pages("A word[^a] and more.\n\n[^a]: What *it* says.")
    assert sound(html)
    assert '1</a></sup><span class="margin-note" id="s-fn:a" role="doc-footnote">' in html
    assert '<span class="margin-number">1</span> What <em>it</em> says. <a role="doc-backlink"' in html
    on_paper = html.partition('<div class="footnotes for-paper">')[2]
    assert re.sub(r"\s+", "", on_paper) == "<ol><li><p>What<em>it</em>says.</p></li></ol></div>"


def test_paragraphs_of_a_note_are_spans_in_the_line():
    html = on_pages("Word[^a].\n\n[^a]: One.\n\n    Two.")
    assert sound(html)
    assert 'One.<span class="margin-paragraph">Two.' in html


@pytest.mark.parametrize(
    "block", ["- a list", "```python\n    x = 1\n    ```", "> quoted", "| a |\n    |---|\n    | b |"]
)
def test_block_note_follows_its_paragraph(block):
    html = on_pages(f"Word[^a] and on.\n\nNext.\n\n[^a]: See:\n\n    {block}")
    assert sound(html)
    assert ' and on.</p><aside class="margin-note" id="s-fn:a" role="doc-footnote">' in html


@pytest.mark.parametrize("around", ["- {}", "> {}", "# {}", "| {} |\n|---|\n| b |", "<div>\n\n{}\n\n</div>"])
def test_note_of_a_heading_or_table_follows_it(around):
    html = on_pages(around.format("Word[^a]") + "\n\nNext.\n\n[^a]: Said.")
    assert sound(html)
    assert html.index("Word") < html.index('<aside class="margin-note" id="s-fn:a"') < html.index("Next.")


def test_note_referred_to_twice_is_shown_once():
    html = on_pages("One[^a], two[^a].\n\nThree[^b].\n\n[^a]: Said.\n[^b]: Other.")
    assert sound(html)
    assert len(SPAN.findall(html)) == 2
    assert html.count('href="#s-fn:a"') == 2
    assert html.count('aria-label="Back to the text (2)"') == 1


@pytest.mark.parametrize("inner", ["Below.", "- a list"])
def test_note_on_a_note_follows_it(inner):
    html = on_pages(f"One[^a], two[^c].\n\n[^a]: Said.[^b]\n[^b]: {inner}\n\n[^c]: Other.")
    assert sound(html)
    ids = re.findall('class="margin-note" id="s-fn:(.)"', html)
    assert sorted(ids) == ["a", "b", "c"]
    assert ids.index("a") < ids.index("b")


def test_notes_that_refer_to_each_other_are_shown_once():
    html = on_pages("One[^a].\n\n[^a]: Said.[^b]\n[^b]: Back.[^a]")
    assert sound(html)
    assert len(SPAN.findall(html)) == 2


@pytest.mark.parametrize(
    "typed",
    [
        '<div class="footnotes">no list</div>',
        '<div class="footnotes"><ol><li id="fn:x">Nothing refers to it.</li></ol></div>',
        '<div class="footnotes"><ol><li>No id.</li></ol></div>',
        '<div><div class="footnotes"><ol><li id="fn:x">Within.</li></ol></div></div>',
        'a > b " <p title="x>y">&lt;div class="footnotes"&gt;</p>',
    ],
)
def test_other_lists_stay_unchanged(typed):
    clean = rendering.to_html(typed, "html")
    assert rendering.margin.add_margin_notes(clean) == clean


def test_hostile_notes_leave_balanced_html():
    typed = (
        '<p>a<sup class="footnote-ref"><a id="r" href="#s-x">1</a></sup>'
        '<sup class="footnote-ref"><a id="q" href="#s-y">2</a></sup>'
        '<sup class="footnote-ref"><a id="o" href="#s-z">3</a></sup></p>'
        '<div class="footnotes"><ol><li id="x"><p>one</p><p class="task">two</p>three<p title="</span>">4</p></li>'
        '<li id="y"></li><li id="z"><p dir="rtl">a</p></li></ol></div>'
    )
    html = on_pages(typed, "html")
    assert sound(html)
    assert re.findall('<(?:aside|span) class="margin-note" id="(.*?)"', html) == ["s-x", "s-y", "s-z"]


def test_print_list_contains_the_clean_text():
    link = '<a href="java id=" title="script:alert(1)">x</a>'
    typed = (
        '<p>a<sup class="footnote-ref"><a id="r" href="#n">1</a></sup></p><div class="footnotes"><ol>'
        f'<li id="n"><p>{link.replace("<a", "<a id=q")}</p></li></ol></div>'
    )
    html = on_pages(typed, "html")
    assert 'class="margin-note"' in html
    assert "javascript:" not in html
    # Only the id is gone.
    assert f"<p>{link}</p>" in html.partition('<div class="footnotes for-paper">')[2]


def test_pages_have_margin_notes_and_feeds_a_list(client, mongo):
    blog = node("blog", "news", title="News")
    node("blog-entry", "post", parent=blog, text="A word[^a].\n\n[^a]: Said.")
    page, feed = (client.get(address).content.decode() for address in ("/news/post", "/news/feed/atom"))
    assert SPAN.search(page)
    assert "margin-note" not in feed
    assert 'class="footnotes" role="doc-endnotes"' in feed.replace("&quot;", '"').replace("&lt;", "<")
