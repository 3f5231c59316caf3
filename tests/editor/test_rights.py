"""Permissions: Authors have own drafts, Editors everything but permanent deletion, strangers learn nothing."""

import pytest
from bson import ObjectId
from django.contrib.auth.models import Group

from cms.testing.build import EDITOR, PAST, node, nonce, stored
from cms.testing.editors import fields
from nodes.services import drafts, editing, trash
from nodes.types import Actor
from tests.support.interrupting import before_command
from tests.support.nodes.photo_build import gallery, upload

PAGES = "change", "history", "move", "duplicate", "delete", "preview"


@pytest.fixture
def member(editor):
    """Create an editor in one of the groups created by migrations."""

    def make(group, name=None):
        made = editor(name or group.lower(), is_superuser=False)
        made.user.groups.add(Group.objects.get(name=group))
        return made

    return make


def address(node_id, page="change"):
    return f"/admin/nodes/node/{node_id}/{page}/"


def own(person, **options):
    options = {"published": None, **options}
    return editing.create(
        Actor.of(person.user), type="basic-page", parent_id=None, slug="", title=options.pop("title", "Own"),
        fields=options,
    ).id  # fmt: skip


def statuses(person, node_id, pages=PAGES):
    return {page: person.client.get(address(node_id, page)).status_code for page in pages}


def test_user_without_permission_gets_404_everywhere(mongo, member):
    """Tests the permission check of every view."""
    author, others = member("Authors"), node(published=None)
    revision = nonce(others)
    assert set(statuses(author, others).values()) == {404}
    assert author.client.get(f"{address(others, 'compare')}?old={revision}&new={revision}").status_code == 404
    assert author.client.get(f"{address(others, 'history')}{revision}/").status_code == 404
    for page in (*PAGES, "publish", "discard", "preview-link", "restore", "delete-for-good"):
        sent = author.client.post(address(others, page), {"nonce": str(revision), "section": "top"})
        assert sent.status_code in (404, 405), page
    assert nonce(others) == revision
    assert mongo["cms.trash"].count_documents({}) == 0


def test_guessed_ids_return_404(mongo, editor):
    ann = editor()
    assert set(statuses(ann, ObjectId()).values()) == {404}
    assert ann.client.get("/admin/nodes/node/1/change/").status_code == 404
    node_id, other = node(), node(slug="other")
    assert ann.client.get(f"{address(node_id, 'history')}{nonce(other)}/").status_code == 404, "a revision of another"


def test_author_edits_own_drafts_without_publishing(mongo, member):
    author = member("Authors")
    node_id = own(author)
    form = author.open(address(node_id))
    assert "published_0" not in form
    assert author.send(address(node_id), form, title="Better").status_code == 302
    assert stored(node_id)["title"] == "Better"
    form = author.open(address(node_id))
    assert author.send(address(node_id), form, "_publish").status_code == 403
    author.send(address(node_id), form, published_0="2020-01-01", published_1="00:00")
    assert stored(node_id)["published"] is None


def test_author_drafts_changes_of_an_own_public_page(mongo, member):
    author, chief = member("Authors"), member("Editors")
    node_id = own(author, published=PAST)
    form = author.open(address(node_id))
    assert author.send(address(node_id), form, title="Live?", version="live").status_code == 302
    assert stored(node_id)["title"] == "Own"
    draft = mongo["cms.nodes"].find_one()["draft"]
    assert draft["metadata"]["title"] == "Live?"
    assert author.client.post(address(node_id, "publish"), {"draft": str(draft["nonce"])}).status_code == 403
    assert statuses(author, node_id, ("move", "delete")) == {"move": 403, "delete": 403}
    assert chief.client.post(address(node_id, "publish"), {"draft": str(draft["nonce"])}).status_code == 302
    assert stored(node_id)["title"] == "Live?"


