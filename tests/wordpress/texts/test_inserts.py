"""Embeds, galleries and buttons of WordPress become inserts that the site can read."""

from collections.abc import Sequence

import pytest
from bson import ObjectId

from marginalia.markup.html import clean
from marginalia.markup.inserts.reading import TextInserts
from wordpress.texts.content import File, convert

IDS = [str(ObjectId()) for _number in range(100)]
VIDEO = "https://www.youtube.com/watch?v=a-b_1"


class Library:
    """An old site whose pictures are photos here, except the last one."""

    def page(self, url: str) -> str:
        return "/about" if url.endswith("/about/") else ""

    def file(self, url: str, number: int = 0) -> File:
        return File(url)

    def pattern(self, number: int) -> str | None:
        return None

    def gallery(self, ids: Sequence[int]) -> Sequence[File]:
        return [File(f"https://old.example/{n}.jpg", f"P {n}", f"photo:{IDS[n]}" if n < 99 else "") for n in ids]


def inserts(source: str) -> tuple[list[str], list[str]]:
    """Return the names of the inserts in a converted and cleaned body, and their errors."""
    found = TextInserts(clean(convert(source, "https://old.example/post/", Library()).html, "article"))
    return sorted(found.names), list(map(str, found.faults))


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (f"Look:\n\n{VIDEO}\n\nThere.", "embed"),
        (f"[embed width=9]{VIDEO}[/embed]", "embed"),
        (
            f'<!-- wp:embed {{"url":"x"}} --><figure class="wp-block-embed"><div>\n{VIDEO}\n</div></figure><!-- /wp:embed -->',
            "embed",
        ),
        ("[gallery ids='1,2,3' columns=2]", "gallery"),
        ("[gallery ids='" + ",".join(map(str, range(60))) + "']", "gallery"),
        (
            '<!-- wp:buttons --><div class="wp-block-buttons"><!-- wp:button --><div class="wp-block-button">'
            '<a class="wp-block-button__link wp-element-button" href="https://old.example/about/">Read &amp; "see"</a></div>'
            "<!-- /wp:button --></div><!-- /wp:buttons -->",
            "button",
        ),
    ],
)
def test_block_becomes_an_insert(source, name):
    assert inserts(source) == ([name], [])


@pytest.mark.parametrize(
    "source",
    [
        f'<p>See <a href="{VIDEO}">{VIDEO}</a>.</p>',
        f'<p><a href="{VIDEO}">A film</a></p>',
        "https://example.org/",
        "[gallery ids='1,99']",
        '<div class="wp-block-button"><a href="https://x.example/"></a></div>',
        '<div class="button"><a href="https://x.example/">x</a></div>',
    ],
)
def test_unsupported_block_is_unchanged(source):
    assert inserts(source) == ([], [])


def test_inserts_beyond_the_limit_are_not_converted():
    """A text with too many inserts would not be imported at all."""
    button = '<div class="wp-block-button"><a href="https://old.example/about/">Read</a></div>'
    galleries = "[gallery ids='" + ",".join(map(str, range(96))) + "']", "[gallery ids='1']"
    for pieces, name, most in (
        ([VIDEO] * 52, "embed", 50),
        ([button] * 52, "button", 50),
        ([*galleries * 4], "gallery", 10),
    ):
        source = "\n\n".join(pieces)
        assert inserts(source) == ([name], [])
        assert convert(source, "https://old.example/post/", Library()).html.count(f'data-insert="{name}{{') == most


def test_attributes_of_inserts_are_kept():
    def html(source):
        return convert(source, "https://old.example/post/", Library()).html

    assert f"gallery{{photos=photo:{IDS[1]},photo:{IDS[2]}}}" in html("[gallery ids='1,2']")
    figure = f"<figure><div>\n{VIDEO}\n</div><figcaption>A &amp; B</figcaption></figure>"
    assert f"embed{{url={VIDEO} title=&quot;A &amp; B&quot;}}" in html(f"<!-- wp:embed -->{figure}<!-- /wp:embed -->")
    button = '<!-- wp:button --><div class="wp-block-button"><a href="/about/">Read</a></div><!-- /wp:button -->'
    assert "button{link=/about text=Read}" in html(button)
