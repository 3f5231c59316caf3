"""The old site's pictures as photos, so that the texts that are imported after them can show them."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from bson import ObjectId

from nodes.errors import NodeError
from nodes.services import photo_import
from nodes.types import Actor

from .content import plain
from .records import Attachment
from .report import Report
from .scan import Export

__all__ = ["import_pictures", "pictures"]

LONGEST_TITLE, LONGEST_ALT = 300, 500


def pictures(export: Export) -> list[tuple[Attachment, Path]]:
    """Return the attachments that are pictures and whose files are there."""
    return [(attachment, path) for attachment, path in export.found if path.suffix.lower() in photo_import.ENDINGS]


def import_pictures(
    export: Export,
    gallery_id: ObjectId,
    actor: Actor,
    report: Report,
    *,
    moment: datetime,
    step: Callable[[int], object],
) -> None:
    """Upload each picture into the gallery, unless the gallery has it, and tell the texts where it is now."""
    for attachment, path in pictures(export):
        step(1)
        title = plain(attachment.title)[:LONGEST_TITLE]
        fields: dict[str, Any] = {"summary": plain(attachment.caption)}
        # WordPress asks nobody for alternative texts; without any words a picture stays a draft, and its text names it.
        if alt := (plain(attachment.alt) or fields["summary"] or title)[:LONGEST_ALT]:
            fields |= {"detail.alt": alt, "published": attachment.posted or moment}
        try:
            done = photo_import.import_photo(actor, gallery_id, path, title=title, fields=fields)
        except (NodeError, OSError) as error:
            report.note("Pictures that were refused", f"{path.name}: {error}")
            continue
        report.written["photo"] += not done.was_there
        export.old.show_file(attachment, f"photo:{done.id}")
