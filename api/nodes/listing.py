"""List nodes. Lists for readers use the public pages' selectors. Lists for editors use the admin's selectors."""

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
from nodes.content.messages import unknown_type
from nodes.models import BaseNode, tree
from nodes.models.tree import SectionEntry
from nodes.selectors import by_hand, lists, search, stored_nodes
from reader.selectors import bylines, dates, faceted_lists

DEFAULT_LIMIT, MAX_LIMIT = 20, 100
STATE_PATTERN = f"^({'|'.join((lists.ANY, *lists.STATES))})?$"
# Mutually exclusive filters. A public list accepts only one of them.
EXCLUSIVE = ("section", "tag", "author", "type", "q")


class Filters(Shape):
    """Options that filter a list, and that determine how its nodes are represented."""

    section: Id | None = Field(None, description="Nodes in this section.")
    type: str = Field("", max_length=50, description="Nodes of this type.", examples=["blog-entry"])
    tag: str = Field("", max_length=100, description="Nodes with this tag.")
    author: str = Field("", max_length=200, description="Nodes whose author has this name.")
    q: str = Field(
        "", max_length=200, description="Nodes that contain all of these words: at most 100, best matches first."
    )
    facet: list[str] = Field(
        [], max_length=10, description="Facet values, such as `course=dessert`.", examples=[["course=dessert"]]
    )
    state: str = Field(
        "",
        pattern=STATE_PATTERN,
        description=f"A state, as in the admin: `{'`, `'.join((lists.ANY, *lists.STATES))}`.",
    )
    cursor: str = Field("", max_length=300, description="`next` from the previous page.")
    limit: int = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, description="Nodes per page.")
    fields: Fields = ""
    include: Include = ""


@dataclass(frozen=True)
class NodePage:
    """A page of a list, and the cursor for the next page. On the last page, the cursor is None or ""."""

    nodes: Sequence[BaseNode]
    following: str | None


def list_public(filters: Filters) -> NodePage:
    """Return a page of public nodes that match the filters.

    Raises:
        Problem: 422 if the filters can't be combined, or if the cursor is not valid.
    """
    used = [name for name in EXCLUSIVE if getattr(filters, name)]
    if "section" in used and used != ["section"] and not (used == ["section", "type"] and filters.facet):
        raise _incompatible(used)
    if "section" not in used and (len(used) > 1 or filters.facet):
        raise _incompatible([*used, *(["facet"] if filters.facet else [])])
    try:
        return _list_section(filters) if filters.section else _list_site(filters)
    except ValueError:
        raise _invalid_cursor() from None
    except search.SearchTimeout:
        raise Problem(
            "unavailable", "The search took too long. Try different or fewer words.", headers={"Retry-After": "1"}
        ) from None


def _list_site(filters: Filters) -> NodePage:
    sections = tree.current()
    moment = now()
    paging: dict[str, Any] = {"size": filters.limit, "cursor": filters.cursor or None}
    if filters.q:
        return _search(filters)
    if filters.tag:
        results = stored_nodes.tagged(sections, filters.tag, moment, **paging)
    elif filters.author:
        names = bylines.names([slugify(filters.author)], moment)
        results = bylines.posts(sections, names, moment, **paging)
    elif filters.type:
        results = stored_nodes.nodes_of_type(sections, _check_type(filters.type), moment, **paging)
    else:
        results = stored_nodes.newest_entries(sections, moment, **paging)
    return NodePage(results.nodes, results.older)


def _search(filters: Filters) -> NodePage:
    page = int(filters.cursor or 1)
    if not 1 <= page <= search.MOST:
        raise ValueError(filters.cursor)
    results = search.search(tree.current(), filters.q, now(), page=page, size=filters.limit)
    has_more = results.total > page * filters.limit
    return NodePage([hit.node for hit in results.hits], str(page + 1) if has_more else None)


def count_facets(filters: Filters) -> dict[str, dict[str, int]]:
    """For each value of each facet, return how many nodes in the section have this value.

    The facets selected in `filters` limit the counts of the other facets.

    Raises:
        Problem: 404 if there is no such section, 422 if the filters are not valid.
    """
    section = _get_section(filters)
    facet_filters = _facet_filters(filters, section)
    types = [type.type_name for type in registry.listed_by_facets(section.type) if filters.type in ("", type.type_name)]
    if not types:
        return {}
    pairs = [(name, value) for _type, name, value in facet_filters]
    return faceted_lists.count_values(section.id, facet_filters[0][0] if facet_filters else types[0], pairs, now())


