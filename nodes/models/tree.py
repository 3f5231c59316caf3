"""The section tree, kept in process under the site's `frame`: it resolves addresses, gives menus, and says what is live."""

import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote

from bson import ObjectId

from marginalia.mongo.clock import now
from marginalia.mongo.connection import database
from marginalia.mongo.engine import secondaries
from marginalia.mongo.reading import Malformed, read_documents
from nodes import content
from nodes.collections import NODES
from nodes.content import BY_HAND, Content, registry
from nodes.models import stored_site, version_cache
from nodes.models.dependencies import on_lists
from nodes.models.validation import check_metadata

HOME = "home"
# Fields of sections that are read.
_READ = ("parent_id", "type", "slug", "title", "published", "expires", "updated")


@dataclass(frozen=True)
class SectionEntry:
    """What others stand in, without its text."""

    id: ObjectId
    parent_id: ObjectId | None
    type: str
    slug: str
    title: str
    published: datetime | None
    expires: datetime
    updated: datetime
    # The comment policy of what stands in it, "" for that of the section above.
    comments: str = ""
    # Where it stands among its siblings if these are arranged by hand.
    position: str = ""

    @property
    def content_type(self) -> builtins.type[Content]:
        """The section's type; Missing if no installed app declares it."""
        return content.get(self.type)

    def is_live(self, moment: datetime) -> bool:
        """Return whether the section by itself is public at `moment`."""
        published = self.published
        return published is not None and published <= moment < self.expires and self.content_type.is_installed


@dataclass(frozen=True)
class Link:
    """A section as menus and lists show it."""

    title: str
    url: str
    id: ObjectId


class Tree:
    """All sections at one version of the site's frame."""

    def __init__(self, version: ObjectId | None, sections: Iterator[SectionEntry]) -> None:
        self.version = version
        self.sections = {section.id: section for section in sections}

    @cached_property
    def children(self) -> dict[ObjectId | None, list[SectionEntry]]:
        """The sections by the id of their parent, each list by title, or as editors arranged it."""
        grouped: dict[ObjectId | None, list[SectionEntry]] = {}
        for section in sorted(self.sections.values(), key=lambda s: (s.title.casefold(), s.id)):
            grouped.setdefault(section.parent_id, []).append(section)
        for parent_id, inside in grouped.items():
            if self.is_by_hand(parent_id):
                inside.sort(key=lambda s: (s.position, s.slug))
        return grouped

    def is_by_hand(self, section_id: ObjectId | None) -> bool:
        """Return whether editors arrange what stands in a section."""
        section = self.sections.get(section_id) if section_id else None
        return section is not None and section.content_type.lists == BY_HAND

    def ancestors(self, section_id: ObjectId | None) -> list[SectionEntry] | None:
        """Return the sections from the top down to `section_id`, itself included; None if the chain does not reach the top.

        A chain breaks where a section is in the trash: what stands in it is nowhere.
        """
        chain: list[SectionEntry] = []
        while section_id is not None:
            section = self.sections.get(section_id)
            if section is None or len(chain) > len(self.sections):
                return None
            chain.append(section)
            section_id = section.parent_id
        return chain[::-1]

    def is_live(self, section_id: ObjectId | None, moment: datetime) -> bool:
        """Return whether all that stands in the section can be public: it and all above it are live; None is the top."""
        chain = self.ancestors(section_id)
        return chain is not None and all(section.is_live(moment) for section in chain)

    def live_ids(self, moment: datetime) -> list[ObjectId | None]:
        """Return the ids of the live sections, and None for the top level: part of the query of every list."""
        live: list[ObjectId | None] = [None]
        for parent_id in live:
            live.extend(section.id for section in self.children.get(parent_id, ()) if section.is_live(moment))
        return live

    def live_children(self, section_id: ObjectId | None, moment: datetime) -> list[Link]:
        """Return the live sections that stand in a (live) section, by title; None is the top."""
        return [
            Link(s.title, self.url(s.parent_id, s.slug), s.id)
            for s in self.children.get(section_id, ())
            if s.is_live(moment)
        ]

    def child(self, parent_id: ObjectId | None, slug: str) -> SectionEntry | None:
        """Return the section `slug` of a section."""
        return next((s for s in self.children.get(parent_id, ()) if s.slug == slug), None)

    def at(self, address: str) -> SectionEntry | None:
        """Return the section at an address, percent-encoded or not; slashes around it mean nothing."""
        section = None
        for slug in unquote(address).strip("/").split("/"):
            section = self.child(section.id if section else None, slug)
            if section is None:
                return None
        return section

    def descendants(self, section_id: ObjectId) -> Iterator[SectionEntry]:
        """Yield all sections below one."""
        pending = [section_id]
        while pending:
            for section in self.children.get(pending.pop(), ()):
                yield section
                pending.append(section.id)

    def url(self, parent_id: ObjectId | None, slug: str) -> str:
        """Return the path of the node `slug` in a section; "" if that section is not (or no longer) in the tree."""
        chain = self.ancestors(parent_id)
        if chain is None:
            return ""
        # A section keeps the address that those of its feeds, archives and pages begin with.
        if parent_id is None and slug == HOME and self.child(None, HOME) is None:
            return "/"
        return "/" + "/".join(quote(part, safe="") for part in [*(section.slug for section in chain), slug])

    def next_due(self, moment: datetime) -> datetime | None:
        """Return when the next section appears or expires."""
        times = (time for s in self.sections.values() for time in (s.published, s.expires) if time and time > moment)
        return min(times, default=None)


# With the moment before which it was read.
_kept: tuple[Tree, datetime] | None = None


def clear() -> None:
    """Forget the tree, as a new process would have none."""
    global _kept
    _kept = None


def current() -> Tree:
    """Return the tree at the site's present `frame` (in a request: at the one that the request began with)."""
    global _kept
    versions = stored_site.current().versions
    version = versions.site if versions else None
    kept_tree = _kept
    moment = now()
    if kept_tree is not None and version is not None:
        tree, read_at = kept_tree
        if tree.version == version and moment < read_at + version_cache.LONGEST:
            return tree
    tree = load(version)
    if not secondaries.is_reading():
        _kept = tree, moment
    return tree


def fresh() -> Tree:
    """Return the tree as it is stored now, also in a request that began before: what a write is checked against."""
    stored_site.forget()
    return current()


@on_lists
def load(version: ObjectId | None = None) -> Tree:
    """Read the tree from the database. `version` must have been read before this call."""
    fields = {f"metadata.{name}": 1 for name in (*_READ, "detail.comments")} | {"position": 1}
    # What may be a section of a type that is not installed stays, with all below it: not live, and nothing can be put into it.
    documents = database()[NODES].find({"metadata.type": {"$nin": list(registry.non_sections())}}, fields)
    return Tree(version, read_documents(NODES, documents, _section))


def _section(document: Mapping[str, Any]) -> SectionEntry:
    metadata = document["metadata"]
    check_metadata(metadata, _READ)
    comments = (metadata.get("detail") or {}).get("comments") or ""
    position = document.get("position") or ""
    if not (isinstance(comments, str) and isinstance(position, str)):
        raise Malformed("detail.comments or position has another type")
    said = {name: metadata[name] for name in _READ}
    return SectionEntry(document["_id"], **said, comments=comments, position=position)
