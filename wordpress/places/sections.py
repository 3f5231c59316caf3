"""The sections that an import puts things into: planned first, made with the first thing that stands in each."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from bson import ObjectId
from django.utils.translation import gettext as _

from nodes.content import Blog, Folder, Gallery, get
from nodes.errors import InvalidSlug
from nodes.models import tree
from nodes.selectors import imports, slugs
from nodes.services import editing
from wordpress.brought import importer
from wordpress.export.scan import Export, identifier
from wordpress.places.arranging import Home
from wordpress.report import Report
from wordpress.texts.content import plain

__all__ = ["SectionError", "Sections"]

LONGEST_TITLE = 300
TOP = Home(None, "", is_live=True)


class SectionError(Exception):
    """The section that everything is to go to cannot be used; the text says why."""


class Sections:
    """Finds the sections of one import. One that is not there is made when `make` first names it: an import that fails
    before leaves no empty section behind. `pretend` makes none, and counts them all the same."""

    def __init__(self, export: Export, report: Report, moment: datetime, *, pretend: bool) -> None:
        self.export = export
        self.report = report
        self.moment = moment
        self.pretend = pretend
        self.planned: dict[ObjectId, Callable[[], None]] = {}

    def top(self, slug: str) -> Home:
        """The folder with this slug at the top level; the top level itself for ""."""
        if not slug:
            return TOP
        slug = slugs.normalized(slug)
        title = plain(self.export.site.title) or slug
        return self._find(f"section {slug}", Folder.type_name, slug, title, TOP)

    def blog(self, top: Home) -> Home:
        """The blog in `top`, for posts."""
        return self._find(f"blog {top.id}" if top.id else "blog", Blog.type_name, "blog", _("Blog"), top)

    def gallery(self, top: Home) -> Home:
        """The gallery in `top`, for pictures."""
        return self._find(
            f"gallery {top.id}" if top.id else "gallery", Gallery.type_name, "pictures", _("Pictures"), top
        )

    def make(self, id: ObjectId | None) -> None:
        """Make the section with this id, and what it stands in, unless it is there."""
        if id in self.planned:
            self.planned.pop(id)()

    def _find(self, name: str, kind: str, slug: str, title: str, above: Home) -> Home:
        """The section that this import made before, else the one with this slug, else a planned one."""
        id = identifier(self.export.key, name, 0)
        sections = tree.fresh()
        made = imports.existing_nodes([id]).get(id)
        if made and made.trashed:
            raise SectionError(
                f"The section “{made.slug}” of this import is in the trash: restore it, or delete it there."
            )
        found = sections.sections.get(id) or sections.child(above.id, slug)
        if found and found.type == kind:
            path = sections.url(found.parent_id, found.slug)
            live = found.is_live(self.moment) and sections.is_live(found.parent_id, self.moment)
            return Home(found.id, path, is_live=live)
        if found and kind == Folder.type_name:
            raise SectionError(f"--section: “{slug}” is a {str(get(found.type).label).lower()}; name a folder.")
        slug = slug if slug and not imports.taken_slugs(above.id, [slug]) else slugs.free(slug, above.id)
        try:
            slugs.check(slug, above.id)
        except InvalidSlug as error:
            raise SectionError(f"--section: {error}") from error
        self.planned[id] = partial(self._make, id, kind, slug, title[:LONGEST_TITLE], above)
        return Home(id, f"{above.path}/{slug}", is_live=above.is_live, slug=slug)

    def _make(self, id: ObjectId, kind: str, slug: str, title: str, above: Home) -> None:
        self.make(above.id)
        self.report.written["section"] += 1
        if self.pretend:
            return
        editing.create(
            importer(),
            type=kind,
            parent_id=above.id,
            slug=slug,
            title=title,
            fields={"published": self.moment},
            node_id=id,
        )
