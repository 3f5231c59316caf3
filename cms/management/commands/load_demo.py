"""`manage.py load_demo`: load the demo site, as `make run` does for an empty database, or remove it."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from cms.demo import loading, volume
from marginalia.mongo.clock import now
from marginalia.mongo.management.base import MongoCommand
from nodes.errors import NodeError


class Command(MongoCommand):
    help = "Load the demo site: a small magazine. What is there already stays as it is."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--remove", action="store_true", help="delete all of the demo for good, bulk content too")
        parser.add_argument("--nodes", type=int, metavar="N", default=0, help="add N posts and pages, for measurements")

    def handle(self, *args: Any, remove: bool, nodes: int, **options: Any) -> None:
        if nodes < 0:
            raise CommandError("--nodes must not be negative.")
        self.quiet = options["verbosity"] == 0
        try:
            self._remove() if remove else self._load(nodes)
        except NodeError as error:
            raise CommandError(str(error)) from error

    def _load(self, nodes: int) -> None:
        with self._bar(loading.size()) as bar:
            counts = loading.load(now(), bar.update)
        bulk = self._count(nodes, volume.load(nodes, now())) if nodes else 0
        self._write(f"Demo: {counts.done} created, {counts.left} left as they were; bulk: {bulk} created.")

    def _remove(self) -> None:
        bulk = self._count(None, volume.remove())
        with self._bar(loading.size()) as bar:
            counts = loading.remove(bar.update)
        self._write(f"Demo: {counts.done} deleted, {counts.left} kept for what others put there; bulk: {bulk} deleted.")
        for address in counts.kept:
            self._write(f"Kept: {address}")

    def _count(self, total: int | None, batches: Iterator[int]) -> int:
        done = 0
        with self._bar(total) as bar:
            for size in batches:
                done += size
                bar.update(size)
        return done

    def _bar(self, total: int | None) -> Any:
        return tqdm(total=total, unit=" nodes", leave=False, disable=self.quiet or not self.stdout.isatty())

    def _write(self, line: str) -> None:
        if not self.quiet:
            self.stdout.write(line)
