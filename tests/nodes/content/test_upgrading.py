"""A changed type: documents of an older version are read and merged as the current one, and stored as such."""

from copy import deepcopy
from decimal import Decimal

import pytest
from bson import ObjectId
from django_mongodb_backend.fields import EmbeddedModelArrayField
from hypothesis import given
from hypothesis import strategies as st

from cms.testing.build import EDITOR, node, nonce, save, stored
from marginalia.mongo import indexes
from nodes.access import System
from nodes.actions import PublishListed
from nodes.checks import check_content
from nodes.content import Entry, upgrade, upgrading
from nodes.errors import EditConflict, NewerVersion, NotUpgraded
from nodes.models import Node
from nodes.selectors import editable_nodes, history, stored_nodes
from nodes.selectors import trash as trash_selectors
from nodes.services import drafts, duplicating, editing, trash
from nodes.services.write import compare_and_set
from nodes.types import Change, TagChange
from tests.support.nodes.content import Ingredient, NewDish, OldDish, installed, registered

OLD = {"serves": 4, "amount": "2 l", "ingredients": ["beans", "salt", "salt"], "stars": 5}


@pytest.fixture
def blog(mongo):
    """The id of a blog, with the old version of a type of dishes installed."""
    with registered(OldDish):
        yield node("blog", "blog")


def dish(blog, slug="stew", **fields):
    given = {f"detail.{name}": value for name, value in {**OLD, **fields}.items()}
    return node("dish", slug, parent=blog, text="Hot stew", **given)


def test_every_read_returns_the_current_version(blog, client):
    made = dish(blog)
    seen = nonce(made)
    save(made, seen, title="Bean stew")
    drafts.save_draft(EDITOR, made, nonce(made), {"detail.serves": 6})
    thrown = dish(blog, "soup")
    trash.trash(EDITOR, thrown, nonce(thrown))
    with installed(NewDish):
        loaded = editable_nodes.load(made)
        for node_read in (stored_nodes.get(made), Node.objects.get(pk=made), loaded.node):
            detail = node_read.metadata.detail
            assert (detail.servings, detail.number, detail.unit, detail.is_vegan) == (4, "2", "l", False)
            assert [one.name for one in detail.ingredients] == ["beans", "salt", "salt"]
        shapes = [loaded.live, loaded.draft, editable_nodes.load_version(made, seen)]
        shapes += [revision.version for revision in history.newest(made, nonce(made))[0]]
        shapes.append(trash_selectors.load(thrown).live)
        assert {shape.fields["detail.servings"] for shape in shapes[3:]} == {4, 6}
        assert [shape.fields["detail.servings"] for shape in shapes[:3]] == [4, 6, 4]
        assert not any({"detail.serves", "detail.stars", "detail.amount"} & set(shape.fields) for shape in shapes)
        assert loaded.drafted().metadata.detail.servings == 6
        assert ("title",) in [revision.changed for revision in history.newest(made, nonce(made))[0]]
        assert client.get("/blog/stew").status_code == 200
    assert stored(made)["detail"]["serves"] == 4
    assert "schema_version" not in stored(made)


def test_save_stores_the_whole_current_version(blog):
    made = dish(blog)
    with installed(NewDish):
        save(made, nonce(made), detail__is_vegan=True)
        said = stored(made)
        assert said["schema_version"] == 3
        assert not {"serves", "stars", "amount"} & set(said["detail"])
        assert (said["detail"]["servings"], said["detail"]["number"], said["detail"]["is_vegan"]) == (4, "2", True)
        assert said["detail"]["text"] == "Hot stew"
        revision = editable_nodes.load_version(made, nonce(made))
        assert revision.fields["detail.servings"] == 4
        assert revision.schema_version == 3
        # From then on, only changed fields are set.
        save(made, nonce(made), title="New")
        assert stored(made)["detail"] == said["detail"]


def test_new_node_stores_its_version_from_the_second_on(blog):
    assert "schema_version" not in stored(dish(blog))
    with installed(NewDish):
        assert stored(node("dish", "new", parent=blog))["schema_version"] == 3


