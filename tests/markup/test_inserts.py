"""Inserts: what each registered one shows and refuses. Attributes never become markup."""

import re
from html.parser import HTMLParser

import pytest
from bson import ObjectId
from django import forms
from django.core.exceptions import ImproperlyConfigured

from cms.testing.build import PAST, node
from marginalia.markup import directives
from marginalia.markup.html import links
from marginalia.markup.html.links import LINK_SCHEMES
from marginalia.markup.inserts import base
from marginalia.markup.inserts.fields import AddressField, FileIdField, NodeIdField, PhotoIdField
from marginalia.markup.inserts.reading import MAX_INSERTS, TextInserts, UnknownInsert
from nodes import rendering
from nodes.access import System
from nodes.selectors import editable_nodes, stored_assets, stored_photos
from photos import texts
from photos.actions import UploadFile
from tests.support.nodes.photo_build import gallery, upload
from tests.support.payloads import ALL

NAMES = [made.name for made in base.registered_inserts()]
# Only every n-th payload is tested each time.
FEW = 8


@pytest.fixture
def ids(mongo):
    """The ids of a gallery with a photo, of a post with a tag, and of a file."""
    section = gallery("plates", title="Plates")
    photo = upload(section)
    node("blog-entry", "first", parent=node("blog", "news"), title="First post", tags=("news",))
    song = UploadFile(user=System("Ann"), gallery_id=None, filename="song.mp3", fields={"published": PAST})
    file = song.execute([b"ID3\x04\0\0\0\0\0\x23TSSE" + b"\0" * 500]).id
    return {
        NodeIdField: f"node:{section}",
        PhotoIdField: f"photo:{photo}",
        FileIdField: f"node:{file}",
        AddressField: "/about",
    }


def attributes(name, ids) -> dict[str, str]:
    """Return every attribute of an insert with a valid value."""
    made = base.find_insert(name)
    said = {
        key: ids.get(type(field)) or made.examples.get(key) or _choice(field) or str(field.initial or "news")
        for key, field in made.base_fields.items()
    }
    if name == "gallery":
        # One or the other.
        del said["photos"]
    return said


def _choice(field) -> str:
    return next((value for value, _label in reversed(getattr(field, "choices", [])) if value), "")


def shown(name, said, content=None, *, text_format="markdown", text=None, way=texts.render_for_readers):
    source = text or f"## One\n\n{directives.to_markdown(name, said, content)}\n\n## Two"
    return way(rendering.to_html(source, text_format))


