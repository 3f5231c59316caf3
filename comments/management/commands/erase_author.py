"""Erase all data about an author."""

import time
from argparse import ArgumentParser
from typing import Any

from marginalia.comments.management import authors
from marginalia.comments.operations import maintenance, privacy
from marginalia.mongo.management.base import MongoCommand
from marginalia.tasks import queue
from marginalia.tasks.backend import databases

# How many seconds to wait between two searches for comments to erase.
PAUSE = 5


class Command(MongoCommand):
    help = (
        "Permanently erase all data about one author: comments, pending comments, edit history, IP address hashes and "
        "subscriptions."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        authors.add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="count what would be erased, and change nothing")
        parser.add_argument(
            "--wait", action="store_true", help="wait two minutes, and also erase comments that are being written now"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        author = authors.author(options)
        if options["dry_run"]:
            self.stdout.write(f"Dry run: would erase {privacy.count(author)} comments and earlier texts.")
            return
        erased = privacy.erase(author)
        self.stdout.write(
            self.style.SUCCESS(
                f"Erased {erased.comments} comments, {erased.ip_hashes} network addresses, "
                f"{erased.flags} names on flags, {erased.likes} likes and {erased.subscriptions} subscriptions."
            )
        )
        while options["wait"] and maintenance.sweep_erasures():
            time.sleep(PAUSE)
        if not options["wait"] and not any(map(queue.is_tended, databases())):
            self.stderr.write(
                "No worker is running, so comments that are being written now are not "
                "erased. Run the command again with --wait."
            )
