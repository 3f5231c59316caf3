"""The outline of a section. The documentation theme shows it, with all pages and subsections, next to the text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bson import ObjectId

from marginalia.mongo.connection import database
from marginalia.mongo.reading import read_documents, read_with_hint
from nodes.collections import NODES, keys_of
from nodes.content import registry
from nodes.models import Node, tree, version_cache
from nodes.selectors import due
from nodes.selectors.listing import UNTAGGED, for_readers, live, type_condition

# Maximum numbers of sections and pages in an outline. Longer outlines wouldn't help readers, and would make every page
# in the section larger.
MOST_SECTIONS, MOST_PAGES = 60, 240
DEEPEST = 5


@dataclass(frozen=True)
class Entry:
    """A line of an outline. `depth` is its level of indentation, starting at 1."""

    title: str
    url: str
    depth: int
    is_section: bool


def outline(section_id: ObjectId, moment: datetime) -> list[Entry]:
    """Return the outline of a live section in reading order.

    This is the manual order if there is one. Otherwise, pages come first, followed by subsections, both sorted by
    title.

    This function needs a single query. The result is cached in memory.
    """

    def read() -> tuple[list[Entry], datetime | None]:
        sections = tree.current()
        below = _live_below(sections, section_id, moment)
        subsections = (sections.sections[section] for section in below[1:])
        lines: list[Line] = [(s.parent_id, s.position, s.slug, s.title, s.id) for s in subsections]
        lines += [
            (page["parent_id"], page["position"], page["slug"], page["title"], None) for page in _pages(below, moment)
        ]
        return list(_arranged(sections, section_id, lines)), due.next_due(moment)

    return version_cache.get_or_set(("outline", section_id), moment, read)


# A line to arrange: the id of the parent section, the position in this section, the slug, the title, and, if the line
# is itself a section, its own id.
Line = tuple[ObjectId | None, str, str, str, ObjectId | None]


def _live_below(sections: tree.Tree, section_id: ObjectId, moment: datetime) -> list[ObjectId]:
    """Return the ids of a section and of all live sections below it, nearest first."""
    ids = [section_id]
    for parent_id in ids:
        ids.extend(s.id for s in sections.children.get(parent_id, ()) if s.is_live(moment))
        if len(ids) >= MOST_SECTIONS:
            break
    return ids[:MOST_SECTIONS]


def _pages(section_ids: list[ObjectId], moment: datetime) -> Iterator[dict[str, Any]]:
    """Yield {parent_id, slug, title, position} of the live pages in these sections."""
    types = type_condition(registry.pages())
    wanted = {"metadata.parent_id": {"$in": section_ids}, "metadata.type": types, **live(moment)}
    nodes = database()[NODES]
    fields = for_readers(UNTAGGED | {"position": 1}, moment)
    documents = read_with_hint(keys_of("by_name"), lambda hint: nodes.find(wanted, fields).hint(hint).limit(MOST_PAGES))
    return read_documents(NODES, documents, _page)


def _page(document: Mapping[str, Any]) -> dict[str, Any]:
    metadata = Node.from_document(document).metadata
    place = {"parent_id": metadata.parent_id, "slug": metadata.slug, "title": metadata.title}
    return {**place, "position": str(document.get("position") or "")}


def _arranged(sections: tree.Tree, top: ObjectId, lines: list[Line]) -> Iterator[Entry]:
    """Yield the entries of a section in order. Each subsection is followed by its contents."""
    inside: dict[ObjectId | None, list[Line]] = {}
    for line in lines:
        inside.setdefault(line[0], []).append(line)
    for parent_id, siblings in inside.items():
        is_by_hand = sections.is_by_hand(parent_id)
        siblings.sort(
            key=lambda line: line[1:3] if is_by_hand else (line[4] is not None, line[3].casefold(), line[2]),
            reverse=True,
        )
    pending = [(line, 1) for line in inside.get(top, ())]
    while pending:
        (parent_id, _position, slug, title, section_id), depth = pending.pop()
        yield Entry(title, sections.url(parent_id, slug), min(depth, DEEPEST), section_id is not None)
        pending += [(line, depth + 1) for line in inside.get(section_id, ())]
