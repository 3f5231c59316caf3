"""The command `manage.py import_site PATH`, which imports an archive that export_site has written."""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from marginalia.mongo.management.base import MongoCommand, problems_error
from marginalia.mongo.management.scratch import scratch_database
from transfer.archive import Archive, BadArchive
from transfer.running import ArchiveRun, ImportProblems


class Command(MongoCommand):
    help = (
        "Import content that export_site has exported. Content that was changed on this site is not overwritten. To "
        "resume after an interruption, run the command again. If the import was complete, another run changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", metavar="PATH", type=Path, help="folder or .zip file that export_site has written")
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument("--dry-run", action="store_true", help="report what would change, and change nothing")
        mode.add_argument(
            "--verify", action="store_true", help="test the import in a temporary database, and change nothing"
        )

    def handle(self, *args: Any, path: Path, dry_run: bool, verify: bool, **options: Any) -> None:
        try:
            with Archive.open(path) as archive:
                self._import(archive, dry_run=dry_run, verify=verify)
        except BadArchive as error:
            raise CommandError(f"{path} can't be imported: {error}.") from error
        except ImportProblems as error:
            raise problems_error(str(error)) from error

    def _import(self, archive: Archive, *, dry_run: bool, verify: bool) -> None:
        if verify and archive.manifest.options.get("since"):
            raise CommandError(
                "An export made with --since can't be verified on its own, because it needs an earlier export."
            )
        run = ArchiveRun(archive, self.stdout.write, self._progress_bar)
        run.check()
        if dry_run:
            run.compare()
            return
        if verify:
            with scratch_database():
                self._import_and_verify(run)
            self.stdout.write("Nothing was imported.")
        else:
            self._import_and_verify(run)

    def _import_and_verify(self, run: ArchiveRun) -> None:
        run.import_and_verify()
        self.stdout.write(self.style.SUCCESS("Verified: everything matches the export."))

    @contextmanager
    def _progress_bar(self, description: str, total: int) -> Iterator[Callable[[], object]]:
        hidden = not self.stderr.isatty()
        with tqdm(total=total, desc=description, unit=" documents", leave=False, disable=hidden) as bar:
            yield bar.update
