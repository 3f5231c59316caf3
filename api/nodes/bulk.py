"""Many changes by one request, each for itself: one that fails stops no other."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

from bson import ObjectId
from django.http import HttpRequest, HttpResponse
from ninja import Body
from pydantic import Field, StrictBool, TypeAdapter, ValidationError

from api import problems
from api.http import answers
from api.http.once import made_of, once
from api.nodes import operations
from api.nodes.operations import Asked, refused
from api.nodes.writing import ONCE, router, writer
from api.problems import Problem
from api.rights import limits
from api.rights.principals import ACCOUNTS, Principal
from api.schemas.shapes import DRAFT, LIVE, Id, Shape, VersionName
from api.schemas.writing import At, NewNode, NodeChange, Place, TagsChange
from nodes.selectors import editable_nodes, stored_photos

MOST = 100
# What each takes as its body.
BODIES: dict[str, type[Shape]] = {
    "create": NewNode, "change": NodeChange, "schedule": At, "move": Place, "restore": Place, "tag": TagsChange,
}  # fmt: skip
# What is said of a version, by the name of the operation; those with a body get it as `said`.
ON_VERSION: dict[str, Callable[..., None]] = {
    "change": operations.change,
    "publish": operations.publish,
    "unpublish": operations.unpublish,
    "unschedule": operations.unschedule,
    "discard": operations.discard,
    "move": operations.move,
    "trash": operations.throw_away,
    "restore": operations.restore,
}
OF_DRAFTS = ("unschedule", "discard")
# What can be done to either version.
OF_BOTH = ("change", "publish", "schedule")


class Operation(Shape):
    """One change, as by its own address. `id`: of the node, but for a new one; `if_match`, `version`, `merge`: as there."""

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
    """Changes, made in their order."""

    operations: list[Operation] = Field(max_length=MOST)


class Result(Shape):
    """What became of a change. `etag`: for If-Match of the next one; null of what has no such version any more. `problem`: why
    it was not made."""

    status: int
    id: Id | None = None
    etag: str | None = None
    problem: dict[str, Any] | None = None


class Results(Shape):
    """What became of each change, in their order."""

    results: list[Result]


@router.post(
    "/bulk", auth=ACCOUNTS, response=Results, url_name="api-bulk", summary="Make many changes", openapi_extra=ONCE
)
def bulk(request: HttpRequest, said: Body[Operations]) -> HttpResponse:
    """Make up to 100 changes, each as by its own address, one after the other. One that fails stops no other. They are counted
    one by one, and an account makes one such request at a time."""
    principal = writer(request)

    def work(form: ObjectId | None) -> HttpResponse:
        with limits.alone(f"bulk:{principal.pk}"):
            limits.count_changes(request, len(said.operations))
            return changed(form)

    def changed(form: ObjectId | None) -> HttpResponse:
        results: list[dict[str, Any]] = []
        for number, one in enumerate(said.operations):
            if results and _is_away(results[-1]):
                # The others need not wait for it, too.
                results.append({**results[-1], "id": one.id})
                continue
            results.append(_result(principal, one, made_of(f"{form}:{number}") if form else None))
        response = answers.told(request, {"results": results})
        if any(one["status"] >= 500 for one in results):
            # Sent again it may be made: this answer is not kept.
            response["Retry-After"] = problems.RETRY_AFTER
        return response

    return once(request, work)


def _is_away(result: dict[str, Any]) -> bool:
    return bool(result.get("problem") == problems.unavailable().as_document())


def _result(principal: Principal, one: Operation, form: ObjectId | None) -> dict[str, Any]:
    try:
        node_id = _done(principal, one, form)
        is_draft = one.do == "unschedule" or (one.version == DRAFT and one.do in ("change", "schedule"))
        nonce = _nonce(node_id, is_draft=is_draft)
    except Exception as error:  # noqa: BLE001 - logged there, where it is no refusal; the others are to be done
        problem = problems.of(error)
        return {"status": problem.status, "id": one.id, "problem": problem.as_document()}
    status = {"create": 201, "trash": 204}.get(one.do, 200)
    return {"status": status, "id": str(node_id), "etag": f'"{nonce}"' if nonce else None}


def _done(principal: Principal, one: Operation, form: ObjectId | None) -> ObjectId:
    body = _body(one)
    if one.version == DRAFT and one.do not in OF_BOTH + OF_DRAFTS:
        raise Problem("invalid", errors=[("version", "This is not done to drafts.")])
    with refused():
        if one.do == "create":
            return operations.create(principal, form, body)
        if one.id is None:
            raise Problem("invalid", errors=[("id", "Name the node.")])
        node_id = ObjectId(one.id)
        if one.do == "tag":
            operations.tag(principal, node_id, body.get("add", []), body.get("remove", []))
            return node_id
        is_draft = one.version == DRAFT or one.do in OF_DRAFTS
        asked = Asked(principal, answers.nonce_in(one.if_match), form, one.merge, is_draft)
        if one.do == "schedule":
            operations.schedule(asked, node_id, body["at"])
        else:
            ON_VERSION[one.do](asked, node_id, **({"said": body} if one.do in BODIES else {}))
        return node_id


def _body(one: Operation) -> Mapping[str, Any]:
    """Return what a body says, in the shape that the operation takes. Raises Problem (422)."""
    shape = BODIES.get(one.do)
    if shape is None:
        if one.body:
            raise Problem("invalid", errors=[("body", "This takes none.")])
        return {}
    try:
        said: Shape = TypeAdapter(shape).validate_python(one.body)
    except ValidationError as error:
        told = [(".".join(map(str, ("body", *wrong["loc"]))), problems.message(wrong)) for wrong in error.errors()]
        raise Problem("invalid", errors=told) from error
    return said.model_dump(exclude_unset=True)


def _nonce(node_id: ObjectId, *, is_draft: bool) -> ObjectId | None:
    if (found := editable_nodes.load(node_id)) is None:
        photo = stored_photos.get(node_id)
        return photo.metadata.nonce if photo else None
    version = found.draft if is_draft else found.live
    return version.nonce if version else None
