"""The section tree, cached in memory for as long as the `site` version in the site document is unchanged.

It resolves URLs, provides menus, and determines which sections are live.
"""

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
from nodes.content import BY_HAND, BY_NAME, Content, registry
from nodes.models import stored_site, version_cache
from nodes.models.dependencies import on_lists
from nodes.models.validation import check_metadata
from nodes.themes import THEMES

HOME = "home"
# The metadata fields that the tree reads from each section.
_FIELDS = ("parent_id", "type", "slug", "title", "published", "expires", "updated")


@dataclass(frozen=True)
class SectionEntry:
    """A section in the tree, without its text."""

    id: ObjectId
    parent_id: ObjectId | None
    type: str
    slug: str
    title: str
    published: datetime | None
    expires: datetime
    updated: datetime
    # The comment policy for nodes in the section. "" means the policy of the parent section or the site.
    comments: str = ""
    # The number of public comments after which writers are trusted in the section. None means the number of the parent
    # section or the site.
    trust_after: int | None = None
    # The theme of the section and everything in it. "" means the theme of the parent section or the site.
    theme: str = ""
    # The position among the siblings, if editors sort the parent section manually.
    position: str = ""
    # Whether editors have arranged the contents of a section that is otherwise listed by name.
    is_arranged: bool = False

    @property
    def content_type(self) -> builtins.type[Content]:
        """The section's type, or Missing if no installed app declares it."""
        return content.get(self.type)

    def is_live(self, moment: datetime) -> bool:
        """Return whether the section is public at `moment`, without checking its parent sections."""
        published = self.published
        return published is not None and published <= moment < self.expires and self.content_type.is_installed


@dataclass(frozen=True)
class Link:
    """A link to a section in a menu or list."""

    title: str
    url: str
    id: ObjectId


class Tree:
    """A snapshot of all sections, taken at one value of the `site` version."""

    def __init__(self, version: ObjectId | None, sections: Iterator[SectionEntry]) -> None:
        self.version = version
        self.sections = {section.id: section for section in sections}
        self._bases: dict[ObjectId | None, str | None] = {}

    @cached_property
    def children(self) -> dict[ObjectId | None, list[SectionEntry]]:
        """Lists of sections, keyed by the id of their parent. Each list is sorted by title or manually."""
        grouped: dict[ObjectId | None, list[SectionEntry]] = {}
        for section in sorted(self.sections.values(), key=lambda s: (s.title.casefold(), s.id)):
            grouped.setdefault(section.parent_id, []).append(section)
        for parent_id, siblings in grouped.items():
            if self.is_by_hand(parent_id):
                siblings.sort(key=lambda s: (s.position, s.slug))
        return grouped

    def is_by_hand(self, section_id: ObjectId | None) -> bool:
        """Return whether editors sort the nodes in a section manually."""
        section = self.sections.get(section_id) if section_id else None
        if section is None:
            return False
        lists = section.content_type.lists
        return lists == BY_HAND or (lists == BY_NAME and section.is_arranged)

    def ancestors(self, section_id: ObjectId | None) -> list[SectionEntry] | None:
        """Return the sections from the top level down to `section_id`, or None if the chain is broken.

        The chain is broken if one of the sections is in the trash. Nodes below such a section aren't visible.
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
        """Return whether the section and all its parents are live. Only then can nodes in the section be public.

        The top level, None, is always live.
        """
        chain = self.ancestors(section_id)
        return chain is not None and all(section.is_live(moment) for section in chain)

    def live_ids(self, moment: datetime) -> list[ObjectId | None]:
        """Return the ids of the live sections, and None for the top level. List queries filter by these ids."""
        live: list[ObjectId | None] = [None]
        for parent_id in live:
            live.extend(section.id for section in self.children.get(parent_id, ()) if section.is_live(moment))
        return live

    def live_children(self, section_id: ObjectId | None, moment: datetime) -> list[Link]:
        """Return links to the live sections in a live section, or at the top level, in the order of `children`."""
        return [
            Link(s.title, self.url(s.parent_id, s.slug), s.id)
            for s in self.children.get(section_id, ())
            if s.is_live(moment)
        ]

    def child(self, parent_id: ObjectId | None, slug: str) -> SectionEntry | None:
        """Return the section with the given slug in the section `parent_id`, or None if there isn't one."""
        return next((s for s in self.children.get(parent_id, ()) if s.slug == slug), None)

    def resolve(self, path: str) -> SectionEntry | None:
        """Return the section at a URL path, or None if there isn't one.

        The path can be percent-encoded. Leading and trailing slashes are ignored.
        """
        section = None
        for slug in unquote(path).strip("/").split("/"):
            section = self.child(section.id if section else None, slug)
            if section is None:
                return None
        return section

    def descendants(self, section_id: ObjectId) -> Iterator[SectionEntry]:
        """Yield all sections below `section_id`."""
        pending = [section_id]
        while pending:
            for section in self.children.get(pending.pop(), ()):
                yield section
                pending.append(section.id)

    def url(self, parent_id: ObjectId | None, slug: str) -> str:
        """Return the URL path of the node with the given slug in a section, or "" if the section isn't in the tree."""
        if parent_id not in self._bases:
            chain = self.ancestors(parent_id)
            self._bases[parent_id] = None if chain is None else "".join(f"/{quote(s.slug, safe='')}" for s in chain)
        base = self._bases[parent_id]
        if base is None:
            return ""
        # A section with the slug `home` isn't at "/", because the URLs of its feeds, archives and pages begin with its
        # own URL.
        if parent_id is None and slug == HOME and self.child(None, HOME) is None:
            return "/"
        return f"{base}/{quote(slug, safe='')}"

    @staticmethod
    def url_below(url: str, rest: str) -> str:
        """Return the URL path of a route below a node. `rest` is the quoted path of the route.

        The URL of the front page is "/", but its routes begin with its slug. Otherwise, the URLs of other pages, which
        are all below "/", could clash with them.
        """
        return f"{f'/{HOME}' if url == '/' else url}/{rest}"

    def next_due(self, moment: datetime) -> datetime | None:
        """Return the next time after `moment` when a section appears or expires, or None if there isn't one."""
        times = (time for s in self.sections.values() for time in (s.published, s.expires) if time and time > moment)
        return min(times, default=None)


