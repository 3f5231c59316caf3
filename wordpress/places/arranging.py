"""Where each post and page goes: its section, its slug and its address, decided before anything is written."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from urllib.parse import quote

from bson import ObjectId

from nodes.content import BasicPage, BlogEntry, Folder
from nodes.errors import InvalidSlug
from nodes.models import tree
from nodes.selectors import imports, slugs
from wordpress.brought import importer
from wordpress.export.scan import Entry, Export
from wordpress.report import Report

__all__ = ["Home", "arrange", "lacks_parent"]

# A slug as long as the site allows, less what a number may add.
LONGEST = slugs.LONGEST - 10


class Home:
    """A section that imported posts or pages stand in: `id` None is the top level. `path` has no slash at its end."""

    def __init__(self, id: ObjectId | None, path: str, *, is_live: bool, slug: str = "") -> None:
        self.id = id
        self.path = path
        self.is_live = is_live
        self.slug = slug


def arrange(export: Export, top: Home, blog: Home, report: Report, moment: datetime) -> None:
    """Decide the place of every entry of `export`: posts in `blog`, pages with their tree below `top`. What an earlier
    run has made stays where it is now."""
    pages = {number: entry for number, entry in export.entries.items() if entry.is_page}
    order = list(_parents_first(pages, report))
    _choose_kinds(pages, export)
    homes: dict[ObjectId | None, Home] = {top.id: top, blog.id: blog}
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
            entry.wanted = entry.known.slug
            entry.has_slug = True
        else:
            entry.parent_id = entry.known.parent_id
            entry.slug = entry.known.slug
        entry.kind = Folder.type_name if entry.becomes_folder else entry.known.type
    _choose_slugs([*order, *posts], top, blog, report)
    for entry in [*order, *posts]:
        _address(entry, homes, report, moment)


def known_entries(export: Export) -> Iterator[Entry]:
    """Those that an earlier run has made."""
    return (entry for entry in export.entries.values() if entry.known)


def _parents_first(pages: dict[int, Entry], report: Report) -> Iterator[Entry]:
    """Every page behind the one it stands in. One whose parent is not here, or is below itself, stands at the top."""
    below: dict[int, list[Entry]] = {}
    for entry in pages.values():
        if entry.above and (entry.above not in pages or _is_circle(entry, pages)):
            if entry.is_here:
                report.note("Put at the top because the parent page is missing", entry.label)
            entry.orphan_of = 0 if entry.above in pages else entry.above
            entry.above = 0
        below.setdefault(entry.above, []).append(entry)
    pending = [0]
    for number in pending:
        for entry in below.get(number, ()):
            yield entry
            pending.append(entry.number)


def _is_circle(entry: Entry, pages: dict[int, Entry]) -> bool:
    seen = set()
    number = entry.number
    while number and number in pages and number not in seen:
        seen.add(number)
        number = pages[number].above
    return number == entry.number


def _choose_kinds(pages: dict[int, Entry], export: Export) -> None:
    """Decide which pages become folders, and which pages of earlier runs go to the page above them that has come now.

    Any other page of an earlier run stays where and what it is.
    """
    for entry in pages.values():
        waits = lacks_parent(entry.above) in export.waiting.get(entry.number, ())
        entry.moves = waits and _is_untouched(entry)
    holding = {entry.above for entry in pages.values() if entry.moves or not entry.known}
    for entry in pages.values():
        entry.kind = Folder.type_name if entry.number in holding else BasicPage.type_name
        is_page = entry.known is not None and entry.known.type == BasicPage.type_name
        entry.becomes_folder = is_page and entry.number in holding and _is_untouched(entry)


def _is_untouched(entry: Entry) -> bool:
    return entry.known is not None and imports.unchanged_nonce(entry.id, importer()) is not None


def lacks_parent(number: int) -> str:
    """Return how a text's list of what it lacks names the page that it stands in."""
    return f"page {number} above it"


def _parent(entry: Entry, pages: dict[int, Entry], top: Home) -> ObjectId | None:
    """The section of a page: its parent, unless an earlier run made that a page, which holds nothing, or an editor has
    thrown it away; then the section that the parent stands in."""
    while entry.above:
        entry = pages[entry.above]
        is_folder = entry.known and entry.known.type == Folder.type_name and not entry.known.trashed
        if not entry.known or is_folder or entry.becomes_folder:
            return entry.id
    return top.id


def _choose_slugs(entries: list[Entry], top: Home, blog: Home, report: Report) -> None:
    sections = {home.id: home.path for home in (top, blog)}
    groups: dict[ObjectId | None, list[Entry]] = {}
    for entry in entries:
        if entry.known is None or entry.moves:
            groups.setdefault(entry.parent_id, []).append(entry)
    for parent_id, group in groups.items():
        used = imports.taken_slugs(parent_id, [_stem(entry) for entry in group])
        if parent_id == top.id and any(entry.parent_id == blog.id for entry in entries):
            # A blog that is yet to be made has its slug too.
            used.add(blog.slug)
        counts: Counter[str] = Counter()
        # What WordPress itself gave a slug goes first.
        for entry in sorted(group, key=lambda entry: not entry.has_slug):
            stem = _stem(entry)
            entry.slug = _free(stem, parent_id, sections.get(parent_id), used, counts)
            used.add(entry.slug)
            if not entry.has_slug:
                report.note("Slugs created because there were none", f"{entry.label}: {entry.slug}")
            elif entry.slug != entry.wanted:
                report.note("Renamed because the URL is taken", f"{entry.label}: {entry.wanted} → {entry.slug}")


def _stem(entry: Entry) -> str:
    cut = entry.wanted[:LONGEST].rstrip("-_")
    while cut and not cut[0].isalnum():
        cut = cut[1:]
    return cut or f"{'page' if entry.is_page else 'post'}-{entry.number}"


def _free(stem: str, parent_id: ObjectId | None, section: str | None, used: set[str], counts: Counter[str]) -> str:
    """The stem, or the first of stem-2, stem-3… that nothing here has and no route of the site's own needs."""
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


def _address(entry: Entry, homes: dict[ObjectId | None, Home], report: Report, moment: datetime) -> None:
    """Work out the address, and whether visitors can read what is there."""
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
        home = homes[entry.parent_id]
        is_home = (entry.parent_id, entry.slug) == (None, tree.HOME) and entry.kind != Folder.type_name
        entry.path = "/" if is_home else f"{home.path}/{quote(entry.slug, safe='')}"
        entry.is_live = home.is_live and entry.is_public and (entry.posted is None or entry.posted <= moment)
        if entry.is_public and not home.is_live:
            report.note("Was public, but its parent page is not", entry.label)
    homes[entry.id] = Home(entry.id, entry.path, is_live=entry.is_live)
