"""This version upgrades and serves the data of each release."""

from collections.abc import Iterator
from io import StringIO

import pytest
from bson import ObjectId
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from cms.testing.build import nonce, save
from cms.testing.database import MIGRATED
from cms.testing.process_caches import clear_caches
from marginalia.comments.posting import services
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor, Target
from marginalia.mongo import indexes
from marginalia.tasks import worker
from tests.releases import dumps


@pytest.fixture(params=dumps.paths(), ids=lambda path: path.stem)
def pages(request, mongo) -> Iterator[dumps.Pages]:
    """Restore the data of a release, and return the texts on its pages."""
    migrated = {name: list(mongo[name].find()) for name in MIGRATED}
    try:
        restored = dumps.restore(mongo, request.param)
        ContentType.objects.clear_cache()
        yield restored
    finally:
        for name, documents in migrated.items():
            mongo[name].delete_many({})
            mongo[name].insert_many(documents)
        ContentType.objects.clear_cache()


def missing_texts(pages: dumps.Pages) -> str:
    """Return the texts that readers don't see, and the pages that fail, one per line."""
    clear_caches()
    missing = []
    for path, texts in pages.items():
        answer = Client().get(path)
        body = b"".join(answer).decode(errors="replace")
        missing += [f"{path}: {answer.status_code}"] if answer.status_code != 200 else []
        missing += [f"{path}: {text}" for text in texts if text not in body]
    return "\n".join(missing)


def upgrade() -> str:
    """Follow the steps of an upgrade, check all documents, and return the output of the doctor."""
    for command in ("migrate", "setup_indexes", "upgrade_nodes", "check_nodes", "check_comments"):
        call_command(command, stdout=StringIO())
    call_command("work", "--once", stdout=StringIO())
    worker.tend()
    worker.follow()
    # Drops indexes for the content types of other tests.
    for change in indexes.plan():
        indexes.apply_change(change)
    output = StringIO()
    call_command("doctor", stdout=output)
    return output.getvalue()


def test_readers_see_all_pages_before_and_after_the_upgrade(pages):
    assert missing_texts(pages) == ""
    assert "0 errors, 0 warnings" in upgrade()
    assert missing_texts(pages) == ""


@pytest.mark.slow
def test_editors_can_open_and_save_all_pages(pages, mongo):
    call_command("upgrade_nodes", stdout=StringIO())
    editor = Client()
    editor.force_login(User.objects.get(username="ann"))
    for model, collection in (("node", "cms.nodes"), ("photo", "cms.assets.files")):
        for document in mongo[collection].find({"metadata.type": {"$nin": ["file", "photo-content"]}}):
            answer = editor.get(reverse(f"admin:nodes_{model}_change", args=[document["_id"]]))
            assert answer.status_code == 200, document
    for document in mongo["cms.nodes"].find():
        save(document["_id"], nonce(document["_id"]), summary="A new summary.")
    assert mongo["cms.nodes"].count_documents({"metadata.summary": {"$ne": "A new summary."}}) == 0
    for path in ("/admin/", "/admin/nodes/node/", "/admin/nodes/photo/", "/admin/nodes/sitesettings/"):
        assert editor.get(path).status_code == 200, path


def test_readers_can_comment_in_every_discussion(pages, mongo):
    call_command("upgrade_nodes", stdout=StringIO())
    found = list(mongo["discussions"].find())
    assert {document["schema"] for document in found} == {"documents", "buckets", "embedded"}
    for document in found:
        target = Target.from_id(document["_id"])
        before = selectors.discussion(target).count
        parent = next(comment.slug for comment in selectors.iterate(target) if not comment.removed)
        fields = {"author": CommentAuthor("New"), "source": "A new comment.", "parent": parent}
        services.post(target, **fields, token=str(ObjectId()))
        assert selectors.discussion(target).count == before + 1
    call_command("check_comments", stdout=StringIO())
