"""Sections that users can put nodes into: authors only public ones, whose ids they also cannot guess."""

import pytest
from bson import ObjectId

from cms.testing.build import EDITOR, PAST, node, nonce, save, stored
from nodes.actions import CreateNode, Duplicate, Move, Restore, SaveNode, Trash
from nodes.errors import InvalidPlace
from nodes.services import editing
from tests.nodes.actions.conftest import create
from tests.support.nodes.photo_build import document, gallery, upload

PLACINGS = {
    "create": lambda user, page, section: CreateNode(
        user=user, type="basic-page", fields={"title": "New", "slug": "", "parent_id": section}
    ),
    "save": lambda user, page, section: SaveNode(
        user=user, node_id=page, seen=nonce(page), fields={"parent_id": section}
    ),
    "move": lambda user, page, section: Move(user=user, node_id=page, seen=nonce(page), place={"parent_id": section}),
    "duplicate": lambda user, page, section: Duplicate(user=user, node_id=page, parent_id=section),
    "restore": lambda user, page, section: Restore(user=user, node_id=page, parent_id=section, moves=True),
}


@pytest.fixture(params=PLACINGS)
def place(request, draft_page):
    """Return a function that puts a page by `author` into a section: place(user, section)."""

    def execute(user, section):
        if request.param == "restore":
            Trash(user=user, node_id=draft_page, seen=nonce(draft_page)).execute()
        PLACINGS[request.param](user, draft_page, section).execute()

    return execute


def test_authors_cannot_put_pages_into_a_hidden_section(mongo, place, author, hidden):
    with pytest.raises(InvalidPlace) as refusal:
        place(author, hidden)
    assert mongo["cms.nodes"].count_documents({"metadata.parent_id": hidden}) == 0
    assert str(refusal.value) == "Choose an existing section that can contain this page."


def test_authors_cannot_put_pages_below_a_hidden_section(mongo, place, author, hidden):
    below = node("folder", "below", parent=hidden)
    with pytest.raises(InvalidPlace):
        place(author, below)
    assert mongo["cms.nodes"].count_documents({"metadata.parent_id": below}) == 0


def test_authors_learn_nothing_about_ids_of_sections(place, author):
    """The message is that of a hidden section."""
    with pytest.raises(InvalidPlace, match=r"Choose an existing section that can contain this page\."):
        place(author, ObjectId())


def test_authors_use_public_sections(mongo, place, author):
    folder = node("folder", "folder")
    place(author, folder)
    assert mongo["cms.nodes"].count_documents({"metadata.parent_id": folder}) == 1


def test_publishers_use_hidden_sections(mongo, place, publisher, hidden):
    place(publisher, hidden)
    assert mongo["cms.nodes"].count_documents({"metadata.parent_id": hidden}) == 1


def test_authors_keep_pages_in_a_section_that_was_hidden(mongo, author):
    folder = node("folder", "folder")
    page = create(author, folder)
    editing.save(EDITOR, folder, nonce(folder), {"published": None})
    SaveNode(user=author, node_id=page, seen=nonce(page), fields={"title": "T", "parent_id": folder}).execute()
    Move(user=author, node_id=page, seen=nonce(page), place={"slug": "renamed"}).execute()
    Duplicate(user=author, node_id=page, parent_id=folder).execute()
    Trash(user=author, node_id=page, seen=nonce(page)).execute()
    Restore(user=author, node_id=page).execute()
    assert (stored(page)["slug"], stored(page)["parent_id"]) == ("renamed", folder)
    Trash(user=author, node_id=page, seen=nonce(page)).execute()
    Restore(user=author, node_id=page, slug="again", parent_id=folder, moves=True).execute()
    assert stored(page)["slug"] == "again"


def test_form_opened_before_a_move_is_saved_at_the_new_place(mongo, author, hidden):
    page = create(author)
    seen = save(page, nonce(page), parent_id=hidden).nonce
    save(page, seen, parent_id=None)
    SaveNode(user=author, node_id=page, seen=seen, fields={"title": "T", "parent_id": hidden}).execute()
    assert (stored(page)["title"], stored(page)["parent_id"]) == ("T", None)


def test_form_sent_again_keeps_a_page_out_of_a_hidden_section(mongo, author, hidden):
    page, form = create(author), ObjectId()
    seen = save(page, nonce(page), parent_id=hidden).nonce
    SaveNode(user=author, node_id=page, seen=seen, form=form, fields={"parent_id": None}).execute()
    with pytest.raises(InvalidPlace):
        SaveNode(user=author, node_id=page, seen=seen, form=form, fields={"parent_id": hidden}).execute()
    assert stored(page)["parent_id"] is None


def test_restore_to_the_top_level_moves_the_page(mongo, author):
    folder = node("folder", "folder")
    page = create(author, folder)
    Trash(user=author, node_id=page, seen=nonce(page)).execute()
    Restore(user=author, node_id=page, moves=True).execute()
    assert stored(page)["parent_id"] is None


def test_pages_and_photos_stay_in_sections_of_their_kind(mongo, publisher):
    page, folder, pictures = node(), node("folder", "folder"), gallery()
    photo_id = upload(pictures)
    seen = document(photo_id)["metadata"]["nonce"]
    for action in (
        Move(user=publisher, node_id=page, seen=nonce(page), place={"parent_id": pictures}),
        Move(user=publisher, node_id=photo_id, seen=seen, place={"parent_id": folder}),
    ):
        with pytest.raises(InvalidPlace):
            action.execute()
    assert document(photo_id)["metadata"]["parent_id"] == pictures
    assert stored(page)["published"] == PAST
