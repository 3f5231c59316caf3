"""The first scan of an export, which collects everything except the text of posts and pages.

The import needs all URLs and parents before it can convert the first post.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

from bson import ObjectId
from django.utils.translation import gettext as _

from nodes.selectors.imports import ExistingNode
from photos.services import importing
from wordpress.export.old_site import OldSite, locate
from wordpress.export.reader import read
from wordpress.export.records import Attachment, ExportedAuthor, Item, Site, WxrError
from wordpress.export.source import Repairs
from wordpress.report import Report
from wordpress.texts.content import make_slug, plain

__all__ = ["Entry", "Export", "identifier", "scan", "add_file"]

# This site's names for WordPress's statuses. An item with any other status becomes a draft.
STATES = {"publish": "published", "future": "scheduled", "private": "private"}
# Statuses of items that are in the trash or were never saved.
DELETED = {"trash", "auto-draft"}
NOT_IMPORTED = {*DELETED, "inherit"}
# Types of items that WordPress never showed to visitors as posts or pages. They are left out without a note in the
# report.
INTERNAL = {
    *(
        "nav_menu_item",
        "revision",
        "custom_css",
        "customize_changeset",
        "oembed_cache",
        "user_request",
        "wp_navigation",
    ),
    *("wp_global_styles", "wp_template", "wp_template_part", "wp_font_family", "wp_font_face"),
}
# The type of synced patterns ("reusable blocks"), whose content is inserted into the posts that use them.
PATTERN = "wp_block"
# Matches references to pictures in posts: classes, blocks and galleries. Only image and cover blocks are matched,
# because the "id" of another block may refer to something else, such as a category.
_PICTURES = re.compile(
    r'\bwp-image-(\d{1,18})\b|<!-- wp:(?:image|cover) \{[^<>]*?"id":(\d{1,18})\b|\bids="([\d, ]{1,10000})"'
)
# Statuses of files that visitors could see. A file with the status "inherit" was visible if the post that it was
# uploaded to was public.
VISIBLE = {"inherit", "publish"}


@dataclass(slots=True)
class Entry:
    """A post or page in the export.

    The fields from `kind` on describe the entry's place on this site. It is determined when all entries are known.
    """

    number: int
    line: int
    is_page: bool
    link: str
    state: str
    is_public: bool
    protected: bool
    title: str
    wanted_slug: str
    has_slug: bool
    above: int
    posted: datetime | None
    approved: int
    guid: str = ""
    old_slug: str = ""
    # The ids of the pictures that the entry showed to all visitors, spelled as in the export.
    shown: tuple[str, ...] = ()
    # Whether this run has read the entry. If not, a previous run has read it from another file.
    in_this_file: bool = True

    id: ObjectId = field(default_factory=ObjectId)
    kind: str = ""
    parent_id: ObjectId | None = None
    slug: str = ""
    path: str = ""
    is_live: bool = False
    known: ExistingNode | None = None
    # The number of the parent page if no run has read this page yet, and otherwise 0.
    missing_parent: int = 0
    # Whether a page that a previous run imported now moves to `parent_id`, or becomes a folder.
    moves: bool = False
    becomes_folder: bool = False

    @property
    def label(self) -> str:
        """Return the text that identifies the entry in reports."""
        text = _("page %(number)s") if self.type == "page" else _("post %(number)s")
        return text % {"number": self.number} + (f" “{self.title}”" if self.title else "")

    @property
    def type(self) -> str:
        """Return WordPress's name for the type."""
        return "page" if self.is_page else "post"

    def publish_time(self, moment: datetime) -> datetime | None:
        """Return the time of publication on this site, or None for drafts.

        A scheduled entry keeps its time if this time is in the future. Otherwise, the entry becomes a draft, so that an
        editor can decide when to publish it.
        """
        if self.is_public:
            return self.posted or moment
        is_scheduled = self.state == "scheduled" and not self.protected and self.posted and self.posted > moment
        return self.posted if is_scheduled else None


@dataclass(slots=True)
class Export:
    """The result of the first scan.

    Attributes:
        error: The error that ended the scan early, or None if there was no error.
    """

    site: Site
    key: str
    authors: dict[str, str] = field(default_factory=dict)
    entries: dict[int, Entry] = field(default_factory=dict)
    old: OldSite = field(default_factory=OldSite)
    # The attachments whose files have been found, each with the path of its file.
    files: list[tuple[Attachment, Path]] = field(default_factory=list)
    # The attachments that have a URL, but whose files are missing.
    missing_files: list[Attachment] = field(default_factory=list)
    # The ids of all items that were not public, and the ids of the pictures that public items showed, spelled as in the
    # export.
    hidden_items: set[int] = field(default_factory=set)
    public_pictures: set[str] = field(default_factory=set)
    # The missing parts of posts and pages that previous runs imported, keyed by the number of the post or page.
    incomplete: dict[int, set[str]] = field(default_factory=dict)
    error: WxrError | None = None

    def publish_time(self, attachment: Attachment, moment: datetime) -> datetime | None:
        """Return the time of publication of a picture, or None if the picture is not published.

        As in WordPress, a picture is not published before the post that it was uploaded to, unless a public post shows
        it. If the export is complete but doesn't contain the post, the post must have been deleted, and the picture is
        published.
        """
        own_time = attachment.posted or moment
        if attachment.status not in VISIBLE:
            return None
        if attachment.id and str(attachment.id) in self.public_pictures:
            return own_time
        if entry := self.entries.get(attachment.parent):
            entry_time = entry.publish_time(moment)
            return entry_time and (entry_time if entry_time > moment else own_time)
        is_hidden = attachment.parent in self.hidden_items or (attachment.parent and self.error)
        return None if is_hidden else own_time


