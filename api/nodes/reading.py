"""Endpoints that read nodes.

These endpoints return public content. If a request has a token or a session, they return everything that the account
can see in the admin.
"""

from typing import Annotated
from urllib.parse import unquote, urlencode

from bson import ObjectId
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Query
from pydantic import Field

from api.http import responses
from api.http.routing import Router
from api.nodes import presenting
from api.nodes.listing import Filters, NodePage, count_facets, list_for_editors, list_public
from api.problems import Problem
from api.rights import principals
from api.rights.principals import Principal
from api.schemas.computed import compute
from api.schemas.shapes import (
    COMPUTED,
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
from nodes.access import NodePermission
from nodes.models import BaseNode, tree
from nodes.selectors import editable_nodes, stored_assets, stored_nodes
from nodes.selectors.editable_nodes import Editable

router = Router(tags=["Nodes"])


class NodeOptions(Shape):
    """Options that determine how a node is represented."""

    fields: Fields = ""
    include: Include = ""
    version: Annotated[VersionName, Field(description="`draft`: the node with its draft's changes.")] = LIVE


@router.get("/nodes", operation_id="nodes_list", url_name="api-nodes", response=Page, summary="List nodes")
def nodes(request: HttpRequest, filters: Query[Filters]) -> HttpResponse:
    """List nodes, newest first or in the section's order. Without filters, list the posts in all sections.

    Use only one of `section`, `tag`, `author`, `type` and `q`. You can combine `section` with `facet` and `type`. If
    you send `state`, you get the same list as in the admin, and you can combine `section`, `tag`, `type` and `q`. To
    use `state`, you need a session or a token with the scope “read”.
    """
    page = list_for_editors(principals.current(request), filters) if filters.state else list_public(filters)
    return _list_response(request, filters, page)


class Facet(Shape):
    """A value of a facet.

    `count` is the number of nodes that have this value and match the filters. To filter a list by this value, use
    `facet` as the value of the `facet` parameter.
    """

    name: str
    value: str
    count: int
    facet: str


class Facets(Shape):
    """The facet values in a section. For each facet, only the 20 values with the most nodes are returned."""

    items: list[Facet]


class FacetFilters(Shape):
    """A section, and filters for its list."""

    section: Id
    type: str = Field("", max_length=50, description="The content type, if several types have facets.")
    facet: list[str] = Field([], max_length=10, description="Facet values, such as `course=dessert`.")


@router.get(
    "/nodes/facets",
    operation_id="nodes_count_facets",
    url_name="api-facets",
    response=Facets,
    summary="Count facet values",
)
def facets(request: HttpRequest, filters: Query[FacetFilters]) -> HttpResponse:
    """Return the facet values by which you can filter `/nodes?section=`, and how many nodes have each value."""
    facet_counts = count_facets(Filters.model_validate(filters.model_dump()))
    items = [
        {"name": name, "value": value, "count": count, "facet": f"{name}={value}"}
        for name, values in facet_counts.items()
        for value, count in values.items()
    ]
    return responses.json_response(request, {"items": items})


@router.get(
    "/nodes/by-path",
    operation_id="nodes_get_by_path",
    url_name="api-node-by-path",
    response={200: Node, 308: None},
    summary="Find a node by its path",
)
def by_path(
    request: HttpRequest,
    path: Annotated[str, Query(max_length=2_000, examples=["/essays/on-lists"])],
    options: Query[NodeOptions],
) -> HttpResponse:
    """Return the node at a path on the site.

    If the node has moved, the response is 308 and contains the current path.
    """
    # Decode the path, because clients can send a `path` from a response, in which non-ASCII letters are
    # percent-encoded.
    wanted_path = unquote(path).strip("/")
    moment = now()
    sections = tree.current()
    node = (
        stored_nodes.resolve(sections, wanted_path, moment)
        if wanted_path
        else stored_nodes.front_page(sections, moment)
    )
    if node is None:
        raise Http404
    if unquote(node.get_absolute_url()).strip("/") != wanted_path:
        query = {**request.GET.dict(), "path": node.get_absolute_url()}
        return HttpResponse(status=308, headers={"Location": f"{request.path}?{urlencode(query)}"})
    return node_response(request, node, options, load_editable(principals.current(request), node.pk))


@router.get("/nodes/{node_id}", operation_id="nodes_get", url_name="api-node", response=Node, summary="Read a node")
def node(request: HttpRequest, node_id: Id, options: Query[NodeOptions]) -> HttpResponse:
    """Return a page, a post, a section or a photo.

    The ETag is `"nonce.hash"`. Send it in If-Match to change the node.
    """
    principal = principals.current(request)
    key = ObjectId(node_id)
    if (editable := load_editable(principal, key)) is not None:
        return node_response(request, editable.node, options, editable)
    node: BaseNode | None = stored_nodes.live_by_id(tree.current(), key, now())
    if node is None:
        asset = stored_assets.get(key) if access.may_see_photos(principal) else None
        node = asset if asset and access.allowed(principal, asset, NodePermission.VIEW) else None
    if node is None:
        raise Http404
    return node_response(request, node, options, None)


def load_editable(principal: Principal, node_id: ObjectId) -> Editable | None:
    """Return a node with the data that editors see, or None if the principal can't view the node in the admin."""
    editable = editable_nodes.load(node_id) if access.may_list(principal) else None
    return editable if editable and access.allowed(principal, editable.node, NodePermission.VIEW) else None


def node_response(
    request: HttpRequest, node: BaseNode, options: NodeOptions, editable: Editable | None
) -> HttpResponse:
    """Return the response for a node.

    Args:
        request: The request.
        node: The node.
        options: Options that determine how the node is represented.
        editable: The node with the data that editors see, if the principal can view the node in the admin.

    Raises:
        Problem: 422 if an option is not valid, 404 if the requested draft does not exist.
    """
    picked = presenting.parse_names(options.fields, FIELDS, "fields")
    include = presenting.parse_names(options.include, INCLUDED, "include") | picked & INCLUDED
    include |= {DETAIL} if picked else {DETAIL, COMPUTED}
    if options.version == DRAFT:
        if editable is None or editable.draft is None:
            raise Problem("not-found", "This draft doesn't exist, or you don't have permission to view it.")
        node = editable.drafted()
    values = compute([node]) if COMPUTED in include else {}
    data = presenting.serialize_node(
        request, node, include=include, picked=picked, draft=editable, computed=values.get(node.pk)
    )
    return responses.json_response(request, data, nonce=node.metadata.nonce)


def _list_response(request: HttpRequest, filters: Filters, page: NodePage) -> HttpResponse:
    picked = presenting.parse_names(filters.fields, FIELDS, "fields")
    include = presenting.parse_names(filters.include, INCLUDED, "include") | picked & INCLUDED
    nodes = page.nodes
    if include:
        ids = [node.pk for node in nodes if not node.content_type.is_file]
        complete = {node.pk: node for node in stored_nodes.whole_by_ids(ids, now(), as_stored=bool(filters.state))}
        nodes = [complete.get(node.pk, node) for node in nodes]
    values = compute(nodes) if COMPUTED in include else {}
    items = [
        presenting.serialize_node(request, node, include=include, picked=picked, computed=values.get(node.pk))
        for node in nodes
    ]
    return responses.list_response(request, items, page.following)
