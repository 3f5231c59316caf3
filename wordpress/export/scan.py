"""The first look at an export: what it holds, without the texts, so that every link and every parent is known before
anything is written."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

from bson import ObjectId

from nodes.selectors.imports import ExistingNode
from photos.services import importing
from wordpress.export.old_site import OldSite, locate
from wordpress.export.reader import read
from wordpress.export.records import Attachment, Author, Item, Site, WxrError
from wordpress.export.source import Repairs
from wordpress.report import Report
from wordpress.texts.content import plain, slug_of

__all__ = ["Entry", "Export", "identifier", "scan", "take_file"]

# WordPress's words for what an editor would call published, planned, unfinished or kept to oneself.
STATES = {"publish": "published", "future": "scheduled", "private": "private"}
# Thrown away, or never saved; made by WordPress itself.
GONE = {"trash", "auto-draft"}
NOT_IMPORTED = {*GONE, "inherit"}
# Types of items that no reader saw as such.
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
# Synced patterns ("reusable blocks"), whose contents stand in the texts that use them.
PATTERN = "wp_block"
# By which texts name pictures: classes, blocks, galleries. The "id" of another block may be a category's.
_PICTURES = re.compile(
    r'\bwp-image-(\d{1,18})\b|<!-- wp:(?:image|cover) \{[^<>]*?"id":(\d{1,18})\b|\bids="([\d, ]{1,10000})"'
)
# Of files: the first leaves it to what a file was uploaded to.
SHOWN = {"inherit", "publish"}


@dataclass(slots=True)
class Entry:
    """A post or page of the export. The second half is decided when all entries are known: its place on this site."""

    number: int
    line: int
    is_page: bool
    link: str
    state: str
    is_public: bool
    protected: bool
    title: str
    wanted: str
    has_slug: bool
    above: int
    posted: datetime | None
    approved: int
    guid: str = ""
    old_slug: str = ""
    # Pictures that it showed to every visitor, as it spells them.
    shown: tuple[str, ...] = ()
    # Read from the file in this run, not known from an earlier one only.
    is_here: bool = True

    id: ObjectId = field(default_factory=ObjectId)
    kind: str = ""
    parent_id: ObjectId | None = None
    slug: str = ""
    path: str = ""
    is_live: bool = False
    known: ExistingNode | None = None
    # The number of the page that it stands in, if that is neither here nor known from an earlier run.
    orphan_of: int = 0
    # Whether a page of an earlier run moves to `parent_id` now, or becomes a folder.
    moves: bool = False
    becomes_folder: bool = False

    @property
    def label(self) -> str:
        """How to name it to the operator."""
        return f"{self.type} {self.number}" + (f" “{self.title}”" if self.title else "")

    @property
    def type(self) -> str:
        """WordPress's word for what it is."""
        return "page" if self.is_page else "post"

    def appears(self, moment: datetime) -> datetime | None:
        """When it is published here: a plan that is still ahead is kept, one that was missed is for an editor."""
        if self.is_public:
            return self.posted or moment
        is_planned = self.state == "scheduled" and not self.protected and self.posted and self.posted > moment
        return self.posted if is_planned else None


@dataclass(slots=True)
class Export:
    """What the first look found. `error` is why it ended early, None if it did not."""

    site: Site
    key: str
    authors: dict[str, str] = field(default_factory=dict)
    entries: dict[int, Entry] = field(default_factory=dict)
    old: OldSite = field(default_factory=OldSite)
    # Attachments whose files are there.
    found: list[tuple[Attachment, Path]] = field(default_factory=list)
    # Those whose files are not, but have an address.
    absent: list[Attachment] = field(default_factory=list)
    # Items of any type that not every visitor could see, and pictures that every visitor saw in another, as it spells them.
    hidden: set[int] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)
    # By number, what the texts of earlier runs still wait for.
    waiting: dict[int, set[str]] = field(default_factory=dict)
    error: WxrError | None = None

    def appears(self, attachment: Attachment, moment: datetime) -> datetime | None:
        """When a picture is published here: as in WordPress not before what it was uploaded to, or what shows it. What a whole
        export does not have was deleted there."""
        own = attachment.posted or moment
        if attachment.status not in SHOWN:
            return None
        if attachment.id and str(attachment.id) in self.shown:
            return own
        if entry := self.entries.get(attachment.parent):
            at = entry.appears(moment)
            return at and (at if at > moment else own)
        is_hidden = attachment.parent in self.hidden or (attachment.parent and self.error)
        return None if is_hidden else own


