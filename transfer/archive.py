"""An export archive: a folder or zip that contains documents, the bytes of photos, and a manifest with hashes.

manifest.json        format, options, and the sha256, bytes and number of documents of each file below
sections.jsonl …     one document per line; FILES lists all these files
photos/ID            the bytes of a photo's current or earlier file; photos.jsonl contains their sha256

An archive is never unpacked to disk. If it contains any files except those that this module lists, it is rejected.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from bson import ObjectId
from django.utils.translation import gettext as _

from transfer.lines import BadLine, decode

FORMAT = "marginalia-site"
VERSION = 1
MANIFEST = "manifest.json"
# The files, in the order in which they are imported. Before a document can be stored, only documents from earlier
# files, or from the same file, have to be stored.
FILES = (
    REVISIONS := "revisions.jsonl",
    SECTIONS := "sections.jsonl",
    PHOTOS := "photos.jsonl",
    NODES := "nodes.jsonl",
    REDIRECTS := "redirects.jsonl",
    OLD_LINKS := "old_links.jsonl",
    MANUAL_REDIRECTS := "manual_redirects.jsonl",
    TAGS := "tags.jsonl",
    SETTINGS := "settings.jsonl",
    EMBEDDED_PAGES := "embedded_pages.jsonl",
    DISCUSSIONS := "discussions.jsonl",
    PENDING := "pending.jsonl",
)
# Archives from early in the development of version 0.1.0 lack these files.
LATER_FILES = frozenset({MANUAL_REDIRECTS, TAGS, EMBEDDED_PAGES})
_NODE = {"_id": ObjectId, "metadata": dict}
_KEYS: dict[str, dict[str, type]] = {
    SETTINGS: {"setting": str},
    REVISIONS: {**_NODE, "node_id": ObjectId},
    SECTIONS: {**_NODE, "history": list},
    PHOTOS: {**_NODE, "length": int, "sha256": str},
    NODES: {**_NODE, "history": list},
    REDIRECTS: {"_id": dict, "node_id": ObjectId},
    MANUAL_REDIRECTS: {"url": str, "target": str},
    TAGS: {"tag": str, "description": str, "renamed_to": str},
    EMBEDDED_PAGES: {"page": str, "title": str},
    PENDING: {"discussion": str},
}
PIECE = 1 << 20
# Maximum length of a line in bytes. MongoDB accepts documents of up to 16 MB, which are longer as extended JSON.
LONGEST_LINE = 48 << 20
LARGEST_MANIFEST = 1 << 20
# Maximum ratio of uncompressed to compressed size. A higher ratio indicates a zip bomb, because text usually compresses
# to about a tenth of its size.
MOST_GROWTH = 200
SMALL = 1 << 20
_PICTURE = re.compile("photos/[0-9a-f]{24}")
_SHA256 = re.compile("[0-9a-f]{64}")


class BadArchive(Exception):
    """The archive was not written by an export, is incomplete, or was changed. The message describes the problem."""


@dataclass(frozen=True)
class Manifest:
    """The manifest of an archive.

    Attributes:
        made: The time of the export.
        options: The options of the export.
        files: For each file of documents, its sha256, bytes and number of documents ("records"), keyed by the name of
            the file.
    """

    made: str
    options: dict[str, Any]
    files: dict[str, dict[str, Any]] = field(default_factory=dict)

    def count(self, name: str) -> int:
        """Return the number of documents in a file."""
        return int(self.files[name]["records"]) if name in self.files else 0


class ArchiveWriter:
    """A writer that creates an archive under a temporary name, and renames it to `path` when it is complete.

    Raises:
        FileExistsError: `path` already exists.
        NotADirectoryError: The folder of `path` doesn't exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._check_free()
        if not path.parent.is_dir():
            raise NotADirectoryError(path.parent)
        is_zip = path.suffix == ".zip"
        prefix = f".{path.name}."
        # An archive contains drafts. Create it with tempfile, because only the owner can read what tempfile creates.
        if is_zip:
            handle, part = tempfile.mkstemp(dir=path.parent, prefix=prefix)
            os.close(handle)
        else:
            part = tempfile.mkdtemp(dir=path.parent, prefix=prefix)
        self._part = Path(part)
        self._zip = zipfile.ZipFile(self._part, "w") if is_zip else None
        if not is_zip:
            (self._part / "photos").mkdir()
        self._files: dict[str, dict[str, Any]] = {}

    @contextmanager
    def lines(self, name: str) -> Iterator["LineWriter"]:
        """Yield a writer for the lines of a file.

        The lines are buffered in a temporary file, because photos can be written to the archive before all lines are
        known.
        """
        with tempfile.TemporaryFile(dir=self._part.parent) as buffer:
            lines = LineWriter(buffer)
            yield lines
            size = buffer.tell()
            buffer.seek(0)
            sha256 = self._write(name, zipfile.ZIP_DEFLATED, iter(lambda: buffer.read(PIECE), b""))
        self._files[name] = {"sha256": sha256, "bytes": size, "records": lines.records}

    def picture(self, file_id: object, pieces: Iterator[bytes]) -> str:
        """Write the `pieces` of a photo, and return their sha256.

        If `pieces` raises an exception, the bytes that have already been written remain in the archive.
        """
        return self._write(f"photos/{file_id}", zipfile.ZIP_STORED, pieces)

    def finish(self, made: str, options: dict[str, Any]) -> Manifest:
        """Write the manifest, and rename the archive to `path`.

        Raises:
            FileExistsError: Another process has since created `path`.
        """
        manifest = Manifest(made, options, self._files)
        data = {"format": FORMAT, "version": VERSION, "made": made, "options": options, "files": self._files}
        with self._open(MANIFEST, zipfile.ZIP_DEFLATED) as file:
            file.write(json.dumps(data, indent=1).encode())
        if self._zip:
            self._zip.close()
        self._check_free()
        os.rename(self._part, self._path)
        return manifest

    def abort(self) -> None:
        """Delete the temporary files of an unfinished archive."""
        if self._zip:
            with suppress(ValueError, OSError):  # the disk may be full
                self._zip.close()
        if self._part.is_dir():
            shutil.rmtree(self._part)
        self._part.unlink(missing_ok=True)

    def _check_free(self) -> None:
        if os.path.lexists(self._path):
            raise FileExistsError(self._path)

    def _write(self, name: str, compression: int, pieces: Iterator[bytes]) -> str:
        """Write a file, and return its sha256."""
        sha256 = hashlib.sha256()
        with self._open(name, compression) as file:
            for piece in pieces:
                file.write(piece)
                sha256.update(piece)
        return sha256.hexdigest()

    def _open(self, name: str, compression: int) -> Any:
        if self._zip is None:
            return (self._part / name).open("wb")
        entry = zipfile.ZipInfo(name)
        entry.compress_type = compression
        entry.external_attr = 0o600 << 16
        return self._zip.open(entry, "w", force_zip64=True)


