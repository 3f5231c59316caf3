"""Imports that administrators upload in the admin."""

import io
import zipfile
from datetime import timedelta

import pytest
from bson import ObjectId
from django.contrib.auth.models import Group
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from cms.testing.build import node
from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from marginalia.tasks import queue
from marginalia.testing import run_tasks
from nodes.collections import NODES
from nodes.services.site import save_settings
from tests.support import site_copy, wxr
from tests.support.commands import explain, stages
from transfer import uploads
from transfer.collections import IMPORTS, PIECES
from transfer.tasks import run_import
from wordpress.media.download import DownloadsStopped

LIST = "/admin/import/"


@pytest.fixture
def ann(mongo, editor, settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    return editor()


def begin(editor, size, name="export.xml", **options):
    return editor.client.post(LIST, {"filename": name, "size": size, **options})


def send(editor, content, name="export.xml", **options):
    """Upload a file as the script does, and return the URL of its page."""
    made = begin(editor, len(content), name, **options).json()
    for start in range(0, len(content), made["size"]):
        answer = send_piece(editor, f"{made['pieces']}{start // made['size']}/", content[start : start + made["size"]])
        assert answer.status_code == 204
    return made["page"]


def send_piece(editor, url, data):
    return editor.client.post(url, data, content_type="application/octet-stream")


def start(editor, page, **data):
    editor.client.post(f"{page}start/", data)
    run_tasks()
    return editor.client.get(page).context["upload"]


def titles(mongo):
    return [stored["metadata"]["title"] for stored in mongo[NODES].find()]


def test_wordpress_export_is_checked_and_then_imported(mongo, ann, monkeypatch):
    monkeypatch.setattr(uploads, "PIECE", 500)
    monkeypatch.setattr("transfer.views.PIECE", 500)
    page = send(ann, wxr.export(wxr.item(1, "Hello")))
    upload = start(ann, page, dry_run="1")
    assert (upload.state, upload.is_dry_run, upload.error) == ("done", True, "")
    assert "1 post" in upload.report
    assert titles(mongo) == []
    html = ann.client.get(page).content.decode()
    assert "Import now" in html
    assert "1 post" in html
    upload = start(ann, page)
    assert (upload.state, upload.is_dry_run) == ("done", False)
    assert "Hello" in titles(mongo)
    assert mongo[PIECES].count_documents({}) == 0
    assert "Import now" not in ann.client.get(page).content.decode()
    assert "Imported" in ann.client.get(LIST).content.decode()


def test_options_of_a_wordpress_import_are_used(mongo, ann):
    page = send(ann, wxr.export(wxr.item(1, "Hello")), section="old-site")
    assert start(ann, page).error == ""
    folder = mongo[NODES].find_one({"metadata.slug": "old-site"})
    assert mongo[NODES].count_documents({"metadata.parent_id": folder["_id"]}) == 1


def test_archive_is_checked_and_then_imported(mongo, ann, tmp_path):
    node(slug="kept", title="Kept")
    call_command("export_site", tmp_path / "site.zip", stdout=io.StringIO())
    site_copy.empty()
    bob = type(ann)(ann.user)
    page = send(bob, (tmp_path / "site.zip").read_bytes(), "site.zip")
    upload = start(bob, page, dry_run="1")
    assert upload.error == ""
    assert upload.report[-1].startswith("Dry run: would import: 2 new")
    assert titles(mongo) == []
    upload = start(bob, page)
    assert upload.report[-1] == "Verified: everything matches the export."
    assert titles(mongo) == ["Kept"]


def test_report_is_in_the_language_of_the_admin(mongo, ann, tmp_path):
    node(slug="kept", title="Kept")
    call_command("export_site", tmp_path / "site.zip", stdout=io.StringIO())
    page = send(ann, (tmp_path / "site.zip").read_bytes(), "site.zip")
    save_settings({"language": "zh-hans"}, {"language": "en"})
    upload = start(ann, page)
    assert upload.report[-2].startswith("已导入: ")


def zipped(name, content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"not XML", "can't be imported"),
        (b"PK but not a zip", "can't be imported"),
        (zipped("../../etc/passwd", b"x"), "can't be imported"),
        (zipped("nodes.jsonl", b"0" * 50_000_000), "can't be imported"),
        (b'<!DOCTYPE rss [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><rss>&b;</rss>', "can't be imported"),
    ],
    ids=["text", "zip", "path", "bomb", "entities"],
)
def test_hostile_files_are_refused(mongo, ann, content, reason):
    upload = start(ann, send(ann, content), dry_run="1")
    assert upload.state == "failed"
    assert reason in upload.error
    assert titles(mongo) == []


