"""Links that administrators arranged (menu, footer), as readers see them: at present addresses, without what is not public."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bson import ObjectId

from nodes.models import tree, version_cache
from nodes.selectors import due, stored_nodes

# How a link names a page or section of the site, before its id.
NODE = "node:"


@dataclass(frozen=True)
class MenuLink:
    """`id`: of the page or section of this site that it leads to, if it is one."""

    title: str
    url: str
    id: ObjectId | None = None


def arranged(links: Sequence[Mapping[str, str]], moment: datetime) -> list[MenuLink]:
    """Return stored links {label, target} in their order. One query for all pages among them, kept in process."""
    ids = tuple(ObjectId(link["target"].removeprefix(NODE)) for link in links if link["target"].startswith(NODE))
    known = _live(ids, moment) if ids else {}
    shown = []
    for link in links:
        label = link["label"]
        target = link["target"]
        if not target.startswith(NODE):
            shown.append(MenuLink(label, target))
        elif found := known.get(target):
            shown.append(MenuLink(label or found.title, found.url, found.id))
    return shown


def _live(ids: tuple[ObjectId, ...], moment: datetime) -> dict[str, MenuLink]:
    def read() -> tuple[dict[str, MenuLink], datetime | None]:
        sections = tree.current()
        held = [sections.sections[one] for one in ids if one in sections.sections]
        links = [
            MenuLink(s.title, sections.url(s.parent_id, s.slug), s.id) for s in held if sections.is_live(s.id, moment)
        ]
        pages = [one for one in ids if one not in sections.sections]
        found = stored_nodes.live_by_ids(sections, pages, moment) if pages else []
        links += [MenuLink(page.metadata.title, page.get_absolute_url(), page.pk) for page in found]
        return {f"{NODE}{link.id}": link for link in links}, due.next_due(moment)

    return version_cache.get_or_set(("links", ids), moment, read)
