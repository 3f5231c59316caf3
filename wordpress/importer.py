"""Import of a WordPress export, using the same actions that editors use.

The importer reads the file at least twice: first to collect all URLs (export/scan.py), then to convert the text of
posts and pages. If a page comes before its parent in the file, the file has to be read once more. The importer
completes posts and pages from previous runs only if no one has edited them since. If an import is interrupted, run it
again to resume it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from bson import ObjectId
from django.conf import settings
from django.contrib.auth import get_user_model
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from marginalia.comments.reading import selectors
from marginalia.comments.types import Target
from marginalia.markup import html, text
from marginalia.mongo.clock import now
from nodes import tags
from nodes.access import System
from nodes.actions import REFUSALS, CreateNode, SaveNode, reason_of
from nodes.content import HTML, BasicPage, BlogEntry, Folder
from nodes.errors import FieldRefused, IdTaken, InvalidPlace, InvalidSlug, NodeGone, SlugTaken
from nodes.models import Node, stored_site
from nodes.selectors import imports
from nodes.services import placement
from nodes.services.imported_texts import text_fields
from nodes.types import Actor
from photos.services import importing
from wordpress import old_links, previous_runs
from wordpress.discussions.storing import Discussions
from wordpress.discussions.threads import public_name
from wordpress.export.old_site import PostLibrary, may_be_in_another_file
from wordpress.export.reader import read
from wordpress.export.records import DamagedExport, Item, Term, WxrError
from wordpress.export.scan import Entry, Export, scan
from wordpress.media import pictures
from wordpress.media.download import Downloader, Limits
from wordpress.places.arranging import TargetSection, arrange, missing_parent_label
from wordpress.places.existing import find_known
from wordpress.places.sections import MAX_TITLE, Sections
from wordpress.report import Report
from wordpress.texts.blocks import LOST_BLOCK, LOST_PATTERN
from wordpress.texts.content import Body, convert, plain

__all__ = ["Importer", "Options"]

SUMMARY_WORDS = 80
TITLE_WORDS = 8
# How many times to try to create a node with a free slug. Another attempt is needed if someone else has just used the
# slug.
ATTEMPTS = 5
UNSEEN = gettext_lazy("Comments that readers can't see because folders have no discussion")
# Taxonomies whose terms are not reported as left out. Categories and tags become tags. The others only determined how a
# theme displayed a post.
TAXONOMIES = {"category", "post_tag", "post_format", "nav_menu", "wp_theme", "wp_template_part_area"}
WRITTEN = {BasicPage.type_name: "page", Folder.type_name: "page", BlogEntry.type_name: "post"}


@dataclass(frozen=True, slots=True)
class Options:
    """The options of an import.

    Attributes:
        section: The slug of the folder into which to import, or "" for the top level.
        source: A name that identifies the old site, or "" to use its URL.
        download: Whether to download pictures that aren't in the folder `media`. `limits` applies to these downloads.
            By default, a file can be as large as a photo.
        private: Whether to allow downloads if the old site is on a private network.
        dry_run: Whether to run without writing anything.
    """

    section: str = ""
    source: str = ""
    media: Path | None = None
    download: bool = False
    limits: Limits = field(default_factory=lambda: Limits(file_bytes=settings.PHOTOS["MAX_BYTES"]))
    private: bool = False
    dry_run: bool = False


class Importer:
    """An import of one file. It calls the functions `begin(total, unit)` and `step(number)` to report its progress."""

    def __init__(
        self,
        path: Path,
        options: Options,
        *,
        begin: Callable[[int, str], object] = lambda total, unit: None,
        step: Callable[[int], object] = lambda number: None,
    ) -> None:
        self.path = path
        self.options = options
        self.begin = begin
        self.step = step
        self.report = Report()
        self.moment = now()
        self.actors: dict[str, Actor] = {}

    def run(self) -> Report:
        """Import the file, and return the report. If nothing can be imported, no section is created.

        Raises:
            DamagedExport: The file is damaged. Everything before the error was imported.
            WxrError: The file can't be read. Nothing was imported.
            SectionError: The section can't be used. No post or page was imported.
            SourceError: A previous import was from another site with the same URL. No post or page was imported.
            DownloadsStopped: A limit on downloads was reached. No post or page was imported.
        """
        self.begin(self.path.stat().st_size, "B")
        export = scan(self.path, self.options.media, self.report, self.step, source=self.options.source)
        if export.error and not export.entries:
            raise export.error
        sections = Sections(export, self.report, self.moment, dry_run=self.options.dry_run)
        top = sections.top(self.options.section)
        blog = sections.blog(top)
        previous_runs.load(export, self.options.media)
        find_known(export)
        arrange(export, top, blog, self.report, self.moment)
        entries = export.entries.values()
        self.report.public_comments = sum(entry.approved for entry in entries if entry.is_live)
        self.actors = self._find_users(export)
        self._import_pictures(export, sections, top)
        if not self.options.dry_run:
            previous_runs.remember(export)
            old_links.store(export, ((entry.number, entry.link, entry.id) for entry in entries if entry.in_this_file))
        self.begin(sum(entry.in_this_file for entry in entries), "")
        self._write_all(export, sections)
        if export.error:
            raise DamagedExport(export.error.line, export.error.reason) from export.error
        return self.report

    def _import_pictures(self, export: Export, sections: Sections, top: TargetSection) -> None:
        """Create photos in a gallery, before the posts and pages that show them are converted."""
        known = pictures.register_known(export, self.report, self.moment)
        available = pictures.with_file(export)
        downloadable = pictures.without_file(export) if self.options.download else []
        downloadable = [attachment for attachment in downloadable if attachment.id not in known]
        if not available and not downloadable:
            return
        gallery = sections.gallery(top)
        dry_run = self.options.dry_run
        photos = pictures.PictureImporter(export, sections, gallery, self.report, self.moment, dry_run=dry_run)
        self.begin(len(available) + len(downloadable), "pictures")
        for attachment, path in available:
            photos.upload(attachment, path)
            self.step(1)
        if dry_run:
            if downloadable:
                sections.create(gallery.id)
            photos.register_planned(downloadable)
            return
        downloader = Downloader(export.site.url, self.options.limits, private=self.options.private)
        photos.download(downloadable, downloader, self.step)

    # People ----------------------------------------------------------------------------------------------------------

    def _find_users(self, export: Export) -> dict[str, Actor]:
        """Return the authors of the export as actors, keyed by login.

        If there is an account whose username is the login, the actor is this account. Otherwise, the actor has only a
        name.
        """
        users = get_user_model().objects.filter(username__in=list(export.authors))
        actors = {user.get_username(): Actor.of(user) for user in users}
        return {
            login: actors.get(login) or Actor(None, public_name(name) or public_name(login) or _("Unknown"))
            for login, name in export.authors.items()
        }

    def _actor(self, login: str) -> Actor:
        # Exports from other programs can contain usernames with characters that WordPress does not allow, so also look
        # up the username without these characters.
        plain_login = "".join(letter for letter in login if letter.isalnum() or letter in " _.@-").strip()
        return (
            self.actors.get(login)
            or self.actors.get(plain_login)
            or Actor(None, public_name(plain_login) or _("Unknown"))
        )

    # Posts and pages -------------------------------------------------------------------------------------------------

    def _write_all(self, export: Export, sections: Sections) -> None:
        """Write all entries, each after its parent.

        The file is read again until all entries are written, or until no more can be written.
        """
        paths = {entry.number: entry.path for entry in export.entries.values() if entry.is_live and entry.path}
        discussions = Discussions(export.key, self.report, self.moment, dry_run=self.options.dry_run)
        self._make_folders(export)
        waiting = {entry.id for entry in export.entries.values() if entry.in_this_file}
        before = -1
        while waiting and len(waiting) != before:
            before = len(waiting)
            with self.path.open("rb") as stream:
                for item in _items(stream, export):
                    entry = export.entries[item.id]
                    if entry.line != item.line or entry.id not in waiting or entry.parent_id in waiting:
                        continue
                    waiting.discard(entry.id)
                    if self._write(export, sections, entry, item, paths):
                        discussions.write(Target(Node._meta.label_lower, str(entry.id)), entry, item)
                    self.step(1)
        self._complete(export, paths)

    def _make_folders(self, export: Export) -> None:
        """Convert pages from previous runs to folders if this run adds subpages to them."""
        for entry in export.entries.values():
            if not entry.becomes_folder:
                continue
            nonce = imports.unchanged_nonce(entry.id, previous_runs.import_actor())
            if nonce and not self.options.dry_run:
                placement.make_folder(previous_runs.import_actor(), entry.id, nonce)
            self.report.note(_("Made folders because they contain pages now"), entry.label)
            if selectors.count(Target(Node._meta.label_lower, str(entry.id))):
                self.report.note(str(UNSEEN), entry.label)

    def _complete(self, export: Export, paths: dict[int, str]) -> None:
        """Complete posts and pages from previous runs.

        Add the pictures, links, patterns and parent pages that were missing at that time, unless someone has since
        edited the post or page.
        """
        for source in previous_runs.iter_incomplete(export):
            entry = export.entries[source.number]
            if entry.known is None or entry.known.trashed:
                continue
            library = PostLibrary(export.old, paths, source.number)
            body = convert(source.body, source.link or export.site.url, library, source.footnotes)
            wants = self._missing_parts(entry, body, library, source.picture)
            if wants == source.wants:
                continue
            nonce = imports.unchanged_nonce(entry.id, previous_runs.import_actor())
            if nonce is None:
                self.report.note(_("Not completed because they were edited here"), entry.label)
                wants = set()
            elif not self._save(entry, nonce, body, export.old.photo(source.picture)):
                continue
            else:
                self._note_body(entry, body, library, source.picture, export)
            if not self.options.dry_run:
                previous_runs.update_wants(entry.id, wants)

    def _save(self, entry: Entry, nonce: ObjectId, body: Body, picture: ObjectId | None) -> bool:
        """Save a completed post or page from a previous run. Return whether it could be saved."""
        fields: dict[str, Any] = {**text_fields(html.clean(body.html, "article"))}
        if picture:
            fields["detail.picture"] = picture
        if entry.moves:
            fields |= {"parent_id": entry.parent_id, "slug": entry.slug}
        try:
            if not self.options.dry_run:
                user = System(previous_runs.import_actor())
                SaveNode(user=user, node_id=entry.id, seen=nonce, fields=fields, merges=False).execute()
        except REFUSALS as error:
            self.report.note(_("Not completed"), f"{entry.label}: {reason_of(error)}")
            self.report.failed += 1
            return False
        self.report.written[f"completed {entry.type}"] += 1
        return True

    def _convert(self, entry: Entry) -> None:
        """Convert a post or page that an earlier release imported as HTML, unless someone has since edited it."""
        nonce = imports.unchanged_nonce(entry.id, previous_runs.import_actor())
        if nonce is None:
            return
        fields = text_fields(html.clean(imports.text_of(entry.id, nonce), "article"))
        if fields["detail.format"] == HTML:
            return
        try:
            if not self.options.dry_run:
                user = System(previous_runs.import_actor())
                SaveNode(user=user, node_id=entry.id, seen=nonce, fields=fields, merges=False).execute()
        except REFUSALS as error:
            self.report.note(_("Not converted to Markdown"), f"{entry.label}: {reason_of(error)}")
            return
        self.report.written[f"converted {entry.type}"] += 1

    @staticmethod
    def _missing_parts(entry: Entry, body: Body, library: PostLibrary, picture: int) -> set[str]:
        """Return descriptions of missing parts that may be in another export file of the same source."""
        wants = {url for url in (*body.missing, *library.unresolved) if may_be_in_another_file(url)}
        wants |= {lost for lost in body.lost if lost.startswith(LOST_PATTERN)}
        if picture and not library.site.photo(picture):
            wants.add(f"picture {picture}")
        if entry.missing_parent:
            wants.add(missing_parent_label(entry.missing_parent))
        return wants

    def _write(self, export: Export, sections: Sections, entry: Entry, item: Item, paths: dict[int, str]) -> bool:
        """Create the node for an entry, unless it already exists. Return whether comments can be stored for it."""
        if entry.known:
            if entry.known.is_html and not entry.known.trashed:
                self._convert(entry)
            return not entry.known.trashed
        library = PostLibrary(export.old, paths, item.id)
        body = convert(item.body, item.link or export.site.url, library, item.footnotes)
        self._note_body(entry, body, library, item.picture, export)
        self._note_item(entry, item)
        clean = html.clean(body.html, "article")
        title = self._title(entry, clean)
        fields = {
            "published": entry.publish_time(self.moment),
            "updated": item.modified or self.moment,
            "summary": self._summary(item, clean, export),
            **text_fields(clean),
            "detail.source": self._source(export, entry, item),
            "detail.picture": export.old.photo(item.picture),
        }
        if entry.kind == Folder.type_name:
            if entry.approved:
                self.report.note(str(UNSEEN), entry.label)
        elif not item.comments_open:
            fields["detail.comments"] = "closed"
        elif entry.is_page and entry.approved:
            # Set a comment policy, because a page without one doesn't show its discussion.
            fields["detail.comments"] = stored_site.current().settings.comment_policy
        for name in _tags(item.terms)[tags.MOST :]:
            self.report.note(
                _("Tags left out because a post has at most %(n)d") % {"n": tags.MOST}, f"{entry.label}: {name}"
            )
        if entry.posted is None and entry.is_public:
            self.report.note(_("Dated today because there was no usable date"), entry.label)
        sections.create(entry.parent_id)
        if not self.options.dry_run:
            previous_runs.save_incomplete(entry.id, item, self._missing_parts(entry, body, library, item.picture))
            if not self._create(entry, item, title, fields):
                return False
        self.report.written[WRITTEN[entry.kind]] += 1
        return True

    def _create(self, entry: Entry, item: Item, title: str, fields: dict[str, Any]) -> bool:
        slug = entry.slug
        for _attempt in range(ATTEMPTS):
            try:
                CreateNode(
                    user=System(self._actor(item.author)),
                    type=entry.kind,
                    fields={**fields, "title": title, "slug": slug, "parent_id": entry.parent_id},
                    tags=tuple(_tags(item.terms)),
                    node_id=entry.id,
                    created=min(entry.posted or self.moment, self.moment),
                ).execute()
            except SlugTaken as error:
                slug = error.free
            except InvalidSlug:
                slug = f"{'page' if entry.is_page else 'post'}-{entry.number}"
            except (IdTaken, InvalidPlace, NodeGone, FieldRefused) as error:
                self.report.note(_("Not imported"), f"{entry.label}: {error}")
                self.report.failed += 1
                return False
            else:
                if slug != entry.slug:
                    self.report.note(_("Renamed because the URL is taken"), f"{entry.label}: {entry.slug} → {slug}")
                return True
        self.report.note(_("Not imported"), f"{entry.label}: " + _("no URL is free"))
        self.report.failed += 1
        return False

    def _title(self, entry: Entry, body: str) -> str:
        if not entry.title:
            words = text.excerpt(body, TITLE_WORDS)
            title = words or _("Untitled")
            self.report.note(_("Titles created because there were none"), f"{entry.label}: {title}")
            return title[:MAX_TITLE]
        if len(entry.title) > MAX_TITLE:
            self.report.note(_("Titles cut"), entry.label)
            return entry.title[: MAX_TITLE - 1] + "…"
        return entry.title

    def _summary(self, item: Item, clean: str, export: Export) -> str:
        """Return the excerpt of a post as text, or "" if it only repeats the beginning of the post."""
        excerpt = convert(item.excerpt, item.link or export.site.url, PostLibrary(export.old, {}, item.id))
        summary = text.excerpt(excerpt.html, SUMMARY_WORDS)
        beginning = " ".join(text.html_to_text(clean).split())
        return "" if beginning.startswith(summary.removesuffix("…")) else summary

    def _source(self, export: Export, entry: Entry, item: Item) -> dict[str, Any]:
        """Return where a node came from. This is stored in the node, for later runs and for editors.

        If the entry was not public on the old site, its old status is included.
        """
        source: dict[str, Any] = {
            "site": export.key,
            "id": item.id,
            "link": item.link,
            "posted": entry.posted,
            "imported": self.moment,
        }
        if not entry.is_public:
            source["state"] = "password" if item.protected else entry.state
        return source

    def _note_body(self, entry: Entry, body: Body, library: PostLibrary, picture: int, export: Export) -> None:
        """Report which parts of the body of a post or page are missing."""
        for url in body.missing:
            heading = _("Shown as links because they are not in the media library")
            if file := export.old.find_file(url):
                is_picture = file.url.lower().endswith(tuple(importing.EXTENSIONS))
                heading = _("Shown as links because they are not photos")
                if is_picture:
                    heading = _("Shown as links because their files are missing")
            self.report.note(heading, f"{entry.label}: {url}")
        for url in library.unresolved:
            if url not in body.missing:
                self.report.note(_("Links that still point to the old site"), f"{entry.label}: {url}")
        if body.lost:
            blocks = [name.removeprefix(LOST_BLOCK) for name in body.lost if name.startswith(LOST_BLOCK)]
            others = [name for name in body.lost if not name.startswith(LOST_BLOCK)]
            if blocks:
                text = ngettext("the block %(names)s", "the blocks %(names)s", len(blocks))
                others.append(text % {"names": ", ".join(blocks)})
            self.report.note(_("Left out of texts"), f"{entry.label}: {', '.join(others)}")
        if picture and not export.old.photo(picture):
            url = export.old.by_id[picture].url if picture in export.old.by_id else f"attachment {picture}"
            self.report.note(_("Missing featured images"), f"{entry.label}: {url}")

    def _note_item(self, entry: Entry, item: Item) -> None:
        """Report which data of a post or page this site can't store."""
        if item.custom:
            self.report.note(_("Custom fields left out"), f"{entry.label}: {', '.join(item.custom)}")
        unusable = [name for key, name in _tag_names(item.terms).items() if not key or tags.has_no_address(key)]
        if unusable:
            self.report.note(_("Tags left out because they have no letters"), f"{entry.label}: {', '.join(unusable)}")
        terms = [f"{term.taxonomy} “{plain(term.name)}”" for term in item.terms if term.taxonomy not in TAXONOMIES]
        if terms:
            self.report.note(_("Terms left out that are not categories or tags"), f"{entry.label}: {', '.join(terms)}")
        if item.sticky:
            self.report.note(_("No longer sticky because posts are listed by date"), entry.label)
        if not entry.publish_time(self.moment) and (item.status in ("publish", "future", "private")):
            reason = _("password-protected") if item.protected else entry.state
            self.report.note(_("Unpublished here"), f"{entry.label}, {reason}")


def _items(stream: BinaryIO, export: Export) -> Iterator[Item]:
    """Yield the posts and pages in the file that have an entry, up to the first error in the file."""
    try:
        for record in read(stream):
            if isinstance(record, Item) and record.id in export.entries:
                yield record
    except WxrError:
        if export.error is None:
            raise


def _tags(terms: tuple[Term, ...]) -> list[str]:
    """Return the names of the categories and tags among `terms`. Both become tags on this site."""
    return [name for key, name in _tag_names(terms).items() if key and not tags.has_no_address(key)]


def _tag_names(terms: tuple[Term, ...]) -> dict[str, str]:
    """Return the names of the categories and tags among `terms`, keyed by the normalized name that identifies a tag."""
    names = (plain(term.name) for term in terms if term.taxonomy in ("category", "post_tag"))
    return {tags.normalized(name).casefold(): name for name in names}
