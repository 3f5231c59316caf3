"""Inserts on readers' pages and in feeds."""

import json

import pytest

from cms.testing.build import node
from tests.support.nodes.photo_build import gallery, upload

FILM = "::embed{url=https://www.youtube.com/watch?v=aqz-KE-bpKQ title=Film}"
POLICY = "Content-Security-Policy"


def test_only_pages_with_a_player_allow_its_frame(client, mongo):
    node(slug="film", text=FILM)
    node(slug="post", text="::embed{url=https://social.example/@ann/12}")
    node(slug="plain", text="::contents")
    film = client.get("/film")
    assert "frame-src https://www.youtube-nocookie.com;" in film[POLICY] + ";"
    assert "frame-src" not in client.get("/plain")[POLICY]
    assert "frame-src https://social.example;" in client.get("/post")[POLICY] + ";"
    kept = client.get("/film")
    unchanged = client.get("/film", headers={"If-None-Match": film["ETag"]})
    assert unchanged.status_code == 304
    directives = [sorted(answer[POLICY].split("; ")) for answer in (film, kept, unchanged)]
    assert directives[0] == directives[1] == directives[2]


@pytest.mark.parametrize("form", ["rss", "atom", "json"])
def test_feeds_contain_inserts_without_scripts(client, mongo, form):
    plates = gallery("plates", title="Plates")
    photo = upload(plates)
    blog = node("blog", "news")
    text = "\n\n".join(
        [
            "::contents",
            "## Heading",
            FILM,
            f"::photo{{photo=photo:{photo} caption=Lake}}",
            f"::gallery{{section=node:{plates}}}",
            f"::button{{link=node:{blog} text=Press}}",
            ":::note\nMind *this*.\n:::",
            "::unknown{x=1}",
        ]
    )
    node("blog-entry", "post", parent=blog, text=text)
    answer = client.get(f"/feed.{form}")
    if answer.status_code == 404:
        answer = client.get(f"/feed/{form}")
    body = answer.content.decode()
    if form == "json":
        body = json.loads(body)["items"][0]["content_html"]
    assert answer.status_code == 200
    assert "Mind" in body
    assert "http://testserver/news" in body
    assert "http://testserver/plates/lake" in body
    assert "youtube.com/watch" in body
    for gone in ("data-", "Line ", "insert-contents", 'href="/', "iframe"):
        assert gone not in body


def test_gallery_inserts_use_the_lightbox(client, mongo):
    plates = gallery("plates")
    upload(plates)
    node(slug="plain", text="The insert-less page.")
    node(slug="page", text=f"::gallery{{section=node:{plates}}}\n\n::gallery{{section=node:{plates}}}")
    walls = node("gallery", "walls", text=f"::gallery{{section=node:{plates}}}")
    upload(walls)
    for address, links, frames in (("/plates", 1, 1), ("/page", 2, 1), ("/walls", 2, 1), ("/plain", 0, 0)):
        html = client.get(address).content.decode()
        assert html.count("data-large=") == links
        assert html.count('<dialog class="lightbox"') == html.count("site/gallery.js") == frames


def test_lists_search_and_previews_contain_insert_texts(client, mongo):
    node(slug="page", text=":::note{title=Careful}\nMind the gap.\n:::\n\n::button{link=/x text=Platform}")
    stored = mongo["cms.nodes"].find_one({"metadata.slug": "page"})["derived"]
    assert stored["text"] == "Careful\n\nMind the gap.\n\nPlatform"
    assert stored["excerpt"] == "Careful Mind the gap. Platform"
    assert "page" in client.get("/search?q=platform").content.decode()


def test_note_without_content_is_missing_on_the_page_and_in_lists(client, mongo):
    node(slug="page", text=":::note\n\n:::\n\nWords.")
    assert mongo["cms.nodes"].find_one({"metadata.slug": "page"})["derived"]["excerpt"] == "Words."
    assert 'role="note"' not in client.get("/page").content.decode()


def test_photo_has_its_own_words_and_layout_on_pages_in_feeds_and_in_the_api(client, mongo):
    photo = upload(gallery("plates"))
    blog = node("blog", "news")
    attributes = f"photo=photo:{photo} caption=Dawn alt='A \"bay\"' "
    text = f"::photo{{{attributes}width=wide}}\n\n::photo{{{attributes}align=left}}"
    post = node("blog-entry", "post", parent=blog, text=text)
    feed = json.loads(client.get("/feed/json").content)["items"][0]["content_html"]
    api = client.get(f"/api/v1/nodes/{post}?include=body_html").json()["body_html"]
    for html in (client.get("/news/post").content.decode(), feed, api):
        assert '<figure class="photo insert-photo wide">' in html
        assert '<figure class="photo insert-photo half left">' in html
        assert html.count('alt="A &quot;bay&quot;"') == 2
        assert html.count("<figcaption>Dawn</figcaption>") == 2


def test_photo_without_own_words_has_those_of_the_photo(client, mongo):
    node(slug="page", text=f"::photo{{photo=photo:{upload(gallery('plates'), fields={'detail.alt': 'Mist'})}}}")
    assert 'alt="Mist"' in client.get("/page").content.decode()
