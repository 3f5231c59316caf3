"""export_site and import_site: copying a site from one database to another, with any content and any interruption."""

import hashlib
import json
import tracemalloc
from datetime import timedelta
from functools import partial

import pytest
from bson import ObjectId
from django.contrib.auth.models import User
from django.core.management import call_command

from api.rights import tokens
from api.rights.scopes import Scope
from cms.testing import build
from marginalia.comments.backends import backend
from marginalia.comments.errors import DiscussionBusy
from marginalia.comments.operations import transfer
from marginalia.comments.posting import ip_hash
from marginalia.comments.types import CommentAuthor
from marginalia.mongo.clock import now
from marginalia.mongo.connection import client, database
from marginalia.mongo.management.base import COULD_NOT_RUN, FOUND_PROBLEMS
from nodes.access import System
from nodes.actions import SaveRedirect
from nodes.models import tree
from nodes.selectors import manual_redirects, references, stored_tags
from nodes.services import editing, integrity, tags, trash
from nodes.types import TagChange
from photos.actions import ReplaceFile, UploadFile
from photos.services.sweeping import sweep
from tests.support.comments.making import new
from tests.support.crashing import killed_after_writes
from tests.support.interrupting import before_command
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import audit, document, gallery, replace, shown, upload
from tests.support.site_copy import (
    ADDRESS,
    LAYOUTS,
    change_file,
    change_file_and_manifest,
    change_records,
    empty,
    read,
    run,
    site,
    target,
)
from transfer.archive import (
    DISCUSSIONS,
    EMBEDDED_PAGES,
    LATER_FILES,
    MANIFEST,
    MANUAL_REDIRECTS,
    NODES,
    PENDING,
    PHOTOS,
    REVISIONS,
    SECTIONS,
    TAGS,
)

pytestmark = pytest.mark.usefixtures("mongo")

VERIFIED = "Verified: everything matches the export."


def exported(path, *words):
    code, said = run("export_site", path, *words)
    assert (code, "MongoDB" in said) == (0, False), said
    return path


def test_site_is_imported_unchanged_and_rerun_changes_nothing(tmp_path):
    ids = site()
    bytes_before = shown(ids["crop"])
    before = read(exported(tmp_path / "one"))
    # For embedded pages, see test_embedded_pages.py.
    assert {name for name, records in before.items() if not records} == {EMBEDDED_PAGES}
    said = (tmp_path / "one").joinpath(DISCUSSIONS).read_text() + (tmp_path / "one").joinpath(PENDING).read_text()
    assert ADDRESS not in said
    empty()
    code, said = run("import_site", tmp_path / "one", "--dry-run")
    assert (code, database()["cms.nodes"].count_documents({})) == (0, 0)
    assert f"{len(before[NODES])} new" in said
    code, said = run("import_site", tmp_path / "one")
    assert (code, said.splitlines()[-1]) == (0, VERIFIED), said
    assert read(exported(tmp_path / "two")) == before
    assert shown(ids["crop"]) == bytes_before
    audit()
    assert list(integrity.check(files=True)) == []
    call_command("setup_indexes", "--check")
    for layout in LAYOUTS:
        discussion = target(ids[f"post-{layout}"])
        assert (backend().discussion(discussion).count, backend().audit(discussion)) == (7, [])
    stored = {
        name: list(database()[name].find()) for name in ("cms.nodes", "cms.revisions", "cms.assets.files", "comments")
    }
    code, said = run("import_site", tmp_path / "one")
    assert (code, "Imported: 0 new, 0 newer than here" in said) == (0, True), said
    assert {name: list(database()[name].find()) for name in stored} == stored


def test_export_contains_no_secrets_or_email_addresses(tmp_path, client):
    ann = User.objects.create_user("ann", "ann@example.org", "secret", is_superuser=True)
    client.force_login(ann)
    _token, secret = tokens.create(ann, "reader", [Scope.READ])
    hashes = database()["api.tokens"].distinct("hash")
    page = build.node(text="kept")
    backend().post(target(page), new("Hello", author=CommentAuthor("Ann", id=str(ann.pk)), email=ADDRESS))
    ip_hash.record(target(page), "x", "hash-of-an-address")
    written = exported(tmp_path / "export")
    said = "".join(file.read_text() for file in written.iterdir() if file.is_file())
    for hidden in (ann.email, ann.password, secret, ADDRESS, client.session.session_key, "hash-of-an-address", *hashes):
        assert hidden not in said
    assert all(shown in said for shown in ("kept", "Hello", str(ann.pk)))
    exported(tmp_path / "more", "--addresses")
    assert ADDRESS in (tmp_path / "more" / DISCUSSIONS).read_text()