class Structure(HTMLParser):
    """The elements, attribute names and URLs of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.addresses: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, tuple(name for name, _value in attrs)))
        self.addresses += [
            value or "" for name, value in attrs if name in {"href", "src", "action", "poster", "data-player"}
        ]


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("name", NAMES)
def test_every_insert_is_shown_with_every_attribute(name, ids):
    html = shown(name, attributes(name, ids), "*inside*" if base.find_insert(name).is_container else None)
    assert "data-insert" not in html
    assert len(Structure(html).elements) > 2
    assert ("<em>inside</em>" in html) is base.find_insert(name).is_container


@pytest.mark.parametrize("content", ["", "\n", "\u200b"])
def test_empty_note_shows_nothing(mongo, content):
    assert re.findall(r"<\w+", shown("note", {}, content)) == ["<h2", "<h2"]
    assert "Mind" in shown("note", {"title": "Mind"}, content)


@pytest.mark.parametrize(
    "payloads", [pytest.param(ALL[::FEW], id="few"), pytest.param(ALL, id="all", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", NAMES)
def test_attributes_of_inserts_never_become_markup(name, ids, payloads):
    """A payload gives the same elements as a harmless value, or none if it is refused."""
    fine = attributes(name, ids)
    file = ids[FileIdField].removeprefix("node:")
    photos = stored_photos.by_references([ids[PhotoIdField].removeprefix("photo:")])
    site = texts.InsertSource(photos, {file: stored_assets.get_file(file)})

    def structure(said):
        html = rendering.to_html(f"## One\n\n{directives.to_markdown(name, said)}\n\n## Two", "markdown")
        return Structure(TextInserts(html).render(site, faults=True))

    innocent = structure(fine).elements
    refused = structure({"surely-none": "x"}).elements
    nothing = [element for element in refused if element != ("p", ("class", "role"))]
    assert len({len(innocent), len(refused), len(nothing)}) > 1
    for attribute in fine:
        for payload in payloads:
            said = {**fine, attribute: payload}
            if len(directives.to_markdown(name, said)) > directives.MAX_LENGTH:
                continue
            found = structure(said)
            assert found.elements in (innocent, refused, nothing), (attribute, payload)
            assert all(links.is_allowed(url, LINK_SCHEMES | {"node"}) for url in found.addresses), (attribute, payload)


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("name", NAMES)
def test_html_element_works_like_its_directive(name, ids):
    """An element that an editor writes follows the same rules, so nothing can be forged."""
    said = attributes(name, ids)
    spelled = directives.parse_line(directives.to_markdown(name, said).partition("\n")[0]).source
    quoted = spelled.replace("&", "&amp;").replace('"', "&quot;")
    by_hand = (
        f'<h2>One</h2>\n<div data-insert="{quoted}" data-line="9" onclick="x" class="language-x"></div>\n<h2>Two</h2>'
    )
    as_directive = shown(name, said, "" if base.find_insert(name).is_container else None)
    as_element = shown(name, said, text=by_hand, text_format="html")
    assert re.sub(r"\s+(?=<)", "", as_element) == re.sub(r"\s+(?=<)", "", as_directive)


@pytest.mark.parametrize(
    "element",
    [
        '<div data-insert="photo{photo=photo:&quot;><script>alert(1)</script>}"></div>',
        '<div data-insert="button{link=javascript:alert(1) text=x}"></div>',
        '<div data-insert="note{kind=&quot;x onmouseover=y&quot;}">kept</div>',
        '<div data-insert="no-such{}" data-fault="<b>" data-line="x">kept</div>',
        '<div data-fault="too deep" data-insert="contents">kept</div>',
    ],
)
def test_forged_element_is_refused_like_its_directive(mongo, element):
    html = shown("", {}, text=element, text_format="html")
    assert [tag for tag, _names in Structure(html).elements] == []
    assert html == ("kept" if "kept" in element else "")


@pytest.mark.parametrize("name", NAMES)
def test_every_insert_has_menu_texts_and_an_example(name):
    made = base.find_insert(name)
    assert made.label
    assert made.help
    assert all(field.label for field in made.base_fields.values())
    assert base.example_directive(made).startswith((f"::{name}", f":::{name}"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a\n\n::gallery{colour=red}",
            "Line 3: “gallery” has no attribute “colour”. Use one of: section, count, photos.",
        ),
        ("::gallery{section=plates}", "Line 1: “gallery”, section: Enter node: followed by an id."),
        ("::gallery{section=node:0123456789abcdef01234567 count=1000}", "Line 1: “gallery”, count: Ensure"),
        ("::button{link=javascript:x text=y}", "Line 1: “button”, link: Enter a URL"),
        ("::note{", "Line 1: This can't be read: “note{”."),
        ("a\n:::note\nb", "Line 2: “:::note” isn't closed. Add a line with “:::” after it."),
        ("a\n:::", "Line 2: This “:::” doesn't close anything"),
        ("::contents\n\n::contents", "Line 3: Use “contents” at most 1 times per page."),
        (":::note\n:::\n" * (MAX_INSERTS + 1), "at most"),
    ],
)
def test_invalid_insert_is_reported_with_its_line(text, message):
    faults = TextInserts(rendering.to_html(text, "markdown")).faults
    assert str(faults[0]).startswith(message) or message in str(faults[0])
    assert not isinstance(faults[0], UnknownInsert)


@pytest.mark.slow
def test_inserts_beyond_the_limit_are_cheap_and_silent(mongo):
    html = rendering.to_html("::contents{x=1}\n" * 20_000, "markdown")
    inserts = TextInserts(html)
    site = texts.InsertSource({})
    assert html.count("data-insert") == 20_000
    assert len(inserts.faults) == MAX_INSERTS + 1
    assert inserts.render(site, faults=True).count("<p ") == MAX_INSERTS + 1
    assert inserts.render(site).strip() == ""


def test_unknown_insert_is_shown_only_to_editors(mongo):
    source = "a\n\n:::map{x=1}\nb\n:::"
    html = rendering.to_html(source, "markdown")
    assert texts.render_for_readers(html) == "<p>a</p>\n\n<p>b</p>\n"
    typed = editable_nodes.unsaved_node("basic-page", {"detail.text": source}, (), ObjectId(), None)
    assert "Line 3: The insert “map” doesn" in texts.render_for_editor(typed, sees_photos=True, sees_all=True)
    assert isinstance(TextInserts(html).faults[0], UnknownInsert)


def test_readers_see_only_public_content(ids):
    hidden = upload(gallery("hidden"), fields={"published": None})
    html = shown("photo", {"photo": f"photo:{hidden}", "caption": "Secret"})
    assert "Secret" not in html
    closed = gallery("closed", published=None)
    upload(closed)
    assert "<img" not in shown("gallery", {"section": f"node:{closed}"})
    assert "<img" in shown("gallery", {"section": ids[NodeIdField]})


def test_listing_insert_is_never_stale(ids):
    html = rendering.to_html("::posts{tag=news}", "markdown")
    assert "First post" in texts.render_for_readers(html)
    node("blog-entry", "second", parent=node("blog", "more"), title="Second post", tags=("news",))
    assert "Second post" in texts.render_for_readers(html)


def test_contents_lists_the_headings_of_the_text(mongo):
    source = "::contents{levels=2 title=Inside}\n\n## A & B\n\n### Deeper\n\n#### Deepest\n\n:::note\n## In a note\n:::"
    html = shown("contents", {}, text=source)
    assert (
        '<li class="level-1"><a href="#s-a-b">A &amp; B</a></li><li class="level-2"><a href="#s-deeper">Deeper</a>'
        in html
    )
    assert "Deepest</a>" not in html
    assert "In a note</a>" in html


def test_references_are_read_from_attributes(ids):
    found = TextInserts(
        rendering.to_html(
            f"::gallery{{section={ids[NodeIdField]}}}\n\n::photo{{photo={ids[PhotoIdField]}}}", "markdown"
        )
    )
    assert {f"node:{one}" for one in found.references.nodes} == {ids[NodeIdField]}
    assert {f"photo:{one}" for one in found.references.photos} == {ids[PhotoIdField]}
    assert found.names == {"gallery", "photo"}


def test_plain_text_contains_the_words_of_inserts(mongo):
    source = ":::note{title=Mind}\nthe gap\n:::\n\n::button{link=/a text=Press}\n\n::contents"
    plain = TextInserts(rendering.to_html(source, "markdown")).plain()
    assert "<p>Mind</p>" in plain
    assert "the gap" in plain
    assert "Press" in plain
    assert "data-insert" not in plain


def test_names_are_registered_once():
    with pytest.raises(ImproperlyConfigured, match="Two inserts are called"):
        base.insert("note")(type("Other", (base.Insert,), {}))
    for name in ("", "Note", "a b", "-a", "a" * 41):
        with pytest.raises(ImproperlyConfigured, match="can't be called"):
            base.insert(name)
    with pytest.raises(ImproperlyConfigured, match="can't be written in a text"):
        base.insert("fine")(type("Wrong", (base.Insert,), {"Attribute": forms.CharField()}))


def test_invalid_name_registers_nothing():
    assert base.find_insert("fine") is None


def test_insert_reads_only_public_pages(mongo):
    seen, unseen = node("basic-page", "seen", title="Seen"), node("basic-page", "unseen", published=None)
    site = texts.InsertSource({})
    assert (site.node(seen).metadata.title, site.node(unseen)) == ("Seen", None)
