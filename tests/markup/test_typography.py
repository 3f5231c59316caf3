"""Typographic punctuation by language: never in code, maths or URLs, in linear time."""

import re
import time

import pytest
from django.template import engines
from django.utils import translation
from django.utils.safestring import SafeString
from hypothesis import given
from hypothesis import strategies as st

from marginalia.markup import typography
from nodes import rendering
from tests.markup.properties import holds, soup


def for_readers(source: str, language: str = "en") -> str:
    return rendering.for_readers(rendering.to_html(source, "markdown"), language)


@pytest.mark.parametrize(
    ("typed", "language", "set_"),
    [
        ("\"Hello,\" he said -- it's the '90s...", "en", "“Hello,” he said – it’s the ’90s…"),
        ("She said 'yes' --- rock 'n' roll, the dogs' bone", "en", "She said ‘yes’ — rock ‘n’ roll, the dogs’ bone"),
        (
            "\"'Yes' was her word\" (or \"the word was 'yes'\").",
            "en",
            "“‘Yes’ was her word” (or “the word was ‘yes’”).",
        ),
        ('("quoted"), "a"—"b" and an em-dash', "en", "(“quoted”), “a”—“b” and an em-dash"),
        ("\"Er 'ruft'\", sagt sie", "de", "„Er ‚ruft‘“, sagt sie"),
        ('Wie geht\'s? -- "Gut."', "de", "Wie geht’s? – „Gut.“"),
        ('"Er"', "de-at", "„Er“"),
        ('"Er"', "de-ch", "«Er»"),
        ('"Bonjour" : l\'été ?', "fr", "«\u202fBonjour\u202f»\u00a0: l’été\u202f?"),
        ('l\'"Odyssée" ; oui !', "fr", "l’«\u202fOdyssée\u202f»\u202f; oui\u202f!"),
        ("« Oui »", "fr-ca", "«\u202fOui\u202f»"),
        ('l\'"Odissea"', "it", "l’«Odissea»"),
        ('他说"你好"。', "zh-hans", "他说“你好”。"),
        ('"Việt" l\'ế', "vi", "“Việt” l’ế"),
        ("6' 2\" --force a--b .... -----", "en", "6' 2\" --force a–b .... -----"),
        ('"one paragraph of several', "en", "“one paragraph of several"),
        ('"', "en", '"'),
        ("", "en", ""),
    ],
)
def test_punctuation_of_a_line_is_typographic(typed, language, set_):
    assert typography.smarten(typed, language) == set_


@holds
@given(st.lists(st.sampled_from(["'", '"', "--", "...", "a", " ", "1", "(", "中", "&nbsp;"]), max_size=30))
def test_pieces_of_a_line_change_only_in_punctuation(parts):
    signs = re.compile(r"[\"'‘’“”„‚«»\-–—.…\s\u202f\u00a0]")
    for language in ("en", "fr", "de"):
        written = typography.smarten_pieces(parts, language)
        assert [signs.sub("", part) for part in written] == [signs.sub("", part) for part in parts]


@holds
@given(soup)
def test_tags_of_a_text_are_unchanged(typed):
    clean = rendering.to_html(typed, "html")
    set_ = typography.smarten_html(clean, "fr")
    assert re.findall("<[^<>]*>", set_) == re.findall("<[^<>]*>", clean)


def test_punctuation_leaves_code_maths_and_urls_alone():
    html = for_readers('"*It\'s*" `"a"` http://a.b/x--y $a\'$ "[b](/c)"\n\n    "d"\n\n<kbd>"e"</kbd>')
    assert "“<em>It’s</em>”" in html
    for kept in ('<code>"a"</code>', ">http://a.b/x--y<", '"d"', '<kbd>"e"</kbd>'):
        assert kept in html
    assert "’</" not in html[html.index("<math") : html.index("</math>")]
    assert '“<a href="/c">b</a>”' in html


def test_quotation_ends_with_its_paragraph():
    html = for_readers('"one\n\n"two" three\n\n- "four"')
    assert "<p>“one</p>" in html
    assert "<p>“two” three</p>" in html
    assert "<li>“four”</li>" in html


def test_stored_html_keeps_the_typed_punctuation():
    clean = rendering.to_html('"a" -- it\'s', "markdown")
    assert clean == '<p>"a" -- it\'s</p>'
    assert rendering.for_readers(clean, "en") == "<p>“a” – it’s</p>"


def test_title_gets_the_punctuation_of_the_site_language():
    template = engines["django"].from_string("{% load typography %}{{ title|smart }}")
    with translation.override("de"):
        assert template.render({"title": '"<b>" it\'s'}) == "„&lt;b&gt;“ it’s"
        assert template.render({"title": SafeString("<b>")}) == "<b>"
        assert template.render({"title": "<b>"}) == "&lt;b&gt;", "whatever was marked as HTML before"


def test_time_is_linear_in_the_text():
    began = time.process_time()
    for unit in (
        "'",
        '"',
        "'\"",
        "\" '",
        "'a ",
        '"a" ',
        "--",
        "...",
        "- ",
        " ?",
        "« ",
        '<b>"</b>',
        "<br>'",
        "<a href=x>a",
    ):
        for language in ("en", "fr"):
            typography.smarten_html(unit * (20_000 // len(unit)), language)
    assert time.process_time() - began < 30
