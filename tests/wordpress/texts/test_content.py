"""Bodies as WordPress stores them, converted to HTML."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wordpress.texts.converted import PHOTO, alone, body, html
from wordpress.texts.content import make_slug, plain
from wordpress.texts.tokens import TAG, tokens


class TestBlocks:
    def test_block_markers_are_removed_and_contents_kept(self):
        source = (
            '<!-- wp:heading {"level":3} -->\n<h3>Head</h3>\n<!-- /wp:heading -->\n\n'
            "<!-- wp:paragraph -->\n<p>Text\nin two lines</p>\n<!-- /wp:paragraph -->\n\n"
            '<!-- wp:latest-posts {"postsToShow":3} /-->\n\n<!-- wp:paragraph -->\n<p>End</p>\n<!-- /wp:paragraph -->'
        )
        assert html(source) == "<h3>Head</h3>\n\n<p>Text\nin two lines</p>\n\n<p>End</p>"

    def test_embed_becomes_a_link(self):
        source = (
            '<!-- wp:embed {"url":"https://tube.example/w?a=1&b=2"} --><figure><div>\nhttps://tube.example/w?a=1&amp;b=2\n'
            "</div></figure><!-- /wp:embed -->"
        )
        link = '<a href="https://tube.example/w?a=1&amp;b=2">https://tube.example/w?a=1&amp;b=2</a>'
        assert html(source) == f"<figure><div>\n{link}\n</div></figure>"

    def test_shortcode_of_a_block_is_dropped_and_reported(self):
        found = body("<!-- wp:shortcode -->\n[booking]\n<!-- /wp:shortcode -->\n<p>x</p>")
        assert found.html == "<p>x</p>"
        assert found.lost == ("[booking]",)


class TestTextMarkers:
    @pytest.mark.parametrize("mark", ["<!--more-->", "<!-- more -->", "<!--more Read on! -->"])
    def test_more_marker_joins_the_text(self, mark):
        assert html(f"First\n\n{mark}\n\nSecond") == "<p>First</p>\n<p>Second</p>"

    def test_page_breaks_become_rules(self):
        assert html("One\n<!--nextpage-->\nTwo") == "<p>One</p>\n<hr>\n<p>Two</p>"

    def test_other_comments_are_removed(self):
        assert html("One<!-- note to self -->") == "<p>One</p>"
        assert html("One<!-- never ends") == "<p>One</p>"


class TestLinks:
    @pytest.mark.parametrize(
        ("address", "expected"),
        [
            ("https://old.example/about/", "/about"),
            ("/about/", "/about"),
            ("../../../about/", "/about"),
            ("/?p=7", "/blog/seven"),
            ("/else/", "https://old.example/else/"),
            ("http://other.example/?a=1&amp;b=2", "http://other.example/?a=1&amp;b=2"),
            ("#part", "#part"),
            ("mailto:x@y.example", "mailto:x@y.example"),
            ("http://[broken", "http://[broken"),
        ],
    )
    def test_link_leads_to_the_new_page_or_stays(self, address, expected):
        assert html(f'<a href="{address}" title="T">x</a>') == f'<p><a href="{expected}" title="T">x</a></p>'

    def test_url_on_its_own_line_becomes_a_link(self):
        source = "Look:\n\nhttps://x.example/a?b=1&amp;c=2\n\nor https://x.example/d here"
        first, second, third = html(source).split("</p>\n")
        assert second == '<p><a href="https://x.example/a?b=1&amp;c=2">https://x.example/a?b=1&amp;c=2</a>'
        assert third == "<p>or https://x.example/d here</p>"

    def test_linked_url_is_not_linked_again(self):
        source = '<a href="https://x.example/">https://x.example/</a>'
        assert html(source) == f"<p>{source}</p>"


class TestPictures:
    def test_missing_picture_becomes_a_link_with_its_alt_text(self):
        found = body(f'<img src="{PHOTO}" alt="A &amp; B" class="wp-image-7" />')
        assert found.html == f'<p><a href="{PHOTO}">A &amp; B</a></p>'
        assert found.missing == (PHOTO,)

    @pytest.mark.parametrize(("tag", "words"), [('title="T"', "T"), ("", "Foo")])
    def test_missing_picture_without_alt_text_uses_other_words(self, tag, words):
        assert html(f'<img src="/wp-content/uploads/x.jpg" {tag}>').endswith(f">{words}</a></p>")

    def test_missing_picture_inside_a_link_becomes_words(self):
        assert html(f'<a href="#"><img src="{PHOTO}" alt="A <b>"></a>') == '<p><a href="#">A &lt;b&gt;</a></p>'

    def test_existing_picture_is_shown(self):
        found = body('<img src="/wp-content/uploads/here.jpg" alt="A" width="9">')
        assert found.html == '<p><img src="/photo/here" alt="A"></p>'
        assert found.missing == ()

    def test_picture_of_another_site_becomes_a_link(self):
        """The site's content security policy does not allow pictures of other sites."""
        source = '<img src="//x.example/a.png" srcset="b 2x">'
        assert html(source) == '<p><a href="https://x.example/a.png">a.png</a></p>'

    def test_emoji_become_text(self):
        assert html('x <img class="wp-smiley" src="/y.gif" alt=":)"> y') == "<p>x :) y</p>"

    def test_picture_without_an_address_becomes_words(self):
        assert html('<img alt="A"><img src="data:image/png;base64,x" alt="B">') == "<p>AB</p>"

    @pytest.mark.parametrize("name", ["data-src", "data-lazy-src", "data-original", "data-orig-file"])
    def test_lazily_loaded_picture_is_shown(self, name):
        source = f'<img src="data:image/gif;base64,R0" {name}="/wp-content/uploads/here.jpg" alt="A">'
        assert html(source) == '<p><img src="/photo/here" alt="A"></p>'

    def test_picture_embedded_as_data_is_reported(self):
        assert body('x <img src="data:image/png;base64,x" alt="B">').lost == ("an image embedded in the text",)

    @pytest.mark.parametrize(
        "style",
        [
            "background-image:url(/wp-content/uploads/here.jpg)",
            "color: red; background: no-repeat url(&quot;/wp-content/uploads/here.jpg&quot;) 50% 50%",
            "background-image:URL('/wp-content/uploads/here.jpg');",
        ],
    )
    def test_background_picture_is_placed_before_the_text(self, style):
        source = f'<!-- wp:cover --><div class="wp-block-cover" style="{style}"><p>Text</p></div><!-- /wp:cover -->'
        assert '<img src="/photo/here" alt="Here"><p>Text</p>' in html(source)

    def test_missing_background_picture_becomes_a_link(self):
        found = body(f'<div style="background-image:url({PHOTO})"><p>Text</p></div>')
        assert found.missing == (PHOTO,)
        assert f'<a href="{PHOTO}">' in found.html

    def test_missing_picture_is_reported_once(self):
        assert body(f'<img src="{PHOTO}"> <img src="{PHOTO}">').missing == (PHOTO,)


