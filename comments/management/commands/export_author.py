"""Export all data about an author."""

import json
from argparse import ArgumentParser
from typing import Any

from marginalia.comments.management import authors
from marginalia.comments.operations import privacy
from marginalia.mongo.management.base import MongoCommand


class Command(MongoCommand):
    help = "Write all that is kept of one author to the standard output, a JSON object a line; the count goes to the other."

    def add_arguments(self, parser: ArgumentParser) -> None:
        authors.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        number = 0
        for row in privacy.export(authors.author(options)):
            self.stdout.write(json.dumps(row, ensure_ascii=False))
            number += 1
        self.stderr.write(f"{number} entries.")
