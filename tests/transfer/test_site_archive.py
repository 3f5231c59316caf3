"""Archives that are refused before any of their data is stored."""

import json
import resource
import shutil
import zipfile

import psutil
import pytest
from bson import ObjectId

from tests.support.site_copy import change_file, change_file_and_manifest
from transfer import lines
from transfer.archive import FILES, MANIFEST, NODES, PHOTOS, REVISIONS, Archive, ArchiveWriter, BadArchive
from transfer.lines import MOST_SIGNS, BadLine, decode, encode

PHOTO = ObjectId("6565f1e2a3b4c5d6e7f80910")
PICTURE = f"photos/{PHOTO}"


def written(path):
    """Write an export of one page and one photo."""
    return finished(ArchiveWriter(path), path)


def finished(writer, path):
    sha256 = writer.picture(PHOTO, iter([b"one", b"two"]))
    node = {"_id": ObjectId(), "metadata": {"title": "Lake", "rank": 1.5}, "history": []}
    photo = {"_id": PHOTO, "metadata": {}, "length": 6, "sha256": sha256}
    for name in FILES:
        with writer.lines(name) as file:
            for record in {NODES: [node], PHOTOS: [photo]}.get(name, []):
                file.add(encode(record))
    writer.finish("2026-01-01T00:00:00+00:00", {})
    return path


@pytest.mark.parametrize("name", ["export", "export.zip"])
def test_archive_is_read_back_and_private(tmp_path, name):
    path = written(tmp_path / name)
    with Archive.open(path) as archive:
        archive.check()
        assert [one["metadata"] for one in archive.records(NODES)] == [{"title": "Lake", "rank": 1.5}]
        assert b"".join(archive.picture(PHOTO)) == b"onetwo"
    assert str(path) not in [file.path for file in psutil.Process().open_files()]
    assert [(found.name, found.stat().st_mode & 0o077) for found in tmp_path.iterdir()] == [(name, 0)]


def check(path):
    with Archive.open(path) as archive:
        archive.check()


@pytest.mark.parametrize("name", ["export", "export.zip"])
def test_first_finished_export_to_a_place_wins(tmp_path, name):
    path = tmp_path / name
    first, second = ArchiveWriter(path), ArchiveWriter(path)
    second.picture(ObjectId(), iter([b"half"]))
    finished(first, path)
    with pytest.raises(FileExistsError):
        finished(second, path)
    second.abort()
    first.abort()
    check(path)
    assert list(tmp_path.iterdir()) == [path]


def test_export_to_a_full_disk_leaves_nothing(tmp_path):
    writer = ArchiveWriter(tmp_path / "export.zip")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            writer.picture(PHOTO, iter([b"x" * 100_000]))
        writer.abort()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_files_of_other_programs_beside_an_export_are_kept(tmp_path):
    mine = tmp_path / "notes.part"
    mine.mkdir()
    (mine / "precious").write_text("mine")
    written(tmp_path / "notes")
    ArchiveWriter(tmp_path / "other").abort()
    assert (mine / "precious").read_text() == "mine"
    assert sorted(found.name for found in tmp_path.iterdir()) == ["notes", "notes.part"]


def of_other_format(path):
    said = json.loads((path / MANIFEST).read_text())
    (path / MANIFEST).write_text(json.dumps(said | {"version": 2}))


