"""Ids and nonces that were guessed, or that belong to something else."""

from functools import partial

import pytest
from bson import ObjectId
from django.core.exceptions import PermissionDenied
from django.http import Http404

from cms.testing.build import EDITOR, PAST, node, nonce, stored
from nodes import actions
from nodes.access import System
from nodes.errors import DraftGone, EditConflict, IdTaken, InvalidPlace, NodeError, NodeGone, Published
from nodes.services import drafts, editing, trash
from nodes.types import Actor, TagChange
from photos.services import photos
from tests.nodes.actions.conftest import create
from tests.support.nodes.photo_build import document, gallery, replace, upload
from tests.support.nodes.pictures import png

TAGS = TagChange(added=frozenset({"new"}))
# Actions on photos and nodes, and those only on nodes.
BOTH = {
    "save": partial(actions.SaveNode, fields={"title": "Other"}),
    "move": partial(actions.Move, place={"slug": "other"}),
    "publish": actions.Publish,
    "publish as listed": actions.PublishListed,
    "unpublish": actions.Unpublish,
    "tag": lambda seen, **named: actions.Tag(tags=TAGS, **named),
    "trash": actions.Trash,
}
ONLY_NODES = {
    "save the draft": partial(actions.SaveDraft, fields={"title": "Other"}),
    "publish the draft": actions.PublishDraft,
    "discard the draft": actions.DiscardDraft,
    "unschedule": actions.UnscheduleDraft,
    "order": lambda seen, **named: actions.Order(**named),
}
IN_THE_TRASH = {"restore": actions.Restore, "delete": actions.Delete}


@pytest.fixture
def superuser(editor):
    return editor("root").user


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("action", [*BOTH, *ONLY_NODES, *IN_THE_TRASH])
def test_missing_and_unfinished_ids_are_not_found(mongo, superuser, action):
    act = {**BOTH, **ONLY_NODES, **IN_THE_TRASH}[action]
    photo_id = upload(gallery())
    former = replace(photo_id, png())
    unfinished = photos.Upload(EDITOR, gallery("other"), "b.jpg")
    for missing in (ObjectId(), former, unfinished.id):
        with pytest.raises(Http404):
            act(user=superuser, node_id=missing, seen=ObjectId()).execute()
    unfinished.abort()


@pytest.mark.parametrize("action", ONLY_NODES)
def test_actions_on_nodes_do_not_find_photos(mongo, superuser, action):
    photo_id = upload(gallery())
    with pytest.raises(Http404):
        ONLY_NODES[action](user=superuser, node_id=photo_id, seen=document(photo_id)["metadata"]["nonce"]).execute()


def test_photos_are_not_copied_or_created_as_nodes(mongo, superuser):
    parent = gallery()
    photo_id = upload(parent)
    fields = {"title": "Photo", "slug": "", "parent_id": parent}
    for action in (
        actions.Duplicate(user=superuser, node_id=photo_id, parent_id=parent),
        actions.CreateNode(user=superuser, type="photo", fields=fields),
        actions.CreateNode(user=superuser, type="photo-content", fields=fields),
        actions.CreateNode(user=superuser, type="no-type", fields=fields),
    ):
        with pytest.raises(PermissionDenied):
            action.execute()


@pytest.mark.parametrize("action", [name for name in BOTH if name != "tag"])
def test_nonce_of_another_node_changes_nothing(mongo, superuser, action):
    """Tags have no nonce. Publishing a public page, and hiding a hidden page, has nothing to do."""
    published = PAST if action == "unpublish" else None
    page, other = node(published=published), node(slug="elsewhere", title="Elsewhere")
    before = stored(page)
    with pytest.raises(NodeError):
        BOTH[action](user=superuser, node_id=page, seen=nonce(other)).execute()
    assert stored(page) == before


def test_nonce_of_another_draft_changes_no_draft(mongo, superuser):
    page, other = node(), node(slug="other")
    own = drafts.save_draft(EDITOR, page, nonce(page), {"title": "Drafted"}).nonce
    seen = drafts.save_draft(EDITOR, other, nonce(other), {"title": "Other draft"}).nonce
    before = mongo["cms.nodes"].find_one({"_id": page})
    for action in (actions.PublishDraft, actions.DiscardDraft, actions.UnscheduleDraft):
        with pytest.raises(DraftGone):
            action(user=superuser, node_id=page, seen=seen).execute()
    with pytest.raises(EditConflict):
        actions.SaveDraft(user=superuser, node_id=page, seen=seen, fields={"title": "Mine"}).execute()
    assert mongo["cms.nodes"].find_one({"_id": page}) == before
    assert before["draft"]["nonce"] == own


def test_nonce_of_another_node_leaves_the_trash_alone(mongo, superuser):
    page, other = node(), node(slug="other")
    trash.trash(EDITOR, page, nonce(page))
    before = mongo["cms.trash"].find_one({"_id": page})
    for action in (actions.Restore, actions.Delete):
        with pytest.raises(NodeGone):
            action(user=superuser, node_id=page, seen=nonce(other)).execute()
    assert mongo["cms.trash"].find_one({"_id": page}) == before


