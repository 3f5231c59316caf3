"""Erase all that one author wrote."""

from argparse import ArgumentParser
from typing import Any

from comments.management import authors
from comments.operations import privacy
from mongo.commands import MongoCommand


class Command(MongoCommand):
    help = "Erase what one author wrote, without a way back: comments, queue, edit history, addresses, subscriptions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        authors.add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="count, erase nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        author = authors.author(options)
        if options["dry_run"]:
            self.stdout.write(f"Pretending to erase {privacy.count(author)} comments and earlier texts.")
            return
        erased = privacy.erase(author)
        self.stdout.write(
            self.style.SUCCESS(
                f"Erased: {erased.comments} comments, {erased.ip_hashes} network addresses, {erased.flags} flags' names, "
                f"{erased.subscriptions} subscriptions."
            )
        )
