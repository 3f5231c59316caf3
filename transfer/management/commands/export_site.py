"""The command `manage.py export_site PATH`, which writes the site to a folder or zip."""

from argparse import ArgumentParser, ArgumentTypeError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from marginalia.mongo.management.base import MongoCommand, problems_error
from transfer import exporting
from transfer.archive import DISCUSSIONS, NODES, PHOTOS, REVISIONS, SECTIONS

COUNTED = {
    SECTIONS: "sections",
    NODES: "pages",
    PHOTOS: "pictures",
    REVISIONS: "versions",
    DISCUSSIONS: "lines of discussions",
}


def parse_moment(text: str) -> datetime:
    """Return the date or time that an operator typed. Without a time zone, it is in UTC.

    Raises:
        ArgumentTypeError: The text is no date or time.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no date such as 2026-01-31, and no time of it.") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Command(MongoCommand):
    help = (
        "Write pages, photos, history, discussions and settings to a folder, or to one file if PATH ends in .zip, for"
        " import_site. Accounts, tokens, sessions, the trash and what is typed and not saved are not in it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", metavar="PATH", type=Path)
        parser.add_argument("--section", default="", metavar="ADDRESS", help="only this section and what is below it")
        parser.add_argument("--since", type=parse_moment, metavar="DATE", help="only what was changed from then on")
        parser.add_argument("--addresses", action="store_true", help="with the e-mail addresses of comments")

    def handle(self, *args: Any, path: Path, section: str, since: datetime | None, **options: Any) -> None:
        try:
            with tqdm(unit=" documents", leave=False, disable=not self.stderr.isatty()) as bar:
                export = exporting.export_site(
                    path, section=section, since=since, addresses=options["addresses"], step=bar.update
                )
        except exporting.NoSuchSection as error:
            raise CommandError(f"There is no section {error}.") from error
        except FileExistsError as error:
            raise CommandError(f"There is something at {error} already.") from error
        except NotADirectoryError as error:
            raise CommandError(f"The folder {error} doesn't exist. Create it, or mount its disk, first.") from error
        except OSError as error:
            raise CommandError(f"The export cannot be written: {error}.") from error
        assert export.manifest
        counts = ", ".join(f"{export.manifest.count(name)} {label}" for name, label in COUNTED.items())
        self.stdout.write(self.style.SUCCESS(f"{path}: {counts}."))
        if export.unreadable:
            for description in export.unreadable:
                self.stdout.write(f"Left out: {description}")
            raise problems_error(
                f"{len(export.unreadable)} could not be read; check_nodes --files and check_comments say more."
            )
