"""manage.py import_photos, as an operator sees it."""

import io
import unicodedata

import pytest
from django.core.management import CommandError, call_command

from cms.testing import build
from nodes.selectors import stored_photos
from photos.services import photos
from tests.support.nodes import pictures
from tests.support.nodes.photo_build import audit, count, gallery

pytestmark = pytest.mark.usefixtures("mongo")


def run(name: str, *arguments: str) -> str:
    out = io.StringIO()
    call_command(name, *arguments, stdout=out, stderr=out)
    return out.getvalue()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "deeper").mkdir()
    (tmp_path / "lake.jpg").write_bytes(pictures.jpeg())
    (tmp_path / "lake.jpg.txt").write_text("A lake\nat night\n")
    (tmp_path / "deeper" / "pond.png").write_bytes(pictures.png())
    (tmp_path / "deeper" / "reed.avif").write_bytes(pictures.avif())
    (tmp_path / "notes.txt").write_text("no image")
    (tmp_path / ".hidden.jpg").write_bytes(pictures.jpeg())
    return tmp_path


def test_folder_is_imported_once(folder):
    parent = gallery("lakes", parent=build.node("folder", "travels"))
    said = run("import_photos", str(folder), "--gallery", "travels/lakes", "--publish", "--tags", "a, b")
    assert said == "Photos: 3 imported, 0 skipped, 0 refused.\n"
    lake, pond = stored_photos.find(parent, "lake").metadata, stored_photos.find(parent, "pond").metadata
    assert (lake.detail.alt, lake.tags, lake.published is not None) == ("A lake at night", ["a", "b"], True)
    assert (pond.detail.alt, pond.published) == ("", None)
    assert stored_photos.find(parent, "reed").metadata.detail.content_type == "image/avif"
    before = count()
    said = run("import_photos", str(folder), "--gallery", "lakes")
    assert said == "Photos: 0 imported, 3 skipped, 0 refused.\n"
    assert count() == before
    audit()


@pytest.mark.parametrize(("picture", "text"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_text_file_in_another_unicode_form_is_read(tmp_path, picture, text):
    (tmp_path / unicodedata.normalize(picture, "café.jpg")).write_bytes(pictures.jpeg())
    (tmp_path / unicodedata.normalize(text, "café.jpg.txt")).write_text("A café")
    parent = gallery("cafes")
    run("import_photos", str(tmp_path), "--gallery", "cafes")
    assert stored_photos.find(parent, "café").metadata.detail.alt == "A café"


def test_gallery_path_can_be_readable_or_url_encoded(folder):
    gallery("湖", parent=build.node("folder", "旅行"))
    gallery("湖", parent=build.node("folder", "a"))
    for path, imported in (("旅行/湖", 3), ("/%E6%97%85%E8%A1%8C/%E6%B9%96/", 0)):
        assert run("import_photos", str(folder), "--gallery", path).startswith(f"Photos: {imported} imported, ")


def test_trashed_photo_is_not_imported_again(folder):
    parent = gallery("lakes")
    run("import_photos", str(folder), "--gallery", "lakes")
    photo = stored_photos.find(parent, "lake")
    photos.move_to_trash(build.EDITOR, photo.pk, photo.metadata.nonce)
    said = run("import_photos", str(folder), "--gallery", "lakes")
    assert said == "Photos: 0 imported, 3 skipped, 0 refused.\n"
    assert stored_photos.find(parent, "lake") is None


def test_dry_run_changes_nothing(folder):
    gallery("lakes")
    before = count()
    said = run("import_photos", str(folder), "--gallery", "lakes", "--dry-run")
    assert said == "Dry run: would import photos: 3 imported, 0 skipped, 0 refused.\n"
    assert count() == before


def test_refused_file_is_named_and_the_rest_is_imported(folder):
    parent = gallery("lakes")
    (folder / "bad.jpg").write_bytes(b"<html>" * 99)
    out = io.StringIO()
    with pytest.raises(CommandError, match="1 of 4 files were refused"):
        call_command("import_photos", str(folder), "--gallery", "lakes", stdout=out, stderr=out)
    assert "bad.jpg: This is a web page" in out.getvalue()
    assert "3 imported, 0 skipped, 1 refused" in out.getvalue()
    assert stored_photos.find(parent, "lake")
    audit()


def test_pictures_in_other_formats_are_refused_by_name(folder):
    parent = gallery("lakes")
    heads = {"IMG_1.HEIC": b"\0\0\0\x18ftypheic", "scan.tif": b"II*\0", "paint.bmp": b"BM", "raw.dng": b"MM\0*"}
    for name, head in heads.items():
        (folder / "deeper" / name).write_bytes(head + bytes(90))
    for options in ((), ("--dry-run",)):
        out = io.StringIO()
        with pytest.raises(CommandError, match="4 of 7 files were refused"):
            call_command("import_photos", str(folder), "--gallery", "lakes", *options, stdout=out, stderr=out)
        for name, format in zip(heads, ("HEIC", "TIFF", "BMP", "TIFF"), strict=True):
            assert f"{name}: {format} files aren't accepted. Use JPEG" in out.getvalue()
    assert stored_photos.find(parent, "lake")
    audit()


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_text_that_is_not_utf_8_is_named(folder, options):
    parent = gallery("lakes")
    (folder / "lake.jpg.txt").write_bytes("Zürich".encode("latin-1"))
    (folder / "deeper" / "pond.png.txt").write_bytes("Zürich".encode("utf-8-sig"))
    out = io.StringIO()
    with pytest.raises(CommandError, match="1 of 3 files were refused"):
        call_command("import_photos", str(folder), "--gallery", "lakes", *options, stdout=out, stderr=out)
    assert "lake.jpg.txt: 'utf-8' codec can't decode byte 0xfc" in out.getvalue()
    assert "2 imported, 0 skipped, 1 refused" in out.getvalue()
    if not options:
        assert stored_photos.find(parent, "pond").metadata.detail.alt == "Zürich"
    assert stored_photos.find(parent, "lake") is None


def test_errors_are_one_sentence(folder):
    build.node("blog", "blog")
    for arguments, reason in (
        ([str(folder / "none"), "--gallery", "x"], "The folder"),
        ([str(folder), "--gallery", "blog"], "The gallery “blog” doesn't exist"),
    ):
        with pytest.raises(CommandError, match=reason):
            run("import_photos", *arguments)
    gallery("same", parent=build.node("folder", "a"))
    gallery("same", parent=build.node("folder", "b"))
    with pytest.raises(CommandError, match="Several galleries"):
        run("import_photos", str(folder), "--gallery", "same")
