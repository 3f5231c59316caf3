"""`manage.py sweep_uploads`: delete stalled uploads, replaced contents, orphan bytes and stale copies of photos."""

from argparse import ArgumentParser
from typing import Any

from marginalia.mongo.management.base import MongoCommand
from photos.services.sweeping import exclusively, sweep


class Command(MongoCommand):
    help = (
        "Clear away uploads that stalled, contents of photos that were replaced (after PHOTOS['GRACE_HOURS']), bytes that"
        " nothing refers to and copies of what is gone. Safe at any time, beside uploads too; run it every hour or so."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count what would be cleared away")

    def handle(self, *args: Any, dry_run: bool, **options: Any) -> None:
        with exclusively() as is_only_sweep:
            if not is_only_sweep:
                self.stdout.write("Another sweep is under way.")
                return
            swept = sweep(dry_run=dry_run)
        if options["verbosity"]:
            self.stdout.write(
                f"{'Pretending to sweep' if dry_run else 'Swept'}: {swept.stalled} stalled uploads, {swept.unlocked} locks of"
                f" dead replacements, {swept.superseded} replaced contents ({swept.noted} more begin their grace),"
                f" {swept.renditions} stale copies, {swept.orphans} files without a document."
            )
