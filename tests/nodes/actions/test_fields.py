"""Fields that users can set through actions, whatever their requests contain."""

from datetime import UTC, datetime

import pytest
from bson import ObjectId
from django.core.exceptions import PermissionDenied

from cms.testing.build import EDITOR, PAST, node, nonce, stored
from nodes.access import FieldForbidden
from nodes.actions import CreateNode, Move, PublishDraft, SaveDraft, SaveNode, Tag
from nodes.errors import InvalidField
from nodes.services import editing
from nodes.types import NO_TAGS, Actor, TagChange
from tests.nodes.actions.conftest import create
from tests.support.nodes.photo_build import document, gallery, upload

# Values for fields that only users with permission to publish can set.
PUBLISHED_BY = {
    "published": PAST,
    "expires": datetime(2100, 1, 1, tzinfo=UTC),
    "author": {"_id": ObjectId(), "name": "Somebody"},
    "detail.comments": "open",
}
# Values for fields that only commands and imports can set.
INTERNAL = {"created": PAST, "updated": PAST, "detail.source": {"key": "old site"}}
# Paths that are no fields, but parts of the stored document.
NO_FIELDS = (
    "nonce",
    "type",
    "tags",
    "locked",
    "content_id",
    "doomed",
    "schema_version",
    "position",
    "derived",
    "detail",
)
MALFORMED = ("detail.none", "detail.text.x", "author.name", "", ".", "$set", "metadata.title")


def writes(user, node_id, field, value):
    """Yield the actions that write a field: creating a page, saving it and saving its draft."""
    place = {"title": "New", "slug": "", "parent_id": None}
    yield CreateNode(user=user, type="basic-page", fields={**place, field: value})
    yield SaveNode(user=user, node_id=node_id, seen=nonce(node_id), fields={field: value})
    yield SaveDraft(user=user, node_id=node_id, seen=nonce(node_id), fields={field: value})


def pages(mongo) -> list:
    return list(mongo["cms.nodes"].find().sort("_id"))


@pytest.mark.parametrize("field", PUBLISHED_BY)
def test_authors_cannot_set_fields_of_publishers(mongo, author, draft_page, field):
    before = pages(mongo)
    for action in writes(author, draft_page, field, PUBLISHED_BY[field]):
        with pytest.raises(FieldForbidden) as refusal:
            action.execute()
        assert refusal.value.paths == (field,)
    assert pages(mongo) == before


@pytest.mark.slow_after(2)
@pytest.mark.parametrize("field", PUBLISHED_BY)
def test_publishers_set_fields_of_publishers(author, publisher, field):
    for number in range(3):
        action = list(writes(publisher, create(author), field, PUBLISHED_BY[field]))[number]
        assert field in action.execute().changed


@pytest.mark.parametrize("field", INTERNAL)
def test_no_user_sets_internal_fields(mongo, publisher, draft_page, field):
    before = pages(mongo)
    for action in writes(publisher, draft_page, field, INTERNAL[field]):
        with pytest.raises(FieldForbidden) as refusal:
            action.execute()
        assert refusal.value.paths == (field,)
    assert pages(mongo) == before


def test_no_user_chooses_when_a_node_was_created(mongo, publisher):
    place = {"title": "New", "slug": "", "parent_id": None}
    with pytest.raises(FieldForbidden):
        CreateNode(user=publisher, type="basic-page", fields=place, created=PAST).execute()
    assert pages(mongo) == []


def test_commands_set_internal_fields(mongo, system):
    place = {"title": "New", "slug": "", "parent_id": None, "updated": PAST, "detail.source": {"key": "old site"}}
    saved = CreateNode(user=system, type="basic-page", fields=place, created=PAST).execute()
    metadata = stored(saved.id)
    assert (metadata["created"], metadata["updated"]) == (PAST, PAST)
    assert metadata["detail"]["source"] == {"key": "old site"}
    assert metadata["author"] == {"_id": None, "name": "Import"}


@pytest.mark.parametrize("field", [*NO_FIELDS, *MALFORMED])
def test_unknown_field_paths_are_refused(mongo, publisher, draft_page, field):
    before = pages(mongo)
    for action in writes(publisher, draft_page, field, "x"):
        with pytest.raises(InvalidField):
            action.execute()
    assert pages(mongo) == before


