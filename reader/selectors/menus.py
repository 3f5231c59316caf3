"""Resolve menu and footer links to current URLs, and leave out links to pages that aren't public."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bson import ObjectId

from nodes.models import tree, version_cache
from nodes.models.stored_site import NODE_PREFIX
from nodes.selectors import due, stored_nodes


@dataclass(frozen=True)
class MenuLink:
    """A link in a menu or in the footer.

    Attributes:
        id: The id of the linked page or section of this site, or None for other links.
    """

    title: str
    url: str
    id: ObjectId | None = None


def resolve_links(links: Sequence[Mapping[str, str]], moment: datetime) -> list[MenuLink]:
    """Convert stored links, {label, target}, to MenuLinks, in order. Leave out links to pages that readers can't see.

    One query reads all linked pages. Its result is cached in memory.
    """
    ids = tuple(
        ObjectId(link["target"].removeprefix(NODE_PREFIX)) for link in links if link["target"].startswith(NODE_PREFIX)
    )
    live_links = _live_links(ids, moment) if ids else {}
    resolved = []
    for link in links:
        label = link["label"]
        target = link["target"]
        if not target.startswith(NODE_PREFIX):
            resolved.append(MenuLink(label, target))
        elif live_link := live_links.get(target):
            resolved.append(MenuLink(label or live_link.title, live_link.url, live_link.id))
    return resolved


def _live_links(ids: tuple[ObjectId, ...], moment: datetime) -> dict[str, MenuLink]:
    def read() -> tuple[dict[str, MenuLink], datetime | None]:
        sections = tree.current()
        linked_sections = [sections.sections[id] for id in ids if id in sections.sections]
        links = [
            MenuLink(section.title, sections.url(section.parent_id, section.slug), section.id)
            for section in linked_sections
            if sections.is_live(section.id, moment)
        ]
        page_ids = [id for id in ids if id not in sections.sections]
        pages = stored_nodes.live_by_ids(sections, page_ids, moment) if page_ids else []
        links += [MenuLink(page.metadata.title, page.get_absolute_url(), page.pk) for page in pages]
        return {f"{NODE_PREFIX}{link.id}": link for link in links}, due.next_due(moment)

    return version_cache.get_or_set(("links", ids), moment, read)
