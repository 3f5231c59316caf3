"""Changing nodes: one operation for each thing that editors do, by the rules of the admin (operations.py)."""

from collections.abc import Callable
from functools import partial
from typing import Any

from bson import ObjectId
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Body, Query

from api.http import answers
from api.http.answers import IF_MATCH
from api.http.once import KEY, once
from api.nodes import operations, reading
from api.nodes.operations import Asked, refused
from api.rights import principals
from api.rights.principals import ACCOUNTS, Principal
from api.rights.scopes import Scope
from api.schemas.shapes import DRAFT, LIVE, Id, Node
from api.schemas.writing import At, NewNode, NodeChange, Place, Stale, TagsChange, Version, Writing
from nodes.selectors import stored_photos

# Operations of one address stand in one router.
router = reading.router

ONCE: dict[str, Any] = {"parameters": [KEY]}
ON_VERSION: dict[str, Any] = {"parameters": [IF_MATCH, KEY]}
CHANGED = {200: Node, 412: Stale}


def writer(request: HttpRequest) -> Principal:
    """Return who asks to write. Raises Problem (403) where a token has neither the scope “publish” nor “write”."""
    principal = principals.of(request)
    return principal if principal.has_scope(Scope.PUBLISH) else principals.having(request, Scope.WRITE)


@router.post(
    "/nodes", auth=ACCOUNTS, response={201: Node}, url_name="api-nodes", summary="Create a node", openapi_extra=ONCE
)
def create(request: HttpRequest, said: Body[NewNode]) -> HttpResponse:
    """Make a page, a post or a section of any type that is installed."""
    principal = writer(request)

    def work(form: ObjectId | None) -> HttpResponse:
        with refused():
            node_id = operations.create(principal, form, said.model_dump(exclude_unset=True))
        response = _answer(request, node_id, status=201)
        response["Location"] = f"{request.path}/{node_id}"
        return response

    return once(request, work)


@router.patch(
    "/nodes/{node_id}",
    auth=ACCOUNTS,
    response=CHANGED,
    url_name="api-node",
    summary="Change a node",
    openapi_extra=ON_VERSION,
)
def change(request: HttpRequest, node_id: Id, how: Query[Writing], said: Body[NodeChange]) -> HttpResponse:
    """Change fields, as a JSON Merge Patch (RFC 7396). On another version than is stored: 412 with both sides merged."""
    work = partial(operations.change, said=said.model_dump(exclude_unset=True))
    return _written(request, node_id, work, version=how.version, merges=how.merge)


@router.post(
    "/nodes/{node_id}/publish", auth=ACCOUNTS, response=CHANGED, url_name="api-publish", summary="Publish a node",
    openapi_extra=ON_VERSION,
)  # fmt: skip
def publish(request: HttpRequest, node_id: Id, how: Query[Version]) -> HttpResponse:
    """Make a node public now; with `version=draft` what its draft changes, merged with what was saved live since."""
    return _written(request, node_id, operations.publish, version=how.version, shown=LIVE)


@router.post(
    "/nodes/{node_id}/unpublish", auth=ACCOUNTS, response=CHANGED, url_name="api-unpublish", summary="Unpublish a node",
    openapi_extra=ON_VERSION,
)  # fmt: skip
def unpublish(request: HttpRequest, node_id: Id) -> HttpResponse:
    """Take a node from the public, or keep it from appearing."""
    return _written(request, node_id, operations.unpublish)


@router.post(
    "/nodes/{node_id}/schedule", auth=ACCOUNTS, response=CHANGED, url_name="api-schedule", summary="Schedule a node",
    openapi_extra=ON_VERSION,
)  # fmt: skip
def schedule(request: HttpRequest, node_id: Id, how: Query[Version], said: Body[At]) -> HttpResponse:
    """Have a node appear at a time ahead; with `version=draft`, of a public one, what its draft changes."""
    return _written(request, node_id, partial(operations.schedule, at=said.at), version=how.version)


