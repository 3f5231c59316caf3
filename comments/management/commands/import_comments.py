"""Import discussions from newline-delimited JSON."""

from argparse import ArgumentParser, FileType
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from marginalia.comments.operations import transfer
from marginalia.mongo.management.base import MongoCommand


class Command(MongoCommand):
    help = (
        "Import a file that export_comments has written. The exported discussions can have any layout. Existing "
        "comments are not changed, so you can run the command again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=FileType("rb"), help="input file, or - for standard input")
        parser.add_argument("--dry-run", action="store_true", help="check the file, and import nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        with tqdm(unit=" lines", leave=False, disable=not self.stderr.isatty()) as bar:
            try:
                counts = transfer.import_(options["file"], dry_run=options["dry_run"], step=bar.update)
            except transfer.BrokenFile as error:
                raise CommandError(
                    f"{error}. Everything before it was imported. Fix the file and run the command again."
                ) from error
        summary = f"{counts.discussions} discussions with {counts.comments} comments"
        if options["dry_run"]:
            self.stdout.write(f"Dry run: would import {summary}.")
        else:
            self.stdout.write(self.style.SUCCESS(f"{summary}: {counts.new} new."))
