"""All pages of a section, with the sections in it, as the documentation theme lists them beside a text."""

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

# Of an outline: a list that is too long to take in helps no reader, and every page of the section carries it.
MOST_SECTIONS, MOST_PAGES = 60, 240
DEEPEST = 5


@dataclass(frozen=True)
class Entry:
    """A line of an outline; `depth`: from 1 on, how far it is indented."""

    title: str
    url: str
    depth: int
    is_section: bool


def outline(section_id: ObjectId, moment: datetime) -> list[Entry]:
    """Return what stands in a live section, in the order of reading: as arranged, or pages by title and then sections.

    One query. Kept in process.
    """

    def read() -> tuple[list[Entry], datetime | None]:
        sections = tree.current()
        below = _live_below(sections, section_id, moment)
        held = (sections.sections[one] for one in below[1:])
        lines: list[Line] = [(s.parent_id, s.position, s.slug, s.title, s.id) for s in held]
        lines += [
            (page["parent_id"], page["position"], page["slug"], page["title"], None) for page in _pages(below, moment)
        ]
        return list(_arranged(sections, section_id, lines)), due.next_due(moment)

    return version_cache.get_or_set(("outline", section_id), moment, read)


# The section that it stands in, its position there, slug and title; its id if it is a section.
Line = tuple[ObjectId | None, str, str, str, ObjectId | None]


def _live_below(sections: tree.Tree, section_id: ObjectId, moment: datetime) -> list[ObjectId]:
    """Return the ids of a section and of the live sections below it, the nearest first."""
    found = [section_id]
    for one in found:
        found.extend(s.id for s in sections.children.get(one, ()) if s.is_live(moment))
        if len(found) >= MOST_SECTIONS:
            break
    return found[:MOST_SECTIONS]


def _pages(section_ids: list[ObjectId], moment: datetime) -> Iterator[dict[str, Any]]:
    """Yield {parent_id, slug, title, position} of the live pages in these sections."""
    types = type_condition(registry.pages())
    wanted = {"metadata.parent_id": {"$in": section_ids}, "metadata.type": types, **live(moment)}
    nodes = database()[NODES]
    fields = for_readers(UNTAGGED | {"position": 1}, moment)
    found = read_with_hint(keys_of("by_name"), lambda hint: nodes.find(wanted, fields).hint(hint).limit(MOST_PAGES))
    return read_documents(NODES, found, _page)


def _page(document: Mapping[str, Any]) -> dict[str, Any]:
    said = Node.from_document(document).metadata
    place = {"parent_id": said.parent_id, "slug": said.slug, "title": said.title}
    return {**place, "position": str(document.get("position") or "")}


def _arranged(sections: tree.Tree, top: ObjectId, lines: list[Line]) -> Iterator[Entry]:
    """Yield what stands in a section, each section before what stands in it."""
    inside: dict[ObjectId | None, list[Line]] = {}
    for line in lines:
        inside.setdefault(line[0], []).append(line)
    for parent_id, held in inside.items():
        is_by_hand = sections.is_by_hand(parent_id)
        held.sort(
            key=lambda one: one[1:3] if is_by_hand else (one[4] is not None, one[3].casefold(), one[2]), reverse=True
        )
    pending = [(line, 1) for line in inside.get(top, ())]
    while pending:
        (parent_id, _position, slug, title, section_id), depth = pending.pop()
        yield Entry(title, sections.url(parent_id, slug), min(depth, DEEPEST), section_id is not None)
        pending += [(line, depth + 1) for line in inside.get(section_id, ())]