def test_local_changes_are_kept_and_older_pages_updated(tmp_path):
    ids = {slug: build.node(slug=slug, text="one") for slug in ("mine", "theirs", "gone")}
    exported(tmp_path / "old.zip")
    for slug in ("theirs", "mine"):
        build.save(ids[slug], build.nonce(ids[slug]), detail__text="two", slug=f"{slug}-now")
    exported(tmp_path / "new.zip")
    empty()
    assert run("import_site", tmp_path / "old.zip")[0] == 0
    build.save(ids["mine"], build.nonce(ids["mine"]), detail__text="here")
    trash.trash(build.EDITOR, ids["gone"], build.nonce(ids["gone"]))
    history = database()["cms.revisions"].count_documents({"node_id": ids["mine"]})
    code, said = run("import_site", tmp_path / "new.zip")
    assert code == FOUND_PROBLEMS
    assert f"“Mine” ({ids['mine']}): it has been changed here" in said
    assert f"“Gone” ({ids['gone']}): it is in the trash here" in said
    texts = {slug: build.stored(ids[slug])["detail"]["text"] for slug in ("mine", "theirs")}
    assert texts == {"mine": "here", "theirs": "two"}
    assert build.stored(ids["theirs"])["slug"] == "theirs-now"
    assert database()["cms.revisions"].count_documents({"node_id": ids["mine"]}) == history
    assert [finding for finding in integrity.check() if finding.kind == integrity.BROKEN_HISTORY] == []
    # The imported history belongs to the current version, so the next editor merges.
    build.save(ids["theirs"], build.nonce(ids["theirs"]), title="Again")
    code, said = run("import_site", tmp_path / "new.zip")
    assert (code, "2 newer than here" in said, build.stored(ids["theirs"])["title"]) == (FOUND_PROBLEMS, False, "Again")


def test_concurrent_edit_is_kept_and_moved_section_moves(tmp_path):
    ids = {slug: build.node(slug=slug) for slug in ("page", "tagged")}
    ids |= {slug: build.node("folder", slug) for slug in ("out", "in")}
    exported(tmp_path / "old.zip")
    build.save(ids["tagged"], build.nonce(ids["tagged"]), detail__text="there")
    build.save(ids["page"], build.nonce(ids["page"]), detail__text="there")
    build.save(ids["in"], build.nonce(ids["in"]), parent_id=ids["out"])
    exported(tmp_path / "new.zip")
    empty()
    assert run("import_site", tmp_path / "old.zip")[0] == 0
    editing.change_tags(ids["tagged"], TagChange(added=frozenset({"here"})))
    here = partial(build.save, ids["page"], build.nonce(ids["page"]), detail__text="here")
    with before_command("update", "cms.nodes", here, lambda command: command["updates"][0]["q"]["_id"] == ids["page"]):
        code, said = run("import_site", tmp_path / "new.zip")
    assert (code, f"“Page” ({ids['page']}): it has been changed here" in said) == (FOUND_PROBLEMS, True), said
    assert build.stored(ids["page"])["detail"]["text"] == "here"
    assert f"“Tagged” ({ids['tagged']}): its tags have been changed here" in said
    assert build.stored(ids["tagged"])["tags"] == ["here"]
    assert build.stored(ids["in"])["parent_id"] == ids["out"]
    assert tree.fresh().ancestors(ids["in"]) is not None


def test_invalid_node_is_skipped_and_invalid_archive_refused(tmp_path):
    kept, bad = build.node(slug="kept"), build.node(slug="spoiled", title="Bad")
    path = exported(tmp_path / "export")
    empty()
    change_file(path, NODES, lambda data: data.replace(b"kept", b"other"))
    code, said = run("import_site", path)
    assert (code, "nodes.jsonl doesn't match the manifest" in said) == (COULD_NOT_RUN, True), said
    assert database()["cms.revisions"].count_documents({}) == 0
    change_file(path, NODES, lambda data: data.replace(b"other", b"kept"))
    change_file_and_manifest(path, NODES, lambda data: data.replace(b'"slug":"spoiled"', b'"slug":"../up"'))
    code, said = run("import_site", path)
    assert (code, f"“Bad” ({bad})" in said, "differ from the export" in said) == (
        FOUND_PROBLEMS,
        True,
        False,
    ), said
    assert [node["_id"] for node in database()["cms.nodes"].find()] == [kept]