def linked(path):
    (path / NODES).unlink()
    (path / NODES).symlink_to("/etc/passwd")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda path: change_file(path, NODES, lambda data: data.replace(b"Lake", b"Pond")),
            "nodes.jsonl doesn't match the man",
        ),
        (
            lambda path: change_file(path, NODES, lambda data: data[:-20]),
            "line 1 of nodes.jsonl is not a valid document",
        ),
        (lambda path: change_file(path, PICTURE, lambda data: data[:-1]), f"{PICTURE} doesn't match photos.jsonl"),
        (lambda path: (path / PICTURE).unlink(), f"{PICTURE} is missing"),
        (lambda path: (path / REVISIONS).unlink(), "these files are missing: revisions.jsonl"),
        (lambda path: (path / MANIFEST).unlink(), "manifest.json is missing"),
        (lambda path: (path / "other").write_text(""), "it contains the unexpected file 'other'"),
        (
            lambda path: change_file_and_manifest(path, NODES, lambda data: data.replace(b'"_id"', b'"id"')),
            "has the wrong keys",
        ),
        (linked, "nodes.jsonl is not a file"),
        (of_other_format, "it has the format version 2, but this release reads 1"),
        (shutil.rmtree, "this folder or file doesn't exist"),
    ],
)
def test_altered_folder_is_refused(tmp_path, spoil, message):
    path = written(tmp_path / "export")
    spoil(path)
    with pytest.raises(BadArchive, match=message):
        check(path)


def with_more(path, *more):
    """Write a zip again, with more entries: (name, data) pairs."""
    with zipfile.ZipFile(path) as archive:
        entries = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (*entries, *more):
            archive.writestr(name, data)


def boasting(path):
    """Let the directory of a zip declare two gigabytes for a file."""
    data = bytearray(path.read_bytes())
    entry = data.rindex(b"PK\x01\x02")
    data[entry + 20 : entry + 24] = (0x7FFFFFF0).to_bytes(4, "little")
    path.write_bytes(data)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "it is not a zip file, or is incomplete"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b"onetwo", b"twoone")), "can't be read: Bad CRC-32"),
        (lambda path: with_more(path, ("../../outside", b"x")), "it contains the unexpected file '../../outside'"),
        (lambda path: with_more(path, ("/etc/cron.d/x", b"x")), "it contains the unexpected file '/etc/cron.d/x'"),
        (lambda path: with_more(path, (NODES, b"x")), "it contains nodes.jsonl twice"),
        (lambda path: with_more(path, (f"photos/{'0' * 24}", bytes(9_000_000))), "would expand to more than 200 times"),
        (boasting, "it claims more content than its size allows"),
    ],
)
def test_truncated_or_hostile_zip_is_refused(tmp_path, spoil, message):
    path = written(tmp_path / "export.zip")
    spoil(path)
    with pytest.raises(BadArchive, match=message):
        check(path)


@pytest.mark.parametrize(
    "value",
    [
        '{"$code": "x"}',
        '{"$regularExpression": {"pattern": "x", "options": ""}}',
        '{"$where": "x"}',
        '{"a.b": 1}',
        '{"$date": {"$numberLong": "99999999999999999999"}}',
        "[" * 5_000,
        '{"$oid": "x"}',
        '{"$numberLong": "99999999999999999999"}',
        '"\\ud800"',
        "[" * 99 + "]" * 99,
    ],
)
def test_values_no_site_stores_are_refused(tmp_path, value):
    path = written(tmp_path / "export")
    change_file_and_manifest(path, NODES, lambda data: data.replace(b'"Lake"', value.encode()))
    with pytest.raises(BadArchive, match="line 1 of nodes.jsonl is not a valid document"):
        check(path)


@pytest.mark.parametrize("value", [b"{}", b"[]", b"1", b'"ab"'])
def test_line_with_too_many_values_is_refused_before_parsing(value, monkeypatch):
    assert len(decode(b'{"a":[' + b",".join([value] * 1_000) + b"]}")["a"]) == 1_000
    monkeypatch.setattr(lines.json_util, "loads", None)
    with pytest.raises(BadLine, match="too many values"):
        decode(b'{"a":[' + b",".join([value] * MOST_SIGNS) + b"]}")


def test_line_contains_exactly_what_was_stored():
    record = {"_id": PHOTO, "metadata": {"a": [1, 2**40, 1.0, None, True, "“é”"]}}
    assert decode(encode(record)) == record
    assert [type(one) for one in decode(encode(record))["metadata"]["a"][:3]] != [int, int, int]
