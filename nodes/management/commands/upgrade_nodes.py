"""`manage.py upgrade_nodes [TYPE …] [--dry-run]`: upgrade documents that were stored by older releases."""

from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from marginalia.mongo.management.base import MongoCommand, problems_error
from nodes.content import registry
from nodes.services import upgrades, vocabulary
from nodes.services.upgrades import Outcome


class Command(MongoCommand):
    help = (
        "Upgrade stored pages and photos to the current versions of their content types, and refresh facets, "
        "references and search words. Drafts and pages in the trash are also upgraded. Editors can continue working, "
        "and you can interrupt the command and run it again. The command exits with code 1 if some documents "
        "couldn't be upgraded, and with code 2 if it can't run."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "types", nargs="*", metavar="TYPE", help='name of a content type, such as "recipe" (default: all types)'
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="report what would be upgraded and what can't be upgraded, and change nothing",
        )

    def handle(self, *args: Any, types: list[str], dry_run: bool, **options: Any) -> None:
        if unknown := [name for name in types if name not in registry.names()]:
            raise CommandError(
                f"The content type “{unknown[0]}” doesn't exist. Specify one of: {', '.join(registry.names())}."
            )
        counts: Counter[Outcome] = Counter()
        for name in types or registry.names():
            with tqdm(total=upgrades.count(name), desc=name, leave=False, disable=not self.stdout.isatty()) as bar:
                for looked in upgrades.upgrade(name, dry_run=dry_run):
                    bar.update()
                    counts[looked.outcome] += 1
                    if looked.why:
                        self.stdout.write(f"{name} {looked.id} “{looked.title}”: {looked.why}")
        if not types and not dry_run:
            vocabulary.forget_unused()
        verb = "Dry run: would upgrade" if dry_run else "Upgraded"
        left = counts[Outcome.LEFT]
        refreshed = f"{'refresh' if dry_run else 'refreshed'} {counts[Outcome.REFRESHED]}"
        self.stdout.write(f"{verb} {counts[Outcome.UPGRADED]} documents and {refreshed}. {left} can't be upgraded.")
        if left:
            raise problems_error(f"{left} problems remain.")
