"""Determine the place of each post and page: its section, slug and URL.

All places are determined before the first post or page is written.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from urllib.parse import quote

from bson import ObjectId
from django.utils.translation import gettext as _

from nodes.content import BasicPage, BlogEntry, Folder
from nodes.errors import InvalidSlug
from nodes.models import tree
from nodes.selectors import imports, slugs
from wordpress.export.scan import Entry, Export
from wordpress.previous_runs import import_actor
from wordpress.report import Report

__all__ = ["TargetSection", "arrange", "missing_parent_label"]

# The maximum length of a slug. It is less than the site's limit, so that a number can be appended to the slug.
MAX_SLUG = slugs.LONGEST - 10


class TargetSection:
    """A section into which posts or pages are imported.

    Attributes:
        id: The id of the section, or None for the top level.
        path: The path without a trailing slash.
    """

    def __init__(self, id: ObjectId | None, path: str, *, is_live: bool, slug: str = "") -> None:
        self.id = id
        self.path = path
        self.is_live = is_live
        self.slug = slug


def arrange(export: Export, top: TargetSection, blog: TargetSection, report: Report, moment: datetime) -> None:
    """Determine the place of each entry. Posts are placed in `blog`, and pages in their old hierarchy below `top`.

    Nodes from previous runs keep their current places, unless this run has read a parent page that was missing before.
    """
    pages = {number: entry for number, entry in export.entries.items() if entry.is_page}
    order = list(_parents_first(pages, report))
    _choose_kinds(pages, export)
    targets: dict[ObjectId | None, TargetSection] = {top.id: top, blog.id: blog}
    for entry in order:
        entry.parent_id = _parent(entry, pages, top)
    posts = [entry for entry in export.entries.values() if not entry.is_page]
    for entry in posts:
        entry.kind = BlogEntry.type_name
        entry.parent_id = blog.id
    for entry in known_entries(export):
        assert entry.known is not None
        entry.moves = entry.moves and entry.parent_id not in (entry.known.parent_id, top.id)
        if entry.moves:
            entry.wanted_slug = entry.known.slug
            entry.has_slug = True
        else:
            entry.parent_id = entry.known.parent_id
            entry.slug = entry.known.slug
        entry.kind = Folder.type_name if entry.becomes_folder else entry.known.type
    _choose_slugs([*order, *posts], top, blog, report)
    for entry in [*order, *posts]:
        _set_path(entry, targets, report, moment)


def known_entries(export: Export) -> Iterator[Entry]:
    """Yield the entries whose nodes already exist, because a previous run has imported them."""
    return (entry for entry in export.entries.values() if entry.known)


def _parents_first(pages: dict[int, Entry], report: Report) -> Iterator[Entry]:
    """Yield the pages, each after its parent.

    If the parent of a page is not in the export, or if a page is its own ancestor, the page is placed at the top.
    """
    below: dict[int, list[Entry]] = {}
    for entry in pages.values():
        if entry.above and (entry.above not in pages or _is_cycle(entry, pages)):
            if entry.in_this_file:
                report.note(_("Put at the top because the parent page is missing"), entry.label)
            entry.missing_parent = 0 if entry.above in pages else entry.above
            entry.above = 0
        below.setdefault(entry.above, []).append(entry)
    pending = [0]
    for number in pending:
        for entry in below.get(number, ()):
            yield entry
            pending.append(entry.number)


def _is_cycle(entry: Entry, pages: dict[int, Entry]) -> bool:
    seen = set()
    number = entry.number
    while number and number in pages and number not in seen:
        seen.add(number)
        number = pages[number].above
    return number == entry.number


def _choose_kinds(pages: dict[int, Entry], export: Export) -> None:
    """Determine which pages become folders.

    Also determine which pages from previous runs move, because their parent page was missing in that run.
    Pages from previous runs move or become folders only if no one has edited them since.
    """
    for entry in pages.values():
        waits = missing_parent_label(entry.above) in export.incomplete.get(entry.number, ())
        entry.moves = waits and _is_untouched(entry)
    parents = {entry.above for entry in pages.values() if entry.moves or not entry.known}
    for entry in pages.values():
        entry.kind = Folder.type_name if entry.number in parents else BasicPage.type_name
        is_page = entry.known is not None and entry.known.type == BasicPage.type_name
        entry.becomes_folder = is_page and entry.number in parents and _is_untouched(entry)


def _is_untouched(entry: Entry) -> bool:
    return entry.known is not None and imports.unchanged_nonce(entry.id, import_actor()) is not None


def missing_parent_label(number: int) -> str:
    """Return the description of a missing parent page for the list of missing parts."""
    return f"page {number} above it"


def _parent(entry: Entry, pages: dict[int, Entry], top: TargetSection) -> ObjectId | None:
    """Return the id of the section of a page, which is usually its parent page.

    If the parent page is in the trash, or isn't a folder and won't become one, return the nearest ancestor that can
    contain the page.
    """
    while entry.above:
        entry = pages[entry.above]
        is_folder = entry.known and entry.known.type == Folder.type_name and not entry.known.trashed
        if not entry.known or is_folder or entry.becomes_folder:
            return entry.id
    return top.id


def _choose_slugs(entries: list[Entry], top: TargetSection, blog: TargetSection, report: Report) -> None:
    sections = {target.id: target.path for target in (top, blog)}
    groups: dict[ObjectId | None, list[Entry]] = {}
    for entry in entries:
        if entry.known is None or entry.moves:
            groups.setdefault(entry.parent_id, []).append(entry)
    for parent_id, group in groups.items():
        used = imports.taken_slugs(parent_id, [_stem(entry) for entry in group])
        if parent_id == top.id and any(entry.parent_id == blog.id for entry in entries):
            # Reserve the slug of the blog, which may not have been created yet.
            used.add(blog.slug)
        counts: Counter[str] = Counter()
        # Begin with the entries that had a slug in WordPress, so that the other entries can't take their slugs.
        for entry in sorted(group, key=lambda entry: not entry.has_slug):
            stem = _stem(entry)
            entry.slug = _free(stem, parent_id, sections.get(parent_id), used, counts)
            used.add(entry.slug)
            if not entry.has_slug:
                report.note(_("Slugs created because there were none"), f"{entry.label}: {entry.slug}")
            elif entry.slug != entry.wanted_slug:
                report.note(_("Renamed because the URL is taken"), f"{entry.label}: {entry.wanted_slug} → {entry.slug}")


def _stem(entry: Entry) -> str:
    stem = entry.wanted_slug[:MAX_SLUG].rstrip("-_")
    while stem and not stem[0].isalnum():
        stem = stem[1:]
    return stem or f"{'page' if entry.is_page else 'post'}-{entry.number}"


def _free(stem: str, parent_id: ObjectId | None, section: str | None, used: set[str], counts: Counter[str]) -> str:
    """Return the first of `stem`, stem-2, stem-3 and so on that is free and not reserved by a route of the site."""
    while True:
        counts[stem] += 1
        candidate = stem if counts[stem] == 1 else f"{stem}-{counts[stem]}"
        if candidate in used or (counts[stem] > 1 and imports.taken_slugs(parent_id, [candidate])):
            continue
        try:
            slugs.check(candidate, parent_id, section=section)
        except InvalidSlug:
            if counts[stem] < 3:
                continue
        return candidate


def _set_path(entry: Entry, targets: dict[ObjectId | None, TargetSection], report: Report, moment: datetime) -> None:
    """Set the path of an entry, and whether readers can see the entry."""
    if entry.known and not entry.moves:
        sections = tree.current()
        published = entry.known.published
        entry.path = "" if entry.known.trashed else sections.url(entry.parent_id, entry.slug)
        if entry.becomes_folder and entry.path == "/":
            entry.path = f"/{tree.HOME}"
        entry.is_live = bool(entry.path and published and published <= moment) and sections.is_live(
            entry.parent_id, moment
        )
    else:
        target = targets[entry.parent_id]
        is_home = (entry.parent_id, entry.slug) == (None, tree.HOME) and entry.kind != Folder.type_name
        entry.path = "/" if is_home else f"{target.path}/{quote(entry.slug, safe='')}"
        entry.is_live = target.is_live and entry.is_public and (entry.posted is None or entry.posted <= moment)
        if entry.is_public and not target.is_live:
            report.note(_("Was public, but its parent page is not"), entry.label)
    targets[entry.id] = TargetSection(entry.id, entry.path, is_live=entry.is_live)
