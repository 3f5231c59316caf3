"""The old site's pictures as photos, so that the texts that are imported after them can show them."""

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

from bson import ObjectId

from nodes.errors import NodeError
from nodes.selectors import stored_photos
from photos.services import importing
from wordpress import old_links
from wordpress.brought import importer
from wordpress.export.old_site import PHOTO
from wordpress.export.records import Attachment
from wordpress.export.scan import Export
from wordpress.media.download import Downloader, DownloadError
from wordpress.places.arranging import Home
from wordpress.places.sections import Sections
from wordpress.report import Report
from wordpress.texts.content import plain

__all__ = ["Pictures", "absent", "local", "show_known"]

LONGEST_TITLE, LONGEST_ALT = 300, 500
LONGEST_NAME = 200  # bytes


def local(export: Export) -> list[tuple[Attachment, Path]]:
    """Return the attachments that are pictures and whose files are there."""
    return [(attachment, path) for attachment, path in export.found if path.suffix.lower() in importing.EXTENSIONS]


def absent(export: Export) -> list[Attachment]:
    """Return the attachments that are pictures, by their addresses, and whose files are not there."""
    return [attachment for attachment in export.absent if _name(attachment).suffix.lower() in importing.EXTENSIONS]


def _name(attachment: Attachment) -> PurePosixPath:
    """What to call the file of an attachment: the end of its address, in what any file system takes."""
    end = unquote(attachment.url.split("?")[0].rsplit("/", 1)[-1])
    kept = re.sub(r"[^\w.-]", "-", end).encode()[-LONGEST_NAME:]
    return PurePosixPath(kept.decode(errors="ignore"))


class Pictures:
    """Makes photos in `gallery` and tells the texts of `export` where each is now. `pretend` makes none, and tells the same."""

    def __init__(
        self, export: Export, sections: Sections, gallery: Home, report: Report, moment: datetime, *, pretend: bool
    ) -> None:
        self.export = export
        self.sections = sections
        self.gallery = gallery
        self.report = report
        self.moment = moment
        self.pretend = pretend
        self.actor = importer()

    def upload(self, attachment: Attachment, path: Path) -> ObjectId | None:
        """Upload a picture into the gallery, unless the gallery has it. None, and a note, if it is refused."""
        assert self.gallery.id is not None
        title = plain(attachment.title)[:LONGEST_TITLE]
        fields: dict[str, Any] = {"summary": plain(attachment.caption)}
        # WordPress does not require alternative texts; without any words a picture stays a draft, and its text names it.
        if alt := (plain(attachment.alt) or fields["summary"] or title)[:LONGEST_ALT]:
            fields |= {"detail.alt": alt, "published": self.export.appears(attachment, self.moment)}
        try:
            # What is no picture makes no gallery.
            photo_id = importing.find_imported(self.gallery.id, path)
            if photo_id is None:
                self.sections.make(self.gallery.id)
                if self.pretend:
                    photo_id = ObjectId()
                else:
                    photo_id = importing.upload(self.actor, self.gallery.id, path, title=title, fields=fields)
                self.report.written["photo"] += 1
                if "detail.alt" in fields and not fields["published"]:
                    self.report.note("Pictures of what was not public, unpublished here", path.name)
        except (NodeError, OSError) as error:
            self.report.note("Pictures that were refused", f"{path.name}: {error}")
            return None
        if self.pretend:
            appears = fields.get("published")
            is_live = appears is not None and appears <= self.moment
            show_at(self.export, attachment, photo_id, self.gallery.path if is_live else "", self.report)
            return photo_id
        old_links.keep(self.export, [(attachment.id, attachment.link, photo_id)])
        show(self.export, attachment, photo_id, self.report, self.moment)
        return photo_id

    def expect(self, wanted: list[Attachment]) -> None:
        """Tell the texts of a rehearsal that these pictures will be downloaded."""
        for attachment in wanted:
            show_at(self.export, attachment, ObjectId(), "", self.report)
        if wanted:
            self.report.note("To be downloaded", f"{len(wanted)} pictures")

    def download(self, wanted: list[Attachment], downloader: Downloader, step: Callable[[int], object]) -> None:
        """Fetch pictures of the old site and upload them.

        Raises DownloadsStopped when no more can be fetched in this run.
        """
        for attachment in wanted:
            self._fetch(attachment, downloader)
            step(1)

    def _fetch(self, attachment: Attachment, downloader: Downloader) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / _name(attachment)
            try:
                with path.open("xb") as file:
                    downloader.fetch(attachment.url, file)
            except DownloadError as error:
                self.report.note("Pictures that could not be downloaded", f"{attachment.url}: {error}")
                return
            self.report.downloaded = downloader.files
            self.report.downloaded_bytes = downloader.bytes
            self.upload(attachment, path)


def show_known(export: Export, report: Report, moment: datetime) -> set[int]:
    """Note where the pictures of earlier runs are, for the texts; return the numbers of those without a file in this run."""
    there = importing.existing(old_links.known(export, [attachment.id for attachment in export.absent]))
    for attachment in export.absent:
        if attachment.id in there:
            show(export, attachment, there[attachment.id], report, moment)
    return set(there)


def show(export: Export, attachment: Attachment, photo_id: ObjectId, report: Report, moment: datetime) -> None:
    """Note, for the texts, that a picture of the old site is this photo."""
    photo = stored_photos.get(photo_id)
    show_at(export, attachment, photo_id, photo.get_absolute_url() if photo and photo.is_live(moment) else "", report)


def show_at(export: Export, attachment: Attachment, photo_id: ObjectId, page: str, report: Report) -> None:
    """Tell the texts that a picture of the old site is the photo at `page`, "" if readers cannot see it."""
    export.old.show_file(attachment, f"{PHOTO}{photo_id}", page)
    if attachment.url in report.missing:
        report.missing.remove(attachment.url)
        report.found += 1