class TestPlayers:
    def test_video_and_audio_become_links(self):
        found = body('<video controls><source src="/v.mp4">no</video> <audio src="https://x.example/a.ogg"></audio>')
        assert found.missing == ("https://old.example/v.mp4", "https://x.example/a.ogg")
        assert ">v.mp4</a>" in found.html
        assert ">a.ogg</a>" in found.html

    @pytest.mark.parametrize(
        ("source", "url"),
        [
            ("https://www.youtube.com/embed/a-b_1?rel=0", "https://www.youtube.com/watch?v=a-b_1"),
            ("//player.vimeo.com/video/12", "https://vimeo.com/12"),
            ("https://maps.example/x", "https://maps.example/x"),
            (
                "http://www.slideshare.net/slideshow/embed_code/5342235?rel=0",
                "http://www.slideshare.net/slideshow/embed_code/5342235",
            ),
        ],
    )
    def test_frame_becomes_an_insert_or_a_link(self, source, url):
        found = body(f'<iframe src="{source}" width="9"></iframe>')
        assert found.html == alone(url)
        assert found.missing == ()

    def test_player_without_a_source_is_dropped(self):
        assert html("<video></video><iframe></iframe>x") == "<p>x</p>"

    @pytest.mark.parametrize(
        "source",
        [
            '<object><param name="wmode" value="x"><param name="movie" value="//www.youtube.com/v/a-b_1&fs=1"></object>',
            '<object width="9"><embed src="http://www.youtube.com/v/a-b_1" type="x"></embed></object>',
            '<object data="http://www.youtube.com/v/a-b_1">No Flash.</object>',
            '<embed src="http://www.youtube.com/v/a-b_1" type="application/x-shockwave-flash">',
        ],
    )
    def test_flash_becomes_an_insert(self, source):
        assert html(source) == alone("https://www.youtube.com/watch?v=a-b_1")

    def test_gist_becomes_a_link(self):
        url = "https://gist.github.com/ada/0a1b"
        assert html(f'<script src="{url}.js"></script>') == f'<p><a href="{url}">{url}</a></p>'
        assert html(f'<script src="{url}.js.evil.example"></script>x') == "<p>x</p>"


