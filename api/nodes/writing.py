"""Endpoints that change nodes. They follow the same rules as the corresponding operations in the admin."""

from collections.abc import Callable
from functools import partial
from typing import Any

from bson import ObjectId
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Body, Query

from api.http import responses
from api.http.idempotency import KEY_PARAMETER, run_once
from api.http.responses import IF_MATCH
from api.nodes import operations, reading
from api.nodes.operations import WriteContext
from api.refusals import as_problems
from api.rights import principals
from api.rights.principals import ACCOUNTS, Principal
from api.rights.scopes import Scope
from api.schemas.shapes import DRAFT, LIVE, Id, Node
from api.schemas.writing import At, ChangeOptions, NewNode, NodeChange, Place, Stale, TagsChange, VersionOptions
from nodes.selectors import stored_assets

# ninja requires that all operations on a URL belong to the same router.
router = reading.router

REPEATABLE: dict[str, Any] = {"parameters": [KEY_PARAMETER]}
VERSIONED: dict[str, Any] = {"parameters": [IF_MATCH, KEY_PARAMETER]}
# Options for endpoints that change one version of a node and return the new version.
CHANGES: dict[str, Any] = {"auth": ACCOUNTS, "response": {200: Node, 412: Stale}, "openapi_extra": VERSIONED}


def writer(request: HttpRequest) -> Principal:
    """Return the principal of a request.

    Raises:
        Problem: 403 if a token has neither the “publish” scope nor the “write” scope.
    """
    principal = principals.current(request)
    return principal if principal.has_scope(Scope.PUBLISH) else principals.require_scope(request, Scope.WRITE)


@router.post(
    "/nodes",
    auth=ACCOUNTS,
    response={201: Node},
    operation_id="nodes_create",
    url_name="api-nodes",
    summary="Create a node",
    openapi_extra=REPEATABLE,
)
def create(request: HttpRequest, data: Body[NewNode]) -> HttpResponse:
    """Create a page, post or section of any installed type."""
    principal = writer(request)

    def work(request_id: ObjectId | None) -> HttpResponse:
        with as_problems():
            node_id = operations.create(principal, request_id, data.model_dump(exclude_unset=True))
        response = _node_response(request, node_id, status=201)
        response["Location"] = f"{request.path}/{node_id}"
        return response

    return run_once(request, work)


@router.patch("/nodes/{node_id}", **CHANGES, operation_id="nodes_change", url_name="api-node", summary="Change a node")
def change(request: HttpRequest, node_id: Id, options: Query[ChangeOptions], data: Body[NodeChange]) -> HttpResponse:
    """Change fields with a JSON Merge Patch (RFC 7396).

    If the stored version is not the one in If-Match, the response is 412 and contains a merge of the two versions.
    """
    work = partial(operations.change, data=data.model_dump(exclude_unset=True))
    return _write(request, node_id, work, version=options.version, merges=options.merge)


@router.post(
    "/nodes/{node_id}/publish",
    **CHANGES,
    operation_id="nodes_publish",
    url_name="api-publish",
    summary="Publish a node",
)
def publish(request: HttpRequest, node_id: Id, options: Query[VersionOptions]) -> HttpResponse:
    """Publish a node now.

    If you send `version=draft`, the changes in the node's draft are merged with later changes to the live version, and
    then published.
    """
    return _write(request, node_id, operations.publish, version=options.version, returned=LIVE)


@router.post(
    "/nodes/{node_id}/unpublish",
    **CHANGES,
    operation_id="nodes_unpublish",
    url_name="api-unpublish",
    summary="Unpublish a node",
)
def unpublish(request: HttpRequest, node_id: Id) -> HttpResponse:
    """Unpublish a node, or cancel its scheduled publication."""
    return _write(request, node_id, operations.unpublish)


@router.post(
    "/nodes/{node_id}/schedule",
    **CHANGES,
    operation_id="nodes_schedule",
    url_name="api-schedule",
    summary="Schedule a node",
)
def schedule(request: HttpRequest, node_id: Id, options: Query[VersionOptions], data: Body[At]) -> HttpResponse:
    """Publish a node at a time in the future.

    If you send `version=draft`, the changes in a public node's draft are published at this time.
    """
    return _write(request, node_id, partial(operations.schedule, at=data.at), version=options.version)