def test_file_that_is_no_picture_is_skipped(tmp_path):
    parent = gallery()
    bad, kept = upload(parent), upload(parent, pictures.png(), "kept.png", slug="kept")
    size = document(bad)["length"]
    path = exported(tmp_path / "export")
    empty()
    script = b"<script>".ljust(size)
    before = hashlib.sha256((path / f"photos/{bad}").read_bytes()).hexdigest().encode()
    change_file(path, f"photos/{bad}", lambda data: script)
    change_file_and_manifest(
        path, PHOTOS, lambda data: data.replace(before, hashlib.sha256(script).hexdigest().encode())
    )
    code, said = run("import_site", path)
    assert (code, f"Skipped: “lake” ({bad}): " in said) == (FOUND_PROBLEMS, True), said
    assert [photo["_id"] for photo in database()["cms.assets.files"].find()] == [kept]
    audit()


def test_export_overwrites_nothing_and_reports_a_wrong_section(tmp_path):
    path = exported(tmp_path / "export")
    assert run("export_site", path) == (COULD_NOT_RUN, f"{path} already exists. Specify another path.")
    assert run("export_site", tmp_path / "b", "--section", "/no") == (
        COULD_NOT_RUN,
        "The section /no doesn't exist. Check the path.",
    )
    assert [found.name for found in tmp_path.iterdir()] == ["export"]


@pytest.mark.parametrize("name", ["missing/site.zip", "missing/site", "a/b/site"])
def test_export_to_a_missing_folder_is_refused(tmp_path, name):
    code, said = run("export_site", tmp_path / name)
    assert (code, "doesn't exist. Create it" in said) == (COULD_NOT_RUN, True), said
    assert list(tmp_path.iterdir()) == []


def test_unreadable_content_is_reported_and_the_rest_exported(tmp_path):
    parent = gallery()
    lost, kept = upload(parent), upload(parent, slug="kept")
    database()["cms.assets.chunks"].delete_many({"files_id": lost})
    code, said = run("export_site", tmp_path / "export.zip")
    assert (code, f"Left out: lake.jpg ({lost}): its file is incomplete" in said) == (FOUND_PROBLEMS, True), said
    assert [one["_id"] for one in read(tmp_path / "export.zip")[PHOTOS]] == [kept]
    empty()
    assert run("import_site", tmp_path / "export.zip")[0] == 0
    audit()


def test_photo_without_its_content_is_reported_by_both(tmp_path):
    parent = gallery()
    bare, kept = upload(parent), upload(parent, slug="kept")
    lost, there = replace(bare, pictures.png()), replace(kept, pictures.png())
    database()["cms.assets.files"].delete_one({"_id": lost})
    code, said = run("export_site", tmp_path / "export.zip")
    named = f"Left out: the file of lake.jpg ({bare}): it doesn't exist"
    assert (code, named in said, str(kept) in said) == (FOUND_PROBLEMS, True, False), said
    empty()
    code, said = run("import_site", tmp_path / "export.zip")
    assert (code, f"Skipped: “lake” ({bare}): its file is not in the export" in said) == (
        FOUND_PROBLEMS,
        True,
    )
    assert "1 document was skipped. All others match the export." in said
    assert set(database()["cms.assets.files"].distinct("_id")) == {kept, there}
    audit()


@pytest.mark.parametrize(
    ("refused", "reason"),
    [("MAX_BYTES", "This file is too large"), ("KEEP_LOCATION", "its file is not clean")],
)
def test_photo_whose_current_file_is_refused_is_skipped(tmp_path, settings, refused, reason):
    settings.PHOTOS = {**settings.PHOTOS, "KEEP_LOCATION": True}
    parent = gallery()
    small = pictures.encoded("PNG")
    photo, kept = upload(parent, small, "lake.png"), upload(parent, small, "kept.png", slug="kept")
    current, there = replace(photo, pictures.jpeg()), replace(kept, pictures.encoded("JPEG"))
    path = exported(tmp_path / "export.zip")
    value = {"MAX_BYTES": document(current)["length"] - 1, "KEEP_LOCATION": False}[refused]
    settings.PHOTOS = {**settings.PHOTOS, refused: value}
    empty()
    for words in (("--dry-run",), ()):
        code, said = run("import_site", path, *words)
        assert (code, f"Skipped: “lake” ({photo}): {reason}" in said) == (FOUND_PROBLEMS, True), said
    assert set(database()["cms.assets.files"].distinct("_id")) == {kept, there}
    assert database()["cms.revisions"].count_documents({"node_id": photo}) == 0
    audit()


