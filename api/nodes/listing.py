"""Which nodes a list has: for readers along the selectors of their pages, for editors that of the admin."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bson import ObjectId
from pydantic import Field

from api.problems import Problem
from api.rights.principals import Principal
from api.schemas.shapes import Fields, Id, Include, Shape
from marginalia.markup.text import slugify
from marginalia.mongo.clock import now
from nodes import access, content
from nodes.collections import home_of
from nodes.content import facets, registry
from nodes.models import BaseNode, tree
from nodes.models.tree import SectionEntry
from nodes.selectors import by_hand, lists, search, stored_nodes
from reader.selectors import bylines, dates, faceted_lists

SIZE, MOST = 20, 100
STATE = f"^({'|'.join((lists.ANY, *lists.STATES))})?$"
# Of these a reader's list takes one.
NARROWING = ("section", "tag", "author", "type", "q")


class Filters(Shape):
    """What a list is narrowed to, and how it is answered."""

    section: Id | None = Field(None, description="What stands in this section.")
    type: str = Field("", max_length=50, description="What is of this type.", examples=["blog-entry"])
    tag: str = Field("", max_length=100, description="What carries this tag.")
    author: str = Field("", max_length=200, description="What is signed with this name.")
    q: str = Field("", max_length=200, description="What has all of these words, the best first: 100 at most.")
    facet: list[str] = Field(
        [], max_length=10, description="Values of facets: `course=dessert`.", examples=[["course=dessert"]]
    )
    state: str = Field(
        "", pattern=STATE, description=f"The list of the admin: `{'`, `'.join((lists.ANY, *lists.STATES))}`."
    )
    cursor: str = Field("", max_length=300, description="`next` of the page before.")
    limit: int = Field(SIZE, ge=1, le=MOST, description="How many are on a page.")
    fields: Fields = ""
    include: Include = ""


@dataclass(frozen=True)
class Found:
    """A page of a list, and the cursor of what follows, "" at the end."""

    nodes: Sequence[BaseNode]
    following: str | None


def listed(filters: Filters) -> Found:
    """Return a page of what readers see. Raises Problem (422) for filters that do not go together, or a cursor that is none."""
    named = [name for name in NARROWING if getattr(filters, name)]
    if "section" in named and named != ["section"] and not (named == ["section", "type"] and filters.facet):
        raise _apart(named)
    if "section" not in named and (len(named) > 1 or filters.facet):
        raise _apart([*named, *(["facet"] if filters.facet else [])])
    try:
        return _of_section(filters) if filters.section else _across(filters)
    except ValueError:
        raise _no_cursor() from None
    except search.TooSlow:
        raise Problem("unavailable", "The search took too long.", headers={"Retry-After": "1"}) from None


def _across(filters: Filters) -> Found:
    sections = tree.current()
    moment = now()
    page: dict[str, Any] = {"size": filters.limit, "cursor": filters.cursor or None}
    if filters.q:
        return _searched(filters)
    if filters.tag:
        found = stored_nodes.tagged(sections, filters.tag, moment, **page)
    elif filters.author:
        names = bylines.names([slugify(filters.author)], moment)
        found = bylines.posts(sections, names, moment, **page)
    elif filters.type:
        found = stored_nodes.of_type(sections, _installed(filters.type), moment, **page)
    else:
        found = stored_nodes.newest_entries(sections, moment, **page)
    return Found(found.nodes, found.older)


def _searched(filters: Filters) -> Found:
    page = int(filters.cursor or 1)
    if not 1 <= page <= search.MOST:
        raise ValueError(filters.cursor)
    found = search.search(tree.current(), filters.q, now(), page=page, size=filters.limit)
    more = found.total > page * filters.limit
    return Found([hit.node for hit in found.hits], str(page + 1) if more else None)


def counted(filters: Filters) -> dict[str, dict[str, int]]:
    """Return how many of what a section lists have each value of each facet, besides the facets that are asked for.

    Raises Problem (404, 422).
    """
    section = _section(filters)
    wanted = _facets(filters, section)
    types = [type.type_name for type in registry.listed_by_facets(section.type) if filters.type in ("", type.type_name)]
    if not types:
        return {}
    pairs = [(name, value) for _type, name, value in wanted]
    return faceted_lists.count_values(section.id, wanted[0][0] if wanted else types[0], pairs, now())


def _section(filters: Filters) -> SectionEntry:
    section = tree.current().sections.get(ObjectId(filters.section))
    if section is None or not tree.current().is_live(section.id, now()):
        raise Problem("not-found", "There is no such section.")
    return section


def _of_section(filters: Filters) -> Found:
    section = _section(filters)
    moment = now()
    size = filters.limit
    cursor = filters.cursor
    lists_by = content.get(section.type).lists
    if lists_by == content.UPCOMING:
        wanted = _facets(filters, section)
        shown = dates.by_date(section.id, section.type, wanted, moment, size=size, cursor=cursor or None)
        return Found(shown.nodes, shown.older if shown.is_past else shown.newer)
    if lists_by == content.NEWEST and filters.facet:
        wanted = _facets(filters, section)
        pairs = [(name, value) for _type, name, value in wanted]
        found = faceted_lists.filtered(section.id, wanted[0][0], pairs, moment, size=size, cursor=cursor or None)
        return Found(found.nodes, found.older)
    if filters.facet:
        raise _apart(["section", "facet"])
    if lists_by == content.BY_HAND:
        nodes, after = by_hand.page(section.id, moment, size=size, cursor=cursor)
        return Found(nodes, after)
    if lists_by == content.BY_NAME:
        pages = stored_nodes.pages_of(section.id, moment, after=cursor, limit=size + 1)
        return Found(pages[:size], pages[size - 1].metadata.slug if len(pages) > size else None)
    of = stored_nodes.photos_of if lists_by == content.PHOTOS else stored_nodes.entries
    found = of(section.id, moment, size=size, cursor=cursor or None)
    return Found(found.nodes, found.older)


def _facets(filters: Filters, section: SectionEntry) -> list[tuple[str, str, str]]:
    """Return (type, name, value) of the facets that are asked for, of the first type of the section that has them all."""
    pairs = []
    for one in filters.facet:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise Problem("invalid", errors=[("query.facet", "A facet is spelled name=value.")])
        pairs.append((name, facets.normalize(value)))
    if not pairs:
        return []
    names = {name for name, _value in pairs}
    types = [type for type in registry.listed_by_facets(section.type) if filters.type in ("", type.type_name)]
    holder = next((type.type_name for type in types if names <= set(type.facets)), None)
    if holder is None:
        raise Problem("invalid", errors=[("query.facet", "What stands in this section has no such facet.")])
    return [(holder, name, value) for name, value in pairs]


def of_editors(principal: Principal, filters: Filters) -> Found:
    """Return a page of the admin's list, with all filters together. Raises Problem: 403, 422."""
    is_of_photos = bool(filters.type) and content.get(filters.type).is_file
    if not (access.may_see_photos(principal) if is_of_photos else access.may_list(principal)):
        raise Problem("forbidden", "Lists by state are for who writes: a token needs the scope “read”.")
    if filters.author or filters.facet:
        raise _apart(["state", *(name for name in ("author", "facet") if getattr(filters, name))])
    wanted = lists.Filters(
        section=ObjectId(filters.section) if filters.section else lists.ANY,
        type=_installed(filters.type) if filters.type else "",
        tag=filters.tag,
        state="" if filters.state == lists.ANY else filters.state,
        author=lists.ANY if is_of_photos or access.sees_all(principal) else principal.pk,
        search=filters.q,
    )
    home = home_of(filters.type) if filters.type else lists.NODES
    try:
        page = lists.page(wanted, now(), cursor=filters.cursor, size=filters.limit, collection=home)
    except ValueError:
        raise _no_cursor() from None
    return Found([row.node for row in page.rows], page.older)


def _installed(type: str) -> str:
    if not content.get(type).is_installed:
        raise Problem("invalid", errors=[("query.type", f"There is no type “{type}”.")])
    return type


def _apart(names: Sequence[str]) -> Problem:
    return Problem("invalid", errors=[(f"query.{name}", "These do not go together here.") for name in names])


def _no_cursor() -> Problem:
    return Problem("invalid", errors=[("query.cursor", "This is no cursor of this list.")])
