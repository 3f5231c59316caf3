"""The endpoint for many independent changes in one request. If a change fails, the other changes are still made."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from bson import ObjectId
from django.http import HttpRequest, HttpResponse
from ninja import Body
from pydantic import Field, StrictBool, TypeAdapter, ValidationError

from api import problems
from api.http import responses
from api.http.idempotency import derive_id, run_once
from api.nodes import operations
from api.nodes.operations import WriteContext
from api.nodes.writing import REPEATABLE, router, writer
from api.problems import Problem
from api.refusals import as_problems
from api.rights import limits
from api.rights.principals import ACCOUNTS, Principal
from api.schemas.shapes import DRAFT, LIVE, Id, Shape, VersionName
from api.schemas.writing import At, NewNode, NodeChange, Place, TagsChange
from nodes.selectors import editable_nodes, stored_assets

MAX_OPERATIONS = 100
# The body's schema for each operation that has a body.
BODIES: dict[str, type[Shape]] = {
    "create": NewNode,
    "change": NodeChange,
    "schedule": At,
    "move": Place,
    "restore": Place,
    "tag": TagsChange,
}
# Operations on a version of a node, keyed by name. If an operation has a body, the body is passed as `data`.
VERSIONED: dict[str, Callable[..., None]] = {
    "change": operations.change,
    "publish": operations.publish,
    "unpublish": operations.unpublish,
    "unschedule": operations.unschedule,
    "discard": operations.discard,
    "move": operations.move,
    "trash": operations.move_to_trash,
    "restore": operations.restore,
}
ONLY_DRAFTS = ("unschedule", "discard")
# Operations that can apply either to the draft or to the live version.
BOTH_VERSIONS = ("change", "publish", "schedule")


class Operation(Shape):
    """A change, which has the same effect as a request to the corresponding endpoint.

    `id` is the id of the node. To create a node, leave it out. `if_match`, `version` and `merge` have the same meaning
    as in a request to the endpoint.
    """

    do: Literal[
        "create",
        "change",
        "publish",
        "unpublish",
        "schedule",
        "unschedule",
        "discard",
        "move",
        "tag",
        "trash",
        "restore",
    ]
    id: Id | None = None
    if_match: str = Field("", max_length=200)
    version: VersionName = LIVE
    merge: StrictBool = False
    body: dict[str, Any] = {}


class Operations(Shape):
    """Changes, in the order in which they are made."""

    operations: list[Operation] = Field(max_length=MAX_OPERATIONS)


class Result(Shape):
    """The result of a change.

    `etag` is the If-Match value for the next change, or null if the version no longer exists. If the change was not
    made, `problem` explains why.
    """

    status: int
    id: Id | None = None
    etag: str | None = None
    problem: dict[str, Any] | None = None


class Results(Shape):
    """The results, in the order of the changes."""

    results: list[Result]


@router.post(
    "/bulk",
    auth=ACCOUNTS,
    response=Results,
    operation_id="nodes_bulk",
    url_name="api-bulk",
    summary="Make several changes",
    openapi_extra=REPEATABLE,
)
def bulk(request: HttpRequest, batch: Body[Operations]) -> HttpResponse:
    """Make up to 100 changes in order, with the same effects as requests to the corresponding endpoints.

    If a change fails, the other changes are still made. Each change counts toward the rate limit. An account can run
    only one bulk request at a time.
    """
    principal = writer(request)

    def work(request_id: ObjectId | None) -> HttpResponse:
        with limits.exclusive(f"bulk:{principal.pk}"):
            limits.count_changes(request, len(batch.operations))
            return apply_all(request_id)

    def apply_all(request_id: ObjectId | None) -> HttpResponse:
        results: list[dict[str, Any]] = []
        for number, operation in enumerate(batch.operations):
            if results and _is_unavailable(results[-1]):
                # If the database is unavailable, don't try the remaining changes, and return the same result for them.
                results.append({**results[-1], "id": operation.id})
                continue
            results.append(_run(principal, operation, derive_id(f"{request_id}:{number}") if request_id else None))
        response = responses.json_response(request, {"results": results})
        if any(result["status"] >= 500 for result in results):
            # The request may succeed if the client repeats it. A response with this Retry-After header isn't stored for
            # the Idempotency-Key, so the client can use the same key again.
            response["Retry-After"] = problems.RETRY_AFTER
        return response

    return run_once(request, work)


def _is_unavailable(result: dict[str, Any]) -> bool:
    return bool(result.get("problem") == problems.unavailable().as_document())


def _run(principal: Principal, operation: Operation, request_id: ObjectId | None) -> dict[str, Any]:
    try:
        node_id = _apply(principal, operation, request_id)
        is_draft = operation.do == "unschedule" or (
            operation.version == DRAFT and operation.do in ("change", "schedule")
        )
        nonce = _current_nonce(node_id, is_draft=is_draft)
    except Exception as error:  # noqa: BLE001 - unexpected errors are logged, and the other changes still run
        problem = problems.from_exception(error)
        return {"status": problem.status, "id": operation.id, "problem": problem.as_document()}
    status = {"create": 201, "trash": 204}.get(operation.do, 200)
    return {"status": status, "id": str(node_id), "etag": f'"{nonce}"' if nonce else None}


def _apply(principal: Principal, operation: Operation, request_id: ObjectId | None) -> ObjectId:
    body = _body(operation)
    if operation.version == DRAFT and operation.do not in BOTH_VERSIONS + ONLY_DRAFTS:
        raise Problem("invalid", errors=[("version", "This operation isn't available for drafts.")])
    with as_problems():
        if operation.do == "create":
            return operations.create(principal, request_id, body)
        if operation.id is None:
            raise Problem("invalid", errors=[("id", "Specify the id of the node.")])
        node_id = ObjectId(operation.id)
        if operation.do == "tag":
            operations.tag(principal, node_id, body.get("add", []), body.get("remove", []))
            return node_id
        is_draft = operation.version == DRAFT or operation.do in ONLY_DRAFTS
        context = WriteContext(
            principal, responses.parse_if_match(operation.if_match), request_id, operation.merge, is_draft
        )
        if operation.do == "schedule":
            operations.schedule(context, node_id, body["at"])
        else:
            VERSIONED[operation.do](context, node_id, **({"data": body} if operation.do in BODIES else {}))
        return node_id


def _body(operation: Operation) -> Mapping[str, Any]:
    """Return the operation's body, validated against its schema.

    Raises:
        Problem: 422 if the body is not valid.
    """
    shape = BODIES.get(operation.do)
    if shape is None:
        if operation.body:
            raise Problem("invalid", errors=[("body", "This operation doesn't accept a body.")])
        return {}
    try:
        parsed: Shape = TypeAdapter(shape).validate_python(operation.body)
    except ValidationError as error:
        errors = [(".".join(map(str, ("body", *item["loc"]))), problems.message(item)) for item in error.errors()]
        raise Problem("invalid", errors=errors) from error
    return parsed.model_dump(exclude_unset=True)


def _current_nonce(node_id: ObjectId, *, is_draft: bool) -> ObjectId | None:
    if (node := editable_nodes.load(node_id)) is None:
        asset = stored_assets.get(node_id)
        return asset.metadata.nonce if asset else None
    version = node.draft if is_draft else node.live
    return version.nonce if version else None
