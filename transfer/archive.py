"""The file of an export: a folder or a zip with documents as lines, the bytes of photos, and a manifest of their hashes.

    manifest.json        format, what was left out, and of each file below its sha256, bytes and number of documents
    sections.jsonl …     one document a line; FILES names them all
    photos/ID            the bytes of a photo, or of a picture that it showed before; photos.jsonl has their sha256

Nothing of an archive is ever unpacked: its files are read by the names that stand here, and one with others is refused.
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

from transfer.lines import BadLine, decoded

FORMAT = "marginalia-site"
VERSION = 1
MANIFEST = "manifest.json"
# In the order in which they are taken in: each refers to what stands before it.
FILES = (
    REVISIONS := "revisions.jsonl",
    SECTIONS := "sections.jsonl",
    PHOTOS := "photos.jsonl",
    NODES := "nodes.jsonl",
    REDIRECTS := "redirects.jsonl",
    OLD_LINKS := "old_links.jsonl",
    SETTINGS := "settings.jsonl",
    DISCUSSIONS := "discussions.jsonl",
    PENDING := "pending.jsonl",
)
_NODE = {"_id": ObjectId, "metadata": dict}
_KEYS: dict[str, dict[str, type]] = {
    SETTINGS: {"setting": str},
    REVISIONS: {**_NODE, "node_id": ObjectId},
    SECTIONS: {**_NODE, "history": list},
    PHOTOS: {**_NODE, "length": int, "sha256": str},
    NODES: {**_NODE, "history": list},
    REDIRECTS: {"_id": dict, "node_id": ObjectId},
    PENDING: {"discussion": str},
}
PIECE = 1 << 20
# The server takes documents of 16 MB; as extended JSON one is a little longer.
LONGEST_LINE = 48 << 20
LARGEST_MANIFEST = 1 << 20
# A zip that says it grows by more was made to fill a memory or a disk. Lines of text shrink to a tenth.
MOST_GROWTH = 200
SMALL = 1 << 20
_PICTURE = re.compile("photos/[0-9a-f]{24}")
_SHA256 = re.compile("[0-9a-f]{64}")


class BadArchive(Exception):
    """The archive is not one that an export wrote, or not whole: the message says what is wrong with it."""


@dataclass(frozen=True)
class Manifest:
    """What an archive says of itself. `files`: {name: {"sha256", "bytes", "records"}}; `options`: what it was asked for."""

    made: str
    options: dict[str, Any]
    files: dict[str, dict[str, Any]] = field(default_factory=dict)

    def count(self, name: str) -> int:
        """Return how many documents a file has."""
        return int(self.files[name]["records"])


class Writer:
    """Writes an archive beside its place, under a name of its own, and puts it there when it is whole. Raises FileExistsError
    if something is there, NotADirectoryError if its folder doesn't exist."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._check_free()
        if not path.parent.is_dir():
            raise NotADirectoryError(path.parent)
        is_zip = path.suffix == ".zip"
        prefix = f".{path.name}."
        # Drafts are in it: what tempfile makes is its owner's alone.
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
    def lines(self, name: str) -> Iterator["Lines"]:
        """Give what takes the lines of a file. They wait in a temporary file: pictures are written in between."""
        with tempfile.TemporaryFile(dir=self._part.parent) as waiting:
            lines = Lines(waiting)
            yield lines
            size = waiting.tell()
            waiting.seek(0)
            sha256 = self._write(name, zipfile.ZIP_DEFLATED, iter(lambda: waiting.read(PIECE), b""))
        self._files[name] = {"sha256": sha256, "bytes": size, "records": lines.records}

    def picture(self, file_id: object, pieces: Iterator[bytes]) -> str:
        """Write the bytes of a picture as they come; return their sha256. Where `pieces` raises, what came stays behind."""
        return self._write(f"photos/{file_id}", zipfile.ZIP_STORED, pieces)

    def finish(self, made: str, options: dict[str, Any]) -> Manifest:
        """Write the manifest and put the archive in its place. Raises FileExistsError if something came there since."""
        manifest = Manifest(made, options, self._files)
        said = {"format": FORMAT, "version": VERSION, "made": made, "options": options, "files": self._files}
        with self._opened(MANIFEST, zipfile.ZIP_DEFLATED) as file:
            file.write(json.dumps(said, indent=1).encode())
        if self._zip:
            self._zip.close()
        self._check_free()
        os.rename(self._part, self._path)
        return manifest

    def abort(self) -> None:
        """Leave nothing behind of an archive that is not finished."""
        if self._zip:
            with suppress(ValueError, OSError):  # on a disk that is full
                self._zip.close()
        if self._part.is_dir():
            shutil.rmtree(self._part)
        self._part.unlink(missing_ok=True)

    def _check_free(self) -> None:
        if os.path.lexists(self._path):
            raise FileExistsError(self._path)

    def _write(self, name: str, compression: int, pieces: Iterator[bytes]) -> str:
        """Write a file; return its sha256."""
        sha256 = hashlib.sha256()
        with self._opened(name, compression) as file:
            for piece in pieces:
                file.write(piece)
                sha256.update(piece)
        return sha256.hexdigest()

    def _opened(self, name: str, compression: int) -> Any:
        if self._zip is None:
            return (self._part / name).open("wb")
        entry = zipfile.ZipInfo(name)
        entry.compress_type = compression
        entry.external_attr = 0o600 << 16
        return self._zip.open(entry, "w", force_zip64=True)