def test_file_whose_current_version_is_too_large_is_skipped(tmp_path, settings):
    action = UploadFile(user=System("Ann"), gallery_id=None, filename="programme.pdf", fields={"published": build.PAST})
    file_id = action.execute([b"%PDF-1.7 first"]).id
    ReplaceFile(user=System("Ann"), photo_id=file_id, filename="programme.pdf").begin().write([b"%PDF-1.7 second"])
    path = exported(tmp_path / "export.zip")
    settings.FILES_MAX_BYTES = len(b"%PDF-1.7 first")
    empty()
    code, said = run("import_site", path, "--dry-run")
    assert (code, f"({file_id}): This file is too large" in said) == (FOUND_PROBLEMS, True), said
    assert run("import_site", path)[0] == FOUND_PROBLEMS
    assert database()["cms.assets.files"].count_documents({}) == 0
    audit()


def test_photo_with_a_swept_first_file_is_verified(tmp_path):
    photo = upload(gallery())
    replace(photo, pictures.png())
    path = exported(tmp_path / "export.zip")
    assert sweep(moment=now() + timedelta(days=9)).superseded == 1
    assert document(photo)["length"] == 0
    code, said = run("import_site", path)
    assert (code, said.splitlines()[-1]) == (0, VERIFIED), said
    audit()


def test_discussion_always_being_converted_is_reported_by_both(tmp_path, monkeypatch):
    pages = [build.node(slug=slug) for slug in ("busy", "calm")]
    for page in pages:
        backend().post(target(page), new("Hello"))
    path, rows = exported(tmp_path / "export.zip"), transfer.rows
    backend().delete_discussion(target(pages[1]))

    def busy(discussion, **options):
        if discussion == target(pages[0]):
            raise DiscussionBusy(str(discussion))
        return rows(discussion, **options)

    monkeypatch.setattr(transfer, "rows", busy)
    code, said = run("import_site", path)
    assert (code, f"Skipped: the discussion {target(pages[0])}: DiscussionBusy" in said) == (FOUND_PROBLEMS, True), said
    assert backend().discussion(target(pages[1])).count == 1
    code, said = run("export_site", tmp_path / "again.zip")
    assert (code, f"Left out: the discussion {target(pages[0])}: " in said) == (FOUND_PROBLEMS, True), said


@pytest.mark.parametrize("conversions", [transfer.ATTEMPTS - 1, transfer.ATTEMPTS])
def test_discussion_being_converted_is_exported_whole_or_not(tmp_path, monkeypatch, conversions):
    page = build.node()
    for text in ("One", "Two"):
        backend().post(target(page), new(text))
    cut, rows = conversions, transfer.rows

    def cut_off(discussion, **options):
        nonlocal cut
        cut -= 1
        found = rows(discussion, **options)
        yield from (next(found), next(found))
        if cut >= 0:
            raise DiscussionBusy(str(discussion))
        yield from found

    monkeypatch.setattr(transfer, "rows", cut_off)
    code, said = run("export_site", tmp_path / "one")
    texts = [record.get("text") for record in read(tmp_path / "one")[DISCUSSIONS]]
    is_whole = conversions < transfer.ATTEMPTS
    assert (code, sorted(filter(None, texts))) == ((0, ["One", "Two"]) if is_whole else (FOUND_PROBLEMS, [])), said


@pytest.mark.slow
def test_long_discussion_is_exported_in_constant_memory(tmp_path, monkeypatch):
    page = build.node()
    backend().post(target(page), new("Hello"))

    def long(discussion, **options):
        yield {"discussion": str(discussion), "open": True}
        yield from (
            {"comment": f"{number:08}", "moderator": False, "text": f"{number:03000}"} for number in range(8_000)
        )

    monkeypatch.setattr(transfer, "rows", long)
    peaks = []
    for command, *words in (("export_site",), ("import_site", "--dry-run")):
        tracemalloc.start()
        try:
            code, said = run(command, tmp_path / "one", *words)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        assert code == 0, said
    assert "discussions: 8001 the same here" in said
    # At most the slug and a hash of each comment are in memory, not 24 MB of text.
    assert max(peaks) < 8_000_000


