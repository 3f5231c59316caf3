"""Brings a WordPress export to this site, by the services that editors use.

The importer reads the file at least twice: first for all addresses (export/scan.py), then for the texts; again while pages
wait for a parent that stands further down. It never overwrites what an earlier run has made, and an interrupted run goes on
where it stopped.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from bson import ObjectId
from django.contrib.auth import get_user_model
from django.utils.translation import gettext as _

from marginalia.comments.reading import selectors
from marginalia.comments.types import Target
from marginalia.markup import html, text
from marginalia.mongo.clock import now
from nodes import tags
from nodes.content import HTML, BasicPage, BlogEntry, Folder
from nodes.errors import FieldRefused, IdTaken, InvalidPlace, InvalidSlug, NodeError, NodeGone, SlugTaken
from nodes.models import Node, stored_site
from nodes.selectors import imports
from nodes.services import editing, placement
from nodes.types import Actor
from photos.services import importing
from wordpress import brought, old_links
from wordpress.discussions.storing import Discussions
from wordpress.discussions.threads import public_name
from wordpress.export.old_site import View, may_come
from wordpress.export.reader import read
from wordpress.export.records import Item, Term, WxrError
from wordpress.export.scan import Entry, Export, scan
from wordpress.media import pictures
from wordpress.media.download import Downloader, Limits
from wordpress.places.arranging import Home, arrange, lacks_parent
from wordpress.places.earlier import find_known
from wordpress.places.sections import LONGEST_TITLE, Sections
from wordpress.report import Report
from wordpress.texts.blocks import LOST_BLOCK, LOST_PATTERN
from wordpress.texts.content import Body, convert, plain

__all__ = ["Importer", "Options"]

SUMMARY_WORDS = 80
TITLE_WORDS = 8
# How often the importer replaces a slug that a concurrent writer has taken.
ATTEMPTS = 5
UNSEEN = "Comments that readers can't see because folders have no discussion"
# Categories and tags become tags. The others only chose how a theme showed a post.
TAXONOMIES = {"category", "post_tag", "post_format", "nav_menu", "wp_theme", "wp_template_part_area"}
WRITTEN = {BasicPage.type_name: "page", Folder.type_name: "page", BlogEntry.type_name: "post"}


@dataclass(frozen=True, slots=True)
class Options:
    """What the operator asked for. `section` "" is the top level, `source` "" the old site's address. `download`
    fetches from the old site, within `limits`, the pictures that `media` does not have; `private` allows that the site is in
    a private network. `pretend` writes nothing."""

    section: str = ""
    source: str = ""
    media: Path | None = None
    download: bool = False
    limits: Limits = Limits()
    private: bool = False
    pretend: bool = False


class Importer:
    """One run over one file. `begin(total, unit)` and `step(number)` tell how far it is."""

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
        """Import what the file holds and return what came of it.

        Raises WxrError for a broken file, after all that is whole before the fault was imported, SectionError,
        SourceError, and DownloadsStopped, before any text was imported.
        Where nothing can be imported, no section is made.
        """
        self.begin(self.path.stat().st_size, "B")
        export = scan(self.path, self.options.media, self.report, self.step, source=self.options.source)
        if export.error and not export.entries:
            raise export.error
        sections = Sections(export, self.report, self.moment, pretend=self.options.pretend)
        top = sections.top(self.options.section)
        blog = sections.blog(top)
        brought.load(export, self.options.media)
        find_known(export)
        arrange(export, top, blog, self.report, self.moment)
        entries = export.entries.values()
        self.report.public_comments = sum(entry.approved for entry in entries if entry.is_live)
        self.actors = self._find_users(export)
        self._pictures(export, sections, top)
        if not self.options.pretend:
            brought.remember(export)
            old_links.keep(export, ((entry.number, entry.link, entry.id) for entry in entries if entry.is_here))
        self.begin(sum(entry.is_here for entry in entries), "")
        self._write_all(export, sections)
        if export.error:
            raise export.error
        return self.report

    def _pictures(self, export: Export, sections: Sections, top: Home) -> None:
        """Make photos of the pictures, in a gallery of their own: before the texts that show them."""
        there = pictures.show_known(export, self.report, self.moment)
        local = pictures.local(export)
        distant = pictures.absent(export) if self.options.download else []
        distant = [attachment for attachment in distant if attachment.id not in there]
        if not local and not distant:
            return
        gallery = sections.gallery(top)
        pretend = self.options.pretend
        photos = pictures.Pictures(export, sections, gallery, self.report, self.moment, pretend=pretend)
        self.begin(len(local) + len(distant), "pictures")
        for attachment, path in local:
            photos.upload(attachment, path)
            self.step(1)
        if pretend:
            if distant:
                sections.make(gallery.id)
            photos.expect(distant)
            return
        downloader = Downloader(export.site.url, self.options.limits, private=self.options.private)
        photos.download(distant, downloader, self.step)

    # People ----------------------------------------------------------------------------------------------------------

    def _find_users(self, export: Export) -> dict[str, Actor]:
        """The authors by login: the account of that name where there is one, else only a name."""
        users = get_user_model().objects.filter(username__in=list(export.authors))
        found = {user.get_username(): Actor.of(user) for user in users}
        return {
            login: found.get(login) or Actor(None, public_name(name) or public_name(login) or _("Unknown"))
            for login, name in export.authors.items()
        }

    def _actor(self, login: str) -> Actor:
        # Other programs' exports have characters here that WordPress allows in no login.
        plain_login = "".join(letter for letter in login if letter.isalnum() or letter in " _.@-").strip()
        return (
            self.actors.get(login)
            or self.actors.get(plain_login)
            or Actor(None, public_name(plain_login) or _("Unknown"))
        )

    # Posts and pages -------------------------------------------------------------------------------------------------

    def _write_all(self, export: Export, sections: Sections) -> None:
        """Go over the file until every entry is written, or none more can be: parents first, in however many passes."""
        paths = {entry.number: entry.path for entry in export.entries.values() if entry.is_live and entry.path}
        discussions = Discussions(export.key, self.report, self.moment, pretend=self.options.pretend)
        self._make_folders(export)
        waiting = {entry.id for entry in export.entries.values() if entry.is_here}
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
        """Make folders of pages of earlier runs that pages stand in now."""
        for entry in export.entries.values():
            if not entry.becomes_folder:
                continue
            nonce = imports.unchanged_nonce(entry.id, brought.importer())
            if nonce and not self.options.pretend:
                placement.make_folder(brought.importer(), entry.id, nonce)
            self.report.note("Made folders because they contain pages now", entry.label)
            if selectors.count(Target(Node._meta.label_lower, str(entry.id))):
                self.report.note(UNSEEN, entry.label)

    def _complete(self, export: Export, paths: dict[int, str]) -> None:
        """Bring into texts of earlier runs what was not there then: pictures, links, patterns, the page above."""
        for source in brought.waiting(export):
            entry = export.entries[source.number]
            if entry.known is None or entry.known.trashed:
                continue
            view = View(export.old, paths, source.number)
            body = convert(source.body, source.link or export.site.url, view, source.footnotes)
            wants = self._wants(entry, body, view, source.picture)
            if wants == source.wants:
                continue
            nonce = imports.unchanged_nonce(entry.id, brought.importer())
            if nonce is None:
                self.report.note("Not completed because somebody changed them", entry.label)
                wants = set()
            elif not self._save(entry, nonce, body, export.old.photo(source.picture)):
                continue
            else:
                self._note_body(entry, body, view, source.picture, export)
            if not self.options.pretend:
                brought.still_waits(entry.id, wants)

    def _save(self, entry: Entry, nonce: ObjectId, body: Body, picture: ObjectId | None) -> bool:
        """Save what completes a text of an earlier run; return whether that was possible."""
        fields: dict[str, Any] = {"detail.text": html.clean(body.html, "article")}
        if picture:
            fields["detail.picture"] = picture
        if entry.moves:
            fields |= {"parent_id": entry.parent_id, "slug": entry.slug}
        try:
            if not self.options.pretend:
                editing.save(brought.importer(), entry.id, nonce, fields, merges=False)
        except NodeError as error:
            self.report.note("Not completed", f"{entry.label}: {error}")
            self.report.failed += 1
            return False
        self.report.written[f"completed {entry.type}"] += 1
        return True

    @staticmethod
    def _wants(entry: Entry, body: Body, view: View, picture: int) -> set[str]:
        """Return what a text lacks that another file of the same source may have, in words."""
        wants = {url for url in (*body.missing, *view.stayed) if may_come(url)}
        wants |= {lost for lost in body.lost if lost.startswith(LOST_PATTERN)}
        if picture and not view.site.photo(picture):
            wants.add(f"picture {picture}")
        if entry.orphan_of:
            wants.add(lacks_parent(entry.orphan_of))
        return wants

    def _write(self, export: Export, sections: Sections, entry: Entry, item: Item, paths: dict[int, str]) -> bool:
        """Create the entry unless it is there; return whether it has a place where it can be discussed."""
        if entry.known:
            return not entry.known.trashed
        view = View(export.old, paths, item.id)
        body = convert(item.body, item.link or export.site.url, view, item.footnotes)
        self._note_body(entry, body, view, item.picture, export)
        self._note_item(entry, item)
        clean = html.clean(body.html, "article")
        title = self._title(entry, clean)
        fields = {
            "published": entry.appears(self.moment),
            "updated": item.modified or self.moment,
            "summary": self._summary(item, clean, export),
            "detail.text": clean,
            "detail.format": HTML,
            "detail.source": self._source(export, entry, item),
            "detail.picture": export.old.photo(item.picture),
        }
        if entry.kind == Folder.type_name:
            if entry.approved:
                self.report.note(UNSEEN, entry.label)
        elif not item.comments_open:
            fields["detail.comments"] = "closed"
        elif entry.is_page and entry.approved:
            # A page shows its discussion only where it says who may write.
            fields["detail.comments"] = stored_site.current().settings.comment_policy
        for name in _tags(item.terms)[tags.MOST :]:
            self.report.note(f"Tags left out because a post has at most {tags.MOST}", f"{name} of {entry.label}")
        if entry.posted is None and entry.is_public:
            self.report.note("Dated today because there was no usable date", entry.label)
        sections.make(entry.parent_id)
        if not self.options.pretend:
            brought.wait(entry.id, item, self._wants(entry, body, view, item.picture))
            if not self._create(entry, item, title, fields):
                return False
        self.report.written[WRITTEN[entry.kind]] += 1
        return True

    def _create(self, entry: Entry, item: Item, title: str, fields: dict[str, Any]) -> bool:
        slug = entry.slug
        for _attempt in range(ATTEMPTS):
            try:
                editing.create(
                    self._actor(item.author),
                    type=entry.kind,
                    parent_id=entry.parent_id,
                    slug=slug,
                    title=title,
                    fields=fields,
                    tags=tuple(_tags(item.terms)),
                    node_id=entry.id,
                    created=min(entry.posted or self.moment, self.moment),
                )
            except SlugTaken as error:
                slug = error.free
            except InvalidSlug:
                slug = f"{'page' if entry.is_page else 'post'}-{entry.number}"
            except (IdTaken, InvalidPlace, NodeGone, FieldRefused) as error:
                self.report.note("Not imported", f"{entry.label}: {error}")
                self.report.failed += 1
                return False
            else:
                if slug != entry.slug:
                    self.report.note("Renamed because the URL is taken", f"{entry.label}: {entry.slug} → {slug}")
                return True
        self.report.note("Not imported", f"{entry.label}: no address is free")
        self.report.failed += 1
        return False

    def _title(self, entry: Entry, body: str) -> str:
        if not entry.title:
            words = text.excerpt(body, TITLE_WORDS)
            title = words or _("Untitled")
            self.report.note("Titles created because there were none", f"{entry.label}: {title}")
            return title[:LONGEST_TITLE]
        if len(entry.title) > LONGEST_TITLE:
            self.report.note("Titles cut", entry.label)
            return entry.title[: LONGEST_TITLE - 1] + "…"
        return entry.title

    def _summary(self, item: Item, clean: str, export: Export) -> str:
        """The excerpt that was written for the post. One that only repeats how its text begins would be read twice."""
        excerpt = convert(item.excerpt, item.link or export.site.url, View(export.old, {}, item.id))
        summary = text.excerpt(excerpt.html, SUMMARY_WORDS)
        beginning = " ".join(text.plain(clean).split())
        return "" if beginning.startswith(summary.removesuffix("…")) else summary

    def _source(self, export: Export, entry: Entry, item: Item) -> dict[str, Any]:
        """Where it comes from, for the next run and for people; the old state of what is not public here."""
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

    def _note_body(self, entry: Entry, body: Body, view: View, picture: int, export: Export) -> None:
        """Report what a text lacks."""
        for url in body.missing:
            why = "they are not in the media library"
            if file := export.old.find_file(url):
                is_picture = file.url.lower().endswith(tuple(importing.EXTENSIONS))
                why = "their files are missing" if is_picture else "they are not pictures"
            self.report.note(f"Shown as links because {why}", f"{url} in {entry.label}")
        for url in view.stayed:
            if url not in body.missing:
                self.report.note("Links that still lead to the old site", f"{url} in {entry.label}")
        if body.lost:
            blocks = [name.removeprefix(LOST_BLOCK) for name in body.lost if name.startswith(LOST_BLOCK)]
            others = [name for name in body.lost if not name.startswith(LOST_BLOCK)]
            lost = others + ([f"the block{'s' * (len(blocks) > 1)} {', '.join(blocks)}"] if blocks else [])
            self.report.note("Left out of texts", f"{entry.label}: {', '.join(lost)}")
        if picture and not export.old.photo(picture):
            url = export.old.by_id[picture].url if picture in export.old.by_id else f"attachment {picture}"
            self.report.note("Missing featured images", f"{entry.label}: {url}")

    def _note_item(self, entry: Entry, item: Item) -> None:
        """Report what a post or page had besides its text that this site has no place for."""
        if item.custom:
            self.report.note("Custom fields left out", f"{entry.label}: {', '.join(item.custom)}")
        unusable = [name for key, name in _named(item.terms).items() if not key or tags.has_no_address(key)]
        if unusable:
            self.report.note("Tags left out because they have no letters", f"{entry.label}: {', '.join(unusable)}")
        terms = [f"{term.taxonomy} “{plain(term.name)}”" for term in item.terms if term.taxonomy not in TAXONOMIES]
        if terms:
            self.report.note("Terms left out that are not categories or tags", f"{entry.label}: {', '.join(terms)}")
        if item.sticky:
            self.report.note("No longer sticky because posts are listed by date", entry.label)
        if not entry.appears(self.moment) and (item.status in ("publish", "future", "private")):
            why = "password-protected" if item.protected else entry.state
            self.report.note("Unpublished here", f"{entry.label}, {why}")


def _items(stream: BinaryIO, export: Export) -> Iterator[Item]:
    """The export's posts and pages that have an entry, up to where the file is whole."""
    try:
        for record in read(stream):
            if isinstance(record, Item) and record.id in export.entries:
                yield record
    except WxrError:
        if export.error is None:
            raise


def _tags(terms: tuple[Term, ...]) -> list[str]:
    """Categories and tags as tags."""
    return [name for key, name in _named(terms).items() if key and not tags.has_no_address(key)]


def _named(terms: tuple[Term, ...]) -> dict[str, str]:
    """Return the names of categories and tags by the key that tells tags apart."""
    named = (plain(term.name) for term in terms if term.taxonomy in ("category", "post_tag"))
    return {tags.normalized(name).casefold(): name for name in named}
