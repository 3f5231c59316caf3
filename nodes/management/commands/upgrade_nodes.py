"""`manage.py upgrade_nodes [TYPE …] [--dry-run]`: store documents of older versions of the code in the current form."""

from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from marginalia.mongo.management.base import MongoCommand, problems_error
from nodes.content import registry
from nodes.services import upgrades
from nodes.services.upgrades import Outcome


class Command(MongoCommand):
    help = (
        "Store what older versions of content types stored in the present shape, and facets, references and words for search as"
        " they would be derived now, while editors work; drafts and the trash too. May be stopped and run again. Ends with 1 if"
        " any are left, with 2 if it could not do its work."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("types", nargs="*", metavar="TYPE", help='such as "recipe"; without one, all types')
        parser.add_argument(
            "--dry-run", action="store_true", help="only say what would be upgraded, and what cannot be"
        )

    def handle(self, *args: Any, types: list[str], dry_run: bool, **options: Any) -> None:
        if unknown := [name for name in types if name not in registry.names()]:
            raise CommandError(f"There is no type “{unknown[0]}”. There are: {', '.join(registry.names())}.")
        counts: Counter[Outcome] = Counter()
        for name in types or registry.names():
            with tqdm(total=upgrades.count(name), desc=name, leave=False, disable=not self.stdout.isatty()) as bar:
                for looked in upgrades.upgrade(name, dry_run=dry_run):
                    bar.update()
                    counts[looked.outcome] += 1
                    if looked.why:
                        self.stdout.write(f"{name} {looked.id} “{looked.title}”: {looked.why}")
        verb = "Pretending to upgrade" if dry_run else "Upgraded"
        left = counts[Outcome.LEFT]
        refreshed = f"{'refresh' if dry_run else 'refreshed'} {counts[Outcome.REFRESHED]}"
        self.stdout.write(f"{verb} {counts[Outcome.UPGRADED]} documents and {refreshed}; {left} cannot be.")
        if left:
            raise problems_error(f"{left} left as they were.")