def test_resent_form_of_an_author_leaves_a_published_page(mongo, member):
    """A form that created a page continues with it, with the author's current permissions on the page."""
    author, chief = member("Authors"), member("Editors")
    add = "/admin/nodes/node/add/?type=basic-page"
    form = author.open(add)
    author.send(add, form, title="Draft", text="old")
    made = mongo["cms.nodes"].find_one()["_id"]
    chief.send(address(made), chief.open(address(made)), "_publish")
    answer = author.send(add, form, title="Replaced", text="new")
    assert stored(made)["title"] == "Draft"
    assert stored(made)["detail"]["text"] == "old"
    assert answer.status_code == 302, "kept as a draft"
    assert mongo["cms.nodes"].find_one()["draft"]["metadata"]["title"] == "Replaced"


def test_author_cannot_change_a_page_published_during_a_save(mongo, member, monkeypatch):
    """The permission is checked first, and the page is read again for the merge. An editor publishes it in between."""
    author = member("Authors")
    node_id = own(author, **{"detail.text": "agreed"})
    form, real = author.open(address(node_id)), editing.save

    def published_concurrently(*arguments, **named):
        monkeypatch.undo()
        editing.save(EDITOR, node_id, nonce(node_id), {"published": PAST})
        return real(*arguments, **named)

    monkeypatch.setattr(editing, "save", published_concurrently)
    assert author.send(address(node_id), form, text="not agreed").status_code == 302, "kept as a draft"
    document = mongo["cms.nodes"].find_one()
    assert document["metadata"]["published"]
    assert document["metadata"]["detail"]["text"] == "agreed"
    assert document["draft"]["metadata"]["detail"]["text"] == "not agreed"


@pytest.mark.parametrize("action", ["tag", "move"])
def test_author_cannot_bulk_change_a_page_published_meanwhile(mongo, member, action):
    """An editor publishes the page between the check of the author's permission and the check of the service."""
    author = member("Authors")
    node_id, section = own(author), node("folder", "folder")
    sent = {"chosen": str(node_id), f"nonce-{node_id}": str(nonce(node_id)), "action": action}
    looks = []

    def is_second_look(command) -> bool:
        looks.extend([command] if command["filter"].get("_id") == node_id else [])
        return len(looks) == 2

    def publish() -> None:
        editing.save(EDITOR, node_id, nonce(node_id), {"published": PAST})

    with before_command("find", "cms.nodes", publish, is_second_look):
        author.client.post("/admin/nodes/node/", {**sent, "tags": "new", "target": str(section)})
    assert (stored(node_id)["tags"], stored(node_id)["parent_id"]) == ([], None)


def test_repeated_copy_leaves_a_page_published_since(mongo, member):
    author, chief = member("Authors"), member("Editors")
    source, copied = own(author, title="Source"), ObjectId()
    sent = {"nonce": str(nonce(source)), "section": "top", "new_id": str(copied)}
    assert author.client.post(address(source, "duplicate"), sent).status_code == 302
    assert author.client.post(address(source, "duplicate"), sent).status_code == 302, "a double click"
    chief.send(address(copied), chief.open(address(copied)), "_publish", title="Published")
    other = own(author, title="Other")
    sent |= {"nonce": str(nonce(other))}
    assert author.client.post(address(other, "duplicate"), sent).status_code == 403
    assert stored(copied)["title"] == "Published"


def test_author_cannot_open_comments_by_restoring_a_version(mongo, member):
    author = member("Authors")
    node_id = own(author, title="Mine")
    opened = nonce(node_id)
    editing.save(EDITOR, node_id, opened, {"detail.comments": "closed", "title": "Ours"})
    restore = address(node_id, f"history/{opened}")
    assert author.send(restore, fields(author.client.get(restore).content.decode(), "confirm_form")).status_code == 302
    assert (stored(node_id)["title"], stored(node_id)["detail"]["comments"]) == ("Mine", "closed")


