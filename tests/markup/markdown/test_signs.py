"""Footnotes, task lists, callouts, definitions, abbreviations, marks, scripts and maths, as HTML and as plain text."""

import pytest

from marginalia.markup.comparing import merge
from marginalia.markup.html import inserts
from marginalia.markup.markdown import render
from marginalia.markup.text import excerpt, html_to_text
from tests.markup.policy import violations


@pytest.mark.parametrize(
    ("source", "html"),
    [
        ("==a *b*==", "<p><mark>a <em>b</em></mark></p>"),
        ("a == b and c == d, ==e == f==", "<p>a == b and c == d, ==e == f==</p>"),
        ("`==a==` ====", "<p><code>==a==</code> ====</p>"),
        ("H~2~O, x^2^", "<p>H<sub>2</sub>O, x<sup>2</sup></p>"),
        ("~~a~~ ^a b^ ~/a and ~/b", "<p><s>a</s> ^a b^ ~/a and ~/b</p>"),
        (r"a^b\ c^", "<p>a<sup>b c</sup></p>"),
        ("- [ ] a\n- [x] b", '<ul>\n<li class="task">☐ a</li>\n<li class="task">☑ b</li>\n</ul>'),
        ("[ ] a", "<p>[ ] a</p>"),
        ("a\n: b\n: c", "<dl>\n<dt>a</dt>\n<dd>b</dd>\n<dd>c</dd>\n</dl>"),
        ('*[HTML]: A "B"\n\nHTML, XHTML', '<p><abbr title="A &quot;B&quot;">HTML</abbr>, XHTML</p>'),
        ("$x^2 < *y*$", '<p><code class="language-math">x^2 &lt; *y*</code></p>'),
        ("$5 and $10, US$ and A$, `$a$`", "<p>$5 and $10, US$ and A$, <code>$a$</code></p>"),
        (r"\$a$ $ b$", "<p>$a$ $ b$</p>"),
        ("a\n$$\nx\n$$\nb", '<p>a</p>\n<pre><code class="language-math">x\n</code></pre>\n<p>b</p>'),
        ("$$x$$", '<pre><code class="language-math">x\n</code></pre>'),
        ("$$\nx\n\n$$", "<p>$$\nx</p>\n<p>$$</p>"),
    ],
)
def test_article_renders_extended_syntax(source, html):
    assert render(source, "article") == html


@pytest.mark.parametrize(
    "source",
    [
        "==a==",
        "H~2~O ^b^",
        "- [ ] a",
        "> [!NOTE]\n> a",
        "a\n: b",
        "*[a]: b\n\na",
        "a[^1]",
        "$a$",
        "$$\na\n$$",
    ],
)
def test_comments_show_extended_syntax_as_typed(source):
    html = render(source, "comment")
    kept = "".join(html_to_text(html).split())
    assert kept.removeprefix("-") == "".join(source.removeprefix("- ").removeprefix("> ").replace("> ", "").split())
    assert "<mark" not in html
    assert "class" not in html


def test_footnote_links_to_its_note_and_back():
    source = "One[^a] two[^b] three[^a].\n\n[^b]: Second.\n\n[^a]: First, *see* [^b].\n\nEnd."
    assert render(source, "article") == (
        '<p>One<sup class="footnote-ref"><a id="s-fnref:a" href="#s-fn:a">1</a></sup>'
        ' two<sup class="footnote-ref"><a id="s-fnref:b" href="#s-fn:b">2</a></sup>'
        ' three<sup class="footnote-ref"><a id="s-fnref:a.2" href="#s-fn:a">1</a></sup>.</p>\n'
        "<p>End.</p>\n"
        '<div class="footnotes">\n<ol>\n'
        '<li id="s-fn:a"><p>First, <em>see</em> <sup class="footnote-ref"><a id="s-fnref:b.2" href="#s-fn:b">2</a></sup>.'
        ' <a class="footnote-back" href="#s-fnref:a">↩︎</a>'
        ' <a class="footnote-back" href="#s-fnref:a.2">↩︎<sup>2</sup></a></p>\n</li>\n'
        '<li id="s-fn:b"><p>Second. <a class="footnote-back" href="#s-fnref:b">↩︎</a>'
        ' <a class="footnote-back" href="#s-fnref:b.2">↩︎<sup>2</sup></a></p>\n</li>\n'
        "</ol>\n</div>"
    )


