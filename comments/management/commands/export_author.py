"""Export all data about an author."""

import json
from argparse import ArgumentParser
from typing import Any

from marginalia.comments.management import authors
from marginalia.comments.operations import privacy
from marginalia.mongo.management.base import MongoCommand


class Command(MongoCommand):
    help = (
        "Write all data about one author to standard output, one JSON object per line. The number of entries is "
        "written to standard error."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        authors.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        number = 0
        for row in privacy.export(authors.author(options)):
            self.stdout.write(json.dumps(row, ensure_ascii=False))
            number += 1
        self.stderr.write(f"{number} entries.")
