from html import escape

from marginalia.markup.html import references
from marginalia.markup.html.references import NO_TAGS, ImageRef, LinkRef, Mention, ReferencedNames
from marginalia.markup.markdown import render


def resolve(html, image, link=lambda ref: NO_TAGS):
    return references.resolve_references(html, image, link)


def figure(ref):
    return f"<figure>{escape(ref.slug)}</figure>" if ref.block else f"<img data-slug='{escape(ref.slug)}'>"


def test_photo_alone_replaces_its_paragraph():
    assert resolve(render("![a](photo:x)", "article"), figure) == "<figure>x</figure>"


def test_photo_within_a_line_stays_inline():
    assert resolve(render("a ![b](photo:x) c", "article"), figure) == "<p>a <img data-slug='x'> c</p>"


def test_two_photos_in_one_paragraph_stay_inline():
    html = resolve(render("![a](photo:x) ![b](photo:y)", "article"), figure)
    assert html == "<p><img data-slug='x'> <img data-slug='y'></p>"


def test_image_resolver_gets_the_typed_values():
    seen = []
    resolve(render('![a "b" <c>](photo:straße-1 "d & e")', "article"), seen.append)
    assert seen == [ImageRef("straße-1", 'a "b" <c>', "d & e", block=True)]


def test_unresolved_photo_leaves_its_description():
    assert resolve(render("![a < b](photo:x)\n\nc ![d](photo:y)", "article"), lambda ref: None) == (
        "<p>a &lt; b</p>\n<p>c d</p>"
    )


def test_unresolved_photo_without_description_leaves_nothing():
    assert resolve(render("![](photo:x)\n\nb", "article"), lambda ref: None) == "\n<p>b</p>"


def test_photos_are_resolved_only_when_shown():
    html = render("![a](photo:x)", "article")
    assert html == '<p><img src="photo:x" alt="a"></p>'
    assert resolve(html, figure) == "<figure>x</figure>"


def test_photos_in_html_are_resolved_too():
    source = '<figure><img alt="a" src="photo:x"><figcaption>b</figcaption></figure>'
    assert resolve(render(source, "article"), figure) == (
        "<figure><img data-slug='x'><figcaption>b</figcaption></figure>"
    )


def test_other_images_are_unchanged():
    html = '<p><img src="/photo:x" alt="photo:x"></p>'
    assert resolve(html, figure) == html


def test_photo_within_an_attribute_is_text():
    html = resolve(render("<p title='<img src=\"photo:x\">'>y</p>", "article"), figure)
    assert html == '<p title="&lt;img src=&quot;photo:x&quot;&gt;">y</p>'


def test_names_are_listed_once_in_order():
    html = render("![a](photo:y) ![b](photo:x)\n\n![c](photo:y) ![d](PHOTO:z) ![e](/f.jpg) [f](photo:w)", "article")
    assert references.find_names(html, 9) == ReferencedNames(("y", "x", "z", "w"), (), ("y", "x", "z"))
    html = render("[a](node:2) <a href='Node:1#b'>b</a> [c](node:2) [d](/node:3)", "article")
    assert references.find_names(html, 9) == ReferencedNames((), ("2", "1"))
    assert references.find_names(html, 1) == ReferencedNames((), ("2",))
    assert not references.find_names("<p>none</p>", 9)


def test_link_leads_to_the_resolved_address():
    html = render('[a *b*](node:5#s-c "d")', "article")
    assert html == '<p><a href="node:5#s-c" title="d">a <em>b</em></a></p>'
    assert resolve(html, figure, lambda ref: ref.to("/x")) == '<p><a href="/x#s-c" title="d">a <em>b</em></a></p>'


def test_unresolved_link_leaves_its_words():
    html = render("[a *b*](node:5) [c](/d) <a href='node:6'>e ![f](photo:x)</a>", "article")
    assert resolve(html, figure) == "<p>a <em>b</em> <a href=\"/d\">c</a> e <img data-slug='x'></p>"


def test_link_resolver_gets_the_typed_values():
    seen = []

    def link(ref):
        seen.append((ref.scheme, ref.name, ref.anchor))
        return NO_TAGS

    resolve(render("[a](NODE:5) [b](photo:lakes/stra%C3%9Fe#c) <a href='node:\"&gt;'>d</a>", "article"), figure, link)
    assert seen == [("node", "5", ""), ("photo", "lakes/straße", "c"), ("node", '">', "")]
    assert LinkRef("node", "5", '"><b>').to("/x")[0] == '<a href="/x#&quot;&gt;&lt;b&gt;">'


def test_photo_within_a_link_is_marked_as_linked():
    seen = []
    html = render("[![a](photo:x)](/y) ![b](photo:z) [![c](photo:w)](node:1)", "article")
    resolve(html, lambda ref: seen.append((ref.slug, ref.linked)))
    assert seen == [("x", True), ("z", False), ("w", False)]


def test_code_contains_no_references():
    html = render("`[a](node:1)`\n\n    ![b](photo:x)\n\n```\n<a href='node:2'>c</a>\n```", "article")
    assert not references.find_names(html, 9)


def test_mentions_contain_the_words_of_the_text():
    html = render('[a *b*](node:5) ![c "d"](photo:x) <a href="photo:y">![e](photo:z) f</a> [g](/h)', "article")
    assert sorted(references.find_mentions(html), key=lambda one: one.name) == [
        Mention("node", "5", "a b"),
        Mention("photo", "x", 'c "d"'),
        Mention("photo", "y", "f"),
        Mention("photo", "z", "e"),
    ]


def test_cite_of_a_quotation_is_no_reference():
    assert render("<q cite='node:1'>a</q> <q cite='https://b.org/'>c</q>", "article") == (
        '<p><q>a</q> <q cite="https://b.org/">c</q></p>'
    )


def test_backslashes_of_a_resolver_are_kept():
    assert resolve('<p><img src="photo:x" alt=""></p>', lambda ref: r"\1\g<0>") == r"\1\g<0>"


def test_comments_refer_to_no_node():
    assert resolve(render("[a](node:1)", "comment"), figure) == '<p><a rel="ugc nofollow noopener">a</a></p>'


def test_comments_have_no_photos():
    assert resolve(render("![a](photo:x)", "comment"), figure) == "<p>a</p>"
