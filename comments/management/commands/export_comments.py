"""Export discussions as newline-delimited JSON."""

from argparse import ArgumentParser, FileType
from typing import Any

from tqdm import tqdm

from marginalia.comments.operations import transfer
from marginalia.mongo.management.base import MongoCommand


class Command(MongoCommand):
    help = (
        "Export all discussions in the format that import_comments reads: one JSON object per line. Pending comments "
        "and edit history are not exported."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", nargs="?", type=FileType("w", encoding="utf-8"), help="output file (default: standard output)"
        )
        parser.add_argument("--label", default="", metavar="APP.MODEL", help="export only discussions of this model")

    def handle(self, *args: Any, **options: Any) -> None:
        out = options["file"] or self.stdout
        number = 0
        for line in tqdm(transfer.export(options["label"].lower()), unit=" lines", disable=not self.stderr.isatty()):
            out.write(line + "\n")
            number += 1
        out.flush()
        self.stderr.write(f"{number} lines.")
