"""`manage.py sweep_uploads`: delete stalled uploads, replaced files, orphan chunks and outdated copies of photos."""

from argparse import ArgumentParser
from typing import Any

from marginalia.mongo.management.base import MongoCommand
from photos.services.sweeping import exclusively, sweep


class Command(MongoCommand):
    help = (
        "Delete stalled uploads, replaced photo files whose grace period (PHOTOS['GRACE_HOURS']) has ended, data that "
        "doesn't belong to any file, and copies of deleted photos. You can run the command at any time, even during "
        "uploads. Run it about once an hour."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="count what would be deleted, and change nothing")

    def handle(self, *args: Any, dry_run: bool, **options: Any) -> None:
        with exclusively() as is_only_sweep:
            if not is_only_sweep:
                self.stdout.write("Another sweep is already running. Nothing was deleted.")
                return
            swept = sweep(dry_run=dry_run)
        if options["verbosity"]:
            self.stdout.write(
                f"{'Dry run: would delete' if dry_run else 'Deleted'}: {swept.stalled} stalled "
                f"uploads, {swept.unlocked} locks of interrupted replacements, {swept.superseded} "
                f"replaced contents ({swept.noted} more wait for their grace period), "
                f"{swept.renditions} outdated copies, {swept.orphans} files without a document."
            )
