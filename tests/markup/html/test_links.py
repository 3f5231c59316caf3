import pytest

from marginalia.markup.html import links


@pytest.mark.parametrize(
    ("url", "scheme"),
    [
        ("https://a.example", "https"),
        ("HTTP://a.example", "http"),
        ("java\nscript:x", "javascript"),
        ("\x01 javascript:x", "javascript"),
        ("\u200bjavascript:x", "javascript"),
        ("mailto:a@b.example", "mailto"),
        ("/path:with/colon", None),
        ("path/with:colon", None),
        ("?a:b", None),
        ("#a:b", None),
        ("", None),
        ("//host", None),
        ("java script:x", "?"),
        (":x", "?"),
        ("é:x", "?"),
        ("javascript&colon;x", "?"),
    ],
)
def test_scheme_is_parsed_as_browsers_parse_it(url, scheme):
    assert links.scheme(url) == scheme


@pytest.mark.parametrize(
    "url", ["x", "/x", "?x", "#x", "//a.example", "https://a.example", "mailto:a@b.example", "tel:+4930"]
)
def test_usual_links_are_allowed(url):
    assert links.is_allowed(url)


@pytest.mark.parametrize(
    "url", ["javascript:x", "data:x", "vbscript:x", "file:///x", "ftp://x", "java&colon;x:y", "photo:x"]
)
def test_unsafe_links_are_refused(url):
    assert not links.is_allowed(url)


@pytest.mark.parametrize(
    ("url", "external"),
    [
        ("https://a.example", True),
        ("//a.example", True),
        ("/\\a.example", True),
        ("\\\\a.example", True),
        (" //a.example", True),
        ("/\n/a.example", True),
        ("/a", False),
        ("a", False),
        ("#a", False),
        ("mailto:a@b.example", False),
    ],
)
def test_external_links_are_detected_by_host(url, external):
    assert links.is_external(url) is external
