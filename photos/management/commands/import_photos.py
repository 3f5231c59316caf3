"""`manage.py import_photos DIR --gallery SLUG`: the pictures of a folder, each once."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from bson import ObjectId
from django.core.management.base import CommandError
from tqdm import tqdm

from marginalia.mongo.clock import now
from marginalia.mongo.management.base import MongoCommand, problems_error
from nodes import tags
from nodes.content import PHOTO, may_hold
from nodes.errors import NodeError, NotReady
from nodes.models import tree
from nodes.types import Actor
from photos.services import importing

COUNTS = ("imported", "left as they were", "refused")


class Command(MongoCommand):
    help = (
        "Import the JPEG, PNG, WebP, AVIF and GIF files in and below DIR into a gallery. What the gallery has already stays"
        " as it is, so the command can be stopped and run again. Pictures in other formats are listed as refused."
        " Alternative texts come from text files: lake.jpg.txt beside lake.jpg."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path)
        parser.add_argument("--gallery", required=True, metavar="SLUG", help="its slug, or its path: travels/lakes")
        parser.add_argument("--publish", action="store_true", help="make public what has alternative text")
        parser.add_argument("--tags", default="", help="for all of them, separated by commas")
        parser.add_argument("--author", default="Import", help="name shown as author")
        parser.add_argument("--dry-run", action="store_true", help="only judge the files and count")

    def handle(self, *args: Any, folder: Path, gallery: str, **options: Any) -> None:
        if not folder.is_dir():
            raise CommandError(f"There is no folder {folder}.")
        gallery_id = _gallery(gallery)
        counts = dict.fromkeys(COUNTS, 0)
        paths = list(importing.files(folder))
        quiet = options["verbosity"] == 0
        for path in tqdm(paths, unit=" photos", leave=False, disable=quiet or not self.stdout.isatty()):
            try:
                counts[self._import(gallery_id, path, options)] += 1
            except (NodeError, OSError, UnicodeDecodeError) as error:
                counts["refused"] += 1
                read = f"{path}.txt" if isinstance(error, UnicodeDecodeError) else path
                self.stderr.write(f"{read}: {error}")
        if not quiet:
            said = ", ".join(f"{number} {name}" for name, number in counts.items())
            self.stdout.write(f"{'Pretending to import' if options['dry_run'] else 'Photos'}: {said}.")
        if counts["refused"]:
            raise problems_error(f"{counts['refused']} of {len(paths)} files were refused; the others are done.")

    def _import(self, gallery_id: ObjectId, path: Path, options: dict[str, Any]) -> str:
        """Import one file and return what has come of it, as one of COUNTS."""
        fields: dict[str, Any] = {"detail.alt": _words(path)}
        if options["dry_run"]:
            return COUNTS[1] if importing.there(gallery_id, path) else COUNTS[0]
        if options["publish"]:
            fields["published"] = now()
        who = Actor(None, options["author"])
        wanted = tags.parse(options["tags"])
        try:
            done = importing.import_photo(who, gallery_id, path, fields=fields, tags=wanted)
        except NotReady:
            del fields["published"]
            done = importing.import_photo(who, gallery_id, path, fields=fields, tags=wanted)
        return COUNTS[1] if done.was_there else COUNTS[0]


def _gallery(address: str) -> ObjectId:
    """Return the gallery at a path, or the one with that slug. Raises CommandError."""
    known = tree.fresh()
    at = known.at(address)
    galleries = [section for section in known.sections.values() if may_hold(section.type, PHOTO)]
    found = [s for s in galleries if s is at] or [s for s in galleries if s.slug == address.strip("/")]
    if not found:
        raise CommandError(f"There is no gallery “{address}”.")
    if len(found) > 1:
        raise CommandError(f"Several galleries are called “{address}”: give the path of one.")
    return found[0].id


def _words(path: Path) -> str:
    """Return what the text file beside a picture says it shows; "" without one. Raises UnicodeDecodeError."""
    beside = importing.find_file(path.parent, f"{path.name}.txt")
    # Some editors begin UTF-8 with a mark of its own.
    return " ".join(beside.read_text("utf-8-sig").split())[:500] if beside else ""
