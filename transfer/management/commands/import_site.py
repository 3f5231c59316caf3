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
from transfer.archive import FILES, Archive, BadArchive
from transfer.importing import Import, ImportSummary
from transfer.importing_nodes import Outcome

# At most this many replaced documents are listed, and at most this many skipped documents.
NAMED = 100


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

    def _import(self, archive: Archive, *, dry_run: bool, verify: bool) -> None:
        if verify and archive.manifest.options.get("since"):
            raise CommandError(
                "An export made with --since can't be verified on its own, because it needs an earlier export."
            )
        with self._progress_bar("checking", archive) as step:
            archive.check(step)
        if dry_run:
            summary = self._run("comparing", archive, dry_run=True)
            self._report("Dry run: would import", summary, "Would overwrite")
            if summary.skipped:
                raise problems_error(f"{len(summary.skipped)} documents would be skipped.")
        elif verify:
            with scratch_database():
                self._import_and_verify(archive)
            self.stdout.write("Nothing was imported.")
        else:
            self._import_and_verify(archive)

    def _import_and_verify(self, archive: Archive) -> None:
        """Import the archive, and verify that everything has been stored.

        Raises:
            CommandError: Some documents were skipped, or differ from the archive.
        """
        before = self._run("comparing", archive, dry_run=True)
        imported = self._run("importing", archive, skipped_before=before.skipped_by_label)
        self._report("Imported", imported, "Overwritten")
        skipped = imported.skipped_by_label
        verified = self._run("verifying", archive, dry_run=True, reads_photos=True, skipped_before=skipped)
        if differing := verified.count_differing(imported):
            raise problems_error(f"{differing} documents differ from the export. Run the command again.")
        if imported.skipped:
            raise problems_error(f"{len(imported.skipped)} documents were skipped. All others match the export.")
        self.stdout.write(self.style.SUCCESS("Verified: everything matches the export."))

    def _run(self, description: str, archive: Archive, **options: Any) -> ImportSummary:
        with self._progress_bar(description, archive) as step:
            return Import(archive, step=step, **options).run()

    def _report(self, heading: str, summary: ImportSummary, replaced_heading: str) -> None:
        for name, counts in summary.counts.items():
            if counts:
                text = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome])
                self.stdout.write(f"{name.removesuffix('.jsonl')}: {text}")
        self._list(replaced_heading, summary.replaced)
        self._list("Left", [f"{result.label}: {result.reason}" for result in summary.skipped])
        text = ", ".join(f"{summary.count(outcome)} {outcome}" for outcome in Outcome)
        self.stdout.write(f"{heading}: {text}.")

    def _list(self, heading: str, descriptions: list[str]) -> None:
        """Print up to NAMED descriptions, and how many more there are."""
        for description in descriptions[:NAMED]:
            self.stdout.write(f"{heading}: {description}")
        if len(descriptions) > NAMED:
            self.stdout.write(f"{heading}: {len(descriptions) - NAMED} more")

    @contextmanager
    def _progress_bar(self, description: str, archive: Archive) -> Iterator[Callable[[], object]]:
        total = sum(archive.manifest.count(name) for name in FILES)
        hidden = not self.stderr.isatty()
        with tqdm(total=total, desc=description, unit=" documents", leave=False, disable=hidden) as bar:
            yield bar.update
