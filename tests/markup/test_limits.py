"""The work that a text can cause: tokens, open tags, comparisons. `benchmarks/texts.py` measures time."""

import pytest

from marginalia.markup import tags
from marginalia.markup.comparing import diff, merge
from marginalia.markup.comparing.sequences import Budget
from marginalia.markup.html import balance, clean
from marginalia.markup.markdown import limits, render
from marginalia.markup.text import excerpt, html_to_text
from tests.markup import worst

# Tables more often, because the omitted part is limited by the text and not by its length.
TEXTS = worst.texts(6_000) | {name: text for name, text in worst.texts(20_000).items() if "|" in text}
# These have more paragraphs than a merge compares.
VERSIONS = worst.versions(300_000)


def tokens(html: str) -> int:
    return sum(1 for _token in tags.tokens(html))


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_counted_marks_match_the_parser(name):
    """Tokens of the result take about 10 µs each, so the counted marks limit the time."""
    made, marks = tokens(render(TEXTS[name], "article")), limits.count_marks(TEXTS[name])
    assert made <= 1.5 * marks + 1_000


@pytest.mark.parametrize(
    ("text", "times"), [(" - a\n", 74_500), ("- a\n", 74_500), ("|a|b|\n|-|-|\n|1|2|\n", 9_900), ("- - - a\n", 20_000)]
)
def test_excessive_lists_and_tables_are_shown_as_typed(text, times):
    """An item or a cell takes as long as six plain marks."""
    html = render(text * times, "article")
    assert tokens(html) <= 3
    assert html.count("a") == text.count("a") * times


def test_short_rows_add_a_bounded_number_of_cells():
    """However many tables a text has."""
    html = render("a|b|c\n-|-|-\na\na\na\na\n\n" * 2_000, "article")
    assert 100 < html.count("<td>") < 6_000
    assert html.count("a") >= 10_000


@pytest.mark.slow
def test_novel_length_text_is_rendered():
    """A megabyte: a novel with headings and dialogue, 3,000 items, tables of 500 rows, quotations, code and links."""
    paragraph = "– “It was *not* I,” she said - and left. " + "The snow fell on the roofs of the village. " * 12
    source = "".join(
        (
            *(f"{paragraph}\n\n" for _number in range(1_700)),
            *(f"## Chapter {number}\n\n" for number in range(100)),
            *(f"- item {number} with `code`\n" for number in range(1_500)),
            "\n",
            *(f"{number}. step\n" for number in range(1_500)),
            "\n",
            *("| a | b | c | d | e | f |\n|---|---|---|---|---|---|\n", "| 1 | 2 | 3 | 4 | 5 | 6 |\n" * 500, "\n"),
            "> quoted\n> words\n\n" * 200,
            "[a link](https://example.org/a), <b>bold</b>.\n\n" * 1_000,
        )
    )
    html = render(source, "article")
    assert len(source) > 1_000_000
    assert (html.count("<li>"), html.count("<tr>"), html.count("<h2")) == (3_000, 501, 100)
    assert (html.count("<em>"), html.count("<a "), html.count("<blockquote>")) == (1_700, 1_000, 200)