def test_problems_are_reported(mongo, ann, monkeypatch):
    def fail(importer):
        importer.report.failed = 1

    monkeypatch.setattr("wordpress.importer.Importer.run", fail)
    upload = start(ann, send(ann, wxr.export(wxr.item(1))))
    assert upload.error == "1 of the posts and pages could not be imported."
    assert "Imported with problems" in ann.client.get(LIST).content.decode()
    assert mongo[PIECES].count_documents({}) == 1


@pytest.mark.parametrize("size", [0, -1, 11 << 30])
def test_unusable_sizes_are_refused(mongo, ann, size):
    answer = begin(ann, size)
    assert answer.status_code == 422
    assert "Choose a file of up to 10 GB." in answer.content.decode()
    assert mongo[IMPORTS].count_documents({}) == 0


def test_pieces_must_fit_the_file(mongo, ann):
    made = begin(ann, 10).json()
    for number, data in ((0, b"short"), (0, b"x" * 11), (1, b"x"), (99999, b"x")):
        assert send_piece(ann, f"{made['pieces']}{number}/", data).status_code == 409
    assert mongo[PIECES].count_documents({}) == 0
    upload = start(ann, made["page"])
    assert upload.state == "uploading"
    for _time in range(2):
        assert send_piece(ann, f"{made['pieces']}0/", b"x" * 10).status_code == 204
    assert mongo[PIECES].count_documents({}) == 1


def test_sizes_are_added_up_without_reading_the_file(mongo, ann, commands):
    page = send(ann, wxr.export(wxr.item(1)))
    with commands.recorded() as log:
        ann.client.get(page)
    event = next(event for event in log.sent if event.command.get("find") == PIECES)
    assert "FETCH" not in stages(explain(mongo, event))


def test_running_import_accepts_no_pieces_and_no_second_start(mongo, ann):
    page = send(ann, wxr.export(wxr.item(1)))
    ann.client.post(f"{page}start/", {"dry_run": "1"})
    nonce = ann.client.get(page).context["upload"].nonce
    html = ann.client.get(page).content.decode()
    assert "data-live" in html
    assert send_piece(ann, f"{page}pieces/0/", b"x").status_code == 409
    ann.client.post(f"{page}start/")
    assert ann.client.get(page).context["upload"].nonce == nonce


def test_deleted_import_stops(mongo, ann, monkeypatch):
    page = send(ann, wxr.export(*(wxr.item(n) for n in range(5))))
    monkeypatch.setattr("transfer.tasks.INTERVAL", 0)
    report = uploads.report_progress

    def delete_first(upload, step, done, total):
        if step == "importing posts and pages":
            uploads.delete(upload.id)
        report(upload, step, done, total)

    monkeypatch.setattr(uploads, "report_progress", delete_first)
    ann.client.post(f"{page}start/")
    run_tasks()
    assert titles(mongo) == ["Blog"] or titles(mongo) == []
    assert mongo[IMPORTS].count_documents({}) == mongo[PIECES].count_documents({}) == 0
    assert ann.client.get(page).status_code == 404
    assert queue.failures() == []


def test_crashed_import_can_be_started_again(mongo, ann, monkeypatch):
    page = send(ann, wxr.export(wxr.item(1, "Hello")))
    with monkeypatch.context() as patch:
        patch.setattr("wordpress.importer.Importer.run", lambda importer: 1 / 0)
        ann.client.post(f"{page}start/")
        run_tasks()
    database()["jobs"].update_many({}, {"$set": {"state": queue.FAILED}})
    assert "stopped because of an error" in ann.client.get(page).content.decode()
    assert start(ann, page).state == "done"
    assert "Hello" in titles(mongo)


