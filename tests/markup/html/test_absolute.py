"""Absolute URLs in the texts of feeds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginalia.markup.html.absolute import make_absolute

PAGE = "https://example.org/news/post"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<a href="/x">', '<a href="https://example.org/x">'),
        ('<a href="other">', '<a href="https://example.org/news/other">'),
        ('<a href="#note">', '<a href="https://example.org/news/post#note">'),
        ('<a href="?a=1&amp;b=2">', '<a href="https://example.org/news/post?a=1&amp;b=2">'),
        ('<a href="//cdn.example/x">', '<a href="https://cdn.example/x">'),
        ('<a href="mailto:a@example.org">', '<a href="mailto:a@example.org">'),
        ('<a title="a > b" href="/x">', '<a title="a > b" href="https://example.org/x">'),
        ('<img alt="" src="/i.png">', '<img alt="" src="https://example.org/i.png">'),
        (
            '<img srcset="/a.png 1x, /b.png 2x" src="/a.png">',
            '<img srcset="https://example.org/a.png 1x, https://example.org/b.png 2x" src="https://example.org/a.png">',
        ),
        ('<blockquote cite="/q">', '<blockquote cite="https://example.org/q">'),
        ('<p>Type href="/x" here</p>', '<p>Type href="/x" here</p>'),
        ('<code>&lt;a href="/x"&gt;</code>', '<code>&lt;a href="/x"&gt;</code>'),
        ('<a data-href="/x">', '<a data-href="/x">'),
        ('<a href="http://[">', '<a href="http://[">'),
        ('<a href="/&quot;x">', '<a href="https://example.org/&quot;x">'),
    ],
)
def test_addresses_become_absolute(html, expected):
    assert make_absolute(html, PAGE) == expected
    assert make_absolute(expected, PAGE) == expected


@given(st.text(alphabet='<>a"= /&h ref'))
def test_text_without_url_attributes_is_unchanged(html):
    if '="' not in html:
        assert make_absolute(html, PAGE) == html


@given(st.text())
def test_address_cannot_close_its_quotes(address):
    from html import escape

    made = make_absolute(f'<a href="{escape(address)}">', PAGE)
    assert made.count('"') == 2
