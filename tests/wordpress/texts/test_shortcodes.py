"""WordPress shortcodes in HTML."""

import pytest

from tests.wordpress.texts.converted import PHOTO, alone, body, html


@pytest.mark.parametrize(
    ("source", "url"),
    [
        ("[slideshare id=5342235&doc=camp-100927]", "https://www.slideshare.net/slideshow/embed_code/5342235"),
        ('[gist id="57cc50246"]', "https://gist.github.com/57cc50246"),
        ("[gist ada/57cc50246]", "https://gist.github.com/ada/57cc50246"),
        ("[gist]57cc50246[/gist]", "https://gist.github.com/57cc50246"),
        ("[gist]https://gist.github.com/57[/gist]", "https://gist.github.com/57"),
        ("[youtube a-b_1]", "https://www.youtube.com/watch?v=a-b_1"),
        ("[youtube=a-b_1&w=9]", "https://www.youtube.com/watch?v=a-b_1"),
        ('[youtube id="a-b_1" width="9"]', "https://www.youtube.com/watch?v=a-b_1"),
        ("[wpvideo hrPKeL5t w=9]", "https://videopress.com/v/hrPKeL5t"),
        ("[ted id=1]", "https://www.ted.com/talks/view/id/1"),
        ("[dailymotion id=x1]", "https://www.dailymotion.com/video/x1"),
        ("[tweet 12]", "https://twitter.com/i/web/status/12"),
    ],
)
def test_shortcode_with_an_id_becomes_a_player(source, url):
    found = body(source)
    assert (found.html, found.lost) == (alone(url), ())


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            '[caption id="a" width="9"]<a href="#"><img src="//x.example/a.png" alt="A"></a> Words <b>here</b>[/caption]',
            '<figure><a href="#">A</a><figcaption>Words <b>here</b></figcaption>\n</figure>',
        ),
        (
            '[caption width="9" caption="Old <em>way</em>"]<img src="//x.example/a.png" alt="A">[/caption]',
            '<figure><a href="https://x.example/a.png">A</a><figcaption>Old <em>way</em></figcaption>\n</figure>',
        ),
        (
            "[caption][caption]<img src='//x.example/a.png'>[/caption] A[/caption]",
            '<figure><a href="https://x.example/a.png">a.png</a><figcaption>A</figcaption>\n</figure>',
        ),
        ("[caption]nothing", "<p>nothing</p>"),
        ('[audio src="https://x.example/a%20b.mp3"]', '<p><a href="https://x.example/a%20b.mp3">a b.mp3</a></p>'),
        ("[audio https://x.example/a.mp3]", '<p><a href="https://x.example/a.mp3">a.mp3</a></p>'),
        ('[video mp4="/v.mp4"][/video]', '<p><a href="https://old.example/v.mp4">v.mp4</a></p>'),
        (
            "[embed width='9']https://x.example/w?a=1&amp;b=2[/embed]",
            '<p><a href="https://x.example/w?a=1&amp;b=2">https://x.example/w?a=1&amp;b=2</a></p>',
        ),
        (
            "[youtube=https://youtu.be/x&w=9]",
            alone("https://youtu.be/x&amp;w=9"),
        ),
        ("[vimeo 123]", alone("https://vimeo.com/123")),
        ('[code lang="c"]\nif (a < b) [gallery]\n[/code]', "<pre><code>if (a &lt; b) [gallery]</code></pre>"),
        ('one [plugin id="7" x=y] two', "<p>one  two</p>"),
        ("one [plugin a=”b c”] two", "<p>one  two</p>"),
        ("one [plugin/] two [plugin /]", "<p>one  two</p>"),
        ("[row][column size='1/2']kept[/column][/row]", "<p>kept</p>"),
        ("[note Title here]kept <b>text</b>[/note]", "<p>kept <b>text</b></p>"),
        ("one\n\n[toc-list]\n\ntwo", "<p>one</p>\n<p>two</p>"),
        ("[contact-form-7]", ""),
        ("[[gallery]] shows pictures", "<p>[gallery] shows pictures</p>"),
        ("[[note x]text[/note]] says so", "<p>[note x]text[/note] says so</p>"),
    ],
)
def test_shortcodes_are_not_shown_as_text(source, expected):
    assert html(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "He said [sic] so [1] and [...] then [simple boat] it [and/or] that [see x] [a, b]",
        "a[0] = b[i] and [x](y) and [ ] and [] and [[Wiki page]] and [[w]]",
        "[Verse 1] la la [it's fine] [don't]",
        "array[index] [not\nclosed [ and ] alone",
        "see [chapter two] and [3=three] and [x=1]",
    ],
)
def test_brackets_in_prose_are_kept(source):
    assert html(source) == "<p>" + source.replace("\n", "<br>\n") + "</p>"
    assert body(source).lost == ()


@pytest.mark.parametrize("source", ["<code>[gallery]</code>", "<pre>[caption id='1']x[/caption]</pre>"])
def test_brackets_in_code_are_kept(source):
    assert source in html(source)


def test_brackets_inside_tags_are_kept():
    assert html('<b title="[gallery]">x</b>') == '<p><b title="[gallery]">x</b></p>'


def test_gallery_lists_its_pictures():
    found = body('[gallery columns="2" ids="3,999,4"]')
    assert found.html.count("<li>") == 2
    assert ">Picture 3</a>" in found.html
    assert found.missing == (f"{PHOTO}?3", f"{PHOTO}?4")
    assert ">Picture 1</a>" in html("[gallery]")


def test_gallery_without_known_pictures_is_reported():
    found = body('[gallery ids="999"]text')
    assert found.html == "<p>text</p>"
    assert found.lost == ("[gallery]",)


def test_names_are_reported_in_order():
    assert body('[a b="1"] [row d="2"]x[/row] [audio]').lost == ("[a]", "[row]", "[audio]")