@pytest.mark.parametrize("field", ["content_type", "filename", "size", "sha256", "resolution", "exif"])
def test_no_user_sets_properties_of_a_photo_file(mongo, publisher, field):
    photo_id = upload(gallery())
    before = document(photo_id)
    value = {"resolution": [1, 1], "size": 1, "exif": []}.get(field, "text/html")
    with pytest.raises(FieldForbidden):
        SaveNode(user=publisher, node_id=photo_id, seen=nonce_of(photo_id), fields={f"detail.{field}": value}).execute()
    assert document(photo_id) == before


def test_move_changes_only_the_place(mongo, author, draft_page):
    before = pages(mongo)
    for field, value in {"published": PAST, "title": "Moved"}.items():
        with pytest.raises(FieldForbidden):
            Move(user=author, node_id=draft_page, seen=nonce(draft_page), place={field: value}).execute()
    assert pages(mongo) == before


def test_decided_fields_never_move_a_section(mongo, publisher):
    """The place of a section is changed only by a move, which checks that no section is inside itself."""
    outer = node("folder", "outer")
    inner = node("folder", "inner", parent=outer)
    draft = SaveDraft(user=publisher, node_id=outer, seen=nonce(outer), fields={"title": "Drafted"}).execute()
    decided = {"title": "Decided", "parent_id": inner, "slug": "other"}
    PublishDraft(user=publisher, node_id=outer, seen=draft.nonce, decided_on=nonce(outer), decided=decided).execute()
    metadata = stored(outer)
    assert (metadata["title"], metadata["parent_id"], metadata["slug"]) == ("Decided", None, "outer")


class TestDescribingPhotos:
    """Authors describe the photos that they uploaded, until these are published."""

    @pytest.fixture
    def photo(self, author):
        made = upload(gallery(), fields={"published": None})
        editing.save(EDITOR, made, nonce_of(made), {"author": Actor.of(author).as_document()}, collection=FILES)
        return made

    def test_uploader_changes_description_and_tags(self, photo, author):
        described = {"title": "Lake", "summary": "A lake", "detail.alt": "Water", "detail.focal": [0.5, 0.5]}
        save_photo(author, photo, TagChange(added=frozenset({"water"})), **described)
        Tag(user=author, node_id=photo, tags=TagChange(added=frozenset({"blue"}))).execute()
        metadata = document(photo)["metadata"]
        assert (metadata["title"], metadata["detail"]["alt"], metadata["tags"]) == ("Lake", "Water", ["blue", "water"])

    @pytest.mark.parametrize("field", ["slug", "parent_id", "detail.crop", "published"])
    def test_uploader_changes_nothing_else(self, photo, author, field):
        before = document(photo)
        with pytest.raises(PermissionDenied):
            save_photo(author, photo, **{"title": "Lake", field: None})
        assert document(photo) == before

    def test_other_authors_change_nothing(self, photo, other_author):
        with pytest.raises(PermissionDenied):
            save_photo(other_author, photo, title="Mine")

    def test_uploader_cannot_change_a_published_photo(self, photo, author):
        editing.save(EDITOR, photo, nonce_of(photo), {"published": PAST}, collection=FILES)
        for action in (
            SaveNode(user=author, node_id=photo, seen=nonce_of(photo), fields={"title": "Lake"}),
            Tag(user=author, node_id=photo, tags=TagChange(added=frozenset({"blue"}))),
        ):
            with pytest.raises(PermissionDenied):
                action.execute()


FILES = "cms.assets.files"


def nonce_of(photo_id: ObjectId) -> ObjectId:
    return document(photo_id)["metadata"]["nonce"]


def save_photo(user, photo_id, tags=NO_TAGS, **fields):
    return SaveNode(user=user, node_id=photo_id, seen=nonce_of(photo_id), fields=fields, tags=tags).execute()


def test_author_of_a_node_is_its_creator(mongo, author, publisher):
    assert stored(create(author))["author"] == Actor.of(author).as_document()
    other = {"_id": None, "name": "Guest"}
    assert stored(create(publisher, author=other))["author"] == other
