"""Actions on the files of photos: permissions and rules, whoever asks."""

from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404

from cms.testing import build
from nodes.access import System
from nodes.actions import SaveNode
from nodes.errors import InvalidSlug, NodeGone, NotReady
from photos.actions import ReplaceFile, RestoreContent, UploadPhoto
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import audit, count, document, gallery, replace, shown, upload
from tests.support.nodes.photo_forms import user

pytestmark = pytest.mark.usefixtures("mongo")

LAKE, OTHER = (pictures.encoded("PNG", pictures.image(seed=seed)) for seed in (1, 2))


def upload_by(account: Any, gallery_id: Any, **options: Any) -> dict[str, Any]:
    """Upload a photo; return its metadata."""
    action = UploadPhoto(user=account, gallery_id=gallery_id, filename="lake.png", **options)
    return document(action.execute([LAKE[:99], LAKE[99:]]).id)["metadata"]


@pytest.mark.parametrize("permission", ["add_photo", "add_node", "publish_node"])
def test_users_who_can_add_photos_upload_drafts(permission):
    ann = user(permission)
    metadata = upload_by(ann, gallery())
    assert (metadata["title"], metadata["published"], metadata["author"]["_id"]) == ("lake", None, ann.pk)


@pytest.mark.parametrize("permission", ["view_photo", "change_photo", "change_node"])
def test_users_who_cannot_add_photos_store_nothing(permission):
    parent = gallery()
    before = count()
    with pytest.raises(PermissionDenied):
        upload_by(user(permission), parent)
    assert count() == before


def test_authors_cannot_upload_into_a_private_gallery():
    with pytest.raises(PermissionDenied):
        upload_by(user("add_node"), gallery(published=None))
    assert upload_by(user("publish_node", name="bob"), gallery("other", published=None))


@pytest.mark.parametrize("field", [{"published": build.PAST}, {"author": {"_id": None, "name": "Bob"}}])
def test_authors_cannot_publish_or_sign_an_upload(field):
    parent = gallery()
    before = count()
    fields = {"detail.alt": "A lake", **field}
    with pytest.raises(PermissionDenied):
        upload_by(user("add_photo"), parent, fields=fields)
    assert count() == before
    assert upload_by(user("publish_node", name="bob"), parent, fields=fields)


def test_published_upload_without_alt_text_stores_nothing():
    editor = user("publish_node")
    parent = gallery()
    before = count()
    with pytest.raises(NotReady, match="“lake”"):
        upload_by(editor, parent, fields={"published": build.PAST, "detail.alt": " "})
    assert count() == before


def test_upload_checks_a_slug_before_it_stores_anything():
    parent = gallery()
    before = count()
    with pytest.raises(InvalidSlug):
        upload_by(user("publish_node"), parent, slug="a/b")
    assert count() == before


def test_imports_upload_with_dates_and_authors():
    fields = {"published": build.PAST, "created": build.PAST, "detail.alt": "A lake"}
    metadata = upload_by(System(build.EDITOR), gallery(published=None), fields=fields)
    assert (metadata["created"], metadata["published"]) == (build.PAST, build.PAST)
    assert metadata["author"] == build.EDITOR.as_document()


@pytest.mark.parametrize("permission", ["change_photo", "publish_node"])
def test_users_who_can_change_photos_replace_files(permission):
    photo_id = upload(gallery(), LAKE, "lake.png")
    ReplaceFile(user=user(permission), photo_id=photo_id, filename="other.png").begin().write([OTHER])
    assert shown(photo_id) == OTHER
    audit()


@pytest.mark.parametrize("permission", ["view_photo", "add_photo", "add_node"])
def test_other_users_cannot_replace_files(permission):
    photo_id = upload(gallery(), LAKE, "lake.png")
    with pytest.raises(PermissionDenied):
        ReplaceFile(user=user(permission), photo_id=photo_id, filename="other.png").begin()
    assert document(photo_id)["metadata"]["locked"] is None


def test_replacing_the_file_of_a_missing_photo_is_refused():
    with pytest.raises(NodeGone):
        ReplaceFile(user=user("change_photo"), photo_id=gallery(), filename="other.png").begin()


def test_replacement_with_a_broken_file_releases_the_photo():
    photo_id = upload(gallery(), LAKE, "lake.png")
    action = ReplaceFile(user=user("change_photo"), photo_id=photo_id, filename="other.png")

    def pieces():
        yield OTHER[:99]
        raise OSError

    with pytest.raises(OSError):
        action.begin().write(pieces())
    assert shown(photo_id) == LAKE
    action.begin().write([OTHER])
    assert shown(photo_id) == OTHER
    audit()


@pytest.mark.slow_after(2)
@pytest.mark.parametrize(
    ("permission", "error"), [("change_photo", None), ("add_node", PermissionDenied), ("change_node", Http404)]
)
def test_former_content_is_restored_with_permission(permission, error):
    photo_id = upload(gallery(), LAKE, "lake.png")
    replace(photo_id, OTHER, "other.png")
    action = RestoreContent(user=user(permission), node_id=photo_id, content_id=photo_id)
    if error:
        with pytest.raises(error):
            action.execute()
    else:
        action.execute()
    assert shown(photo_id) == (OTHER if error else LAKE)


def test_content_of_a_page_cannot_be_restored():
    page = build.node()
    with pytest.raises(Http404, match="photo doesn't exist"):
        RestoreContent(user=user("publish_node"), node_id=page, content_id=page).execute()


def test_users_who_change_photos_set_their_dates():
    """Users with this permission publish photos, so they set dates of photos but not of pages."""
    photo_id = upload(gallery(), LAKE, "lake.png", fields={"published": None})
    ann = user("change_photo")
    nonce = document(photo_id)["metadata"]["nonce"]
    SaveNode(user=ann, node_id=photo_id, seen=nonce, fields={"published": build.PAST}).execute()
    assert document(photo_id)["metadata"]["published"] == build.PAST
    author = {"author": {"_id": None, "name": "Bob"}}
    with pytest.raises(PermissionDenied):
        SaveNode(user=ann, node_id=photo_id, seen=nonce, fields=author).execute()


def test_late_fields_of_an_upload_are_checked_too():
    parent = gallery()
    action = UploadPhoto(user=user("add_photo"), gallery_id=parent, filename="lake.png")
    begun = action.begin()
    begun.feed(LAKE)
    with pytest.raises(PermissionDenied):
        action.finish(begun, {"published": build.PAST, "detail.alt": "A lake"})
    assert action.finish(begun, {"detail.alt": "A lake"}).title == "lake"
