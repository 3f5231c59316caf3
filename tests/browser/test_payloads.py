"""The payloads of tests/markup in a browser: no script runs, however the browser parses the cleaned HTML."""

import pytest

from marginalia.markup.html import clean, references
from marginalia.markup.markdown import render
from tests.browser.poking import POKE
from tests.support.payloads import ALL


@pytest.fixture
def blank(chromium):
    """An empty page without network access that counts its alerts."""
    page = chromium.new_page()
    page.route("**/*", lambda route: route.abort() if route.request.url.startswith("http") else route.continue_())
    page.evaluate("() => { window.alerts = 0; window.alert = () => { window.alerts += 1; }; }")
    yield page
    page.close()


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("profile", ["article", "comment"])
def test_stored_payloads_never_run(blank, profile):
    pieces = [f"<div>{shown(way(payload, profile))}</div>" for payload in ALL for way in (clean, render)]
    blank.set_content("\n".join(pieces))
    assert blank.evaluate(POKE) == []
    # The error events of images come later than the images.
    blank.wait_for_function("() => [...document.images].every(image => image.complete)")
    assert blank.evaluate("window.alerts") == 0
    assert blank.evaluate("document.querySelectorAll('body > div').length") == len(pieces)


def shown(html: str) -> str:
    """Return a cleaned text as a page shows it if nothing it references exists, so that no internal address is left."""
    return references.resolve_references(html, lambda _image: None, lambda _link: references.NO_TAGS)


def test_watch_sees_uncleaned_payloads(blank):
    blank.set_content("".join(f"<div>{payload}</div>" for payload in ALL if payload.startswith("<img")))
    blank.wait_for_function("() => window.alerts > 3")
    assert blank.evaluate(POKE)
