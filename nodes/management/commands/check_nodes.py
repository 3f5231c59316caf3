"""`manage.py check_nodes [--fix]`: what crashes may have left off in pages and photos."""

from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from nodes.services import checking

NAMES = {
    checking.ORPHAN: "orphan revisions",
    checking.BROKEN_HISTORY: "pages without the revision of what they are",
    checking.REDIRECT: "needless redirects",
    checking.PARENT: "pages whose section is gone",
    checking.CYCLE: "sections that stand in themselves",
}


class Command(BaseCommand):
    help = "Find orphan revisions, needless redirects and pages whose section is gone. Exits with 1 if any are left."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--fix", action="store_true", help="mend: pages without a section go to the trash, whole")

    def handle(self, *args: Any, fix: bool, **options: Any) -> None:
        found: Counter[str] = Counter()
        left = 0
        with tqdm(unit=" findings", leave=False, disable=not self.stdout.isatty()) as bar:
            for finding in checking.check(fix=fix):
                found[finding.kind] += 1
                left += not finding.fixed
                bar.update()
                if options["verbosity"] > 1:
                    self.stdout.write(f"{finding.kind}: {finding.about}")
        counts = ", ".join(f"{found[kind]} {name}" for kind, name in NAMES.items())
        self.stdout.write(f"Nodes: {counts}; {sum(found.values()) - left} mended.")
        if left:
            raise CommandError(
                f"{left} left as they were." if fix else f"{left} found: run again with --fix to mend them."
            )
