from html import escape

from markup.html.images import ImageRef, references, resolve
from markup.markdown import render


def figure(ref):
    return f"<figure>{escape(ref.slug)}</figure>" if ref.block else f"<img data-slug='{escape(ref.slug)}'>"


def test_a_photo_alone_takes_the_place_of_its_paragraph():
    assert resolve(render("![a](photo:x)", "article"), figure) == "<figure>x</figure>"


def test_a_photo_in_a_line_stays_in_it():
    assert resolve(render("a ![b](photo:x) c", "article"), figure) == "<p>a <img data-slug='x'> c</p>"


def test_two_photos_in_one_paragraph_are_part_of_it():
    html = resolve(render("![a](photo:x) ![b](photo:y)", "article"), figure)
    assert html == "<p><img data-slug='x'> <img data-slug='y'></p>"


def test_the_resolver_gets_what_was_typed():
    seen = []
    resolve(render('![a "b" <c>](photo:straße-1 "d & e")', "article"), seen.append)
    assert seen == [ImageRef("straße-1", 'a "b" <c>', "d & e", block=True)]


def test_what_is_not_resolved_leaves_its_description():
    assert resolve(render("![a < b](photo:x)\n\nc ![d](photo:y)", "article"), lambda ref: None) == (
        "<p>a &lt; b</p>\n<p>c d</p>"
    )


def test_rendering_leaves_photos_to_be_resolved_when_they_are_shown():
    html = render("![a](photo:x)", "article")
    assert html == '<p><img src="photo:x" alt="a"></p>'
    assert resolve(html, figure) == "<figure>x</figure>"


def test_photos_in_html_are_found_too():
    source = '<figure><img alt="a" src="photo:x"><figcaption>b</figcaption></figure>'
    assert resolve(render(source, "article"), figure) == (
        "<figure><img data-slug='x'><figcaption>b</figcaption></figure>"
    )


def test_other_images_stay():
    html = '<p><img src="/photo:x" alt="photo:x"></p>'
    assert resolve(html, figure) == html


def test_a_photo_within_a_value_is_only_text():
    html = resolve(render("<p title='<img src=\"photo:x\">'>y</p>", "article"), figure)
    assert html == '<p title="&lt;img src=&quot;photo:x&quot;&gt;">y</p>'


def test_references_are_in_order_and_once_each():
    html = render("![a](photo:y) ![b](photo:x)\n\n![c](photo:y) ![d](PHOTO:z) ![e](/f.jpg)", "article")
    assert references(html) == ("y", "x", "z")
    assert references("<p>none</p>") == ()


def test_backslashes_of_a_resolver_stay():
    assert resolve('<p><img src="photo:x" alt=""></p>', lambda ref: r"\1\g<0>") == r"\1\g<0>"


def test_comments_have_no_photos():
    assert resolve(render("![a](photo:x)", "comment"), figure) == "<p>a</p>"
