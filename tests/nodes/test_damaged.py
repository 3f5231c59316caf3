"""Damaged pages: readers and editors get everything else, and the log and the doctor report each."""

import logging
from datetime import timedelta
from io import StringIO

import pytest
from bson import ObjectId
from bson.datetime_ms import DatetimeMS
from django.core.management import CommandError, call_command
from django.test import Client

from cms.testing.build import node, nonce, save
from cms.testing.process_caches import clear_caches
from marginalia.comments.posting import services
from marginalia.comments.types import CommentAuthor
from marginalia.mongo import doctor, indexes, reading
from marginalia.mongo.clock import now
from photos.services import sweeping
from tests.support.doctor import findings
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import gallery, replace, upload

LISTS = ("/", "/news", "/feed/json", "/sitemap-blog-entry-1.xml", "/tag/red", "/search?q=whole")
# Damage that no service causes: the update of a post.
DAMAGES = (
    {"$unset": {"metadata": ""}},
    {"$unset": {"metadata.type": ""}},
    {"$unset": {"metadata.created": ""}},
    {"$set": {"metadata.title": 5}},
    {"$set": {"metadata.tags": "red"}},
    {"$set": {"metadata.author": "Ann"}},
    {"$set": {"metadata.detail": []}},
    {"$set": {"metadata.detail.text": 5}},
    {"$set": {"metadata.expires": DatetimeMS(300_000_000_000_000)}},
    {"$set": {"derived.excerpt": 5}},
)


@pytest.fixture
def blog(mongo) -> ObjectId:
    blog = node("blog", "news")
    node("blog-entry", "whole", parent=blog, title="Whole post", tags=("red",), text="Whole")
    return blog


def damage(mongo, node_id, update, collection="cms.nodes"):
    mongo.command("update", collection, updates=[{"q": {"_id": node_id}, "u": update}], bypassDocumentValidation=True)
    clear_caches()


def post(blog, slug="bad", **fields):
    return node("blog-entry", slug, parent=blog, title="Damaged post", tags=("red",), text="Whole", **fields)


def checked(*arguments):
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("check_nodes", *arguments, stdout=out)
    return out.getvalue()


def test_lists_omit_damaged_posts(mongo, blog):
    for number, update in enumerate(DAMAGES):
        damage(mongo, post(blog, f"bad-{number}"), update)
    for path in LISTS:
        answer = Client().get(path)
        assert answer.status_code == 200, path
        assert "/news/whole" in answer.content.decode(), path
    assert Client().get("/news/bad-3").status_code == 404


def test_log_names_a_damaged_post_once(mongo, blog, caplog):
    node_id = post(blog)
    damage(mongo, node_id, {"$set": {"metadata.title": 5}})
    reading._log.cache_clear()
    with caplog.at_level(logging.ERROR, "marginalia.mongo.reading"):
        for _ in range(3):
            clear_caches()
            Client().get("/news")
    assert [record.message for record in caplog.records if str(node_id) in record.message] == [
        f"The document {node_id} of cms.nodes can't be read and is left out: "
        "Malformed: title is missing or has another type"
    ]


@pytest.mark.slow_after(1)
@pytest.mark.parametrize(
    ("update", "fault"),
    [
        ({"$set": {"metadata.detail": None}}, "has no detail, so its text and fields are empty"),
        ({"$unset": {"derived": ""}}, "has nothing derived, so searches don't find it"),
    ],
)
def test_page_with_a_missing_part_is_shown_and_reported(mongo, blog, update, fault):
    node_id = post(blog)
    damage(mongo, node_id, update)
    for path in (*LISTS, "/news/bad"):
        assert Client().get(path).status_code == 200, path
    (finding,) = findings("node-damaged")
    assert f"{node_id} {fault}" in finding.message
    assert f"damaged: {node_id} of cms.nodes {fault}" in checked()


@pytest.mark.slow_after(1)
@pytest.mark.parametrize("update", [*DAMAGES[:3], DAMAGES[8], {"$set": {"metadata.slug": "a/b"}}])
def test_doctor_and_check_report_a_damaged_page(mongo, blog, update):
    node_id = post(blog)
    damage(mongo, node_id, update)
    (finding,) = findings("node-damaged")
    assert (finding.level, finding.where) == (doctor.ERROR, "cms.nodes")
    assert str(node_id) in finding.message
    assert f"damaged: {node_id}" in checked("--fix")
    assert mongo["cms.nodes"].count_documents({"_id": node_id}) == 1


@pytest.mark.slow
def test_doctor_reports_pages_without_their_section(mongo, blog):
    node_id = post(blog)
    assert findings("section-gone") == []
    mongo["cms.nodes"].delete_one({"_id": blog})
    (finding,) = findings("section-gone")
    assert str(node_id) in finding.message


def test_damaged_photo_is_omitted_from_its_gallery(mongo):
    album = gallery()
    whole, bad = upload(album), upload(album, pictures.jpeg(), name="hill.jpg")
    damage(mongo, bad, {"$unset": {"metadata.detail.resolution": ""}}, "cms.assets.files")
    answer = Client().get("/gallery")
    assert answer.status_code == 200
    assert str(whole) in answer.content.decode()
    assert str(bad) not in answer.content.decode()


def test_revisions_of_a_lost_page_are_reported_and_kept(mongo, blog):
    node_id = post(blog)
    save(node_id, nonce(node_id), title="Saved again")
    mongo["cms.revisions"].update_many({}, {"$set": {"saved_at": now() - timedelta(days=30)}})
    mongo["cms.nodes"].delete_one({"_id": node_id})
    assert f"lost: {node_id} no longer exists. 2 revisions contain its text" in checked("--fix")
    assert mongo["cms.revisions"].count_documents({"node_id": node_id}) == 2


def test_sweep_keeps_the_contents_of_a_damaged_photo(mongo):
    photo_id = upload(gallery())
    content_id = replace(photo_id, pictures.jpeg())
    damage(mongo, photo_id, {"$set": {"metadata.content_id": "damaged"}}, "cms.assets.files")
    for days in (3, 30):
        sweeping.sweep(moment=now() + timedelta(days=days))
    assert mongo["cms.assets.chunks"].count_documents({"files_id": content_id}) > 0


def test_damaged_discussion_does_not_stop_the_start(mongo, post_page):
    services.post(post_page, author=CommentAuthor("Bea"), source="First", token="t1")
    copy = {**mongo["discussions"].find_one(), "_id": "nodes.node:damaged"}
    del copy["label"]
    mongo.command("insert", "discussions", documents=[copy], bypassDocumentValidation=True)
    indexes.require_present_format()
