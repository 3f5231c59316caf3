"""Convert discussions to another layout or order while they are in use."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from marginalia.comments.backends import layout_classes
from marginalia.comments.errors import ConversionFailed, DiscussionDamaged, TargetNotFound
from marginalia.comments.operations import maintenance
from marginalia.comments.types import Order
from marginalia.mongo.management.base import MongoCommand, problems_error


class Command(MongoCommand):
    help = (
        "Convert discussions to a different layout or order. People can read and write comments during the conversion. "
        "To resume after an interruption, run the command again."
    )
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--to", default="", choices=layout_classes(), help="the new layout (default: unchanged)")
        parser.add_argument("--order", choices=list(Order), help="the new order (default: unchanged)")
        parser.add_argument(
            "--target", default="", metavar="LABEL", help="convert only discussions of this model (app.model)"
        )
        parser.add_argument(
            "--discussion", default="", metavar="ID", help="convert only this discussion (app.model:pk)"
        )
        parser.add_argument("--dry-run", action="store_true", help="report what would be converted, and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        order = Order(options["order"]) if options["order"] else None
        if not options["to"] and order is None:
            raise CommandError("Nothing to convert. Specify --to, --order or both.")
        converted = comments = skipped = failed = 0
        try:
            for target in maintenance.select_targets(label=options["target"].lower(), discussion=options["discussion"]):
                try:
                    discussion = maintenance.discussion(target)
                except DiscussionDamaged as error:
                    self.stderr.write(str(error))
                    failed += 1
                    continue
                layout = options["to"] or discussion.layout
                if not maintenance.needs_converting(discussion, layout, order):
                    maintenance.drop_old_copies(discussion.target)
                    skipped += 1
                    continue
                if options["dry_run"]:
                    self.stdout.write(f"Dry run: would convert {discussion.target} ({discussion.count} comments).")
                    converted = converted + 1
                    comments = comments + discussion.count
                    continue
                try:
                    copied = self._convert(discussion, layout, order)
                except (ConversionFailed, TargetNotFound) as error:
                    self.stderr.write(str(error))
                    failed += 1
                else:
                    converted = converted + 1
                    comments = comments + copied
        except TargetNotFound as error:
            raise CommandError(str(error)) from error
        verb = "would be converted" if options["dry_run"] else "converted"
        self.stdout.write(
            f"{converted} discussions {verb} ({comments} comments). {skipped} already had this layout and order."
        )
        if failed:
            raise problems_error(f"{failed} discussions could not be converted. They are unchanged.")

    def _convert(self, discussion: Any, layout: str, order: Order | None) -> int:
        with tqdm(
            total=discussion.last_number,
            desc=str(discussion.target),
            unit=" comments",
            leave=False,
            disable=not self.stdout.isatty(),
        ) as bar:

            def progress(copied: int) -> None:
                bar.n = copied
                bar.refresh()

            total_copied = maintenance.convert(discussion.target, layout, order, progress=progress)
        maintenance.drop_old_copies(discussion.target)
        return total_copied or 0
