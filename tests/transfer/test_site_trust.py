"""import_site: how far the archive of another site is trusted."""

import tracemalloc
from typing import Any

import pytest
from bson import ObjectId
from django.contrib.auth.models import User

from cms.testing import build
from marginalia.comments.backends import backend
from marginalia.comments.reading import selectors
from marginalia.comments.types import CommentAuthor
from marginalia.mongo.connection import database
from marginalia.mongo.management.base import FOUND_PROBLEMS
from nodes.services.site import save_settings
from photos.services import photos
from tests.support.comments.making import new
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import document, gallery, replace, upload
from tests.support.site_copy import change_records, empty, run, target
from transfer.archive import NODES, PHOTOS, REVISIONS, SECTIONS, SETTINGS
from transfer.importing import Import

pytestmark = pytest.mark.usefixtures("mongo")


def of(records: list[dict[str, Any]], id: ObjectId, key: str = "_id") -> dict[str, Any]:
    return next(record for record in records if record[key] == id)


def test_revisions_are_imported_only_with_their_page(tmp_path):
    page, other = build.node(slug="page", text="ours"), build.node(slug="other", text="ours too")
    build.save(other, build.nonce(other), detail__text="ours, again")
    path = tmp_path / "export"
    assert run("export_site", path)[0] == 0
    known = database()["cms.revisions"].distinct("_id")

    def forge(records):
        for id in (page, other):
            said = of(records, id, "node_id")
            records.append(said | {"_id": ObjectId(), "saved_by": {"_id": None, "name": "Ann"}})

    change_records(path, REVISIONS, forge)
    change_records(path, NODES, lambda records: records.remove(of(records, page)))
    code, said = run("import_site", path)
    assert (code, database()["cms.revisions"].distinct("_id")) == (0, known), said
    empty()
    assert run("import_site", path)[0] == 0
    assert database()["cms.revisions"].count_documents({"node_id": other}) == 2
    assert database()["cms.revisions"].count_documents({"node_id": page}) == 0


@pytest.mark.slow
def test_hundred_thousand_revisions_use_little_memory():
    class Long:
        def records(self, name):
            number = 1_000 if name == NODES else 0
            return ({"_id": ObjectId(), "history": [ObjectId() for _n in range(100)]} for _n in range(number))

    tracemalloc.start()
    try:
        assert list(Import(Long())._needed_revisions([])) == []
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()


def test_moderator_names_are_kept_only_for_existing_accounts(tmp_path):
    accounts = [User.objects.create_user(name, is_superuser=name == "root") for name in ("root", "ann")]
    keys = [*(str(user.pk) for user in accounts), str(ObjectId()), "nobody"]
    page = build.node(slug="page")
    for number, key in enumerate(keys):
        backend().post(target(page), new(str(number), author=CommentAuthor("Editor", key, is_moderator=True)))
        backend().hold(target(page), new(f"waits {number}", author=CommentAuthor("Editor", key, is_moderator=True)))
    path = tmp_path / "export"
    assert run("export_site", path)[0] == 0
    empty()
    code, said = run("import_site", path)
    assert code == 0, said
    found = [*selectors.iterate(target(page)), *sorted(selectors.held(), key=lambda one: one.source)]
    assert [one.source for one in found] == [*map(str, range(4)), *(f"waits {number}" for number in range(4))]
    assert [one.author.id for one in found] == keys * 2
    assert [one.author.is_moderator for one in found] == [True, False, False, False] * 2
    accounts[1].is_superuser = True
    accounts[1].save()
    code, said = run("import_site", path)
    assert (code, "Imported: 0 new" in said) == (0, True), said


