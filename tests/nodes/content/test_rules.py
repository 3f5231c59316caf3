"""Rules that a section's type sets for its nodes: maximum, page size, order and comments."""

import re

import pytest
from bson import ObjectId
from django.db import models

from cms import comments
from cms.testing.build import EDITOR, node, nonce, save
from marginalia.comments.posting import services
from marginalia.comments.posting.policy import Mode
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Target
from nodes.checks import check_content
from nodes.content import BY_NAME, PHOTOS, Entry, Page, Section
from nodes.content.shipped import Gallery
from nodes.errors import InvalidPlace
from nodes.models import Node
from nodes.services import editing, trash
from tests.support.nodes import photo_build
from tests.support.nodes.content import registered


class Note(Entry):
    """What stands on a board."""

    stands_in = ["board", "blog"]


class Board(Section):
    """Holds three notes."""

    most = 3
    page_size = 2
    comment_policy = "closed"
    comment_layout = "buckets"


class Term(Page):
    """What stands in a lexicon."""

    stands_in = ["lexicon"]


class Lexicon(Section):
    """Holds terms, by name."""

    lists = BY_NAME
    page_size = 2


@pytest.fixture
def board(mongo):
    with registered(Note, Board, Term, Lexicon):
        yield node("board", "board", title="The board")


@pytest.fixture
def full(board):
    """The ids of the three notes on the board."""
    return [node("note", f"n-{n}", parent=board) for n in range(3)]


def test_full_section_refuses_more_nodes(board, full):
    with pytest.raises(InvalidPlace, match="“The board” is full. It can contain at most 3 items"):
        node("note", "fourth", parent=board)
    elsewhere = node("note", "fourth", parent=node("blog", "blog"))
    with pytest.raises(InvalidPlace, match="full"):
        save(elsewhere, nonce(elsewhere), parent_id=board)
    # Existing notes can be edited and renamed.
    save(full[0], nonce(full[0]), slug="renamed", title="Renamed")
    trash.trash(EDITOR, full[0], nonce(full[0]))
    save(elsewhere, nonce(elsewhere), parent_id=board)
    with pytest.raises(InvalidPlace, match="full"):
        trash.restore(EDITOR, full[0])
    trash.restore(EDITOR, full[0], parent_id=node("blog", "other"))


def test_repeated_create_in_a_full_section_counts_once(board):
    for n in range(2):
        node("note", f"n-{n}", parent=board)
    last = node("note", "last", parent=board)
    given = {"type": "note", "parent_id": board, "slug": "last", "title": "Again", "node_id": last}
    assert editing.create(EDITOR, **given).id == last


def test_form_reports_a_full_section(board, full, editor):
    ann, address = editor(), f"/admin/nodes/node/add/?type=note&section={board}"
    answer = ann.send(address, ann.open(address), title="One more")
    assert answer.status_code == 200
    assert "“The board” is full. It can contain at most 3 items." in answer.content.decode()


def test_section_uses_the_page_size_and_order_of_its_type(board, full, client):
    assert len(re.findall(r'href="/board/n-\d"', client.get("/board").content.decode())) == 2
    lexicon = node("lexicon", "lexicon")
    for slug in ("b", "c", "a"):
        node("term", slug, parent=lexicon)
    html = client.get("/lexicon").content.decode()
    assert re.findall(r'href="/lexicon/(\w)"', html) == ["a", "b"]
    assert 'href="?from=b"' in html
    assert re.findall(r'href="/lexicon/(\w)"', client.get("/lexicon?from=b").content.decode()) == ["c"]


def test_comment_mode_is_set_by_the_type_or_the_editor(board, full, client):
    def mode(node_id):
        return comments.policy(Node.objects.get(pk=node_id)).mode

    assert mode(full[0]) == Mode.CLOSED
    save(full[1], nonce(full[1]), detail__comments="open")
    assert mode(full[1]) == Mode.OPEN
    save(board, nonce(board), detail__comments="members")
    assert mode(full[0]) == Mode.MEMBERS


def kept_in(node_id: ObjectId) -> str:
    """Return the layout of a node's discussion, which is started if necessary."""
    target = Target("nodes.node", str(node_id))
    services.post(target, author=CommentAuthor("Ann"), source="Hello", token=str(ObjectId()))
    return selectors.discussion(target).layout


def test_new_discussions_use_the_layout_of_the_type(board, full, monkeypatch):
    elsewhere = node("note", "elsewhere", parent=node("blog", "blog"))
    assert [kept_in(node_id) for node_id in (full[0], board, elsewhere)] == ["buckets", "buckets", "documents"]
    monkeypatch.setattr(Note, "comment_layout", "embedded")
    assert [kept_in(node_id) for node_id in (full[0], full[1], elsewhere)] == ["buckets", "embedded", "documents"]
    monkeypatch.setattr(Board, "comment_layout", "")
    monkeypatch.setattr(Note, "comment_layout", "")
    assert [kept_in(node_id) for node_id in full] == ["buckets", "embedded", "documents"]


def test_discussions_of_photos_are_never_embedded(mongo, monkeypatch):
    gallery = photo_build.gallery()
    for slug, layout, kept in (("one", "embedded", "documents"), ("two", "buckets", "buckets")):
        monkeypatch.setattr(Gallery, "comment_layout", layout)
        photo = Target("nodes.photo", str(photo_build.upload(gallery, name=f"{slug}.jpg")))
        services.post(photo, author=CommentAuthor("Ann"), source="Hello", token=slug)
        assert selectors.discussion(photo).layout == kept


def test_unknown_comment_layouts_fail_the_checks(monkeypatch):
    class Leaf(Page):
        comment_layout = "embedded"

    class Loose(Section):
        comment_layout = "tables"

    with registered(Leaf, Loose):
        (error,) = comments.check_layouts()
        assert (error.id, error.obj) == ("cms.E001", Loose)
        assert "Loose.comment_layout can't be 'tables'" in error.msg
        assert "documents, embedded, buckets" in error.hint
    monkeypatch.setattr(Gallery, "comment_layout", "embedded")
    (error,) = comments.check_layouts()
    assert (error.id, error.obj) == ("cms.E001", Gallery)
    assert "documents, buckets." in error.hint
    monkeypatch.setattr(Gallery, "comment_layout", "buckets")
    assert comments.check_layouts() == []


class Album(Section):
    """Holds photos, as an app's section."""

    lists = PHOTOS


def test_section_that_lists_photos_contains_them(mongo, client):
    with registered(Album):
        album = node("album", "album")
        assert "No photos have been published here yet." in client.get("/album").content.decode()
        photo_build.upload(album, name="pier.jpg")
        assert "/album/pier" in client.get("/album").content.decode()
        assert check_content() == []


def test_invalid_rules_fail_the_checks():
    class Odd(Section):
        most = 0
        page_size = 1_000
        comment_policy = "sometimes"

    class NoSection(Page):
        most = 3
        page_size = 3
        facets = ("comments", "at", "lasts")

        at = models.TimeField(null=True)
        lasts = models.DurationField(null=True)

    with registered(Odd, NoSection):
        found = [(error.id, re.search(r"\.(\w+) (?:can't|contains)", error.msg)[1]) for error in check_content()]
    assert found == [
        ("nodes.E010", "most"),
        ("nodes.E010", "page_size"),
        ("nodes.E010", "comment_policy"),
        *[("nodes.E007", "facets")] * 3,
        ("nodes.E010", "most"),
        ("nodes.E010", "page_size"),
    ]
