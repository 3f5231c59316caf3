"""The old site's pictures as photos, so that the texts that are imported after them can show them."""

from datetime import datetime
from pathlib import Path
from typing import Any

from bson import ObjectId
from django.utils.translation import gettext as _

from nodes.errors import NodeError
from nodes.services import photo_import
from nodes.types import Actor

from .content import plain
from .places import Home
from .records import Attachment
from .report import Report
from .scan import Export
from .sections import Sections

__all__ = ["Pictures", "pictures"]

LONGEST_TITLE, LONGEST_ALT = 300, 500


def pictures(export: Export) -> list[tuple[Attachment, Path]]:
    """Return the attachments that are pictures and whose files are there."""
    return [(attachment, path) for attachment, path in export.found if path.suffix.lower() in photo_import.ENDINGS]


class Pictures:
    """Makes photos in `gallery` and tells the texts of `export` where each is now."""

    def __init__(self, export: Export, sections: Sections, gallery: Home, report: Report, moment: datetime) -> None:
        self.export, self.sections, self.gallery, self.report, self.moment = export, sections, gallery, report, moment
        self.actor = Actor(None, _("WordPress import"))

    def upload(self, attachment: Attachment, path: Path) -> ObjectId | None:
        """Upload a picture into the gallery, unless the gallery has it. None, and a note, if it is refused."""
        assert self.gallery.id is not None
        title = plain(attachment.title)[:LONGEST_TITLE]
        fields: dict[str, Any] = {"summary": plain(attachment.caption)}
        # WordPress does not require alternative texts; without any words a picture stays a draft, and its text names it.
        if alt := (plain(attachment.alt) or fields["summary"] or title)[:LONGEST_ALT]:
            fields |= {"detail.alt": alt, "published": attachment.posted or self.moment}
        try:
            # What is no picture makes no gallery.
            photo_id = photo_import.there(self.gallery.id, path)
            if photo_id is None:
                self.sections.make(self.gallery.id)
                photo_id = photo_import.upload(self.actor, self.gallery.id, path, title=title, fields=fields)
                self.report.written["photo"] += 1
        except (NodeError, OSError) as error:
            self.report.note("Pictures that were refused", f"{path.name}: {error}")
            return None
        self.show(attachment, photo_id)
        return photo_id

    def show(self, attachment: Attachment, photo_id: ObjectId) -> None:
        """Tell the texts that a picture of the old site is this photo."""
        self.export.old.show_file(attachment, f"photo:{photo_id}")