def identifier(site_key: str, kind: str, number: int) -> ObjectId:
    """The id under which something of an old site is kept: the same in every run, and in every export of that site."""
    return ObjectId(hashlib.sha256(f"wordpress {site_key} {kind} {number}".encode()).digest()[:12])


def scan(path: Path, media: Path | None, report: Report, step: Callable[[int], object], *, source: str = "") -> Export:
    """Look through the export at `path` and count what it holds into `report`; `media` is where its files may be.
    `step` is told how many bytes were read. `source` names the site where its address does not tell it from another.

    Raises WxrError if not even the site's description could be read; a later fault is the result's `error`.
    """
    export: Export | None = None
    repairs = Repairs()
    with path.open("rb") as stream:
        at = 0
        try:
            for record in read(stream, repairs):
                step(stream.tell() - at)
                at = stream.tell()
                if isinstance(record, Site):
                    export = Export(record, key=source or _key(record.url))
                    export.old.add_site(record.url)
                elif export is None:
                    raise AssertionError("The reader yields the Site first.")
                elif isinstance(record, Author):
                    export.authors.setdefault(record.login, record.name)
                elif isinstance(record, Attachment):
                    _take_attachment(export, record, media, report)
                elif isinstance(record, Item):
                    _take_item(export, record, report)
        except WxrError as error:
            if export is None:
                raise
            export.error = error
    if export is None:
        raise WxrError(1, "the file is empty")
    for heading, text in repairs.notes():
        report.note(heading, text)
    return export


def _key(url: str) -> str:
    """The old site's name: its address without what changes when it learns of https."""
    return url.split("://")[-1].removeprefix("www.").rstrip("/").lower() or "unknown"


def _take_attachment(export: Export, attachment: Attachment, media: Path | None, report: Report) -> None:
    if attachment.status in GONE:
        report.left_out[f"attachment in the state {attachment.status}"] += 1
        return
    path = take_file(export, attachment, media, report)
    if path and path.suffix.lower() not in importing.EXTENSIONS:
        report.note("Files left out because only pictures become photos", path.name)


def take_file(export: Export, attachment: Attachment, media: Path | None, report: Report) -> Path | None:
    """Take note of an attachment and return where its file is; None if it is not there."""
    export.old.add_file(attachment)
    path = locate(media, attachment) if media else None
    if path:
        report.found += 1
        export.found.append((attachment, path))
    else:
        if attachment.url:
            export.absent.append(attachment)
        report.missing.append(attachment.url or f"attachment {attachment.id}, which has no address")
    return path


def _take_item(export: Export, item: Item, report: Report) -> None:
    shown: set[str] = set()
    if item.is_public:
        named = (number.strip() for found in _PICTURES.findall(item.body) for number in "".join(found).split(","))
        shown = {str(item.picture), *named} - {"", "0"}
        export.shown |= shown
    elif item.id:
        export.hidden.add(item.id)
    if item.type == PATTERN and item.is_public:
        export.old.patterns[item.id] = item.body
    elif item.type not in ("post", "page"):
        report.left_out[item.type] += 1
        if item.type not in INTERNAL and item.status not in GONE:
            title = plain(item.title)
            report.note("Left out because they are neither posts nor pages", f"{item.type} {item.id} “{title}”")
    elif item.status in NOT_IMPORTED:
        report.left_out[f"{item.type} in the state {item.status}"] += 1
    elif not item.id:
        report.note("Left out because they have no ID", f"line {item.line}: {plain(item.title) or item.type}")
    elif item.id in export.entries:
        report.note("Left out because they are duplicates", f"line {item.line}: {item.type} {item.id}")
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
    slug = slug_of(item.slug)
    return Entry(
        number=item.id,
        line=item.line,
        is_page=item.type == "page",
        link=item.link,
        state=STATES.get(item.status, "draft"),
        is_public=item.is_public,
        protected=item.protected,
        title=title,
        wanted=slug or slug_of(title),
        has_slug=bool(slug),
        above=item.parent,
        posted=item.posted,
        approved=sum(comment.status == "approved" for comment in item.comments),
        guid=item.guid,
        old_slug=unquote(item.slug),
        shown=tuple(sorted(shown)),
        id=identifier(export.key, item.type, item.id),
    )
