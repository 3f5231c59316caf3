"""`manage.py purge_revisions --keep N --older-than DAYS`: delete old revisions of all pages."""

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from marginalia.mongo.management.base import MongoCommand
from nodes.selectors import chains
from nodes.services import revisions


class Command(MongoCommand):
    help = (
        "Delete old revisions. For each page, the current revision, the newest N revisions, and all revisions from the "
        "last DAYS days are kept. Saves of drafts that were published or discarded are kept for DAYS days."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--keep", type=int, required=True, metavar="N", help="number of newest revisions to keep per page"
        )
        parser.add_argument(
            "--older-than",
            type=int,
            required=True,
            metavar="DAYS",
            help="also keep revisions that are less than DAYS days old",
        )
        parser.add_argument("--dry-run", action="store_true", help="report what would be deleted, and change nothing")

    def handle(self, *args: Any, keep: int, older_than: int, dry_run: bool, **options: Any) -> None:
        if keep < 1 or older_than < 0:
            raise CommandError("--keep must be at least 1, and --older-than must be at least 0.")
        with tqdm(total=chains.count(), unit=" revisions", leave=False, disable=not self.stdout.isatty()) as bar:
            done = revisions.purge(keep, timedelta(days=older_than), dry_run=dry_run, progress=bar.update)
        verb = "Dry run: would delete" if dry_run else "Deleted"
        self.stdout.write(f"{verb} {done.deleted} revisions of {done.nodes} pages; {done.kept} kept.")
