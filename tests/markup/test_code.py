"""Coloured code: only classes, every typed character, and bounded time."""

import re
import time
from html import unescape
from pathlib import Path

import pytest

from marginalia.markup import code
from nodes import rendering
from tests.support.payloads import ALL

CSS = (Path(__file__).parents[2] / "static/site/site.css").read_text()
# Repeated, these took lexers longest of about 100 characters and words.
WORST = ("@", "{", "!", "<?", "a ", "\n")


def for_readers(source: str) -> str:
    return rendering.for_readers(rendering.to_html(source, "markdown"), "en")


def fenced(language: str, typed: str) -> str:
    return f"```{language}\n{typed}```\n\n"


def test_code_is_coloured_and_shows_what_was_typed():
    html = for_readers(fenced("python", 'def f():\n    return "<b>" -- 1  # it\'s\n'))
    assert html.startswith('<pre><code class="language-python"><span class="k">def</span> <span class="nf">f</span>')
    assert '<span class="s">"&lt;b&gt;"</span>' in html
    assert unescape(re.sub("<[^<>]*>", "", html)) == 'def f():\n    return "<b>" -- 1  # it\'s\n'
    assert set(re.findall(r"<[^<>]*>", html)) <= {
        *("<pre>", "</pre>", '<code class="language-python">', "</code>", "</span>"),
        *(f'<span class="{name}">' for name in code._CLASSES.values()),
    }


@pytest.mark.parametrize("typed", [fenced("unknown", "def\n"), fenced("", "def\n"), "    def\n", "`def`"])
def test_code_in_an_unknown_language_is_plain(typed):
    html = for_readers(typed)
    assert "def" in html
    assert "<span" not in html


@pytest.mark.parametrize("name", sorted(set(code.LANGUAGES.values())))
def test_every_language_shows_all_code_and_no_markup(name):
    spans = {f'<span class="{one}">' for one in code._CLASSES.values()}
    for payload in ("\n\n a<b> &amp; \"'`\n\t${x} <script>alert(1)</script>\n\n", *ALL[::100]):
        typed = payload.replace("\r\n", "\n").replace("\r", "\n")[:300]
        html = code.highlight_code(typed, name) or ""
        assert set(re.findall("<[^<>]*>", html)) <= spans | {"</span>"}
        assert unescape(re.sub("<[^<>]*>", "", html)) == typed


def test_code_beyond_the_limit_is_plain():
    line = "x = 1\n"
    assert code.highlight_code(line * (code.MAX_LENGTH // len(line)), "python")
    assert code.highlight_code(line * (code.MAX_LENGTH // len(line) + 1), "python") is None
    assert code.highlight_code("1" * 300, "python")
    assert code.highlight_code("1" * 301, "python") is None
    assert code.highlight_code("1" + "\n" * 49, "python")
    assert code.highlight_code("1" + "\n" * 50, "python") is None


def test_only_the_first_code_of_a_long_page_is_coloured():
    block = "# a comment\n" * 200
    html = for_readers(fenced("python", block) * 20)
    assert html.count("<pre>") == 20
    assert html.count("</span>\n</code>") == rendering.MOST_CODE // len(block)


@pytest.mark.parametrize("name", sorted(set(code.LANGUAGES.values())))
def test_every_lexer_is_fast_at_the_limit(name):
    """Each text took 0.1 s at most. The limit catches lexers that take quadratic time."""
    began = time.process_time()
    for unit in WORST:
        typed = (unit * code.MAX_LENGTH)[: code.MAX_LENGTH]
        width, end = (48, "x") if unit == "\n" else (299, "\n")
        hostile = "".join(typed[at : at + width] + end for at in range(0, code.MAX_LENGTH, width))[: code.MAX_LENGTH]
        assert code.highlight_code(hostile, name) is not None
    assert time.process_time() - began < 10


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_colours_of_code_are_readable_in_both_schemes():
    known = dict(re.findall(r"(--[\w-]+): (light-dark\([^)]*\))", CSS))
    (parts,) = re.findall(r"/\* Syntax highlighting.*?\n}", CSS, re.DOTALL)
    rules = re.findall(r"color: (var\((--\w+)\)|light-dark\([^)]*\))", parts)
    grounds = re.findall("#[0-9a-f]{6}", known["--raised"])
    assert len(rules) == 6
    for said, variable in rules:
        for colour, ground in zip(re.findall("#[0-9a-f]{6}", known.get(variable, said)), grounds, strict=True):
            one, other = sorted((_luminance(colour), _luminance(ground)))
            assert (other + 0.05) / (one + 0.05) >= 4.5, (said, colour, ground)