@pytest.mark.slow
def test_section_is_exported_with_its_photos_and_parents(tmp_path):
    ids = site()
    before = read(exported(tmp_path / "news.zip", "--section", "/news"))
    assert {one["_id"] for one in before[SECTIONS]} == {ids["news"], ids["attic"], ids["lakes"]}
    assert {one["_id"] for one in before[NODES]} == {ids[f"post-{layout}"] for layout in LAYOUTS}
    assert {one["_id"] for one in before[PHOTOS]} == {ids["jpeg"]}
    empty()
    code, said = run("import_site", tmp_path / "news.zip")
    assert (code, said.splitlines()[-1]) == (0, VERIFIED), said
    assert read(exported(tmp_path / "again.zip", "--section", "news")) == before


@pytest.mark.slow
def test_incremental_export_updates_an_earlier_one(tmp_path):
    ids = site()
    exported(tmp_path / "all.zip", "--addresses")
    long_ago = {"$set": {"metadata.updated": build.PAST}}
    for name in ("cms.nodes", "cms.assets.files"):
        database()[name].update_many({"metadata.updated": {"$exists": True}}, long_ago)
    database()["cms.nodes"].update_many({"draft": {"$exists": True}}, {"$set": {"draft.saved_at": build.PAST}})
    database()["cms.revisions"].update_many({}, {"$set": {"saved_at": build.PAST}})
    exported(tmp_path / "aged.zip", "--addresses")
    since = now().isoformat()
    build.save(ids["page"], build.nonce(ids["page"]), title="Changed")
    backend().post(target(ids["page"]), new("new"))
    seen = document(ids["crop"])["metadata"]["nonce"]
    replace(ids["crop"], pictures.png((30, 20)), "third.png")
    assert document(ids["crop"])["metadata"]["nonce"] != seen
    after = read(exported(tmp_path / "whole.zip", "--addresses"))
    latest = read(exported(tmp_path / "latest.zip", "--addresses", "--since", since))
    # A nonce contains only seconds, so nodes saved in the second of `since` are included.
    assert {one["_id"] for one in latest[NODES]} >= {ids["page"]}
    assert {one["metadata"].get("slug") for one in latest[PHOTOS]} >= {"crop"}
    assert {one["discussion"] for one in latest[DISCUSSIONS] if "open" in one} >= {str(target(ids["page"]))}
    empty()
    for name in ("aged.zip", "latest.zip"):
        code, said = run("import_site", tmp_path / name)
        assert (code, said.splitlines()[-1]) == (0, VERIFIED), said
    found = read(exported(tmp_path / "found.zip", "--addresses"))
    assert found == after
    assert ADDRESS in str(found[DISCUSSIONS])