class Lines:
    """The lines of a file on their way, counted."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.records = 0

    def add(self, line: bytes) -> None:
        self._file.write(line)
        self.records += 1

    @contextmanager
    def together(self) -> Iterator[None]:
        """Keep the lines that are added in the block, none of them if it raises."""
        at = self._file.tell()
        records = self.records
        try:
            yield
        except Exception:
            self._file.seek(at)
            self._file.truncate()
            self.records = records
            raise


class Archive:
    """An archive that is read. Raises BadArchive for what no export wrote; `check` before anything is done with it."""

    def __init__(self, path: Path, file: zipfile.ZipFile | None) -> None:
        self.path = path
        self._zip = file
        self._sizes = dict(self._in_zip() if self._zip else self._in_folder())
        self.manifest = self._manifest()
        if missing := set(FILES) - set(self._sizes):
            raise BadArchive(f"it lacks {', '.join(sorted(missing))}")

    @classmethod
    @contextmanager
    def opened(cls, path: Path) -> Iterator["Archive"]:
        """Give the archive at `path`, a folder or a zip that is open as long as the block. Raises BadArchive."""
        with nullcontext() if path.is_dir() else _zip(path) as file:
            yield cls(path, file)

    def check(self, step: Callable[[], object] = lambda: None) -> None:
        """Compare all files with the manifest, and the pictures with what photos.jsonl says of them. Raises BadArchive.

        `step` is called for each document."""
        for name in FILES:
            said = self.manifest.files[name]
            sha256 = hashlib.sha256()
            records = 0
            for number, line in enumerate(self.lines(name), start=1):
                sha256.update(line)
                _document(name, number, line)
                records += 1
                step()
            if (sha256.hexdigest(), self._sizes[name], records) != (said["sha256"], said["bytes"], said["records"]):
                raise BadArchive(f"{name} is not what the manifest says: it was changed, or is not whole")
        for record in self.records(PHOTOS):
            if bool(record["length"]) is not bool(record["sha256"]):
                raise BadArchive(f"{PHOTOS} does not say what bytes {record['_id']} has")
            if record["sha256"]:
                self._check_picture(record)

    def _check_picture(self, record: Mapping[str, Any]) -> None:
        """Compare the bytes of a photo with what photos.jsonl says of them. Raises BadArchive."""
        name = f"photos/{record['_id']}"
        sha256 = hashlib.sha256()
        if name not in self._sizes:
            raise BadArchive(f"it lacks {name}")
        for piece in self.picture(record["_id"]):
            sha256.update(piece)
        if sha256.hexdigest() != record["sha256"] or self._sizes[name] != record.get("length"):
            raise BadArchive(f"{name} is not what {PHOTOS} says: it was changed, or is not whole")

    def records(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the documents of a file. Raises BadArchive."""
        for number, line in enumerate(self.lines(name), start=1):
            yield _document(name, number, line)

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a file. Raises BadArchive."""
        with self._opened(name) as file:
            while line := file.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    raise BadArchive(f"a line of {name} is too long")
                yield line

    def picture(self, file_id: object) -> Iterator[bytes]:
        """Yield the bytes of a picture. Raises BadArchive."""
        with self._opened(f"photos/{file_id}") as file:
            while piece := file.read(PIECE):
                yield piece

    @contextmanager
    def _opened(self, name: str) -> Iterator[IO[bytes]]:
        try:
            with self._zip.open(name) if self._zip else (self.path / name).open("rb") as file:
                yield file
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError) as error:
            raise BadArchive(f"{name} cannot be read: {error}") from error

    def _manifest(self) -> Manifest:
        if MANIFEST not in self._sizes:
            raise BadArchive(f"it has no {MANIFEST}: export_site did not write it, or was stopped")
        if self._sizes[MANIFEST] > LARGEST_MANIFEST:
            raise BadArchive(f"{MANIFEST} is too large")
        with self._opened(MANIFEST) as file:
            try:
                said = json.loads(file.read(LARGEST_MANIFEST + 1))
            except (ValueError, RecursionError) as error:
                raise BadArchive(f"{MANIFEST} is no JSON: {error}") from error
        if not isinstance(said, dict) or said.get("format") != FORMAT:
            raise BadArchive("it is no export of a site")
        if said.get("version") != VERSION:
            raise BadArchive(f"it has the format {said.get('version')!r}, and this release reads {VERSION}")
        files = said.get("files")
        if not isinstance(files, dict) or set(files) != set(FILES) or not all(map(_is_said, files.values())):
            raise BadArchive(f"{MANIFEST} does not say what each file is")
        if not isinstance(said.get("made"), str) or not isinstance(said.get("options"), dict):
            raise BadArchive(f"{MANIFEST} does not say when and of what it was made")
        return Manifest(said["made"], said["options"], files)

    def _in_zip(self) -> Iterator[tuple[str, int]]:
        assert self._zip
        seen = set()
        entries = self._zip.infolist()
        # What it says of itself is believed no further than it is long.
        if sum(entry.compress_size for entry in entries) > self.path.stat().st_size:
            raise BadArchive("it says that it holds more than it is long")
        for entry in entries:
            name = entry.orig_filename
            _check_name(name)
            if name in seen:
                raise BadArchive(f"it has {name} twice")
            if entry.file_size > SMALL + MOST_GROWTH * entry.compress_size:
                raise BadArchive(f"{name} would grow to more than {MOST_GROWTH} times its size")
            seen.add(name)
            yield name, entry.file_size

    def _in_folder(self) -> Iterator[tuple[str, int]]:
        for found in sorted(self.path.rglob("*")):
            name = found.relative_to(self.path).as_posix()
            if found.is_dir() and not found.is_symlink() and name == "photos":
                continue
            _check_name(name)
            if found.is_symlink() or not found.is_file():
                raise BadArchive(f"{name} is no file")
            yield name, found.stat().st_size


def _zip(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except FileNotFoundError as error:
        raise BadArchive("there is no such folder or file") from error
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise BadArchive(f"it is no zip, or not whole: {error}") from error


def _check_name(name: str) -> None:
    if name != MANIFEST and name not in FILES and not _PICTURE.fullmatch(name):
        raise BadArchive(f"no export has a file called {name[:100]!r}")


def _document(name: str, number: int, line: bytes) -> dict[str, Any]:
    try:
        record = decoded(line)
    except BadLine as error:
        raise BadArchive(f"{name}, line {number}, is no document that an export holds: {error}") from error
    if not all(isinstance(record.get(field), type) for field, type in _KEYS.get(name, {}).items()):
        raise BadArchive(f"{name}, line {number}, has not the keys of its kind")
    return record


def _is_said(said: object) -> bool:
    return (
        isinstance(said, dict)
        and isinstance(said.get("sha256"), str)
        and bool(_SHA256.fullmatch(said["sha256"]))
        and all(type(said.get(name)) is int and said[name] >= 0 for name in ("bytes", "records"))
    )