def test_notes_can_follow_line_by_line():
    html = render("a[^a] b[^b]\n\n[^a]: First\nand on.\n[^b]: Second.\n\n> quoted\n> [^a]: is typed", "article")
    assert '<li id="s-fn:a"><p>First\nand on. <a' in html
    assert '<li id="s-fn:b"><p>Second. <a' in html
    assert "<p>quoted\n<sup" in html


def test_ids_of_footnotes_are_stable():
    before = render("One[^a]\n\n[^a]: x", "article")
    after = render("New[^new] one[^a]\n\n[^a]: x\n\n[^new]: y", "article")
    for name in ('id="s-fnref:a"', 'id="s-fn:a"'):
        assert name in before
        assert name in after


@pytest.mark.parametrize("label", ["a.b", "ä", "<b>", '"', "a&b", "x" * 50])
def test_any_footnote_label_gives_unique_ids(label):
    html = render(f"## fn\n\nOne[^{label}] two[^1]\n\n[^{label}]: x\n\n[^1]: y", "article")
    assert violations(html, "article") == []
    assert html.count(' id="s-fn') == 5
    for target in ("fn", "fnref"):
        assert html.count(f'href="#s-{target}') >= 2


def test_reference_without_a_note_is_shown_as_typed():
    assert render("a[^b]", "article") == "<p>a[^b]</p>"


@pytest.mark.parametrize("word", ["NOTE", "tip", "Important", "WARNING", "caution"])
def test_callout_is_the_note_insert(word):
    html = render(f"> [!{word}]\n> a\n>\n> b", "article")
    start = inserts.start_tag(f"note{{kind={word.lower()}}}", 1)
    assert html == f"{start}\n<p>a</p>\n<p>b</p>\n</div>"


@pytest.mark.parametrize(
    ("source", "spelled"),
    [
        ('> [!NOTE] Mind the "gap"}', 'note{kind=note title="Mind the \\"gap\\"}"}'),
        ("> [!NOTE]", "note{kind=note}"),
        ("- > [!NOTE]\n  > a", "note{kind=note}"),
        ("> [!NOTE]\n> > [!TIP]\n> > a", "note{kind=tip}"),
    ],
)
def test_callout_can_have_a_title_and_be_nested(source, spelled):
    found = []
    inserts.resolve_inserts(
        render(source, "article"), lambda placeholder, inside: found.append(placeholder.source) or inside
    )
    assert spelled in found


@pytest.mark.parametrize(
    "source", ["> [!OTHER]\n> a", "> a [!NOTE]", "> \\[!NOTE]\n> a", "[!NOTE]", f"> [!NOTE] {'x' * 201}"]
)
def test_other_quotations_stay_quotations(source):
    assert "data-insert" not in render(source, "article")
    assert "NOTE]" in render(source, "article") or "OTHER]" in render(source, "article")


def test_callout_merges_as_one_paragraph():
    base = "a\n\n> [!NOTE]\n> b\n>\n> c\n\nd"
    merged = merge.merge(base, base.replace("> b", "> B"), base.replace("> c", "> C"))
    assert merged.conflicts == 1
    assert merge.merge(base, base.replace("> b", "> B"), base.replace("d", "D")).conflicts == 0


def test_plain_text_and_excerpts_are_readable():
    source = "A claim[^a] on H~2~O and ==this==, $x^2$.\n\n- [x] done\n\nTerm\n: what it is\n\n[^a]: The source."
    html = render(source, "article")
    assert html_to_text(html) == "A claim on H2O and this, x^2.\n\n☑ done\n\nTerm\nwhat it is\n\nThe source."
    assert excerpt(html) == "A claim on H2O and this, x^2. ☑ done Term what it is"
    assert 'id="s-a-claim"' in render("## A claim[^a]\n\n[^a]: x", "article")


def test_abbreviations_and_definitions_are_bounded():
    html = render("*[a]: " + "b" * 200 + "\n\n" + "a " * 5_000, "article")
    assert html.count("<abbr") == 200
    many = "".join(f"*[a{number}]: b\n" for number in range(200))
    assert render(f"{many}\na1 a99 a100", "article").count("<abbr") == 2