@pytest.mark.parametrize(
    "text",
    [
        "http://a ",
        *(
            pytest.param(text, marks=pytest.mark.slow)
            for text in ("www.a.b ", "a@b.cd ", "<a@b.c>", "[a](b)", "a\n", "<b>")
        ),
    ],
)
def test_megabyte_of_marks_is_shown_as_typed(text):
    source = text * (1_000_000 // len(text))
    html = render(source, "article")
    assert limits.is_excessive(source)
    assert "<a " not in html
    assert html.count("&lt;") == source.count("<")


@pytest.mark.slow
def test_text_with_many_links_is_rendered():
    source = "See www.example.org/page, write to ann@example.org, or read [this](https://example.org/a).\n\n" * 3_000
    assert render(source, "article").count("<a ") == 9_000


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("html", ["<h1>", "<td>1</td>", "<br>"])
def test_tags_beyond_the_limit_are_dropped_and_text_kept(html, monkeypatch):
    monkeypatch.setattr(balance, "MAX_TAGS", 5_000)
    source = "<table>" * html.startswith("<td") + "<p>begin</p>" + html * 6_000 + "the end"
    cleaned = clean(source, "article")
    starts = sum(1 for token in tags.tokens(cleaned) if token.name and not token.closing)
    assert starts <= balance.MAX_TAGS
    assert cleaned.count("1") >= 6_000 * html.count(">1<")
    assert "begin" in cleaned
    assert "the end" in cleaned
    assert clean(cleaned, "article") == cleaned


@pytest.mark.parametrize("name", [name for name in TEXTS if "<" in TEXTS[name]])
def test_open_tags_are_compared_a_bounded_number_of_times(name):
    """However deep a text nests, not every tag is compared with every later one."""
    text = TEXTS[name]
    names = frozenset({"b", "i", "p", "a", "table", "tbody", "tr", "td", "li", "ul", "h2"})
    balancer = balance.Balancer(names, {}, images=True)
    balancer.balance(text)
    assert balancer.steps <= balance.MAX_DEPTH // 2 * text.count("<")


def test_plain_text_and_excerpts_read_only_the_beginning():
    html = "<p>word &amp; word</p>" * 50_000
    assert html_to_text(html, 1_000) == html_to_text(html)[: len(html_to_text(html, 1_000))]
    assert 500 < len(html_to_text(html, 1_000)) < 1_100
    assert excerpt("<h2>Title</h2>" * 10 + "<p>one two three</p>" * 50_000, 4) == "one two three one…"
    assert html_to_text("x" * 5_000, 1_000) == "x" * 5_000, "a run of text is not cut"


@pytest.mark.slow
@pytest.mark.parametrize("name", VERSIONS)
def test_merges_compare_a_bounded_number_of_times(name):
    """Nothing is lost, however little was compared."""
    base, mine, theirs = VERSIONS[name]
    merged = merge.merge(base, mine, theirs)
    assert merged.steps <= 2 * (merge.STEPS + base.count("\n\n") + 1)
    kept = {part.strip() for part in merge.resolve(merged, ["both"] * merged.conflicts).split("\n\n")}
    for text in (mine, theirs):
        assert {part.strip() for part in text.split("\n\n")} - set(base.split("\n\n")) <= kept


def test_matching_paragraphs_uses_the_comparison_budget():
    """Fifty long paragraphs on each side are not compared, ten short ones are."""
    words = [" ".join(f"{side}{n}" for n in range(2_000)) for side in ("a", "b")]
    budget = Budget()
    assert diff.match_paragraphs([words[0]] * 50, [words[1]] * 49, budget) == []
    assert budget.steps == Budget().steps
    assert diff.match_paragraphs(["a b c", "d e f"] * 5, ["x", *["a b z", "d e"] * 5], budget) == [
        (n, n + 1) for n in range(10)
    ]
    assert 0 < Budget().steps - budget.steps < 5_000


def test_merge_beyond_the_budget_is_one_conflict():
    base = [f"p {number}" for number in range(100_000)]
    mine, theirs = (
        ["first", *(f"{side} {number}" for number in range(100_000)), "last"] for side in ("mine", "theirs")
    )
    merged = merge.merge(
        *("\n\n".join(["first", *base, "last"] if text is base else text) for text in (base, mine, theirs))
    )
    assert [chunk.kind for chunk in merged.chunks] == ["stable", "conflict", "stable"]
    assert merge.resolve(merged, ["mine"]) == "\n\n".join(mine)
    assert merge.resolve(merged, ["theirs"]) == "\n\n".join(theirs)


def test_long_text_with_few_changes_is_fully_compared():
    """10,000 paragraphs, a megabyte. Edits by people stay far below the limit."""
    base = [f"Paragraph {number} " + "says something " * 6 for number in range(10_000)]
    mine = [text + "mine" if number % 500 == 0 else text for number, text in enumerate(base)]
    theirs = [text + "theirs" if number % 500 == 250 else text for number, text in enumerate(base)]
    merged = merge.merge("\n\n".join(base), "\n\n".join(mine), "\n\n".join(theirs))
    assert merged.text.count("mine") == merged.text.count("theirs") == 20


@pytest.mark.slow
@pytest.mark.parametrize("name", VERSIONS)
def test_differences_compare_a_bounded_number_of_times(name):
    old, new, _other = VERSIONS[name]
    budget = Budget()
    most = budget.steps
    changes = diff.diff_words(old, new, budget)
    assert most - budget.steps <= most + len(old) // 2
    assert "".join(change.text for change in changes if change.kind != "insert") == old
    assert "".join(change.text for change in changes if change.kind != "delete") == new
