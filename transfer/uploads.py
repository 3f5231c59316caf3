"""Imports that administrators upload: the file, the state, the progress and the report.

The file is stored in pieces in the database, because the worker that imports it may run on another machine. The pieces
are deleted after the import or, if it isn't completed, after a week.
"""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from bson import ObjectId
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from nodes import access
from nodes.types import Actor
from transfer.collections import DONE, FAILED, IMPORTS, PIECES, RUNNING, UPLOADING

# The size of a piece in bytes. Proxies and Django accept request bodies of this size.
PIECE = 4 << 20
# The largest file that can be uploaded. For larger files, use the commands.
LARGEST = 10 << 30
MOST_LINES = 2_000
LONGEST_LINE = 500
LONGEST_NAME = 200
# The number of imports that the list shows.
SHOWN = 20
INCOMPLETE = gettext_lazy("The file is no longer complete. Upload it again.")


class UploadRefused(Exception):
    """The upload can't be stored or started. The message tells the user why."""


class Superseded(Exception):
    """The import was deleted or started again, so this run must stop."""


@dataclass(frozen=True)
class UploadedImport:
    """An import that an administrator has uploaded.

    Attributes:
        size: The size of the file in bytes.
        section: For WordPress exports, the slug of the folder into which to import.
        downloads: For WordPress exports, whether to download the pictures from the old site.
        step: What the import is doing. `done` and `total` are its progress.
        error: Why the import failed or what is missing, or "".
    """

    id: ObjectId
    nonce: ObjectId
    created: datetime
    user: str
    filename: str
    size: int
    state: str
    section: str
    downloads: bool
    is_dry_run: bool
    job: str
    step: str
    done: int
    total: int
    report: tuple[str, ...]
    error: str

    @property
    def report_text(self) -> str:
        """The lines of the report as one text."""
        return "\n".join(self.report)

    @property
    def pieces(self) -> int:
        """The number of pieces of the complete file."""
        return -(-self.size // PIECE)


def may_import(user: Any) -> bool:
    """Return whether `user` can import files. An import can write everything: pages, settings and comments."""
    permissions = ("nodes.publish_node", "nodes.delete_node", "marginalia_comments.can_moderate")
    return access.may_set_up(user) and all(user.has_perm(permission) for permission in permissions)


def create(user: Any, filename: str, size: int, *, section: str = "", downloads: bool = False) -> UploadedImport:
    """Create an import whose file will be uploaded.

    Raises:
        PermissionDenied: The user can't import files.
        UploadRefused: The file is empty or too large.
    """
    if not may_import(user):
        raise PermissionDenied
    _check_size(size)
    import_id = ObjectId()
    document = {
        "_id": import_id,
        "nonce": ObjectId(),
        "created": now(),
        "user": Actor.of(user).as_document(),
        "filename": "".join(c for c in filename if c.isprintable())[-LONGEST_NAME:] or "import",
        "size": size,
        "state": UPLOADING,
        "section": section,
        "downloads": downloads,
    }
    database()[IMPORTS].insert_one(document)
    return _uploaded_import(document)


def get(import_id: ObjectId) -> UploadedImport | None:
    """Return an import, or None."""
    stored = database()[IMPORTS].find_one({"_id": import_id})
    return _uploaded_import(stored) if stored else None


def newest() -> list[UploadedImport]:
    """Return the newest imports."""
    return [_uploaded_import(stored) for stored in database()[IMPORTS].find({}).sort("_id", -1).limit(SHOWN)]


def add_piece(upload: UploadedImport, number: int, data: bytes) -> None:
    """Store a piece of the file. A piece can be sent again.

    Raises:
        UploadRefused: The import has begun, or the piece doesn't belong to a file of this size.
    """
    expected = min(PIECE, upload.size - number * PIECE)
    if upload.state != UPLOADING or number < 0 or len(data) != expected:
        raise UploadRefused(_("This part of the file doesn't fit. Upload the file again."))
    key = {"import_id": upload.id, "number": number}
    fields = {"data": data, "size": len(data), "created": now()}
    database()[PIECES].update_one({"_id": key}, {"$set": fields}, upsert=True)


def begin(upload: UploadedImport, *, is_dry_run: bool) -> UploadedImport:
    """Mark the import as running, and return it.

    Raises:
        UploadRefused: The file is incomplete, or someone else has started or deleted the import.
    """
    if not is_complete(upload):
        raise UploadRefused(INCOMPLETE)
    fields = {"nonce": ObjectId(), "state": RUNNING, "is_dry_run": is_dry_run, "report": [], "error": ""}
    progress = {"job": "", "step": "", "done": 0, "total": 0}
    seen = {"_id": upload.id, "nonce": upload.nonce}
    if not database()[IMPORTS].update_one(seen, {"$set": {**fields, **progress}}).matched_count:
        raise UploadRefused(_("Someone else has started or deleted this import. Reload the page."))
    begun = get(upload.id)
    if begun is None:
        raise UploadRefused(_("Someone else has started or deleted this import. Reload the page."))
    return begun


def set_job(upload: UploadedImport, job: str) -> None:
    """Store the id of the job that runs the import."""
    database()[IMPORTS].update_one({"_id": upload.id, "nonce": upload.nonce}, {"$set": {"job": job}})


def is_complete(upload: UploadedImport) -> bool:
    """Return whether all pieces of the file are stored."""
    pieces = {"_id.import_id": upload.id}
    sizes = [piece["size"] for piece in database()[PIECES].find(pieces, {"size": 1, "_id": 0})]
    return (sum(sizes), len(sizes)) == (upload.size, upload.pieces)


def report_progress(upload: UploadedImport, step: str, done: int, total: int) -> None:
    """Store the progress.

    Raises:
        Superseded: The import was deleted or started again.
    """
    fields = {"step": step, "done": done, "total": total}
    if not database()[IMPORTS].update_one(_running(upload), {"$set": fields}).matched_count:
        raise Superseded


def finish(upload: UploadedImport, report: list[str], error: str = "", *, is_done: bool = True) -> None:
    """Store the report. After a completed import, delete the file.

    Args:
        upload: The import.
        report: The lines of the report.
        error: Why the import failed, or which problems remain.
        is_done: Whether the import was completed, even if problems remain.
    """
    lines = [line[:LONGEST_LINE] for line in report[:MOST_LINES]]
    if len(report) > MOST_LINES:
        lines.append(_("… and %(n)d more lines") % {"n": len(report) - MOST_LINES})
    fields = {"state": DONE if is_done else FAILED, "report": lines, "error": error[: 4 * LONGEST_LINE]}
    ended = database()[IMPORTS].update_one(_running(upload), {"$set": fields}).matched_count
    if ended and is_done and not upload.is_dry_run and not error:
        database()[PIECES].delete_many({"_id.import_id": upload.id})


def delete(import_id: ObjectId) -> None:
    """Delete an import and its file. If it is running, it stops soon."""
    database()[IMPORTS].delete_one({"_id": import_id})
    database()[PIECES].delete_many({"_id.import_id": import_id})


@contextmanager
def as_file(upload: UploadedImport) -> Iterator[Path]:
    """Copy the uploaded file to a temporary file, and yield its path. Zip archives and XML need random access.

    Raises:
        UploadRefused: A part of the file has expired, or the import was deleted.
        OSError: The file can't be written, for example because the disk is full.
    """
    settings.VAR_DIR.mkdir(parents=True, exist_ok=True)
    # The file is in VAR_DIR, because /tmp can be in memory, for example in a container.
    with tempfile.NamedTemporaryFile(dir=settings.VAR_DIR, prefix=".import-") as file:
        for number in range(upload.pieces):
            piece = database()[PIECES].find_one({"_id": {"import_id": upload.id, "number": number}}, {"data": 1})
            if piece is None:
                raise UploadRefused(INCOMPLETE)
            file.write(piece["data"])
        file.flush()
        yield Path(file.name)


def _check_size(size: int) -> None:
    if not 0 < size <= LARGEST:
        raise UploadRefused(
            _("Choose a file of up to %(most)d GB. For larger files, use the import commands.")
            % {"most": LARGEST >> 30}
        )


def _running(upload: UploadedImport) -> dict[str, Any]:
    return {"_id": upload.id, "nonce": upload.nonce, "state": RUNNING}


def _uploaded_import(stored: Mapping[str, Any]) -> UploadedImport:
    return UploadedImport(
        id=stored["_id"],
        nonce=stored["nonce"],
        created=stored["created"],
        user=stored["user"]["name"],
        filename=stored["filename"],
        size=stored["size"],
        state=stored["state"],
        section=stored["section"],
        downloads=stored["downloads"],
        is_dry_run=stored.get("is_dry_run", True),
        job=stored.get("job", ""),
        step=stored.get("step", ""),
        done=stored.get("done", 0),
        total=stored.get("total", 0),
        report=tuple(stored.get("report", ())),
        error=stored.get("error", ""),
    )
