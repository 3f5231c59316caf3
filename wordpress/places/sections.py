"""The sections of an import.

Sections are planned first, and not created until there is a page, post or photo to store in them.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from bson import ObjectId
from django.utils.translation import gettext as _

from nodes.access import System
from nodes.actions import CreateNode
from nodes.content import Blog, Folder, Gallery, get
from nodes.errors import InvalidSlug
from nodes.models import tree
from nodes.selectors import imports, slugs
from wordpress.export.scan import Export, identifier
from wordpress.places.arranging import TargetSection
from wordpress.previous_runs import import_actor
from wordpress.report import Report
from wordpress.texts.content import plain

__all__ = ["SectionError", "Sections"]

MAX_TITLE = 300
TOP = TargetSection(None, "", is_live=True)


class SectionError(Exception):
    """The section into which to import can't be used. The message contains the reason."""


class Sections:
    """The existing and the planned sections of an import.

    A planned section doesn't exist until `create` is called, so if an import fails earlier, it leaves no empty section
    behind. If `dry_run` is true, sections are counted, but not created.
    """

    def __init__(self, export: Export, report: Report, moment: datetime, *, dry_run: bool) -> None:
        self.export = export
        self.report = report
        self.moment = moment
        self.dry_run = dry_run
        self.planned: dict[ObjectId, Callable[[], None]] = {}

    def top(self, slug: str) -> TargetSection:
        """Return the top-level folder with this slug, or, if `slug` is "", the top level itself.

        Raises:
            SectionError: The folder can't be used.
        """
        if not slug:
            return TOP
        slug = slugs.normalized(slug)
        title = plain(self.export.site.title) or slug
        return self._find(f"section {slug}", Folder.type_name, slug, title, TOP)

    def blog(self, top: TargetSection) -> TargetSection:
        """Return the blog in `top` that receives the imported posts."""
        return self._find(f"blog {top.id}" if top.id else "blog", Blog.type_name, "blog", _("Blog"), top)

    def gallery(self, top: TargetSection) -> TargetSection:
        """Return the gallery in `top` that receives the imported pictures."""
        return self._find(
            f"gallery {top.id}" if top.id else "gallery", Gallery.type_name, "pictures", _("Pictures"), top
        )

    def create(self, id: ObjectId | None) -> None:
        """Create a planned section, and its parent if necessary. Do nothing if the section already exists."""
        if id in self.planned:
            self.planned.pop(id)()

    def _find(self, name: str, kind: str, slug: str, title: str, parent: TargetSection) -> TargetSection:
        """Return the section that a previous run created, an existing section with this slug, or a new planned section.

        Raises:
            SectionError: The section from a previous run is in the trash, the existing section isn't a folder, or the
                slug is invalid.
        """
        id = identifier(self.export.key, name, 0)
        sections = tree.fresh()
        previous = imports.existing_nodes([id]).get(id)
        if previous and previous.trashed:
            raise SectionError(
                _("The section “%(slug)s” of this import is in the trash. Restore it or permanently delete it.")
                % {"slug": previous.slug}
            )
        existing = sections.sections.get(id) or sections.child(parent.id, slug)
        if existing and existing.type == kind:
            path = sections.url(existing.parent_id, existing.slug)
            is_live = existing.is_live(self.moment) and sections.is_live(existing.parent_id, self.moment)
            return TargetSection(existing.id, path, is_live=is_live)
        if existing and kind == Folder.type_name:
            raise SectionError(
                _("“%(slug)s” is a %(type)s, not a folder. Specify a folder with --section.")
                % {"slug": slug, "type": str(get(existing.type).label).lower()}
            )
        slug = slug if slug and not imports.taken_slugs(parent.id, [slug]) else slugs.find_free(slug, parent.id)
        try:
            slugs.check(slug, parent.id)
        except InvalidSlug as error:
            raise SectionError(f"--section: {error}") from error
        self.planned[id] = partial(self._create, id, kind, slug, title[:MAX_TITLE], parent)
        return TargetSection(id, f"{parent.path}/{slug}", is_live=parent.is_live, slug=slug)

    def _create(self, id: ObjectId, kind: str, slug: str, title: str, parent: TargetSection) -> None:
        self.create(parent.id)
        self.report.written["section"] += 1
        if self.dry_run:
            return
        fields = {"title": title, "slug": slug, "parent_id": parent.id, "published": self.moment}
        CreateNode(user=System(import_actor()), type=kind, fields=fields, node_id=id).execute()