def test_scripts_and_styles_are_removed():
    assert html("a<script>alert(1)</script><style>p{}</style>b") == "<p>ab</p>"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Title <em>With</em> <b>Mark<sup>up</sup></b>", "Title With Markup"),
        ("Q&amp;A &#8211; 1 < 2 & <3", "Q&A – 1 < 2 & <3"),
        ("<p>One</p><p>Two<br>Three</p>", "One Two Three"),
        ("A\n\n  B", "A B"),
        ("~`!@#$%^&*()-_=+{}[]/;:'\"?,.>", "~`!@#$%^&*()-_=+{}[]/;:'\"?,.>"),
    ],
)
def test_plain_returns_text(source, expected):
    assert plain(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Hello, World!", "hello-world"),
        ("%ce%b5%cf%80%ce%af-2", "επί-2"),
        ("--a__b--", "a__b"),
        ("e\u0301t\xe9", "été"),
        ("日本語 の 題", "日本語-の-題"),
        ("!?", ""),
        ("%ff%fe", ""),
    ],
)
def test_slug_is_read_from_the_url(source, expected):
    assert make_slug(source) == expected


PIECES = st.sampled_from(
    [
        *("word", " ", "\n", "\n\n", "[gallery]", '[gallery ids="1"]', "[caption]", '[caption id="1"]', "[/caption]"),
        *(
            "[audio]",
            '[audio src="x"]',
            "[embed]",
            "[/embed]",
            "https://x.example/y",
            "<img src=x>",
            "<a href='/about/'>",
        ),
        *(
            "</a>",
            "<p>",
            "</p>",
            "<!--more-->",
            "<!-- wp:x -->",
            "<!-- /wp:x -->",
            "<!--",
            "-->",
            "[[gallery]]",
            "[x y=1]",
        ),
        *(
            "[row]",
            "[/row]",
            "[",
            "]",
            "[code]",
            "[/code]",
            "<code>",
            "</code>",
            "<",
            "&lt;",
            '"',
            "<iframe src='//a.b/c'>",
        ),
        *("</iframe>", "<video>", "</video>", "<pre>", "</pre>", "<li>", "<ul>", "</ul>", "[/", "[vimeo 1]", "é"),
    ]
)


@given(st.lists(PIECES, max_size=25).map("".join) | st.text())
def test_any_body_converts_without_visible_shortcodes(source):
    shown = "".join(
        TAG.sub("", token.source) for token in tokens(html(source)) if token.kind not in ("whole", "comment")
    )
    if "[[" not in source and "[code]" not in source:
        assert not any(f"[{name}]" in shown for name in ("gallery", "caption", "/caption", "audio", "embed"))


@given(
    st.text(alphabet=st.characters(blacklist_characters="<[&\r", blacklist_categories=("Cs", "Cc", "Z")), min_size=1)
)
def test_plain_words_are_unchanged(source):
    shown = html(source)
    assert shown in (f"<p>{source}</p>", f'<p><a href="{source}">{source}</a></p>') or "://" in source


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "[caption]",
        "[gallery",
        '[a b="',
        "[a b=&quot;x ",
        "https://",
        "[x]\n\n",
        "[a]b[/a]",
        "[[",
        "<img src=",
        "[audio ",
    ],
)
def test_time_is_linear_in_the_length(piece):
    html(piece * 20_000)
