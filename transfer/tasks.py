"""The task that imports an uploaded file. A worker runs it with the same guards as the import commands."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bson import ObjectId
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from marginalia.tasks import task
from transfer import uploads
from transfer.archive import Archive, BadArchive
from transfer.collections import RUNNING
from transfer.running import ArchiveRun, ImportProblems
from transfer.uploads import Superseded, UploadedImport, UploadRefused
from wordpress.export.records import DamagedExport, WxrError
from wordpress.importer import Importer, Options
from wordpress.media.download import DownloadsStopped, PrivateNetwork
from wordpress.places.existing import SourceError
from wordpress.places.sections import SectionError

# The first bytes of a zip archive.
ZIP = b"PK"
# The names of the steps of a WordPress import, by the unit that the importer reports.
STEPS = {
    "B": gettext_lazy("reading"),
    "pictures": gettext_lazy("importing pictures"),
    "": gettext_lazy("importing posts and pages"),
}
# Number of seconds between two reports of the progress.
INTERVAL = 1.0


@task(stored_as="transfer.import", retries=3)
def run_import(import_id: str, nonce: str, language: str = "") -> None:
    """Import an uploaded file. If the worker dies, another one resumes the import. The report is in `language`."""
    with translation.override(language or None):
        _run(import_id, nonce)


def _run(import_id: str, nonce: str) -> None:
    upload = uploads.get(ObjectId(import_id))
    if upload is None or upload.state != RUNNING or str(upload.nonce) != nonce:
        return
    report: list[str] = []
    fail = partial(uploads.finish, upload, report, is_done=False)
    try:
        with uploads.as_file(upload) as path:
            _import(upload, path, report)
    except Superseded:
        return
    except UploadRefused as error:
        fail(str(error))
    except ImportProblems as error:
        uploads.finish(upload, report, str(error))
    except DamagedExport as error:
        if upload.is_dry_run:
            text = _("%(name)s is damaged: %(reason)s. Everything before this line can be imported.")
        else:
            text = _("%(name)s is damaged: %(reason)s. Everything before this line was imported.")
        fail(text % {"name": upload.filename, "reason": error})
    except (WxrError, SectionError, SourceError, PrivateNetwork, BadArchive) as error:
        fail(_("%(name)s can't be imported: %(reason)s") % {"name": upload.filename, "reason": error})
    except DownloadsStopped as error:
        text = _("Downloads stopped: %(reason)s. No text was imported. Start the import again to resume.")
        fail(text % {"reason": error})
    except OSError as error:
        fail(_("The import stopped: %(reason)s. Start it again.") % {"reason": error.strerror or error})
    else:
        uploads.finish(upload, report)


def _import(upload: UploadedImport, path: Path, report: list[str]) -> None:
    with path.open("rb") as file:
        is_archive = file.read(len(ZIP)) == ZIP
    if is_archive:
        _import_archive(upload, path, report)
    else:
        _import_wordpress(upload, path, report)


def _import_archive(upload: UploadedImport, path: Path, report: list[str]) -> None:
    with Archive.open(path) as archive:
        run = ArchiveRun(archive, report.append, Progress(upload).show)
        run.check()
        if upload.is_dry_run:
            run.compare()
        else:
            run.import_and_verify()
            report.append(_("Verified: everything matches the export."))


def _import_wordpress(upload: UploadedImport, path: Path, report: list[str]) -> None:
    options = Options(
        section=upload.section,
        download=upload.downloads,
        dry_run=upload.is_dry_run,
    )
    progress = Progress(upload)
    importer = Importer(
        path, options, begin=lambda total, unit: progress.begin(str(STEPS.get(unit, unit)), total), step=progress.step
    )
    try:
        importer.run()
    finally:
        report += importer.report.lines(everything=True)
    if problem := importer.report.problem:
        raise ImportProblems(problem)


class Progress:
    """The progress of an import. It is stored about once per second."""

    def __init__(self, upload: UploadedImport) -> None:
        self.upload = upload
        self.name = ""
        self.done = self.total = 0
        self.stored_at = 0.0

    def begin(self, name: str, total: int) -> None:
        """Begin a step with `total` units."""
        self.name = name
        self.done = 0
        self.total = total
        self._store()

    def step(self, number: int = 1) -> None:
        """Add `number` to the finished units.

        Raises:
            Superseded: The import was deleted or started again.
        """
        self.done += number
        if time.monotonic() - self.stored_at > INTERVAL:
            self._store()

    @contextmanager
    def show(self, name: str, total: int) -> Iterator[Callable[[], object]]:
        """Begin a step, and yield the function that is called for each unit."""
        self.begin(name, total)
        yield self.step

    def _store(self) -> None:
        self.stored_at = time.monotonic()
        uploads.report_progress(self.upload, self.name, self.done, self.total)