def identifier(site_key: str, kind: str, number: int) -> ObjectId:
    """Return the id for an object from an old site. The id is the same in each run and for each export of the site."""
    return ObjectId(hashlib.sha256(f"wordpress {site_key} {kind} {number}".encode()).digest()[:12])


def scan(path: Path, media: Path | None, report: Report, step: Callable[[int], object], *, source: str = "") -> Export:
    """Read an export, and return its contents. Count them in `report`.

    Args:
        path: The path of the export.
        media: The folder that contains the files of the media library, or None.
        report: The report of the import.
        step: A function that is called with the number of bytes read.
        source: A name that identifies the old site, or "" to use its URL. Specify a name if the URL is not unique.

    Returns:
        The contents. If an error in the file ended the scan, `error` contains the error, and the contents are those
        before it.

    Raises:
        WxrError: The description of the site can't be read.
    """
    export: Export | None = None
    repairs = Repairs()
    with path.open("rb") as stream:
        position = 0
        try:
            for record in read(stream, repairs):
                step(stream.tell() - position)
                position = stream.tell()
                if isinstance(record, Site):
                    export = Export(record, key=source or _key(record.url))
                    export.old.add_site(record.url)
                elif export is None:
                    raise AssertionError("The reader yields the Site first.")
                elif isinstance(record, ExportedAuthor):
                    export.authors.setdefault(record.login, record.name)
                elif isinstance(record, Attachment):
                    _add_attachment(export, record, media, report)
                elif isinstance(record, Item):
                    _add_item(export, record, report)
        except WxrError as error:
            if export is None:
                raise
            export.error = error
    if export is None:
        raise WxrError(1, _("the file is empty"))
    for heading, text in repairs.notes():
        report.note(heading, text)
    return export


def _key(url: str) -> str:
    """Return the key that identifies the old site.

    This is the site's URL in lowercase, without the scheme and "www.", so that the key stays the same if the site
    switches to https.
    """
    return url.split("://")[-1].removeprefix("www.").rstrip("/").lower() or "unknown"


def _add_attachment(export: Export, attachment: Attachment, media: Path | None, report: Report) -> None:
    if attachment.status in DELETED:
        report.left_out[_("attachment in the state %(state)s") % {"state": attachment.status}] += 1
        return
    path = add_file(export, attachment, media, report)
    if path and path.suffix.lower() not in importing.EXTENSIONS:
        report.note(_("Files left out because they are not photos"), path.name)


def add_file(export: Export, attachment: Attachment, media: Path | None, report: Report) -> Path | None:
    """Add an attachment to `export`, and return the path of its file, or None if the file is missing."""
    export.old.add_file(attachment)
    path = locate(media, attachment) if media else None
    if path:
        report.found += 1
        export.files.append((attachment, path))
    else:
        if attachment.url:
            export.missing_files.append(attachment)
        report.missing.append(attachment.url or _("attachment %(id)s, which has no URL") % {"id": attachment.id})
    return path


def _add_item(export: Export, item: Item, report: Report) -> None:
    shown: set[str] = set()
    if item.is_public:
        ids = (number.strip() for groups in _PICTURES.findall(item.body) for number in "".join(groups).split(","))
        shown = {str(item.picture), *ids} - {"", "0"}
        export.public_pictures |= shown
    elif item.id:
        export.hidden_items.add(item.id)
    if item.type == PATTERN and item.is_public:
        export.old.patterns[item.id] = item.body
    elif item.type not in ("post", "page"):
        report.left_out[item.type] += 1
        if item.type not in INTERNAL and item.status not in DELETED:
            title = plain(item.title)
            report.note(_("Left out because they are neither posts nor pages"), f"{item.type} {item.id} “{title}”")
    elif item.status in NOT_IMPORTED:
        report.left_out[_("%(type)s in the state %(state)s") % {"type": item.type, "state": item.status}] += 1
    elif not item.id:
        report.note(
            _("Left out because they have no ID"),
            _("line %(line)d") % {"line": item.line} + f": {plain(item.title) or item.type}",
        )
    elif item.id in export.entries:
        report.note(
            _("Left out because they are duplicates"),
            _("line %(line)d") % {"line": item.line} + f": {item.type} {item.id}",
        )
    else:
        entry = _entry(export, item, shown)
        export.entries[item.id] = entry
        export.old.add_page(item.id, item.link, item.guid, entry.old_slug)
        (report.pages if entry.is_page else report.posts)[entry.state] += 1
        report.protected[item.type] += item.status == "publish" and item.protected
        for comment in item.comments:
            report.comments[comment.status] += 1
            report.pings += comment.status == "approved" and comment.is_ping
            report.replies += comment.parent > 0


def _entry(export: Export, item: Item, shown: set[str]) -> Entry:
    title = plain(item.title)
    slug = make_slug(item.slug)
    return Entry(
        number=item.id,
        line=item.line,
        is_page=item.type == "page",
        link=item.link,
        state=STATES.get(item.status, "draft"),
        is_public=item.is_public,
        protected=item.protected,
        title=title,
        wanted_slug=slug or make_slug(title),
        has_slug=bool(slug),
        above=item.parent,
        posted=item.posted,
        approved=sum(comment.status == "approved" for comment in item.comments),
        guid=item.guid,
        old_slug=unquote(item.slug),
        shown=tuple(sorted(shown)),
        id=identifier(export.key, item.type, item.id),
    )