def test_form_from_before_the_upgrade_merges(blog):
    made = dish(blog, notes="One\n\nTwo")
    seen = nonce(made)
    save(made, seen, detail__notes="One!\n\nTwo", detail__serves=6)
    with installed(NewDish):
        before = editable_nodes.load_version(made, seen).fields["detail.ingredients"]
        saved = save(
            made, seen, detail__notes="One\n\nTwo!", detail__number="3", detail__ingredients=[*before, {"name": "oil"}]
        )
        said = stored(made)["detail"]
        assert (said["notes"], said["servings"], said["number"]) == ("One!\n\nTwo!", 6, "3")
        assert [one["name"] for one in said["ingredients"]] == ["beans", "salt", "salt", "oil"]
        assert saved.merged == ("detail.notes",)
        with pytest.raises(EditConflict) as conflict:
            save(made, seen, detail__servings=8)
        (one,) = conflict.value.merge.conflicts
        assert (one.base, one.theirs, one.mine) == (4, 6, 8)


def test_form_from_before_the_upgrade_continues_its_own_save(blog):
    made, form = dish(blog), ObjectId()
    seen = nonce(made)
    save(made, seen, detail__notes="Theirs")
    editing.save(EDITOR, made, seen, {"detail.serves": 6}, form=form)
    with installed(NewDish):
        # Merged with another editor's save: the form's own data is stored with the revision, in the old shape.
        editing.save(EDITOR, made, seen, {"detail.servings": 8}, form=form)
        assert (stored(made)["detail"]["servings"], stored(made)["detail"]["notes"]) == (8, "Theirs")


def test_draft_from_before_the_upgrade_is_saved_and_published(blog, mongo):
    made = dish(blog)
    drafted = drafts.save_draft(EDITOR, made, nonce(made), {"detail.serves": 6, "detail.notes": "Drafted"})
    with installed(NewDish):
        save(made, nonce(made), detail__unit="litres")
        again = drafts.save_draft(EDITOR, made, drafted.nonce, {"detail.is_vegan": True})
        draft = mongo["cms.nodes"].find_one({"_id": made})["draft"]["metadata"]
        assert (draft["schema_version"], draft["detail"]["servings"]) == (3, 6)
        assert "serves" not in draft["detail"]
        drafts.publish_draft(EDITOR, made, again.nonce)
        said = stored(made)["detail"]
        assert (said["servings"], said["notes"], said["is_vegan"], said["unit"]) == (6, "Drafted", True, "litres")


def test_draft_from_before_the_upgrade_is_published_directly(blog):
    made = dish(blog)
    drafted = drafts.save_draft(EDITOR, made, nonce(made), {"detail.serves": 6})
    with installed(NewDish):
        drafts.publish_draft(EDITOR, made, drafted.nonce)
        assert stored(made)["schema_version"] == 3
        assert stored(made)["detail"]["servings"] == 6


def test_copy_and_bulk_action_store_the_current_version(blog):
    made = dish(blog)
    hidden = dish(blog, "hidden")
    save(hidden, nonce(hidden), published=None)
    with installed(NewDish):
        copied = duplicating.duplicate(EDITOR, made, parent_id=blog)
        PublishListed(user=System(EDITOR), node_id=hidden, seen=nonce(hidden)).execute()
        for one in (copied.id, hidden):
            assert stored(one)["schema_version"] == 3
            assert stored(one)["detail"]["servings"] == 4


@pytest.fixture
def newer(blog):
    """A dish saved by a newer release than the installed one."""
    with installed(NewDish):
        made = node("dish", "stew", parent=blog, text="Hot stew", **{"detail.servings": 6, "detail.notes": "Slowly"})
        save(made, nonce(made), detail__ingredients=[{"name": "beans"}])
    return made


