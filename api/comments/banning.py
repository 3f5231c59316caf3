"""Endpoints for moderators: list, add and lift bans, and count the comments that a ban would hide."""

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Path, Query

from api.comments import refusals, shapes
from api.comments.moderating import MAX_LIMIT, require_moderator, router
from api.comments.searching import serialize_batch
from api.http import responses
from api.problems import Problem
from api.rights.principals import ACCOUNTS
from api.schemas.shapes import Id
from marginalia.comments.errors import InvalidBan
from marginalia.comments.moderation import bans, batches
from marginalia.comments.moderation.bans import Term
from marginalia.comments.types import Ban

DEFAULT_LIMIT = 50


@router.get(
    "/comments/bans",
    auth=ACCOUNTS,
    operation_id="comments_list_bans",
    url_name="api-bans",
    response=shapes.Bans,
    summary="List bans",
)
def list_bans(
    request: HttpRequest,
    q: Annotated[str, Query(max_length=200, description="Words in the value or the reason.")] = "",
    cursor: Annotated[str, Query(max_length=100)] = "",
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
) -> HttpResponse:
    """Return the bans, newest first. A token needs the scope “moderate”."""
    require_moderator(request)
    return responses.page_response(
        request,
        bans.find(q, limit=limit + 1, after=cursor),
        limit,
        cursor=lambda ban: ban.id,
        serialize=lambda shown: list(map(_serialize_ban, shown)),
    )


@router.post(
    "/comments/bans",
    auth=ACCOUNTS,
    operation_id="comments_ban",
    url_name="api-bans",
    response={201: shapes.BanResult},
    summary="Ban an account, a network, an address, a domain or words",
)
@refusals.as_problems()
def ban(request: HttpRequest, data: shapes.NewBan) -> HttpResponse:
    """Refuse new comments, and with `hide` also hide the existing ones.

    If the value is banned already, the reason and the end of the ban are replaced. To undo the hiding, use `decision`.
    """
    moderator = require_moderator(request)
    term = _parse(data)
    try:
        stored = bans.ban(moderator, term, reason=data.reason, expires=data.expires)
    except InvalidBan as error:
        raise _problem(error) from error
    batch = batches.hide(moderator, batches.of_term(term), what=str(term)) if data.hide else None
    body = {"ban": _serialize_ban(stored), "decision": serialize_batch(batch) if batch else None}
    return responses.json_response(request, body, status=201)


@router.post(
    "/comments/bans/preview",
    auth=ACCOUNTS,
    operation_id="comments_preview_ban",
    url_name="api-preview-ban",
    response=shapes.BanPreview,
    summary="Count the comments that a ban would hide",
)
def preview(request: HttpRequest, data: shapes.BanTerm) -> HttpResponse:
    """Return how many published and pending comments a ban matches. Nothing is changed."""
    require_moderator(request)
    counted = batches.count(batches.of_term(_parse(data)))
    fields = ("published", "pending", "discussions", "more")
    return responses.json_response(request, {name: getattr(counted, name) for name in fields})


@router.delete(
    "/comments/bans/{ban_id}",
    auth=ACCOUNTS,
    operation_id="comments_lift_ban",
    url_name="api-ban",
    response={204: None},
    summary="Lift a ban",
)
def lift(request: HttpRequest, ban_id: Annotated[Id, Path()]) -> HttpResponse:
    """Lift a ban. Hidden comments stay hidden. You can safely send the request again."""
    bans.lift(require_moderator(request), ban_id)
    return HttpResponse(status=204)


def _parse(data: shapes.BanTerm) -> Term:
    try:
        return bans.parse(shapes.BAN_KINDS[data.kind], data.value)
    except InvalidBan as error:
        raise _problem(error) from error


def _problem(error: InvalidBan) -> Problem:
    return Problem("invalid", errors=[(f"body.{error.field}", error.sentence)])


def _serialize_ban(stored: Ban) -> dict[str, Any]:
    kinds = {kind: name for name, kind in shapes.BAN_KINDS.items()}
    fields: dict[str, str | datetime | None] = {
        "id": stored.id,
        "kind": kinds[stored.kind],
        "value": stored.value,
        "reason": stored.reason,
        "created": stored.created,
        "expires": stored.expires,
    }
    return fields