def test_overwritten_page_is_named_by_its_local_title(tmp_path):
    news = build.node("blog", "news")
    post = build.node("blog-entry", "post", parent=news, title="Ours\x1b[2J")
    photo = upload(gallery("lakes"), title="Lake", slug="lake")
    bare, kept = build.node(slug="bare"), build.node(slug="kept")
    assert run("export_site", tmp_path / "old.zip")[0] == 0
    for id in (post, bare):
        build.save(id, build.nonce(id), title="Theirs", slug="theirs")
    photos.save(build.EDITOR, photo, document(photo)["metadata"]["nonce"], {"title": "Theirs"})
    path, nonce = tmp_path / "new", build.nonce(bare)
    assert run("export_site", path)[0] == 0
    change_records(path, REVISIONS, lambda records: records.remove(of(records, nonce)))
    empty()
    assert run("import_site", tmp_path / "old.zip")[0] == 0
    over = [f"“Ours [2J” ({post}) at /news/post", f"“Lake” ({photo}) at /lakes/lake"]
    code, said = run("import_site", path, "--dry-run")
    assert (code, [f"Would overwrite: {one}" in said for one in over]) == (FOUND_PROBLEMS, [True, True]), said
    assert f"Skipped: “Theirs” ({bare}): its current version is not in its history" in said
    assert (build.stored(post)["title"], str(kept) in said) == ("Ours\x1b[2J", False)
    code, said = run("import_site", path)
    assert (code, [f"Overwritten: {one}" in said for one in over]) == (FOUND_PROBLEMS, [True, True]), said
    assert f"Skipped: “Theirs” ({bare}): its current version is not in its history" in said
    assert [build.stored(id)["title"] for id in (post, bare)] == ["Theirs", "Bare"]
    assert f"Overwritten: “Bare” ({bare})" not in said


def test_properties_of_a_replaced_picture_come_from_its_file(tmp_path):
    photo = upload(gallery("lakes"), slug="lake")
    assert run("export_site", tmp_path / "old.zip")[0] == 0
    replace(photo, pictures.png((30, 20)), "other.png")
    size = document(photo)["metadata"]["detail"]["resolution"]
    path = tmp_path / "new"
    assert run("export_site", path)[0] == 0
    empty()
    assert run("import_site", tmp_path / "old.zip")[0] == 0
    before = document(photo)["metadata"]
    change_records(path, PHOTOS, lambda records: of(records, photo)["metadata"]["detail"].update(resolution=[3_000, 2]))
    code, said = run("import_site", path)
    assert (code, f"({photo}): detail.resolution: its file is a different one" in said) == (FOUND_PROBLEMS, True), said
    assert document(photo)["metadata"] == before
    change_records(path, PHOTOS, lambda records: of(records, photo)["metadata"]["detail"].update(resolution=size))
    code, said = run("import_site", path)
    assert code == 0, said
    assert document(photo)["metadata"]["detail"]["resolution"] == size


def lefts(said: str) -> list[str]:
    return sorted(line for line in said.splitlines() if line.startswith("Skipped: "))


def test_dry_run_reports_what_the_import_does(tmp_path):
    news = build.node("blog", "news")
    posts = [build.node("blog-entry", f"post-{n}", parent=news, title=f"Post {n}") for n in range(3)]
    lakes = gallery("lakes")
    upload(lakes, slug="lake")
    for post in posts:
        backend().post(target(post), new("Hello"))
    backend().hold(target(posts[0]), new("Waits"))
    save_settings({"posts_per_page": 7}, {"posts_per_page": 10})
    path = tmp_path / "export"
    assert run("export_site", path)[0] == 0
    change_records(path, NODES, lambda records: records.remove(of(records, posts[0])))
    change_records(path, NODES, lambda records: of(records, posts[1])["metadata"].update(slug="no slug"))
    change_records(path, SECTIONS, lambda records: records.remove(of(records, lakes)))
    change_records(path, SETTINGS, lambda records: records[0].update(value=-1))
    empty()
    tried, done = run("import_site", path, "--dry-run"), run("import_site", path)
    assert tried[0] == done[0] == FOUND_PROBLEMS, (tried, done)
    assert len(lefts(done[1])) == 6
    assert lefts(tried[1]) == lefts(done[1])
    assert run("import_site", path, "--dry-run")[0] == FOUND_PROBLEMS