@router.post(
    "/nodes/{node_id}/unschedule", auth=ACCOUNTS, response=CHANGED, url_name="api-unschedule",
    summary="Cancel the schedule of a draft", openapi_extra=ON_VERSION,
)  # fmt: skip
def unschedule(request: HttpRequest, node_id: Id) -> HttpResponse:
    """Keep changes that are scheduled as a mere draft. If-Match is of the draft."""
    return _written(request, node_id, operations.unschedule, version=DRAFT)


@router.delete(
    "/nodes/{node_id}/draft", auth=ACCOUNTS, response=CHANGED, url_name="api-draft", summary="Discard a draft",
    openapi_extra=ON_VERSION,
)  # fmt: skip
def discard(request: HttpRequest, node_id: Id) -> HttpResponse:
    """Remove the draft beside a node, which stays as readers see it. If-Match is of the draft."""
    return _written(request, node_id, operations.discard, version=DRAFT, shown=LIVE)


@router.post(
    "/nodes/{node_id}/move", auth=ACCOUNTS, response=CHANGED, url_name="api-move", summary="Move or rename a node",
    openapi_extra=ON_VERSION,
)  # fmt: skip
def move(request: HttpRequest, node_id: Id, said: Body[Place]) -> HttpResponse:
    """Put a node into another section, under another slug, or both. Its old address leads to the new one."""
    return _written(request, node_id, partial(operations.move, said=said.model_dump(exclude_unset=True)))


@router.post(
    "/nodes/{node_id}/tags", auth=ACCOUNTS, response=Node, url_name="api-node-tags", summary="Add and remove tags",
    openapi_extra=ONCE,
)  # fmt: skip
def tag(request: HttpRequest, node_id: Id, said: Body[TagsChange]) -> HttpResponse:
    """Add and remove tags. Without If-Match: tags of several writers never conflict."""
    principal = writer(request)
    key = ObjectId(node_id)

    def work(form: ObjectId | None) -> HttpResponse:
        with refused():
            operations.tag(principal, key, said.add, said.remove)
        return _answer(request, key)

    return once(request, work)


@router.post(
    "/nodes/{node_id}/trash", auth=ACCOUNTS, response={204: None, 412: Stale}, url_name="api-trash",
    summary="Move a node to the trash", openapi_extra=ON_VERSION,
)  # fmt: skip
def throw_away(request: HttpRequest, node_id: Id) -> HttpResponse:
    """Move a node to the trash, with what stands in it. It keeps its version, which restoring it names."""
    return _written(request, node_id, operations.throw_away, is_gone=True)


@router.post(
    "/nodes/{node_id}/restore", auth=ACCOUNTS, response=CHANGED, url_name="api-restore",
    summary="Restore a node from the trash", openapi_extra=ON_VERSION,
)  # fmt: skip
def restore(request: HttpRequest, node_id: Id, said: Body[Place | None] = None) -> HttpResponse:
    """Put a node back to where it stood, or to another place."""
    place = said.model_dump(exclude_unset=True) if said else {}
    return _written(request, node_id, partial(operations.restore, said=place))


def _written(
    request: HttpRequest,
    node_id: str,
    work: Callable[[Asked, ObjectId], None],
    *,
    version: str = LIVE,
    shown: str = "",
    merges: bool = False,
    is_gone: bool = False,
) -> HttpResponse:
    """Do what was asked for, on the version that If-Match names; answer the node as it is then. `shown`: which version, if not
    that which was changed."""
    principal = writer(request)
    key = ObjectId(node_id)

    def once_only(form: ObjectId | None) -> HttpResponse:
        with refused():
            work(Asked(principal, answers.expected(request), form, merges, version == DRAFT), key)
        return HttpResponse(status=204) if is_gone else _answer(request, key, version=shown or version)

    return once(request, once_only)


def _answer(request: HttpRequest, node_id: ObjectId, *, version: str = LIVE, status: int = 200) -> HttpResponse:
    known = reading.editable(principals.of(request), node_id)
    found = known.node if known else stored_photos.get(node_id)
    if found is None:
        raise Http404
    response = reading.answer(request, found, reading.Shown(version=version), known)
    response.status_code = status
    return response
