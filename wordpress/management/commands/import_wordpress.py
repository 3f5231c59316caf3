"""`manage.py import_wordpress`: import the posts, pages and comments of a WordPress export."""

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from marginalia.mongo.management.base import MongoCommand, problems_error
from wordpress.export.records import DamagedExport, WxrError
from wordpress.importer import Importer, Options
from wordpress.media.download import DownloadsStopped, PrivateNetwork
from wordpress.places.existing import SourceError
from wordpress.places.sections import SectionError

# How many seconds to wait between two progress messages if the output is not a terminal.
LINE_INTERVAL = 10.0
INTERRUPTED = 130


class Command(MongoCommand):
    help = (
        "Import posts, pages, tags and comments from a WordPress export (WXR 1.0 to 1.2). Content that someone has "
        "edited on this site is never changed. To resume after an interruption, run the command again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="XML file that WordPress exported")
        parser.add_argument(
            "--media",
            type=Path,
            metavar="DIR",
            help="import photos from this folder, which contains the old site's uploads",
        )
        parser.add_argument("--download-media", action="store_true", help="download the photos from the old site")
        parser.add_argument(
            "--private-network",
            action="store_true",
            help="allow downloads from private networks and from this machine",
        )
        parser.add_argument(
            "--section",
            default="",
            metavar="SLUG",
            help="slug of a top-level folder: import everything into this folder",
        )
        parser.add_argument(
            "--source",
            default="",
            metavar="NAME",
            help="a name for the old site, which you need if you have already imported another site with the same URL",
        )
        parser.add_argument("--dry-run", action="store_true", help="report what would be imported, and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        path = options["file"]
        media = options["media"]
        if not path.is_file():
            raise CommandError(f"The file {path} doesn't exist. Check the path.")
        if media is not None and not media.is_dir():
            raise CommandError(f"The folder {media} doesn't exist. Check --media.")
        dry_run = options["dry_run"]
        self.stdout.write(f"{'Dry run: would import' if dry_run else 'Importing'} {path.name}")
        progress = Progress(self.stdout, quiet=options["verbosity"] == 0)
        import_options = Options(
            section=options["section"],
            source=options["source"].strip(),
            media=media,
            download=options["download_media"],
            private=options["private_network"],
            dry_run=dry_run,
        )
        importer = Importer(path, import_options, begin=progress.begin, step=progress.step)
        try:
            importer.run()
        except DamagedExport as error:
            self._write_report(importer, progress, options["verbosity"])
            verb = "can be" if dry_run else "was"
            raise CommandError(f"{path.name}, {error}. Everything before this line {verb} imported.") from error
        except WxrError as error:
            self._write_report(importer, progress, options["verbosity"])
            raise CommandError(f"{path.name}, {error}.") from error
        except (SectionError, SourceError) as error:
            raise CommandError(str(error)) from error
        except DownloadsStopped as error:
            self._write_report(importer, progress, options["verbosity"])
            way = "with --private-network" if isinstance(error, PrivateNetwork) else "again to resume"
            raise CommandError(
                f"Downloads stopped: {error}. No text was imported. Run the same command {way}."
            ) from error
        except KeyboardInterrupt as error:
            self._write_report(importer, progress, options["verbosity"])
            raise CommandError("Interrupted. Run the same command again to resume.", returncode=INTERRUPTED) from error
        finally:
            progress.end()
        self._write_report(importer, progress, options["verbosity"])
        if problem := importer.report.problem:
            raise problems_error(f"{problem} The report lists them.")

    def _write_report(self, importer: Importer, progress: "Progress", verbosity: int) -> None:
        progress.end()
        for line in importer.report.lines(everything=verbosity > 1):
            self.stdout.write(line)


class Progress:
    """A display of the progress: a bar on a terminal, or messages at regular intervals otherwise."""

    def __init__(self, stdout: Any, *, quiet: bool) -> None:
        self.stdout = stdout
        self.quiet = quiet
        self.bar: Any = None
        self.total = self.done = 0
        self.unit = ""
        self.last_line = time.monotonic()

    def begin(self, total: int, unit: str) -> None:
        """Begin a new count up to `total`."""
        self.end()
        self.total = total
        self.done = 0
        self.unit = unit
        if not self.quiet and self.stdout.isatty():
            self.bar = tqdm(
                total=total, unit="B" if unit == "B" else f" {unit or 'items'}", unit_scale=unit == "B", leave=False
            )

    def step(self, number: int) -> None:
        """Add `number` to the count."""
        self.done += number
        if self.bar is not None:
            self.bar.update(number)
        elif not self.quiet and time.monotonic() - self.last_line > LINE_INTERVAL:
            self.last_line = time.monotonic()
            self.stdout.write(f"{self.done} of {self.total} {self.unit or 'posts and pages'}")

    def end(self) -> None:
        """Remove the progress bar, if there is one."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None
