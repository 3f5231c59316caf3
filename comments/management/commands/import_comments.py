"""Import discussions from newline-delimited JSON."""

from argparse import ArgumentParser, FileType
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from marginalia.comments.operations import transfer
from marginalia.mongo.management.base import MongoCommand


class Command(MongoCommand):
    help = "Store what export_comments wrote, out of any layout. What is there stays: a second run changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=FileType("rb"), help="- is the standard input")
        parser.add_argument("--dry-run", action="store_true", help="read and check the file, store nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        with tqdm(unit=" lines", leave=False, disable=not self.stderr.isatty()) as bar:
            try:
                counts = transfer.import_(options["file"], dry_run=options["dry_run"], step=bar.update)
            except transfer.BrokenFile as error:
                raise CommandError(
                    f"{error}. What came before it is imported; mend the file and run it again."
                ) from error
        summary = f"{counts.discussions} discussions with {counts.comments} comments"
        if options["dry_run"]:
            self.stdout.write(f"Pretending to import {summary}.")
        else:
            self.stdout.write(self.style.SUCCESS(f"{summary}: {counts.new} new."))
