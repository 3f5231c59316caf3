"""Import of the old site's pictures as photos. They are imported before the posts and pages that show them."""

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

from bson import ObjectId
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from nodes.access import System
from nodes.errors import NodeError
from nodes.selectors import stored_photos
from photos.actions import UploadPhoto
from photos.services import importing
from wordpress import old_links
from wordpress.export.old_site import PHOTO
from wordpress.export.records import Attachment
from wordpress.export.scan import Export
from wordpress.media.download import Downloader, DownloadError
from wordpress.places.arranging import TargetSection
from wordpress.places.sections import Sections
from wordpress.previous_runs import import_actor
from wordpress.report import Report
from wordpress.texts.content import plain

__all__ = ["PictureImporter", "register_known", "with_file", "without_file"]

MAX_TITLE, MAX_ALT = 300, 500
MAX_NAME_BYTES = 200


def with_file(export: Export) -> list[tuple[Attachment, Path]]:
    """Return the attachments that are pictures and whose files have been found, each with the path of its file."""
    return [(attachment, path) for attachment, path in export.files if path.suffix.lower() in importing.EXTENSIONS]


def without_file(export: Export) -> list[Attachment]:
    """Return the attachments whose files are missing, but which are pictures according to their URLs."""
    return [
        attachment
        for attachment in export.missing_files
        if _file_name(attachment).suffix.lower() in importing.EXTENSIONS
    ]


def _file_name(attachment: Attachment) -> PurePosixPath:
    """Return the file name of an attachment: the last part of its URL, without unsafe characters."""
    name = unquote(attachment.url.split("?")[0].rsplit("/", 1)[-1])
    cleaned = re.sub(r"[^\w.-]", "-", name).encode()[-MAX_NAME_BYTES:]
    return PurePosixPath(cleaned.decode(errors="ignore"))


class PictureImporter:
    """An importer that creates photos in `gallery`. It registers them in `export`, so that posts can refer to them.

    If `dry_run` is true, photos are registered, but not created.
    """

    def __init__(
        self,
        export: Export,
        sections: Sections,
        gallery: TargetSection,
        report: Report,
        moment: datetime,
        *,
        dry_run: bool,
    ) -> None:
        self.export = export
        self.sections = sections
        self.gallery = gallery
        self.report = report
        self.moment = moment
        self.dry_run = dry_run

    def upload(self, attachment: Attachment, path: Path) -> ObjectId | None:
        """Upload a picture to the gallery, unless the gallery already contains it. Return the photo's id.

        If the picture is rejected, add a note to the report and return None.
        """
        assert self.gallery.id is not None
        title = plain(attachment.title)[:MAX_TITLE]
        fields: dict[str, Any] = {"summary": plain(attachment.caption)}
        # WordPress does not require alternative text, but this site does. Use the caption or the title instead. If a
        # picture has none of them, its photo remains a draft, to which posts nevertheless refer.
        if alt := (plain(attachment.alt) or fields["summary"] or title)[:MAX_ALT]:
            fields |= {"detail.alt": alt, "published": self.export.publish_time(attachment, self.moment)}
        try:
            # Create the gallery only if there is a picture to store in it.
            photo_id = importing.find_imported(self.gallery.id, path)
            if photo_id is None:
                self.sections.create(self.gallery.id)
                if self.dry_run:
                    photo_id = ObjectId()
                else:
                    upload = UploadPhoto(
                        user=System(import_actor()),
                        gallery_id=self.gallery.id,
                        filename=path.name,
                        title=title,
                        fields=fields,
                    )
                    photo_id = upload.execute(importing.read_pieces(path)).id
                self.report.written["photo"] += 1
                if "detail.alt" in fields and not fields["published"]:
                    self.report.note(_("Photos of private pages, unpublished here"), path.name)
        except (NodeError, OSError) as error:
            self.report.note(_("Photos that were refused"), f"{path.name}: {error}")
            return None
        if self.dry_run:
            publish_time = fields.get("published")
            is_live = publish_time is not None and publish_time <= self.moment
            register_at(self.export, attachment, photo_id, self.gallery.path if is_live else "", self.report)
            return photo_id
        old_links.store(self.export, [(attachment.id, attachment.link, photo_id)])
        register(self.export, attachment, photo_id, self.report, self.moment)
        return photo_id

    def register_planned(self, attachments: list[Attachment]) -> None:
        """Register the pictures that a real run would download. This method is used in dry runs."""
        for attachment in attachments:
            register_at(self.export, attachment, ObjectId(), "", self.report)
        if attachments:
            self.report.note(
                _("To be downloaded"),
                ngettext("%(n)d picture", "%(n)d pictures", len(attachments)) % {"n": len(attachments)},
            )

    def download(self, attachments: list[Attachment], downloader: Downloader, step: Callable[[int], object]) -> None:
        """Download pictures from the old site, and upload them to the gallery.

        Raises:
            DownloadsStopped: The run has reached a limit.
        """
        for attachment in attachments:
            self._fetch(attachment, downloader)
            step(1)

    def _fetch(self, attachment: Attachment, downloader: Downloader) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / _file_name(attachment)
            try:
                with path.open("xb") as file:
                    downloader.fetch(attachment.url, file)
            except DownloadError as error:
                self.report.note(_("Photos that could not be downloaded"), f"{attachment.url}: {error}")
                return
            self.report.downloaded = downloader.files
            self.report.downloaded_bytes = downloader.bytes
            self.upload(attachment, path)


def register_known(export: Export, report: Report, moment: datetime) -> set[int]:
    """Register pictures that were imported in previous runs, so that posts and pages can show them. Return their ids.

    Only pictures whose files are missing from this run are looked up. The others are registered when they are uploaded.
    """
    existing = importing.existing(
        old_links.find_numbers(export, [attachment.id for attachment in export.missing_files])
    )
    for attachment in export.missing_files:
        if attachment.id in existing:
            register(export, attachment, existing[attachment.id], report, moment)
    return set(existing)


def register(export: Export, attachment: Attachment, photo_id: ObjectId, report: Report, moment: datetime) -> None:
    """Register the photo that replaces a picture from the old site. Look up the path of the photo's page."""
    photo = stored_photos.get(photo_id)
    register_at(
        export, attachment, photo_id, photo.get_absolute_url() if photo and photo.is_live(moment) else "", report
    )


def register_at(export: Export, attachment: Attachment, photo_id: ObjectId, page: str, report: Report) -> None:
    """Register the photo that replaces a picture from the old site.

    `page` is the path of the photo's page, or "" if readers can't see this page.
    """
    export.old.set_file(attachment, f"{PHOTO}{photo_id}", page)
    if attachment.url in report.missing:
        report.missing.remove(attachment.url)
        report.found += 1