def test_newer_document_is_read_as_far_as_known(newer, client):
    detail = stored_nodes.get(newer).metadata.detail
    assert (detail.notes, detail.serves, detail.ingredients) == ("Slowly", 2, [])
    assert editable_nodes.load(newer).is_newer
    assert "Hot stew" in client.get("/blog/stew").content.decode()


def test_services_refuse_to_write_newer_documents(newer, blog):
    before = stored(newer)
    for write in (
        lambda: save(newer, nonce(newer), title="New"),
        lambda: save(newer, ObjectId(), detail__notes="New"),
        lambda: drafts.save_draft(EDITOR, newer, nonce(newer), {"title": "New"}),
        lambda: duplicating.duplicate(EDITOR, newer, parent_id=blog),
    ):
        with pytest.raises(NewerVersion, match="newer version of the site"):
            write()
    # It is already public, so nothing is written.
    PublishListed(user=System(EDITOR), node_id=newer, seen=nonce(newer)).execute()
    assert stored(newer) == before
    # Fields without a version are written.
    editing.change_tags(newer, TagChange(added=frozenset({"warm"})))
    trash.trash(EDITOR, newer, nonce(newer))
    trash.restore(EDITOR, newer)
    assert stored(newer) == {**before, "tags": ["warm"]}


def test_newer_draft_is_kept(blog):
    made = dish(blog)
    with installed(NewDish):
        drafted = drafts.save_draft(EDITOR, made, nonce(made), {"detail.servings": 6})
    for write in (
        lambda: drafts.save_draft(EDITOR, made, drafted.nonce, {"detail.serves": 8}),
        lambda: drafts.publish_draft(EDITOR, made, drafted.nonce),
    ):
        with pytest.raises(NewerVersion):
            write()
    # The live version is not newer.
    save(made, nonce(made), detail__serves=9)


def _written(metadata):
    with installed(NewDish):
        return dict(upgrading.upgraded(metadata))


def test_old_process_does_not_overwrite_an_upgraded_document(blog, mongo):
    """A process of the old release has read the document. The upgrade keeps its nonce. Then the process saves."""
    made = dish(blog)
    read = mongo["cms.nodes"].find_one({"_id": made}, {"metadata": 1})
    written = _written(read["metadata"])
    mongo["cms.nodes"].update_one({"_id": made}, {"$set": {"metadata": written}})
    assert compare_and_set(EDITOR, read, Change({"detail.serves": 8})) is None
    assert stored(made) == written
    # Without a concurrent upgrade, the save succeeds.
    mongo["cms.nodes"].update_one({"_id": made}, {"$set": {"metadata": read["metadata"]}})
    assert compare_and_set(EDITOR, read, Change({"detail.serves": 8}))


@pytest.fixture
def damaged(blog):
    """A dish that its upgrader refuses."""
    return dish(blog, amount="unreadable")


def test_document_that_cannot_be_upgraded_is_hidden(damaged, blog, client):
    dish(blog, "soup")
    with installed(NewDish):
        assert client.get("/blog/stew").status_code == 404
        for address in ("/blog", "/blog/soup", "/blog/feed/atom", "/blog/feed/json"):
            response = client.get(address)
            assert response.status_code == 200, address
        assert "Hot stew" in response.content.decode()
        assert response.content.decode().count("/blog/stew") == 0
        assert history.newest(damaged, nonce(damaged))[0][0].version.fields["detail.amount"] == "unreadable"


def test_invalid_parts_fail_their_upgrade(blog, client):
    dish(blog)

    class Slipping(Entry):
        type_name = "dish"
        schema_version = 2

        ingredients = EmbeddedModelArrayField(Ingredient, default=list)

        @upgrade(from_version=1)
        def split(detail):
            return {**detail, "ingredients": [{"name": Decimal(1)}]}

    with installed(Slipping):
        assert client.get("/blog/stew").status_code == 404