def _get_section(filters: Filters) -> SectionEntry:
    section = tree.current().sections.get(ObjectId(filters.section))
    if section is None or not tree.current().is_live(section.id, now()):
        raise Problem("not-found", "This section doesn't exist.")
    return section


def _list_section(filters: Filters) -> NodePage:
    section = _get_section(filters)
    moment = now()
    size = filters.limit
    cursor = filters.cursor
    lists_by = content.get(section.type).lists
    if lists_by == content.UPCOMING:
        facet_filters = _facet_filters(filters, section)
        by_date = dates.by_date(section.id, section.type, facet_filters, moment, size=size, cursor=cursor or None)
        return NodePage(by_date.nodes, by_date.older if by_date.is_past else by_date.newer)
    if lists_by == content.NEWEST and filters.facet:
        facet_filters = _facet_filters(filters, section)
        pairs = [(name, value) for _type, name, value in facet_filters]
        results = faceted_lists.filtered(
            section.id, facet_filters[0][0], pairs, moment, size=size, cursor=cursor or None
        )
        return NodePage(results.nodes, results.older)
    if filters.facet:
        raise _incompatible(["section", "facet"])
    if tree.current().is_by_hand(section.id):
        nodes, next_cursor = by_hand.page(section.id, moment, size=size, cursor=cursor)
        return NodePage(nodes, next_cursor)
    if lists_by == content.BY_NAME:
        pages = stored_nodes.pages_of(section.id, moment, after=cursor, limit=size + 1)
        return NodePage(pages[:size], pages[size - 1].metadata.slug if len(pages) > size else None)
    selector = stored_nodes.photos_of if lists_by == content.PHOTOS else stored_nodes.entries
    results = selector(section.id, moment, size=size, cursor=cursor or None)
    return NodePage(results.nodes, results.older)


def _facet_filters(filters: Filters, section: SectionEntry) -> list[tuple[str, str, str]]:
    """Return (type, name, value) for each facet in the filters.

    The type is the first of the section's content types that has all these facets.

    Raises:
        Problem: 422 if no type has all these facets.
    """
    pairs = []
    for text in filters.facet:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise Problem("invalid", errors=[("query.facet", "Write a facet as name=value.")])
        pairs.append((name, facets.normalize(value)))
    if not pairs:
        return []
    names = {name for name, _value in pairs}
    types = [type for type in registry.listed_by_facets(section.type) if filters.type in ("", type.type_name)]
    type_name = next((type.type_name for type in types if names <= set(type.facets)), None)
    if type_name is None:
        raise Problem("invalid", errors=[("query.facet", "The pages of this section don't have this facet.")])
    return [(type_name, name, value) for name, value in pairs]


def list_for_editors(principal: Principal, filters: Filters) -> NodePage:
    """Return a page of the admin's list. You can combine all filters except `author` and `facet`.

    Raises:
        Problem: 403 if the principal can't list nodes, 422 if a filter is not valid.
    """
    is_photo_list = bool(filters.type) and content.get(filters.type).is_file
    if not (access.may_see_photos(principal) if is_photo_list else access.may_list(principal)):
        raise Problem("forbidden", "Filtering by state needs the scope “read” and an account that can list pages.")
    if filters.author or filters.facet:
        raise _incompatible(["state", *(name for name in ("author", "facet") if getattr(filters, name))])
    editor_filters = lists.Filters(
        section=ObjectId(filters.section) if filters.section else lists.ANY,
        type=_check_type(filters.type) if filters.type else "",
        tag=filters.tag,
        state="" if filters.state == lists.ANY else filters.state,
        author=lists.ANY if is_photo_list or access.sees_all(principal) else principal.pk,
        search=filters.q,
    )
    collection = home_of(filters.type) if filters.type else lists.NODES
    try:
        page = lists.page(editor_filters, now(), cursor=filters.cursor, size=filters.limit, collection=collection)
    except ValueError:
        raise _invalid_cursor() from None
    return NodePage([row.node for row in page.rows], page.older)


def _check_type(type: str) -> str:
    if not content.get(type).is_installed:
        raise Problem("invalid", errors=[("query.type", unknown_type(type))])
    return type


def _incompatible(names: Sequence[str]) -> Problem:
    return Problem("invalid", errors=[(f"query.{name}", "These filters can't be combined.") for name in names])


def _invalid_cursor() -> Problem:
    return Problem("invalid", errors=[("query.cursor", "This cursor is not valid for this list.")])
