"""`manage.py import_site PATH`: what export_site wrote, taken in."""

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
from transfer.importing import Import, Tally
from transfer.importing_nodes import Outcome

# So many of what is written over, and of what is left, are named.
NAMED = 100


class Command(MongoCommand):
    help = (
        "Take in what export_site wrote. What is here already stays, a version that was changed here since too; a second run"
        " changes nothing, and one that was stopped goes on."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", metavar="PATH", type=Path)
        mode = parser.add_mutually_exclusive_group()
        mode.add_argument("--dry-run", action="store_true", help="only say what would change")
        mode.add_argument("--verify", action="store_true", help="try it in a database of its own, and change nothing")

    def handle(self, *args: Any, path: Path, dry_run: bool, verify: bool, **options: Any) -> None:
        try:
            with Archive.opened(path) as archive:
                self._import(archive, dry_run=dry_run, verify=verify)
        except BadArchive as error:
            raise CommandError(f"{path} cannot be imported: {error}.") from error

    def _import(self, archive: Archive, *, dry_run: bool, verify: bool) -> None:
        if verify and archive.manifest.options.get("since"):
            raise CommandError(
                "What was exported with --since goes on top of an earlier export: it cannot be verified by itself."
            )
        with self._bar("checking", archive) as step:
            archive.check(step)
        if dry_run:
            told = self._run("comparing", archive, dry_run=True)
            self._tell("Dry run: would import", told, "Would write over")
            if told.left:
                raise problems_error(f"{len(told.left)} would be left as they are.")
        elif verify:
            with scratch_database():
                self._take_in(archive)
            self.stdout.write("Nothing of it was stored here.")
        else:
            self._take_in(archive)

    def _take_in(self, archive: Archive) -> None:
        """Import the archive, and look whether all of it is there. Raises CommandError."""
        before = self._run("comparing", archive, dry_run=True)
        told = self._run("importing", archive, told=before.told)
        self._tell("Imported", told, "Written over")
        checked = self._run("verifying", archive, dry_run=True, reads_photos=True, told=told.told)
        if differing := checked.differing(told):
            raise problems_error(f"{differing} documents are not here as the export has them: run it again.")
        if told.left:
            raise problems_error(f"All else is here as in the export; {len(told.left)} were left as they are.")
        self.stdout.write(self.style.SUCCESS("Verified: all of it is here as in the export."))

    def _run(self, what: str, archive: Archive, **options: Any) -> Tally:
        with self._bar(what, archive) as step:
            return Import(archive, step=step, **options).run()

    def _tell(self, done: str, tally: Tally, over: str) -> None:
        for name, counts in tally.counts.items():
            if counts:
                said = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome if counts[outcome])
                self.stdout.write(f"{name.removesuffix('.jsonl')}: {said}")
        self._name(over, tally.over)
        self._name("Left", [f"{arrival.about}: {arrival.why}" for arrival in tally.left])
        said = ", ".join(f"{tally.count(outcome)} {outcome}" for outcome in Outcome)
        self.stdout.write(f"{done}: {said}.")

    def _name(self, done: str, all_of_it: list[str]) -> None:
        for one in all_of_it[:NAMED]:
            self.stdout.write(f"{done}: {one}")
        if len(all_of_it) > NAMED:
            self.stdout.write(f"{done}: {len(all_of_it) - NAMED} more")

    @contextmanager
    def _bar(self, what: str, archive: Archive) -> Iterator[Callable[[], object]]:
        total = sum(archive.manifest.count(name) for name in FILES)
        hidden = not self.stderr.isatty()
        with tqdm(total=total, desc=what, unit=" documents", leave=False, disable=hidden) as bar:
            yield bar.update
