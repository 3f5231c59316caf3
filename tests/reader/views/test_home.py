"""The home page: cards with section, photo or text and the number of comments, and links at its end."""

import re

import pytest

from cms.testing.build import node
from marginalia.comments.posting import services as comments
from marginalia.comments.types import CommentAuthor
from nodes.models import Node
from nodes.services.site import save_settings
from tests.support.nodes.photo_build import gallery, upload

CARD = re.compile(r'<li class="card[^"]*">.*?</li>', re.DOTALL)


@pytest.fixture
def blog(mongo):
    return node("blog", "news", title="News & notes")


def cards(client) -> list[str]:
    return CARD.findall(client.get("/").content.decode())


def test_card_shows_its_section_and_the_number_of_comments(client, blog):
    post = Node.objects.get(pk=node("blog-entry", "post", parent=blog))
    (card,) = cards(client)
    assert '<p class="kicker"><a href="/news">News &amp; notes</a></p>' in card
    assert "comment" not in card
    for number in range(2):
        comments.post(post, author=CommentAuthor("Bea"), source="Yes", token=f"{number}" * 16)
    (card,) = cards(client)
    assert '<a class="comment-count" href="/news/post#comments">2 comments</a>' in card


def test_card_without_photo_shows_the_beginning_of_its_text(client, blog):
    photo = upload(gallery("lakes"), name="pier.jpg")
    node("blog-entry", "text", parent=blog, title="Text", summary="In short", text="At *length*.")
    node("blog-entry", "photo", parent=blog, title="Photo", summary="Seen", text="Words.", **{"detail.picture": photo})
    with_photo, without_photo = cards(client)
    assert "<picture>" in with_photo
    assert "Words." not in with_photo
    assert '<p class="blurb">In short</p>' in without_photo
    assert '<p class="excerpt">At length.</p>' in without_photo


def test_text_of_a_post_without_summary_is_shown_once(client, blog):
    node("blog-entry", "text", parent=blog, text="At length.")
    assert cards(client)[0].count("At length.") == 1


def test_page_ends_with_links_to_sections_pages_and_feeds(client, blog):
    node(slug="about", title="About")
    footer = client.get("/").content.decode().partition('class="site-footer"')[2]
    links = re.findall(r'<li><a href="([^"]*)"', footer)
    assert links == ["/news", "/about", "/feed/atom", "/feed/rss", "/log-in"]


def test_list_of_all_posts_shows_their_sections(client, blog):
    node("blog-entry", "post", parent=blog)
    save_settings({"home": "list"}, {"home": "lead"})
    assert '<p class="kicker"><a href="/news">News &amp; notes</a></p>' in client.get("/").content.decode()
