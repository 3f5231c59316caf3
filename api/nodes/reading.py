"""Reading nodes: what readers see and, by a token or a session, what its owner sees in the admin."""

from typing import Annotated
from urllib.parse import unquote, urlencode

from bson import ObjectId
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Query
from pydantic import Field

from api.http import answers
from api.http.routing import Router
from api.nodes import presenting
from api.nodes.listing import Filters, Found, counted, listed, of_editors
from api.problems import Problem
from api.rights import principals
from api.rights.principals import Principal
from api.schemas.shapes import (
    DETAIL,
    DRAFT,
    FIELDS,
    INCLUDED,
    LIVE,
    Fields,
    Id,
    Include,
    Node,
    Page,
    Shape,
    VersionName,
)
from marginalia.mongo.clock import now
from nodes import access
from nodes.access import Action
from nodes.models import BaseNode, Photo, tree
from nodes.selectors import editable_nodes, stored_nodes, stored_photos
from nodes.selectors.editable_nodes import Editable

router = Router(tags=["Nodes"])


class Shown(Shape):
    """How a node is answered."""

    fields: Fields = ""
    include: Include = ""
    version: Annotated[VersionName, Field(description="`draft`: as it would be if its draft were out.")] = LIVE


@router.get("/nodes", url_name="api-nodes", response=Page, summary="List nodes")
def nodes(request: HttpRequest, filters: Query[Filters]) -> HttpResponse:
    """List nodes, the newest first; a section in its own order. Without filters: the posts of all sections.

    One of `section`, `tag`, `author`, `type` and `q` narrows the list, `facet` and `type` a section's further. With `state`,
    which needs a token with the scope “read” or a session, the list is that of the admin, and all filters go together.
    """
    found = of_editors(principals.of(request), filters) if filters.state else listed(filters)
    return _page(request, filters, found)


class Facet(Shape):
    """A value of a facet, and how many nodes have it besides what was asked for. `facet`: what asks for it, too."""

    name: str
    value: str
    count: int
    facet: str


class Facets(Shape):
    """The values of facets in a section: of each facet the 20 that the most nodes have."""

    items: list[Facet]


class OfSection(Shape):
    """Which section, and what its list is narrowed to."""

    section: Id
    type: str = Field("", max_length=50, description="Of which type, where several have facets.")
    facet: list[str] = Field([], max_length=10, description="Values of facets: `course=dessert`.")


@router.get("/nodes/facets", url_name="api-facets", response=Facets, summary="Count values of facets")
def facets(request: HttpRequest, asked: Query[OfSection]) -> HttpResponse:
    """Count by what the list of a section, `/nodes?section=`, can be narrowed, further than it is."""
    found = counted(Filters.model_validate(asked.model_dump()))
    items = [
        {"name": name, "value": value, "count": count, "facet": f"{name}={value}"}
        for name, values in found.items()
        for value, count in values.items()
    ]
    return answers.told(request, {"items": items})


@router.get(
    "/nodes/by-path", url_name="api-node-by-path", response={200: Node, 308: None}, summary="Find a node by its path"
)
def by_path(
    request: HttpRequest,
    path: Annotated[str, Query(max_length=2_000, examples=["/essays/on-lists"])],
    shown: Query[Shown],
) -> HttpResponse:
    """Answer the node at an address of the site; 308 to the present address of one that has moved."""
    # `path` of an answer has letters of other scripts as addresses have them.
    place = unquote(path).strip("/")
    moment = now()
    sections = tree.current()
    found = stored_nodes.resolve(sections, place, moment) if place else stored_nodes.front_page(sections, moment)
    if found is None:
        raise Http404
    if unquote(found.get_absolute_url()).strip("/") != place:
        asked = {**request.GET.dict(), "path": found.get_absolute_url()}
        return HttpResponse(status=308, headers={"Location": f"{request.path}?{urlencode(asked)}"})
    return answer(request, found, shown, editable(principals.of(request), found.pk))


@router.get("/nodes/{node_id}", url_name="api-node", response=Node, summary="Read a node")
def node(request: HttpRequest, node_id: Id, shown: Query[Shown]) -> HttpResponse:
    """Answer a page, a post, a section or a photo. Its ETag is `"nonce.hash"`: what If-Match takes for a change."""
    principal = principals.of(request)
    key = ObjectId(node_id)
    if (known := editable(principal, key)) is not None:
        return answer(request, known.node, shown, known)
    found: BaseNode | None = stored_nodes.live_by_id(tree.current(), key, now())
    if found is None:
        photo = stored_photos.get(key) if access.may_see_photos(principal) else None
        found = photo if photo and access.allowed(principal, photo, Action.VIEW) else None
    if found is None:
        raise Http404
    return answer(request, found, shown, None)


def editable(principal: Principal, node_id: ObjectId) -> Editable | None:
    """Return a node as its editors know it; None for who is no editor of it."""
    found = editable_nodes.load(node_id) if access.may_list(principal) else None
    return found if found and access.allowed(principal, found.node, Action.VIEW) else None


def answer(request: HttpRequest, found: BaseNode, shown: Shown, known: Editable | None) -> HttpResponse:
    """Answer a node. `known`: as its editors know it, for who is one. Raises Problem: 422, or 404 where there is no draft."""
    picked = presenting.asked(shown.fields, FIELDS, "fields")
    include = presenting.asked(shown.include, INCLUDED, "include") | {DETAIL} | picked & INCLUDED
    if shown.version == DRAFT:
        if known is None or known.draft is None:
            raise Problem("not-found", "There is no draft, or you may not see it.")
        found = known.drafted()
    said = presenting.node(request, found, include=include, picked=picked, draft=known)
    return answers.told(request, said, nonce=found.metadata.nonce)


def _page(request: HttpRequest, filters: Filters, found: Found) -> HttpResponse:
    picked = presenting.asked(filters.fields, FIELDS, "fields")
    include = presenting.asked(filters.include, INCLUDED, "include") | picked & INCLUDED
    shown = found.nodes
    if include:
        ids = [one.pk for one in shown if not isinstance(one, Photo)]
        whole = {one.pk: one for one in stored_nodes.whole_by_ids(ids, now(), as_stored=bool(filters.state))}
        shown = [whole.get(one.pk, one) for one in shown]
    items = [presenting.node(request, one, include=include, picked=picked) for one in shown]
    return answers.page(request, items, found.following)