# The cached tree, and the time just before the tree was read.
_cached: tuple[Tree, datetime] | None = None


def clear() -> None:
    """Remove the cached tree, as if the process had just started."""
    global _cached
    _cached = None


def current() -> Tree:
    """Return the tree for the current `site` version.

    In a request, this is the version at the start of the request.
    """
    global _cached
    versions = stored_site.current().versions
    version = versions.site if versions else None
    cached = _cached
    moment = now()
    if cached is not None and version is not None:
        tree, read_at = cached
        if tree.version == version and moment < read_at + version_cache.LONGEST:
            return tree
    tree = load(version)
    if not secondaries.is_reading():
        _cached = tree, moment
    return tree


def fresh() -> Tree:
    """Return the tree as it is currently stored, even during a request. Writes are checked against this tree."""
    stored_site.forget()
    return current()


@on_lists
def load(version: ObjectId | None = None) -> Tree:
    """Read the tree from the database. Callers must read `version` before they call this function."""
    fields = {f"metadata.{name}": 1 for name in (*_FIELDS, "detail.comments", "detail.trust_after", "detail.theme")} | {
        "position": 1,
        "arranged": 1,
    }
    # A node whose type isn't installed may be a section, so it is included. It isn't live and can't contain nodes.
    documents = database()[NODES].find({"metadata.type": {"$nin": list(registry.non_sections())}}, fields)
    return Tree(version, read_documents(NODES, documents, _section))


def _section(document: Mapping[str, Any]) -> SectionEntry:
    metadata = document["metadata"]
    check_metadata(metadata, _FIELDS)
    detail = metadata.get("detail") or {}
    comments = detail.get("comments") or ""
    trust_after = detail.get("trust_after")
    # Other apps can declare a field `theme` with other values.
    theme = next((name for name, _label in THEMES if name == detail.get("theme")), "")
    position = document.get("position") or ""
    if not (isinstance(comments, str) and isinstance(position, str) and isinstance(trust_after, int | None)):
        raise Malformed("detail.comments, detail.trust_after or position has another type")
    values = {name: metadata[name] for name in _FIELDS}
    is_arranged = document.get("arranged") is True
    return SectionEntry(
        document["_id"],
        **values,
        comments=comments,
        trust_after=trust_after,
        theme=theme,
        position=position,
        is_arranged=is_arranged,
    )
