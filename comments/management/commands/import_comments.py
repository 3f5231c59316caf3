"""Import discussions from newline-delimited JSON, or from another comment system."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from marginalia.comments.imports import sources
from marginalia.comments.imports.addresses import Addresses, BadRule
from marginalia.comments.imports.importer import Importer, Report
from marginalia.comments.imports.records import BrokenSource
from marginalia.comments.imports.staging import Staging
from marginalia.comments.operations import transfer
from marginalia.mongo.management.base import MongoCommand, problems_error

OWN = "marginalia"


class Command(MongoCommand):
    help = (
        "Import comments from a file that export_comments has written, or from another comment system. Existing "
        "comments are not changed, so you can run the command again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", help="input file, or - for standard input; not for systems with tables")
        parser.add_argument(
            "--from",
            dest="system",
            default=OWN,
            choices=[OWN, *sorted(sources.FILES), *sorted(sources.TABLES)],
            help="the system that wrote the comments (default: %(default)s)",
        )
        parser.add_argument("--dry-run", action="store_true", help="check the comments, and import nothing")
        parser.add_argument(
            "--rewrite",
            action="append",
            default=[],
            metavar="RULE",
            help="rule such as 's|^https://old.example/(.*)|/blog/\\1|' that changes the addresses of pages",
        )
        parser.add_argument(
            "--map", type=Path, metavar="FILE", help="CSV file with an old and a new address in each line"
        )
        parser.add_argument(
            "--skip-unmatched", action="store_true", help="leave out comments whose address leads to no page"
        )
        parser.add_argument(
            "--join-accounts", action="store_true", help="assign comments to the account with the author's email"
        )
        parser.add_argument("--database", default="default", help="alias of the database with the tables")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["system"] not in sources.TABLES and not options["file"]:
            raise CommandError("Name the file with the comments.")
        if options["system"] == OWN:
            self._import_own(options)
        else:
            self._import_from(options)

    def _import_own(self, options: dict[str, Any]) -> None:
        path = Path("/dev/stdin" if options["file"] == "-" else options["file"])
        try:
            with path.open("rb") as file, self._bar(" lines") as bar:
                counts = transfer.import_(file, dry_run=options["dry_run"], step=bar.update)
        except OSError as error:
            raise CommandError(f"{path} can't be read: {error}") from error
        except transfer.BrokenFile as error:
            raise CommandError(
                f"{error}. Everything before it was imported. Fix the file and run the command again."
            ) from error
        summary = f"{counts.discussions} discussions with {counts.comments} comments"
        if options["dry_run"]:
            self.stdout.write(f"Dry run: would import {summary}.")
        else:
            self.stdout.write(self.style.SUCCESS(f"{summary}: {counts.new} new."))

    def _import_from(self, options: dict[str, Any]) -> None:
        system = options["system"]
        try:
            addresses = Addresses.from_options(options["rewrite"], options["map"])
            with Staging() as staging, self._bar(" comments") as bar:
                if system in sources.TABLES:
                    staging.fill(sources.TABLES[system](options["database"]), addresses)
                else:
                    staging.fill(sources.FILES[system](Path(options["file"])), addresses)
                self._show_found(staging)
                unmatched = staging.unmatched()
                if unmatched and not options["dry_run"] and not options["skip_unmatched"]:
                    raise CommandError(
                        "Nothing was imported. Add --rewrite or --map until every address leads to a page, or add "
                        "--skip-unmatched."
                    )
                importer = Importer(system, staging, joins_accounts=options["join_accounts"])
                report = importer.run(dry_run=options["dry_run"], step=bar.update)
        except (BrokenSource, BadRule) as error:
            raise CommandError(f"{error} Nothing was imported.") from error
        self._show_report(report, dry_run=options["dry_run"])
        if unmatched or report.left_out:
            raise problems_error("Some comments were left out. See above.")

    def _show_found(self, staging: Staging) -> None:
        for state, count in sorted(staging.states().items()):
            self.stdout.write(f"{count:,} {state}")
        comments, pages, url = staging.foreign_pages()
        if pages:
            self.stdout.write(f"{comments:,} of them on {pages:,} pages of other sites, such as {url}")
        for address, count in staging.unmatched():
            self.stdout.write(self.style.WARNING(f"No page: {address or '(no address)'} ({count:,} comments)"))

    def _show_report(self, report: Report, *, dry_run: bool) -> None:
        for sentence in report.left_out:
            self.stdout.write(self.style.WARNING(f"Left out: comment {sentence}"))
        total = sum(report.found.values())
        summary = f"{report.discussions:,} discussions with {total:,} comments"
        if dry_run:
            self.stdout.write(f"Dry run: would import {summary}.")
        else:
            self.stdout.write(self.style.SUCCESS(f"{summary}: {sum(report.new.values()):,} new."))

    def _bar(self, unit: str) -> Any:
        return tqdm(unit=unit, leave=False, disable=not self.stderr.isatty())
