"""Likes in embedded discussions, of guests and of readers who are logged in to the other site."""

import pytest

from tests.api.embed.conftest import PAGE, Browser


@pytest.fixture
def slug(browser, rules):
    rules(LIKES=True)
    return browser.post().json()["comment"]["slug"]


def like(browser, slug, liked=True, **headers):
    return browser.send("POST", f"/comments/{slug}/like", {"page": PAGE, "liked": liked}, **headers)


def test_guest_counts_once_and_takes_it_back(browser, slug):
    assert browser.read()["discussion"]["likes"] is True
    first = like(browser, slug).json()
    assert (first["likes"], first["liked"]) == (1, True)
    guest = first["guest"]
    assert like(browser, slug, Comments_Guest=guest).json() == first
    assert like(Browser(), slug, Comments_Guest="forged").json()["likes"] == 2
    assert [item["likes"] for item in browser.read()["items"]] == [2]
    assert like(browser, slug, liked=False, Comments_Guest=guest).json()["likes"] == 1


def test_likes_are_refused_where_they_are_off(browser, slug, rules):
    rules(LIKES=False)
    assert browser.read()["discussion"]["likes"] is False
    assert like(browser, slug).status_code == 403
    assert like(Browser(origin="https://other.example"), slug).status_code == 403
