"""`manage.py import_photos DIR --gallery SLUG`: import the photos in a folder, each photo only once."""

from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from bson import ObjectId
from django.core.management.base import CommandError
from tqdm import tqdm

from marginalia.mongo.clock import now
from marginalia.mongo.management.base import MongoCommand, problems_error
from nodes import tags
from nodes.access import System
from nodes.content import PHOTO, may_hold
from nodes.errors import NodeError, NotReady
from nodes.models import tree
from photos.actions import UploadPhoto
from photos.services import importing

COUNTS = ("imported", "skipped", "refused")


class Command(MongoCommand):
    help = (
        "Import the JPEG, PNG, WebP, AVIF and GIF files in a folder and its subfolders into a gallery. You can "
        "interrupt the command and run it again, because photos that are already in the gallery are skipped. Files in "
        "other formats are reported. The alternative text of lake.jpg is read from lake.jpg.txt in the same folder."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path, help="folder that contains the photos")
        parser.add_argument(
            "--gallery",
            required=True,
            metavar="SLUG",
            help="slug or path of the gallery, such as travels/lakes",
        )
        parser.add_argument("--publish", action="store_true", help="publish photos that have alternative text")
        parser.add_argument("--tags", default="", help="tags for all photos, separated by commas")
        parser.add_argument(
            "--author", default="Import", help="name of the author that the site shows (default: %(default)s)"
        )
        parser.add_argument("--dry-run", action="store_true", help="check and count the files, and import nothing")

    def handle(self, *args: Any, folder: Path, gallery: str, **options: Any) -> None:
        if not folder.is_dir():
            raise CommandError(f"The folder {folder} doesn't exist. Check the path.")
        gallery_id = _gallery(gallery)
        counts = dict.fromkeys(COUNTS, 0)
        paths = list(importing.files(folder))
        quiet = options["verbosity"] == 0
        for path in tqdm(paths, unit=" photos", leave=False, disable=quiet or not self.stdout.isatty()):
            try:
                counts[self._import(gallery_id, path, options)] += 1
            except (NodeError, OSError, UnicodeDecodeError) as error:
                counts["refused"] += 1
                faulty = f"{path}.txt" if isinstance(error, UnicodeDecodeError) else path
                self.stderr.write(f"{faulty}: {error}")
        if not quiet:
            summary = ", ".join(f"{number} {name}" for name, number in counts.items())
            self.stdout.write(f"{'Dry run: would import photos' if options['dry_run'] else 'Photos'}: {summary}.")
        if counts["refused"]:
            raise problems_error(
                f"{counts['refused']} of {len(paths)} files were refused. All other files were processed."
            )

    def _import(self, gallery_id: ObjectId, path: Path, options: dict[str, Any]) -> str:
        """Import one file and return the outcome, which is one of COUNTS."""
        fields: dict[str, Any] = {"detail.alt": _alternative_text(path)}
        if importing.find_imported(gallery_id, path):
            return COUNTS[1]
        if options["dry_run"]:
            return COUNTS[0]
        upload = UploadPhoto(
            user=System(options["author"]),
            gallery_id=gallery_id,
            filename=path.name,
            fields=fields | ({"published": now()} if options["publish"] else {}),
            tags=tags.parse(options["tags"]),
        )
        try:
            upload.execute(importing.read_pieces(path))
        except NotReady:
            replace(upload, fields=fields).execute(importing.read_pieces(path))
        return COUNTS[0]


def _gallery(slug_or_path: str) -> ObjectId:
    """Return the id of the gallery with this path or slug. Raise CommandError if there is none or more than one."""
    sections = tree.fresh()
    at_path = sections.resolve(slug_or_path)
    galleries = [section for section in sections.sections.values() if may_hold(section.type, PHOTO)]
    by_path = [gallery for gallery in galleries if gallery is at_path]
    matches = by_path or [gallery for gallery in galleries if gallery.slug == slug_or_path.strip("/")]
    if not matches:
        raise CommandError(f"The gallery “{slug_or_path}” doesn't exist. Create it first, or check the slug.")
    if len(matches) > 1:
        raise CommandError(f"Several galleries have the slug “{slug_or_path}”. Specify a path, such as travels/lakes.")
    return matches[0].id


def _alternative_text(path: Path) -> str:
    """Return the alternative text from the text file next to an image file, or "" if there is none.

    Raise UnicodeDecodeError if the file isn't UTF-8.
    """
    text_file = importing.find_file(path.parent, f"{path.name}.txt")
    # The encoding is utf-8-sig, because some editors begin UTF-8 files with a byte order mark.
    return " ".join(text_file.read_text("utf-8-sig").split())[:500] if text_file else ""
