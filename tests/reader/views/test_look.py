"""The site's custom look for readers: nothing beyond the theme unless settings say so."""

import io
import re

import pytest
from PIL import Image

from cms.testing.build import node
from marginalia.mongo.connection import database
from photos.assets.responses import FOR_EVER, NO_STORE
from reader import page_cache
from tests.support.nodes import photo_build, pictures
from tests.support.public_pages import get_html, requested_files, save_look


def png(size=(640, 320), colour=(200, 30, 30, 255)) -> bytes:
    target = io.BytesIO()
    Image.new("RGBA", size, colour).save(target, "PNG")
    return target.getvalue()


@pytest.fixture
def blog(mongo):
    blog = node("blog", "news", title="News")
    node("blog-entry", "first", parent=blog, title="First")
    return blog


@pytest.fixture
def logo(blog):
    return photo_build.upload(photo_build.gallery(), png(), "logo.png")


def test_default_theme_requests_nothing_more(client, blog):
    asked = requested_files(get_html(client))
    assert not [path for path in asked if "/media/" in path]
    assert [path for path in asked if path.endswith(".css")] == [
        f"/static/site/{sheet}.css" for sheet in ("site", "cards", "front")
    ]
    assert any(path.endswith("icon.svg") for path in asked)


def test_accent_and_fonts_are_one_cached_style_sheet(client, blog):
    before = get_html(client)
    save_look(accent="#7a1f5c", fonts="sans")
    asked = requested_files(get_html(client))
    (address,) = set(asked) - set(requested_files(before))
    assert asked.index(address) > next(number for number, path in enumerate(asked) if "site.css" in path)
    answer = client.get(address)
    assert answer["Content-Type"] == "text/css; charset=utf-8"
    assert answer["Cache-Control"] == FOR_EVER
    assert "--accent: light-dark(#7a1f5c, #" in answer.content.decode()
    assert client.get(address, headers={"if-none-match": answer["ETag"]}).status_code == 304
    assert client.get("/media/look/nonsense.css").status_code == 404
    assert (
        "style-src" not in answer.get("Content-Security-Policy", "")
        or "unsafe" not in answer["Content-Security-Policy"]
    )


def test_logo_replaces_the_name_and_provides_icons(client, logo):
    save_look(logo=logo)
    html = get_html(client)
    assert str(logo) in html.partition('class="site-name has-logo"')[2].partition("</a>")[0]
    assert 'alt="Marginalia"' in html
    assert "/static/site/logo.css" in requested_files(html)
    icons = [path for path in requested_files(html) if "/media/look/" in path]
    sizes = {}
    for path in icons:
        answer = client.get(path)
        assert (answer.status_code, answer["Content-Type"], answer["Cache-Control"]) == (200, "image/png", FOR_EVER)
        assert client.get(path, headers={"if-none-match": answer["ETag"]}).status_code == 304
        made = Image.open(io.BytesIO(answer.content))
        sizes[made.width] = made
    assert sorted(sizes) == [32, 180, 512]
    assert sizes[512].convert("RGBA").getpixel((256, 2))[3] == 0  # it is wider than high, so nothing is cropped
    assert sizes[180].mode == "RGB"
    assert sizes[180].getpixel((2, 2)) == (253, 252, 249)


def test_icons_are_made_only_of_the_logo(client, logo):
    other = photo_build.upload(photo_build.gallery("more"), pictures.jpeg(2), "other.jpg")
    content = photo_build.document(other)["metadata"]["content_id"]
    save_look(logo=logo)
    assert client.get(f"/media/look/{content}/icon.png").status_code == 404
    assert client.get(f"/media/look/{photo_build.document(logo)['metadata']['content_id']}/icon.png").status_code == 200


def test_busy_decoder_falls_back_to_the_icon_of_the_theme(client, logo):
    save_look(logo=logo)
    path = next(path for path in requested_files(get_html(client)) if "/media/look/" in path)
    with photo_build.busy_decoder():
        answer = client.get(path)
    assert (answer.status_code, answer["Cache-Control"]) == (302, NO_STORE)
    assert answer["Location"].endswith("icon.svg")
    assert client.get(path).status_code == 200


def test_hidden_logo_is_not_shown(client, logo):
    save_look(logo=logo, logo_dark=logo)
    assert get_html(client).count('<picture class="logo in-') == 2
    database()["cms.assets.files"].update_one({"_id": logo}, {"$set": {"metadata.published": None}})
    save_look(footer="changed")
    assert "<picture" not in get_html(client)


def test_menu_has_an_order_labels_and_external_links(client, blog):
    node("folder", "hidden", title="Hidden")
    about, draft = node("basic-page", "about", title="About <us>"), node("basic-page", "soon", published=None)
    links = [
        ("", f"node:{about}"),
        ("All posts", f"node:{blog}"),
        ("", f"node:{draft}"),
        ("Elsewhere", "https://example.org/"),
    ]
    save_look(menu=[{"label": label, "target": target} for label, target in links])
    html = get_html(client, "/news/first")
    shown = re.findall(
        r'<li><a href="([^"]*)"([^>]*)>([^<]*)</a>', html.partition('class="site-menu"')[2].partition("</nav>")[0]
    )
    assert [(url, title) for url, _more, title in shown] == [
        ("/about", "About &lt;us&gt;"),
        ("/news", "All posts"),
        ("https://example.org/", "Elsewhere"),
    ]
    assert 'aria-current="true"' in shown[1][1]


def test_footer_has_text_links_and_profiles(client, blog):
    save_look(
        footer="Made <b>by hand</b>\n\nin Ghent",
        footer_links=[{"label": "Imprint", "target": "/imprint"}],
        social=[
            {"label": "Mastodon", "target": "https://social.example/@me"},
            {"label": "", "target": f"node:{node(slug='about', title='About me')}"},
            {"label": "Hidden", "target": f"node:{node(slug='hidden', published=None)}"},
        ],
    )
    footer = get_html(client).partition('class="site-footer"')[2]
    assert "<p>Made &lt;b&gt;by hand&lt;/b&gt;</p>" in footer
    assert '<a href="/imprint">Imprint</a>' in footer
    mine = '<li><a rel="me" href="https://social.example/@me">Mastodon</a></li>'
    assert f'{mine}<li><a rel="me" href="/about">About me</a></li></ul>' in footer


def test_home_page_can_list_all_posts_alike(client, blog):
    assert 'class="home home-lead"' in get_html(client)
    save_look(home="list")
    assert 'class="home home-list"' in get_html(client)


def test_custom_look_costs_cached_pages_nothing(client, logo, commands):
    about = node("basic-page", "about")
    plain = get_html(client, "/news/first")
    page_cache.storage.clear()
    with commands.recorded():
        get_html(client, "/news/first")
    before = len(commands)
    menu = [{"label": "", "target": f"node:{about}"}]
    save_look(accent="#7a1f5c", logo=logo, menu=menu, social=[{"label": "x", "target": "https://example.org"}])
    assert get_html(client, "/news/first") != plain
    page_cache.storage.clear()
    with commands.recorded():
        get_html(client, "/news/first")
    assert len(commands) == before
    with commands.recorded():
        get_html(client, "/news/first")
    assert len(commands) == 1