@pytest.mark.parametrize("published", [None, PAST])
@pytest.mark.parametrize("action", [*BOTH, *ONLY_NODES])
def test_pages_of_other_authors_are_not_found(mongo, author, publisher, published, action):
    page = create(publisher, published=published)
    before = mongo["cms.nodes"].find_one({"_id": page})
    with pytest.raises(Http404):
        {**BOTH, **ONLY_NODES}[action](user=author, node_id=page, seen=nonce(page)).execute()
    assert mongo["cms.nodes"].find_one({"_id": page}) == before


def test_authors_cannot_order(mongo, author):
    for section in (node("folder", "folder"), node("folder", "hidden", published=None)):
        with pytest.raises(Http404):
            actions.Order(user=author, node_id=section).execute()


def test_sections_by_date_cannot_be_arranged(mongo, publisher):
    blog = node("blog", "blog")
    post = node("blog-entry", "post", parent=blog)
    with pytest.raises(InvalidPlace):
        actions.Order(user=publisher, node_id=blog, seen=[post], to_end=[post]).execute()
    assert "position" not in mongo["cms.nodes"].find_one({"_id": post})


def test_order_moves_nothing_into_the_section(mongo, book, chapters, publisher):
    outside = node(slug="outside")
    missed = actions.Order(
        user=publisher,
        node_id=book,
        seen=chapters,
        wanted=[outside, *chapters],
        to_start=[outside],
        to_end=[ObjectId()],
    ).execute()
    assert missed
    assert stored(outside)["parent_id"] is None
    assert "position" not in mongo["cms.nodes"].find_one({"_id": outside})


class TestFormsSentTwice:
    """A form chooses the id of the node that it creates, so that it creates only one."""

    def test_form_sent_again_saves_its_node(self, mongo, author):
        form = ObjectId()
        assert create(author, node_id=form) == form
        assert create(author, node_id=form, summary="More") == form
        assert mongo["cms.nodes"].count_documents({}) == 1
        assert stored(form)["summary"] == "More"

    def test_form_does_not_change_its_published_node(self, mongo, author):
        form = create(author, node_id=ObjectId())
        editing.save(EDITOR, form, nonce(form), {"published": PAST})
        before = stored(form)
        with pytest.raises(Published):
            create(author, node_id=form, summary="More")
        assert stored(form) == before

    @pytest.mark.parametrize("by", ["other_author", "publisher"])
    def test_form_does_not_change_nodes_of_others(self, mongo, author, by, request):
        form = create(author, node_id=ObjectId())
        before = stored(form)
        with pytest.raises((Published, NodeGone)):
            create(request.getfixturevalue(by), node_id=form, summary="More")
        assert stored(form) == before

    def test_form_cannot_use_the_id_of_a_photo_or_trashed_page(self, mongo, author, draft_page):
        photo_id = upload(gallery())
        trash.trash(EDITOR, draft_page, nonce(draft_page))
        with pytest.raises(IdTaken):
            create(author, node_id=photo_id)
        with pytest.raises(NodeGone):
            create(author, node_id=draft_page)
        assert mongo["cms.nodes"].count_documents({"metadata.type": "basic-page"}) == 0

    def test_copy_is_made_once(self, mongo, author, draft_page):
        copy = ObjectId()
        for _press in range(2):
            actions.Duplicate(user=author, node_id=draft_page, parent_id=None, new_id=copy).execute()
        assert mongo["cms.nodes"].count_documents({}) == 2
        assert stored(copy)["title"] == "Copy of Own"

    def test_copy_does_not_change_nodes_of_others(self, mongo, author, other_author, draft_page):
        other = create(other_author, title="Theirs")
        with pytest.raises(Http404):
            actions.Duplicate(user=author, node_id=draft_page, parent_id=None, new_id=other).execute()
        editing.save(EDITOR, draft_page, nonce(draft_page), {"published": PAST})
        with pytest.raises(PermissionDenied):
            actions.Duplicate(user=author, node_id=draft_page, parent_id=None, new_id=draft_page).execute()
        assert (stored(other)["title"], stored(draft_page)["title"]) == ("Theirs", "Own")


def test_system_has_all_permissions_and_its_own_name(mongo, system, hidden):
    page = create(system, hidden, published=PAST)
    seen = actions.SaveNode(user=system, node_id=page, seen=nonce(page), fields={"title": "T"}).execute().nonce
    draft = actions.SaveDraft(user=system, node_id=page, seen=seen, fields={"title": "Drafted"}).execute().nonce
    actions.PublishDraft(user=system, node_id=page, seen=draft).execute()
    actions.Unpublish(user=system, node_id=page, seen=nonce(page)).execute()
    actions.Tag(user=system, node_id=page, tags=TAGS).execute()
    actions.Trash(user=system, node_id=page, seen=nonce(page)).execute()
    actions.Restore(user=system, node_id=page, moves=True).execute()
    assert (stored(page)["title"], stored(page)["parent_id"], stored(page)["tags"]) == ("Drafted", None, ["new"])
    assert mongo["cms.revisions"].distinct("saved_by.name", {"node_id": page}) == ["Import"]
    actions.Trash(user=system, node_id=page, seen=nonce(page)).execute()
    actions.Delete(user=system, node_id=page).execute()
    assert mongo["cms.trash"].count_documents({}) == 0


def test_system_without_an_account_owns_no_pages_of_imports(mongo, author):
    """Imported authors have no account id, and neither has System. Nobody owns such pages."""
    page = create(System(Actor(None, "Import")))
    with pytest.raises(Http404):
        actions.SaveNode(user=author, node_id=page, seen=nonce(page), fields={"title": "Mine"}).execute()
