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
    """Return the date or time that an operator entered. If it has no time zone, assume UTC.

    Raises:
        ArgumentTypeError: The text is neither a date nor a time.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not a date or time. Use a format such as 2026-01-31.") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Command(MongoCommand):
    help = (
        "Export pages, photos, history, discussions and settings to a folder or .zip file that import_site can read. "
        "Accounts, tokens, sessions, the trash and unsaved changes are not exported."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "path", metavar="PATH", type=Path, help="folder to create, or .zip file to create if PATH ends in .zip"
        )
        parser.add_argument(
            "--section",
            default="",
            metavar="ADDRESS",
            help="path of a section: export only this section and its subsections",
        )
        parser.add_argument(
            "--since",
            type=parse_moment,
            metavar="DATE",
            help="export only content that has changed since this date or time",
        )
        parser.add_argument("--addresses", action="store_true", help="include the email addresses of comment authors")

    def handle(self, *args: Any, path: Path, section: str, since: datetime | None, **options: Any) -> None:
        try:
            with tqdm(unit=" documents", leave=False, disable=not self.stderr.isatty()) as bar:
                export = exporting.export_site(
                    path, section=section, since=since, addresses=options["addresses"], step=bar.update
                )
        except exporting.NoSuchSection as error:
            raise CommandError(f"The section {error} doesn't exist. Check the path.") from error
        except FileExistsError as error:
            raise CommandError(f"{error} already exists. Specify another path.") from error
        except NotADirectoryError as error:
            raise CommandError(f"The folder {error} doesn't exist. Create it or mount its disk first.") from error
        except OSError as error:
            raise CommandError(f"The export can't be written: {error}. Check the disk and the permissions.") from error
        assert export.manifest
        counts = ", ".join(f"{export.manifest.count(name)} {label}" for name, label in COUNTED.items())
        self.stdout.write(self.style.SUCCESS(f"{path}: {counts}."))
        if export.unreadable:
            for description in export.unreadable:
                self.stdout.write(f"Left out: {description}")
            raise problems_error(
                f"{len(export.unreadable)} documents could not be read. Run check_nodes --files and "
                "check_comments for details."
            )