def test_services_refuse_documents_that_cannot_be_upgraded(damaged, blog):
    before = stored(damaged)
    with installed(NewDish):
        for write in (
            lambda: save(damaged, nonce(damaged), title="New"),
            lambda: drafts.save_draft(EDITOR, damaged, nonce(damaged), {"title": "New"}),
            lambda: duplicating.duplicate(EDITOR, damaged, parent_id=blog),
        ):
            with pytest.raises(NotUpgraded, match="version 2"):
                write()
    assert stored(damaged) == before
    save(damaged, nonce(damaged), title="New")


def test_revision_that_cannot_be_upgraded_is_no_merge_base(damaged):
    seen = nonce(damaged)
    save(damaged, seen, detail__amount="2 l")
    with installed(NewDish):
        with pytest.raises(EditConflict) as conflict:
            save(damaged, seen, title="New")
        assert conflict.value.base is None
        save(damaged, nonce(damaged), title="New")


def test_validator_applies_only_to_the_current_version(judged, blog, mongo):
    made = dish(blog)
    indexes.ensure()
    with installed(NewDish):
        indexes.ensure()
        try:
            mongo["cms.nodes"].update_one({"_id": made}, {"$set": {"metadata.detail.number": 5}})
            save(made, nonce(made), detail__number="5")
            with pytest.raises(Exception, match="validation"):
                mongo["cms.nodes"].update_one({"_id": made}, {"$set": {"metadata.detail.number": 5}})
            mongo["cms.nodes"].update_one(
                {"_id": made}, {"$set": {"metadata.detail.number": 5, "metadata.schema_version": 4}}
            )
        finally:
            mongo["cms.nodes"].delete_one({"_id": made})
    indexes.ensure()


details = st.fixed_dictionaries(
    {},
    optional={
        "text": st.text(max_size=20),
        "serves": st.integers(0, 99),
        "amount": st.sampled_from(["", "2 l", "3", "1 big pot"]),
        "ingredients": st.none() | st.lists(st.sampled_from(["beans", "salt", "oil"]), max_size=5),
        "stars": st.none() | st.integers(0, 5),
        "unheard": st.integers(),
    },
)


@given(details)
def test_upgrade_is_pure_and_runs_once(detail):
    metadata = {"type": "dish", "title": "Stew", "detail": detail}
    before = deepcopy(metadata)
    with registered(NewDish):
        once = upgrading.upgraded(metadata)
        assert metadata == before
        assert upgrading.upgraded(deepcopy(metadata)) == once
        assert upgrading.upgraded(once) is once
        assert once["schema_version"] == 3
        ids = [one["_id"] for one in once["detail"].get("ingredients", [])]
        assert len(set(ids)) == len(ids) == len(detail.get("ingredients") or [])


def test_type_of_the_first_version_is_not_upgraded():
    metadata = {"type": "dish", "detail": {"serves": 4}}
    with registered(OldDish):
        assert upgrading.upgraded(metadata) is metadata


def _faults(*types):
    with registered(*types):
        return sorted((message.id, message.msg.rpartition("type is ")[2]) for message in check_content())


def test_checks_list_missing_upgraders():
    class Leaping(Entry):
        schema_version = 4

        @upgrade(from_version=2)
        def there(detail):
            return detail

        @upgrade(from_version=3)
        def one(detail):
            return detail

        @upgrade(from_version=3)
        def other(detail):
            return detail

        @upgrade(from_version=4)
        def beyond(detail):
            return detail

    name = f"{__name__}.Leaping"
    assert _faults(NewDish, Leaping) == [
        ("nodes.E008", f"{name} has 2 upgraders from version 3 to 4."),
        ("nodes.E008", f"{name} has no upgraders from version 1 to 2."),
        ("nodes.E009", f"{name} has an upgrader from version 4, but its schema_version is 4."),
    ]


def test_upgraders_of_an_abstract_class_are_inherited():
    class Shared(Entry):
        schema_version = 2

        class Meta:
            abstract = True

        @upgrade(from_version=1)
        @staticmethod
        def first(detail):
            return {**detail, "shared": 1}

    class One(Shared):
        pass

    with registered(One):
        assert upgrading.upgraded({"type": "one", "detail": {}})["detail"] == {"shared": 1}
    assert _faults(One) == []