@pytest.mark.slow
def test_import_killed_ten_times_is_whole_after_the_last_run(tmp_path):
    site(("jpeg", "png", "webp", "gif", "avif"))
    before = read(exported(tmp_path / "one.zip"))
    empty()

    def work():
        assert run("import_site", tmp_path / "one.zip")[0] == 0

    kills = 0
    # The last run is not interrupted.
    while killed_after_writes(6 + kills // 4, work):
        kills += 1
        assert database()["cms.nodes"].count_documents({}) <= len(before[SECTIONS]) + len(before[NODES])
        if kills > 60:
            raise AssertionError("it does not come to an end")
    assert kills >= 10
    assert read(exported(tmp_path / "two.zip")) == before
    audit()
    assert list(integrity.check(files=True)) == []


def test_incremental_export_goes_by_creation_not_by_dates(tmp_path):
    aged, dated = build.node(slug="aged"), build.node(slug="dated")
    long_ago = {"metadata.updated": build.PAST}
    database()["cms.nodes"].update_one(
        {"_id": aged}, {"$set": {**long_ago, "metadata.nonce": ObjectId.from_datetime(build.PAST)}}
    )
    # A page from WordPress has the time of its last change there.
    database()["cms.nodes"].update_one({"_id": dated}, {"$set": long_ago})
    found = read(exported(tmp_path / "week.zip", "--since", (now() - timedelta(hours=1)).isoformat()))
    assert [one["_id"] for one in found[NODES]] == [dated]
    assert [one["node_id"] for one in found[REVISIONS]] == [dated]
    found = read(exported(tmp_path / "all.zip", "--since", "1969-01-31"))
    assert {one["_id"] for one in found[NODES]} == {aged, dated}


def test_incremental_export_contains_a_first_comment_that_waits(tmp_path):
    page = build.node(slug="page")
    backend().hold(target(page), new("waiting"))
    found = read(exported(tmp_path / "week.zip", "--since", (now() - timedelta(hours=1)).isoformat()))
    assert [row["discussion"] for row in found[PENDING]] == [str(target(page))]
    assert found[DISCUSSIONS] == []


def test_incremental_export_cannot_be_verified_alone(tmp_path):
    build.node(slug="page")
    path = exported(tmp_path / "week.zip", "--since", "2026-01-31")
    code, said = run("import_site", path, "--verify")
    assert (code, "can't be verified on its own" in said) == (COULD_NOT_RUN, True), said


@pytest.mark.slow
def test_export_is_verified_in_a_scratch_database(tmp_path):
    site()
    path = exported(tmp_path / "one.zip")
    empty()
    names = set(client().list_database_names())
    code, said = run("import_site", path, "--verify")
    assert (code, VERIFIED in said) == (0, True), said
    assert database()["cms.nodes"].count_documents({}) == 0
    # Other workers delete their databases when they end.
    assert set(client().list_database_names()) <= names


@pytest.mark.slow
def test_files_are_imported_with_their_bytes(tmp_path):
    site()
    action = UploadFile(user=System("Ann"), gallery_id=None, filename="programme.pdf", fields={"published": build.PAST})
    file_id = action.execute([b"%PDF-1.7 first"]).id
    ReplaceFile(user=System("Ann"), photo_id=file_id, filename="programme.pdf").begin().write([b"%PDF-1.7 second"])
    page_id = build.node(slug="about", text=f"::file{{file=node:{file_id}}}")
    before = read(exported(tmp_path / "one"))
    empty()
    code, said = run("import_site", tmp_path / "one")
    assert code == 0, said
    assert read(exported(tmp_path / "two")) == before
    assert shown(file_id) == b"%PDF-1.7 second"
    assert [use.node.pk for use in references.find_uses([file_id])] == [page_id]
    audit()


@pytest.mark.slow
def test_file_whose_type_lies_is_skipped(tmp_path):
    site()
    html = b"<!doctype html><script>alert(1)</script>"
    UploadFile(user=System("Ann"), gallery_id=None, filename="page.html").execute([html])
    exported(tmp_path / "one")
    change_file_and_manifest(tmp_path / "one", PHOTOS, lambda data: data.replace(b"text/html", b"application/pdf"))
    empty()
    _code, said = run("import_site", tmp_path / "one")
    assert "its file is a different one" in said
    assert database()["cms.assets.files"].count_documents({"metadata.type": "file"}) == 0


@pytest.mark.slow
def test_redirects_and_tags_are_imported_and_local_ones_kept(tmp_path, mongo):
    site()
    path = tmp_path / "site"
    assert run("export_site", path)[0] == 0
    empty()
    SaveRedirect(user=System("A"), url="/away", target="https://example.com/").execute()
    tags.describe("a", "Ours", None)
    code, said = run("import_site", path)
    assert code == 1
    assert "the redirect from /away: “/away” already redirects to https://example.com/." in said
    assert "the tag a: it has another description or name here" in said
    assert manual_redirects.get("/gone").target.startswith("node:")
    assert stored_tags.get("alpha").renamed_to == "a"
    assert stored_tags.get("a").description == "Ours"


@pytest.mark.parametrize(
    ("name", "record"),
    [
        (MANUAL_REDIRECTS, {"url": "/x", "target": "javascript:alert(1)"}),
        (MANUAL_REDIRECTS, {"url": "/admin/x", "target": "https://example.org/"}),
        (TAGS, {"tag": "a,b", "description": "", "renamed_to": ""}),
        (TAGS, {"tag": "b", "description": "", "renamed_to": " b "}),
        (TAGS, {"tag": "b", "description": "x" * 1_001, "renamed_to": ""}),
    ],
)
def test_unusable_redirects_and_tags_are_skipped(tmp_path, mongo, name, record):
    path = tmp_path / "site"
    assert run("export_site", path)[0] == 0
    change_records(path, name, lambda records: records.append(record))
    code, said = run("import_site", path)
    assert code == 1
    assert "1 skipped" in said
    assert mongo["cms.manual_redirects"].count_documents({}) == mongo["cms.tags"].count_documents({}) == 0


def test_archive_from_before_redirects_and_tags_is_imported(tmp_path):
    build.node(slug="page")
    path = tmp_path / "site"
    run("export_site", path)
    manifest = json.loads((path / MANIFEST).read_text())
    for name in LATER_FILES:
        (path / name).unlink()
        del manifest["files"][name]
    (path / MANIFEST).write_text(json.dumps(manifest))
    empty()
    assert run("import_site", path)[0] == 0
