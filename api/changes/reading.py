"""GET /changes: what changed since, in order, for mirrors and caches."""

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Query
from pydantic import Field

from api.changes import stored
from api.http import answers
from api.http.routing import Router
from api.problems import RETRY_AFTER, Problem
from api.rights import principals
from api.rights.principals import Principal
from api.schemas.shapes import Id, Shape
from nodes import access

router = Router(tags=["Changes"])
SIZE, MOST = 200, 1_000


class Change(Shape):
    """That something changed, not what: read it again. What is not there any more, or not yours to see, answers 404."""

    number: int
    kind: str = Field(
        description="`node`, `photo`; `subtree`: a section, and with it all that stands in it; `settings`; `comments`: those "
        "of one page; `reset`: changes may be missing before this one, begin anew. More kinds may come."
    )
    id: str = Field(
        description="Of the node or photo; of comments the discussion's, `nodes.node:ID`; else empty or `site`."
    )
    nonce: Id | None = Field(description="Of the version that came, where one did that you may read.")
    at: datetime = Field(description="When it was told.")


class Changes(Shape):
    """What changed since a number. `next`: the number to ask with the next time; `more`: whether it is worth asking at once."""

    changes: list[Change]
    next: int
    more: bool


@router.get("/changes", url_name="api-changes", response=Changes, summary="Read what changed since")
def changes(
    request: HttpRequest,
    since: Annotated[int | None, Query(ge=0, description="`next` of the answer before.")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = SIZE,
) -> HttpResponse:
    """Answer what changed since a number, in order. Without `since`: the number to begin with, before all is read once.

    Each change is told at least once; one that follows another of the same thing may stand for both. A `since` that is further
    back than changes are kept is answered with 410: begin anew. A token with the scope “read”, of who sees everything, gets
    changes of drafts, too; all others get those of what readers see, or saw until then. Either has numbers of its own.
    """
    public_only = not _sees_all(principals.of(request))
    ends = stored.ends(public_only=public_only)
    if ends is None:
        raise Problem(
            "unavailable",
            "The list of changes has not begun: no worker runs.",
            headers={"Retry-After": str(RETRY_AFTER)},
        )
    first, last = ends
    if since is None:
        return answers.told(request, {"changes": [], "next": last, "more": False})
    if not first - 1 <= since <= last:
        how = "Begin anew: ask without `since` for a number, read all once, and go on from that number."
        raise Problem("gone", f"The list of changes does not lead on from {since}. {how}")
    found = stored.since(since, limit + 1, public_only=public_only)
    shown = found[:limit]
    more = len(found) > limit
    following = shown[-1]["number"] if more else max(last, *(one["number"] for one in found), since)
    return answers.told(request, {"changes": list(map(_told, shown)), "next": following, "more": more})


def _told(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: entry[name] for name in ("number", "kind", "id", "nonce", "at")}


def _sees_all(principal: Principal) -> bool:
    return access.sees_all(principal) and access.may_see_photos(principal)