def test_import_without_a_job_can_be_started_again(mongo, ann, monkeypatch):
    page = send(ann, wxr.export(wxr.item(1, "Hello")))
    assert start(ann, page, dry_run="1").state == "done"
    with monkeypatch.context() as patch:
        patch.setattr(type(run_import), "enqueue", lambda *arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ann.client.post(f"{page}start/")
    assert "Waiting for the worker" in ann.client.get(page).content.decode()
    monkeypatch.setattr("transfer.views.now", lambda: now() + timedelta(minutes=2))
    assert "stopped because of an error" in ann.client.get(page).content.decode()
    assert start(ann, page).state == "done"
    assert "Hello" in titles(mongo)


def test_import_whose_file_has_expired_fails(mongo, ann):
    page = send(ann, wxr.export(wxr.item(1, "Hello")))
    ann.client.post(f"{page}start/")
    mongo[PIECES].delete_many({})
    run_tasks()
    upload = ann.client.get(page).context["upload"]
    assert (upload.state, upload.error) == ("failed", "The file is no longer complete. Upload it again.")
    assert titles(mongo) == []


def test_truncated_wordpress_export_is_imported_up_to_the_error(mongo, ann):
    whole = wxr.export(wxr.item(1, "Hello"), wxr.item(2, "Cut"))
    page = send(ann, whole[: whole.index(b"Cut")])
    upload = start(ann, page, dry_run="1")
    assert (upload.state, titles(mongo)) == ("failed", [])
    assert "export.xml is damaged: line " in upload.error
    assert upload.error.endswith("Everything before this line can be imported.")
    upload = start(ann, page)
    assert (upload.state, "Hello" in titles(mongo)) == ("failed", True)
    assert "export.xml is damaged: line " in upload.error
    assert upload.error.endswith("Everything before this line was imported.")


def test_old_site_in_a_private_network_is_reported_without_an_option_of_the_command(mongo, ann):
    old = "http://127.0.0.1:9"
    content = wxr.export(wxr.attachment(5, f"{old}/lake.jpg"), wxr.item(1, "Hello"), site=old)
    upload = start(ann, send(ann, content, downloads="on"))
    assert upload.error == "export.xml can't be imported: the old site is in a private network"
    assert titles(mongo) == []


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            DownloadsStopped("the limit for one run was reached"),
            "Downloads stopped: the limit for one run was reached. No text was imported. "
            "Start the import again to resume.",
        ),
        (OSError(28, "No space left on device"), "The import stopped: No space left on device. Start it again."),
        (OSError("it is incomplete"), "The import stopped: it is incomplete. Start it again."),
    ],
    ids=["downloads", "disk", "no-errno"],
)
def test_interrupted_import_says_how_to_resume(mongo, ann, monkeypatch, error, message):
    def stop(importer):
        raise error

    page = send(ann, wxr.export(wxr.item(1, "Hello")))
    with monkeypatch.context() as patch:
        patch.setattr("wordpress.importer.Importer.run", stop)
        upload = start(ann, page)
    assert (upload.state, upload.error) == ("failed", message)
    assert start(ann, page).state == "done"
    assert "Hello" in titles(mongo)


def test_upload_works_without_scripts(mongo, ann):
    file = SimpleUploadedFile("export.xml", wxr.export(wxr.item(1, "Hello")))
    answer = ann.client.post(LIST, {"file": file, "section": "", "filename": "", "size": ""})
    assert answer.status_code == 302
    run_tasks()
    assert "1 post" in ann.client.get(answer["Location"]).context["upload"].report


def test_upload_without_a_file_is_refused(mongo, ann):
    answer = ann.client.post(LIST, {"section": "", "filename": "", "size": ""})
    assert "Choose a file" in answer.content.decode()


def test_only_administrators_import(mongo, ann, editor):
    page = send(ann, wxr.export(wxr.item(1)))
    bob = editor("bob", is_superuser=False)
    bob.user.groups.add(Group.objects.get(name="Editors"))
    assert bob.client.get(LIST).status_code == bob.client.get(page).status_code == 403
    assert begin(bob, 10).status_code == 403
    for url in ("start/", "delete/"):
        assert bob.client.post(f"{page}{url}").status_code == 403
    assert send_piece(bob, f"{page}pieces/0/", b"x").status_code == 403
    assert mongo[IMPORTS].count_documents({}) == 1
    bob.user.groups.set([Group.objects.get(name="Administrators")])
    assert bob.client.get(LIST).status_code == 200


def test_report_is_bounded(mongo, ann, monkeypatch):
    monkeypatch.setattr(uploads, "MOST_LINES", 2)
    upload = uploads.begin(uploads.get(_id(send(ann, wxr.export(wxr.item(1))))), is_dry_run=True)
    uploads.finish(upload, ["a" * 9_999, "b", "c", "d"])
    report = uploads.get(upload.id).report
    assert [len(line) for line in report[:2]] == [500, 1]
    assert report[2] == "… and 2 more lines"


def _id(page):
    return ObjectId(page.strip("/").rpartition("/")[2])


def test_file_larger_than_a_piece_is_stored_whole(mongo, ann):
    content = bytes(range(256)) * (5 << 12)
    page = send(ann, content)
    upload = uploads.get(_id(page))
    assert upload.pieces == 2
    assert uploads.is_complete(upload)
    with uploads.as_file(upload) as path:
        assert path.read_bytes() == content
