"""`manage.py load_demo`: load or remove the demo site. `make run` loads the demo into an empty database."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from cms.demo import loading
from marginalia.mongo.clock import now
from marginalia.mongo.management.base import MongoCommand
from nodes.errors import NodeError


class Command(MongoCommand):
    help = "Load the demo site, a small magazine. Existing content is not changed."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--remove", action="store_true", help="permanently delete the demo instead")

    def handle(self, *args: Any, remove: bool, **options: Any) -> None:
        self.quiet = options["verbosity"] == 0
        try:
            with tqdm(
                total=loading.size(), unit=" nodes", leave=False, disable=self.quiet or not self.stdout.isatty()
            ) as bar:
                counts = loading.remove(bar.update) if remove else loading.load(now(), bar.update)
        except NodeError as error:
            raise CommandError(str(error)) from error
        if self.quiet:
            return
        if remove:
            self.stdout.write(f"Demo: {counts.done} deleted, {counts.left} kept because of other content inside.")
        else:
            self.stdout.write(f"Demo: {counts.done} created, {counts.left} already there.")
        for address in counts.kept:
            self.stdout.write(f"Kept: {address}")
