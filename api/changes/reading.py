"""The endpoint GET /changes, which lists all changes after a given number, for mirrors and caches."""

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query
from pydantic import Field

from api.changes import change_log
from api.http import responses
from api.http.routing import Router
from api.problems import RETRY_AFTER, Problem
from api.rights import principals
from api.rights.principals import Principal
from api.schemas.shapes import Id, Shape
from nodes import access

router = Router(tags=["Changes"])
DEFAULT_LIMIT, MAX_LIMIT = 200, 1_000


class Change(Shape):
    """A change, without the content of the changed object. To get the content, read the object again.

    If the object was deleted, or if you don't have permission to view it, its URL returns 404.
    """

    number: int
    kind: str = Field(
        description="What has changed: a `node`, a `photo`, a `subtree` (a section with everything in it), the "
        "`settings`, or the `comments` of one page. `reset` means that changes before this one may be missing, so "
        "start again. More kinds may be added."
    )
    id: str = Field(
        description="The id of the node or photo. For `comments`, the id of the discussion (`nodes.node:ID`). For "
        "`settings`, `site`. For `reset`, empty."
    )
    nonce: Id | None = Field(description="The nonce of the new version, if there is one that you can read.")
    at: datetime = Field(description="When the change was added to the list.")


class Changes(Shape):
    """The changes after a number.

    Send `next` as `since` in the next request. If `more` is true, more changes are already available.
    """

    changes: list[Change]
    next: int
    more: bool


@router.get("/changes", operation_id="changes_list", url_name="api-changes", response=Changes, summary="Read changes")
def changes(
    request: HttpRequest,
    since: Annotated[int | None, Query(ge=0, description="`next` from the previous response.")] = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
) -> HttpResponse:
    """Return the changes after the number `since`, in order.

    If you leave out `since`, the response contains no changes, only the number to start with. Request this number
    before you read the site for the first time.

    Each change is returned at least once. Several changes to the same object may be merged into one entry. If `since`
    is older than the stored changes, the response is 410, and you have to start again. If a token has the scope “read”
    and its owner can see everything, the response also contains changes to drafts. All other clients get only changes
    to content that readers can see, or could see before the change. For these clients, changes have different numbers.
    """
    public_only = not _sees_all(principals.current(request))
    bounds = change_log.bounds(public_only=public_only)
    if bounds is None:
        raise Problem(
            "unavailable",
            "The list of changes isn't available yet. Start a worker with manage.py work.",
            headers={"Retry-After": str(RETRY_AFTER)},
        )
    first, last = bounds
    if since is None:
        return responses.json_response(request, {"changes": [], "next": last, "more": False})
    if not first - 1 <= since <= last:
        advice = (
            "Start again: request this URL without `since` to get a number, read everything "
            "once, then continue from that number."
        )
        raise Problem("gone", f"The list of changes no longer contains the changes after {since}. {advice}")
    entries = change_log.entries_after(since, limit + 1, public_only=public_only)
    shown = entries[:limit]
    has_more = len(entries) > limit
    next_number = shown[-1]["number"] if has_more else max(last, *(entry["number"] for entry in entries), since)
    return responses.json_response(
        request, {"changes": list(map(_entry_data, shown)), "next": next_number, "more": has_more}
    )


def _entry_data(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: entry[name] for name in ("number", "kind", "id", "nonce", "at")}


def _sees_all(principal: Principal) -> bool:
    return access.sees_all(principal) and access.may_see_photos(principal)