@router.post(
    "/nodes/{node_id}/unschedule",
    **CHANGES,
    operation_id="nodes_unschedule",
    url_name="api-unschedule",
    summary="Cancel the schedule of a draft",
)
def unschedule(request: HttpRequest, node_id: Id) -> HttpResponse:
    """Convert scheduled changes to an ordinary draft. Send the draft's ETag in If-Match."""
    return _write(request, node_id, operations.unschedule, version=DRAFT)


@router.delete(
    "/nodes/{node_id}/draft",
    **CHANGES,
    operation_id="nodes_discard_draft",
    url_name="api-draft",
    summary="Discard a draft",
)
def discard(request: HttpRequest, node_id: Id) -> HttpResponse:
    """Delete a node's draft. The live version does not change. Send the draft's ETag in If-Match."""
    return _write(request, node_id, operations.discard, version=DRAFT, returned=LIVE)


@router.post(
    "/nodes/{node_id}/move", **CHANGES, operation_id="nodes_move", url_name="api-move", summary="Move or rename a node"
)
def move(request: HttpRequest, node_id: Id, data: Body[Place]) -> HttpResponse:
    """Move a node to another section, change its slug, or both. The old URL redirects to the new one."""
    return _write(request, node_id, partial(operations.move, data=data.model_dump(exclude_unset=True)))


@router.post(
    "/nodes/{node_id}/tags",
    auth=ACCOUNTS,
    response=Node,
    operation_id="nodes_change_tags",
    url_name="api-node-tags",
    summary="Add and remove tags",
    openapi_extra=REPEATABLE,
)
def tag(request: HttpRequest, node_id: Id, data: Body[TagsChange]) -> HttpResponse:
    """Add and remove tags. You don't have to send If-Match, because tag changes never conflict."""
    principal = writer(request)
    key = ObjectId(node_id)

    def work(request_id: ObjectId | None) -> HttpResponse:
        with as_problems():
            operations.tag(principal, key, data.add, data.remove)
        return _node_response(request, key)

    return run_once(request, work)


@router.post(
    "/nodes/{node_id}/trash",
    auth=ACCOUNTS,
    response={204: None, 412: Stale},
    operation_id="nodes_trash",
    url_name="api-trash",
    summary="Move a node to the trash",
    openapi_extra=VERSIONED,
)
def throw_away(request: HttpRequest, node_id: Id) -> HttpResponse:
    """Move a node and everything in it to the trash.

    The node's version doesn't change. To restore the node, you need the ETag of this version.
    """
    return _write(request, node_id, operations.move_to_trash, has_no_content=True)


@router.post(
    "/nodes/{node_id}/restore",
    **CHANGES,
    operation_id="nodes_restore",
    url_name="api-restore",
    summary="Restore a node from the trash",
)
def restore(request: HttpRequest, node_id: Id, data: Body[Place | None] = None) -> HttpResponse:
    """Restore a node from the trash, to its previous location or to a different one."""
    place = data.model_dump(exclude_unset=True) if data else {}
    return _write(request, node_id, partial(operations.restore, data=place))


def _write(
    request: HttpRequest,
    node_id: str,
    work: Callable[[WriteContext, ObjectId], None],
    *,
    version: str = LIVE,
    returned: str = "",
    merges: bool = False,
    has_no_content: bool = False,
) -> HttpResponse:
    """Change the version that If-Match identifies, and return the response for the new version.

    Args:
        request: The request.
        node_id: The id of the node.
        work: The function that makes the change.
        version: The version to change, live or draft.
        returned: The version to return. By default, this is the changed version.
        merges: Whether to merge the change with changes that others have saved since that version.
        has_no_content: Whether to return 204 without a body.
    """
    principal = writer(request)
    key = ObjectId(node_id)

    def once_only(request_id: ObjectId | None) -> HttpResponse:
        with as_problems():
            work(WriteContext(principal, responses.if_match_nonce(request), request_id, merges, version == DRAFT), key)
        return HttpResponse(status=204) if has_no_content else _node_response(request, key, version=returned or version)

    return run_once(request, once_only)


def _node_response(request: HttpRequest, node_id: ObjectId, *, version: str = LIVE, status: int = 200) -> HttpResponse:
    editable = reading.load_editable(principals.current(request), node_id)
    node = editable.node if editable else stored_assets.get(node_id)
    if node is None:
        raise Http404
    response = reading.node_response(request, node, reading.NodeOptions(version=version), editable)
    response.status_code = status
    return response
