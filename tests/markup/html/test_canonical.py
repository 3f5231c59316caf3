"""Which differences between two texts readers don't see."""

import pytest

from marginalia.markup.html import clean
from marginalia.markup.html.canonical import TooLarge, canonical


def canonical_of(html: str) -> str:
    return canonical(clean(html, "article"))


@pytest.mark.parametrize(
    ("html", "same"),
    [
        ("text", "<p>text</p>"),
        ("<div><div>one</div>two</div>", "<p>one</p><p>two</p>"),
        ("<p>a <span>b</span></p>", "<p>a b</p>"),
        ("<p><b>a</b> <i>b</i> <del>c</del></p>", "<p><strong>a</strong> <em>b</em> <s>c</s></p>"),
        ("<p>a<b> b </b>c</p>", "<p>a <b>b</b> c</p>"),
        ("<p>a\n\t b<br>\nc<br></p>", "<p>a b<br>c</p>"),
        ("<p></p><p><b></b></p><p>a</p>", "<p>a</p>"),
        ("<b><p>a</p><p>b</p></b>", "<p><b>a</b></p><p><b>b</b></p>"),
        ("<ul><li>a<div>b</div></li></ul>", "<ul><li>a<br>b</li></ul>"),
        ("<blockquote>a</blockquote>", "<blockquote><p>a</p></blockquote>"),
        ("<pre><code>a\n\n</code></pre>", "<pre><code>a</code></pre>"),
        ("<figure><table><tr><td>a</td></tr></table></figure>", "<table><tr><td>a</td></tr></table>"),
        ('<figure><img src="photo:a"><figcaption>b</figcaption></figure>', '<p><img src="photo:a" title="b"></p>'),
        ('<h2 id="my-heading">My heading</h2>', "<h2>My heading</h2>"),
        ('<h2 id="h-my-heading">My heading</h2>', "<h2>My heading</h2>"),
        ('<a href="https://a.example/é">a</a>', '<a href="https://a.example/%C3%A9">a</a>'),
    ],
)
def test_differences_that_readers_do_not_see_are_removed(html, same):
    assert canonical_of(html) == canonical_of(same)


@pytest.mark.parametrize(
    ("html", "other"),
    [
        ("<p>a</p><p>b</p>", "<p>a b</p>"),
        ("<p>a b</p>", "<p>ab</p>"),
        ("<p>a<br>b</p>", "<p>a b</p>"),
        ("<p>a&nbsp;b</p>", "<p>a b</p>"),
        ("<p>&nbsp;</p>", "<p></p>"),
        ("<pre>a  b</pre>", "<pre>a b</pre>"),
        ("<pre>\n\na</pre>", "<pre>a</pre>"),
        ('<p class="alignleft">a</p>', "<p>a</p>"),
        ('<p id="x">a</p>', "<p>a</p>"),
        ('<h2 id="x">My heading</h2>', "<h2>My heading</h2>"),
        ('<h2 id="h-a">A</h2><a href="#h-a">b</a>', '<h2>A</h2><a href="#h-a">b</a>'),
        ("<ul><li>a</li></ul><ul><li>b</li></ul>", "<ul><li>a</li><li>b</li></ul>"),
        ("<ul><li><p>a</p></li></ul>", "<ul><li>a</li></ul>"),
        ('<del cite="https://a.example/">a</del>', "<del>a</del>"),
        ('<figure><img src="photo:a"><figcaption><a href="/">b</a></figcaption></figure>', '<img src="photo:a">'),
        ('<td align="right">a</td>', "<td>a</td>"),
    ],
)
def test_differences_that_readers_see_are_kept(html, other):
    html, other = (f"<table>{text}</table>" if "<td" in text else text for text in (html, other))
    assert canonical_of(html) != canonical_of(other)


def test_canonical_form_of_repeated_formatting_is_limited():
    formatting = "".join(f'<span title="{number}">' for number in range(80))
    with pytest.raises(TooLarge):
        canonical_of(formatting + "<p>a</p>" * 2_000)