def test_restored_version_keeps_the_source_of_an_import(mongo, member):
    chief = member("Editors")
    node_id = node(title="Old", **{"detail.source": {"key": "first"}})
    first = nonce(node_id)
    editing.save(EDITOR, node_id, first, {"title": "New", "detail.source": {"key": "second"}})
    restore = address(node_id, f"history/{first}")
    assert chief.send(restore, fields(chief.client.get(restore).content.decode(), "confirm_form")).status_code == 302
    assert (stored(node_id)["title"], stored(node_id)["detail"]["source"]) == ("Old", {"key": "second"})


def test_author_cannot_put_pages_into_hidden_sections(mongo, member):
    """Both ends are checked: the node, and the section that it is moved to."""
    author = member("Authors")
    hidden, public = node("folder", "hidden", published=None), node("folder", "public")
    node_id = own(author)
    for page, more in (("move", {}), ("duplicate", {"new_id": str(ObjectId())})):
        sent = {"nonce": str(nonce(node_id)), "section": str(hidden), **more}
        answer = author.client.post(address(node_id, page), sent)
        assert answer.status_code == 200, "the choice is refused"
        assert str(hidden) not in author.client.get(address(node_id, page)).content.decode()
    assert stored(node_id)["parent_id"] is None
    assert mongo["cms.nodes"].count_documents({}) == 3
    sent = {"nonce": str(nonce(node_id)), "section": str(public)}
    assert author.client.post(address(node_id, "move"), sent).status_code == 302
    assert stored(node_id)["parent_id"] == public


def test_author_saves_a_page_moved_from_a_hidden_section(mongo, member):
    author, hidden, public = member("Authors"), node("folder", "hidden", published=None), node("folder", "public")
    node_id = own(author)
    editing.save(EDITOR, node_id, nonce(node_id), {"parent_id": hidden})
    form = author.open(address(node_id))
    editing.save(EDITOR, node_id, nonce(node_id), {"parent_id": public})
    assert author.send(address(node_id), form, title="Typed").status_code == 302
    assert (stored(node_id)["title"], stored(node_id)["parent_id"]) == ("Typed", public)


def test_author_lists_only_own_nodes(mongo, member):
    author = member("Authors")
    own(author, title="My own page")
    node(title="Another author's")
    html = author.client.get("/admin/nodes/node/").content.decode()
    assert "My own page" in html
    assert "Another author" not in html
    html = author.client.get("/admin/nodes/node/?author=none").content.decode()
    assert "Another author" not in html


def test_author_finds_own_pages_in_a_long_trash(mongo, member, monkeypatch):
    monkeypatch.setattr("nodes.selectors.trash.SHOWN", 2)
    author = member("Authors")
    for node_id in (mine := own(author, title="My own"), *(node(slug=f"others-{n}") for n in range(3))):
        trash.trash(EDITOR, node_id, nonce(node_id))
    html = author.client.get("/admin/nodes/node/trash/").content.decode()
    assert "My own" in html
    assert address(mine, "restore") in html
    assert "Others" not in html


def test_author_bulk_actions_need_permission(mongo, member):
    author, others = member("Authors"), node(published=None)
    sent = {"action": "trash", "confirmed": "1", "chosen": str(others), f"nonce-{others}": str(nonce(others))}
    author.client.post("/admin/nodes/node/", sent)
    assert mongo["cms.nodes"].count_documents({"_id": others}) == 1
    mine = own(author)
    sent = {"action": "publish", "chosen": str(mine), f"nonce-{mine}": str(nonce(mine))}
    author.client.post("/admin/nodes/node/", sent)
    assert stored(mine)["published"] is None


def test_editor_does_everything_but_delete_permanently(mongo, member):
    chief, node_id = member("Editors"), node()
    assert set(statuses(chief, node_id).values()) == {200}
    assert chief.client.post(address(node_id, "delete"), {"nonce": str(nonce(node_id))}).status_code == 302
    assert chief.client.get(address(node_id, "delete-for-good")).status_code == 403
    assert chief.client.get(address(node_id, "restore")).status_code == 200
    admin = member("Administrators")
    seen = mongo["cms.trash"].find_one()["metadata"]["nonce"]
    assert admin.client.post(address(node_id, "delete-for-good"), {"nonce": str(seen)}).status_code == 302
    assert mongo["cms.trash"].count_documents({}) == 0