class LineWriter:
    """A writer for lines. `records` is the number of lines written so far."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.records = 0

    def add(self, line: bytes) -> None:
        self._file.write(line)
        self.records += 1

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """If the `with` block raises an exception, remove all lines that the block has added."""
        start = self._file.tell()
        records = self.records
        try:
            yield
        except Exception:
            self._file.seek(start)
            self._file.truncate()
            self.records = records
            raise


class Archive:
    """A reader for an archive. Call `check` before you use the contents.

    Raises:
        BadArchive: The archive was not written by an export.
    """

    def __init__(self, path: Path, file: zipfile.ZipFile | None) -> None:
        self.path = path
        self._zip = file
        self._sizes = dict(self._list_zip() if self._zip else self._list_folder())
        self.manifest = self._read_manifest()
        if missing := set(self.manifest.files) - set(self._sizes):
            raise BadArchive(_("these files are missing: %(names)s") % {"names": ", ".join(sorted(missing))})

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator["Archive"]:
        """Yield the archive at `path`, which is a folder or a zip. When the `with` block ends, a zip is closed.

        Raises:
            BadArchive: There is no readable archive at `path`.
        """
        with nullcontext() if path.is_dir() else _open_zip(path) as file:
            yield cls(path, file)

    def check(self, step: Callable[[], object] = lambda: None) -> None:
        """Check that all files match the manifest, and that the photos match photos.jsonl.

        Args:
            step: A function that is called for each document.

        Raises:
            BadArchive: The archive is incomplete, or has been changed.
        """
        for name, entry in self.manifest.files.items():
            sha256 = hashlib.sha256()
            records = 0
            for number, line in enumerate(self.lines(name), start=1):
                sha256.update(line)
                _parse_document(name, number, line)
                records += 1
                step()
            if (sha256.hexdigest(), self._sizes[name], records) != (entry["sha256"], entry["bytes"], entry["records"]):
                raise BadArchive(
                    _("%(name)s doesn't match the manifest. It was changed or is incomplete") % {"name": name}
                )
        for record in self.records(PHOTOS):
            if bool(record["length"]) is not bool(record["sha256"]):
                raise BadArchive(
                    _("%(photos)s doesn't describe the bytes of %(id)s") % {"photos": PHOTOS, "id": record["_id"]}
                )
            if record["sha256"]:
                self._check_picture(record)

    def _check_picture(self, record: Mapping[str, Any]) -> None:
        """Check that the bytes of a photo match its length and its hash in photos.jsonl.

        Raises:
            BadArchive: The bytes are missing or different.
        """
        name = f"photos/{record['_id']}"
        sha256 = hashlib.sha256()
        if name not in self._sizes:
            raise BadArchive(_("%(name)s is missing") % {"name": name})
        for piece in self.picture(record["_id"]):
            sha256.update(piece)
        if sha256.hexdigest() != record["sha256"] or self._sizes[name] != record.get("length"):
            raise BadArchive(
                _("%(name)s doesn't match %(photos)s. It was changed or is incomplete")
                % {"name": name, "photos": PHOTOS}
            )

    def records(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the documents of a file.

        Raises:
            BadArchive: A line doesn't contain a document.
        """
        for number, line in enumerate(self.lines(name), start=1):
            yield _parse_document(name, number, line)

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a file, or nothing if the archive was made before there was such a file.

        Raises:
            BadArchive: The file cannot be read, or a line is too long.
        """
        if name not in self.manifest.files:
            return
        with self._open(name) as file:
            while line := file.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    raise BadArchive(_("a line of %(name)s is too long") % {"name": name})
                yield line

    def picture(self, file_id: object) -> Iterator[bytes]:
        """Yield the bytes of a photo.

        Raises:
            BadArchive: The file cannot be read.
        """
        with self._open(f"photos/{file_id}") as file:
            while piece := file.read(PIECE):
                yield piece

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        try:
            with self._zip.open(name) if self._zip else (self.path / name).open("rb") as file:
                yield file
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError) as error:
            raise BadArchive(_("%(name)s can't be read: %(error)s") % {"name": name, "error": error}) from error

    def _read_manifest(self) -> Manifest:
        if MANIFEST not in self._sizes:
            raise BadArchive(
                _("%(manifest)s is missing. It wasn't written by export_site, or the export was interrupted")
                % {"manifest": MANIFEST}
            )
        if self._sizes[MANIFEST] > LARGEST_MANIFEST:
            raise BadArchive(_("%(manifest)s is too large") % {"manifest": MANIFEST})
        with self._open(MANIFEST) as file:
            try:
                data = json.loads(file.read(LARGEST_MANIFEST + 1))
            except (ValueError, RecursionError) as error:
                raise BadArchive(
                    _("%(manifest)s is not valid JSON: %(error)s") % {"manifest": MANIFEST, "error": error}
                ) from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise BadArchive(_("it is not an export of a site"))
        if data.get("version") != VERSION:
            raise BadArchive(
                _("it has the format version %(found)s, but this release reads %(version)s")
                % {"found": repr(data.get("version")), "version": VERSION}
            )
        files = data.get("files")
        if (
            not isinstance(files, dict)
            or not set(FILES) - LATER_FILES <= set(files) <= set(FILES)
            or not all(map(_is_file_entry, files.values()))
        ):
            raise BadArchive(_("%(manifest)s doesn't describe each file") % {"manifest": MANIFEST})
        if not isinstance(data.get("made"), str) or not isinstance(data.get("options"), dict):
            raise BadArchive(_("%(manifest)s lacks its date or source") % {"manifest": MANIFEST})
        return Manifest(data["made"], data["options"], files)

    def _list_zip(self) -> Iterator[tuple[str, int]]:
        assert self._zip
        seen = set()
        entries = self._zip.infolist()
        # The sizes in a zip can be forged. In a genuine zip, the sum of the compressed sizes never exceeds the size of
        # the zip itself.
        if sum(entry.compress_size for entry in entries) > self.path.stat().st_size:
            raise BadArchive(_("it claims more content than its size allows"))
        for entry in entries:
            name = entry.orig_filename
            _check_name(name)
            if name in seen:
                raise BadArchive(_("it contains %(name)s twice") % {"name": name})
            if entry.file_size > SMALL + MOST_GROWTH * entry.compress_size:
                raise BadArchive(
                    _("%(name)s would expand to more than %(n)d times its size") % {"name": name, "n": MOST_GROWTH}
                )
            seen.add(name)
            yield name, entry.file_size

    def _list_folder(self) -> Iterator[tuple[str, int]]:
        for path in sorted(self.path.rglob("*")):
            name = path.relative_to(self.path).as_posix()
            if path.is_dir() and not path.is_symlink() and name == "photos":
                continue
            _check_name(name)
            if path.is_symlink() or not path.is_file():
                raise BadArchive(_("%(name)s is not a file") % {"name": name})
            yield name, path.stat().st_size


def _open_zip(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except FileNotFoundError as error:
        raise BadArchive(_("this folder or file doesn't exist")) from error
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise BadArchive(_("it is not a zip file, or is incomplete: %(error)s") % {"error": error}) from error


def _check_name(name: str) -> None:
    if name != MANIFEST and name not in FILES and not _PICTURE.fullmatch(name):
        raise BadArchive(_("it contains the unexpected file %(name)s") % {"name": repr(name[:100])})


def _parse_document(name: str, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = decode(line)
    except BadLine as error:
        raise BadArchive(
            _("line %(number)s of %(name)s is not a valid document: %(error)s")
            % {"number": number, "name": name, "error": error}
        ) from error
    if not all(isinstance(record.get(field), type) for field, type in _KEYS.get(name, {}).items()):
        raise BadArchive(_("line %(number)s of %(name)s has the wrong keys") % {"number": number, "name": name})
    return record


def _is_file_entry(entry: object) -> bool:
    """Return whether a value from the manifest describes a file."""
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("sha256"), str)
        and bool(_SHA256.fullmatch(entry["sha256"]))
        and all(type(entry.get(name)) is int and entry[name] >= 0 for name in ("bytes", "records"))
    )
