"""Pages, lists, feeds and comments show the language and the direction of each text."""

import json

import pytest

from cms.comments import render
from cms.testing.build import node
from tests.support.public_pages import get_html

HEBREW = 'שלום "עולם"'
FRENCH = 'Il y a dans la maison une table, et sur la table un "livre" qui est pour vous.'


@pytest.fixture
def blog(mongo):
    blog = node("blog", "news", title="News", text="What is new here, and what was new in the year before this one.")
    node("blog-entry", "shalom", parent=blog, title=HEBREW, text=HEBREW, summary=HEBREW)
    node("blog-entry", "livre", parent=blog, title='Le "livre"', text=FRENCH)
    return blog


def test_page_shows_its_language_direction_and_quotes(client, blog):
    html = get_html(client, "/news/shalom")
    assert '<html lang="en">' in html
    for element in ("<h1", '<p class="standfirst"', '<div class="prose"'):
        assert f'{element} lang="he" dir="rtl">' in html
    html = get_html(client, "/news/livre")
    assert '<h1 lang="fr" dir="ltr">Le «\u202flivre\u202f»</h1>' in html
    assert "un «\u202flivre\u202f» qui" in html
    assert '"inLanguage": "fr"' in html


def test_page_in_the_language_of_the_site_needs_no_attributes(client, blog):
    html = get_html(client, "/news")
    assert "<h1>News</h1>" in html
    assert '<div class="prose">' in html


def test_list_shows_the_language_of_each_entry(client, blog):
    html = get_html(client, "/news")
    assert '<h2 lang="he" dir="rtl">' in html
    assert '<p class="blurb" lang="fr" dir="ltr">' in html
    assert "Le «\u202flivre\u202f»" in html


def test_feeds_show_the_language_of_each_entry(client, blog):
    assert '<entry xml:lang="he">' in get_html(client, "/news/feed/atom")
    feed = json.loads(get_html(client, "/news/feed/json"))
    assert {item["language"] for item in feed["items"]} == {"he", "fr"}


def test_comment_is_marked_with_its_language(mongo):
    assert render("שלום לכם") == '<div lang="he" dir="rtl"><p>שלום לכם</p></div>'
    assert render("It is as it was, and it will be so.").startswith("<p>")
    assert render("Ok").startswith("<p>")