def test_moderator_cannot_see_nodes(mongo, member):
    moderator, node_id = member("Moderators"), node()
    assert set(statuses(moderator, node_id).values()) == {404}
    assert moderator.client.get("/admin/nodes/node/").status_code == 403
    assert moderator.client.get("/admin/nodes/node/add/?type=basic-page").status_code == 403


def test_account_without_admin_access_sees_nothing(mongo, member):
    reader, node_id = member("Editors", "reader"), node()
    reader.user.is_staff = False
    reader.user.save()
    assert set(statuses(reader, node_id).values()) == {302}


def test_drafts_are_not_shown_in_forms_of_others(mongo, member):
    author, chief = member("Authors"), member("Editors")
    node_id = own(author)
    drafts.save_draft(Actor.of(author.user), node_id, nonce(node_id), {"title": "Drafted"})
    assert "Drafted" in chief.client.get(address(node_id)).content.decode()
    assert member("Authors", "other").client.get(address(node_id)).status_code == 404


def test_get_requests_write_nothing(mongo, editor):
    """A GET request for every page, by any account, changes nothing."""
    ann, node_id = editor(), node()
    before = mongo["cms.nodes"].find_one()
    for page in (*PAGES, "preview-link", "publish", "discard"):
        ann.client.get(address(node_id, page))
    assert mongo["cms.nodes"].find_one() == before
    assert fields(ann.client.get(address(node_id, "delete")).content.decode(), "confirm_form")["nonce"]


@pytest.mark.parametrize("page", ["add", "duplicate"])
def test_author_form_is_not_saved_under_the_id_of_a_photo(mongo, member, page):
    """Permanent deletion of such a page would delete the photo's comments and history.

    The typed text is saved otherwise.
    """
    author, photo_id = member("Authors"), upload(gallery())
    copied = own(author, title="Copied")
    there, name = (
        ("/admin/nodes/node/add/?type=basic-page", "form") if page == "add" else (address(copied, page), "new_id")
    )
    form = fields(author.client.get(there).content.decode(), "node_form" if page == "add" else "confirm_form")
    before = list(mongo["cms.revisions"].find())
    refused = author.send(there, form | {name: str(photo_id)}, title="Typed", text="long")
    html = refused.content.decode()
    assert (refused.status_code, list(mongo["cms.revisions"].find())) == (200, before)
    assert "Nothing was saved" in html
    assert "This form was updated. Submit it again." in html
    again = fields(html, "node_form" if page == "add" else "confirm_form")
    assert again[name] != [str(photo_id)]
    assert page == "duplicate" or (again["title"], again["text"]) == (["Typed"], ["long"])
    assert author.send(there, again).status_code == 302
    assert mongo["cms.nodes"].find_one({"_id": ObjectId(again[name][0])})
    assert not mongo["cms.nodes"].find_one({"_id": photo_id})


def test_proposed_slug_reveals_no_hidden_page(member):
    author, chief = member("Authors"), member("Editors")
    section = node("folder", "news")
    node(slug="hidden", parent=section, published=None)
    node(slug="public", parent=section)
    mine = node(slug="own", parent=section, published=None, author=Actor(author.user.pk, "x").as_document())
    assert stored(mine)["author"]["_id"] == author.user.pk

    def proposed(who, title):
        query = {"title": title, "section": str(section)}
        return who.client.get("/admin/nodes/node/propose-slug/", query).json()["slug"]

    assert [proposed(author, title) for title in ("hidden", "public", "own", "new")] == [
        "hidden",
        "public-2",
        "own-2",
        "new",
    ]
    assert [proposed(chief, title) for title in ("hidden", "public", "own", "new")] == [
        "hidden-2",
        "public-2",
        "own-2",
        "new",
    ]
