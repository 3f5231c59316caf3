"""Endpoints for moderators: search comments, decide on all comments that a search finds, and undo such decisions."""

from collections.abc import Callable
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Path, Query

from api.comments import presenting, refusals, shapes
from api.comments.moderating import MAX_LIMIT, require_moderator, router
from api.http import responses
from api.problems import Problem
from api.rights.principals import ACCOUNTS
from api.schemas.shapes import Id
from marginalia.comments.moderation import batches, searches
from marginalia.comments.moderation.search_form import STATES, SearchForm
from marginalia.comments.posting.services import Sender
from marginalia.comments.types import Batch, Selection, Verdict

DEFAULT_LIMIT = 50
# The functions that start bulk decisions, and the names of the decisions, keyed by the verdict on pending comments.
_DECIDE: dict[str, Callable[[Sender, Selection], Batch]] = {
    "spam": batches.hide,
    "reject": lambda sender, selection: batches.hide(sender, selection, verdict=Verdict.REJECTED),
    "approve": batches.approve,
}
_ACTIONS = {Verdict.SPAM: "spam", Verdict.REJECTED: "reject", Verdict.APPROVED: "approve"}


@router.get(
    "/comments/search",
    auth=ACCOUNTS,
    operation_id="comments_search",
    url_name="api-search-comments",
    response=shapes.FoundComments,
    summary="Search the comments of all discussions",
)
@refusals.as_problems()
def search(
    request: HttpRequest,
    filters: Annotated[shapes.CommentFilters, Query()],
    state: Annotated[str, Query(pattern=f"^({'|'.join(STATES)})$", description="By default, public and waiting.")] = "",
    cursor: Annotated[str, Query(max_length=100)] = "",
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
) -> HttpResponse:
    """Return the comments that match all filters, newest first. A token needs the scope “moderate”.

    A removed comment has the author and text that it had before.
    """
    require_moderator(request)
    form = _valid_form(filters, "query", state)
    before = searches.parse_cursor(cursor)
    if cursor and before is None:
        raise Problem("invalid", errors=[("query.cursor", "This cursor is not valid for this list.")])
    with searches.time_limit():
        matches = searches.find(form.selection(), form.states, limit=limit + 1, before=before)
    return responses.page_response(
        request,
        matches,
        limit,
        cursor=searches.cursor,
        serialize=lambda shown: list(map(presenting.serialize_found, searches.with_texts(shown))),
    )


@router.get(
    "/comments/bulk-decisions",
    auth=ACCOUNTS,
    operation_id="comments_list_bulk_decisions",
    url_name="api-bulk-decisions",
    response=shapes.BulkDecisions,
    summary="List decisions about many comments",
)
def bulk_decisions(
    request: HttpRequest,
    cursor: Annotated[str, Query(max_length=100)] = "",
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
) -> HttpResponse:
    """Return the decisions of the last 30 days, newest first."""
    require_moderator(request)
    return responses.page_response(
        request,
        batches.find(limit=limit + 1, after=cursor),
        limit,
        cursor=lambda batch: batch.id,
        serialize=lambda shown: list(map(serialize_batch, shown)),
    )


@router.post(
    "/comments/bulk-decisions",
    auth=ACCOUNTS,
    operation_id="comments_decide_in_bulk",
    url_name="api-bulk-decisions",
    response={201: shapes.BulkDecision},
    summary="Hide or approve all comments that a search finds",
)
@refusals.as_problems()
def decide_in_bulk(request: HttpRequest, data: shapes.NewBulkDecision) -> HttpResponse:
    """Decide on all comments that match the filters.

    `spam` and `reject` hide public comments, and mark or reject pending ones. `approve` publishes pending comments. If
    there are many comments, the server continues after the response. Comments posted later aren't included.
    """
    moderator = require_moderator(request)
    form = _valid_form(data.filters, "body.filters")
    if not form.is_narrow:
        raise Problem("invalid", errors=[("body.filters", "Set at least one filter.")])
    batch = _DECIDE[data.action](moderator, form.selection())
    return responses.json_response(request, serialize_batch(batch), status=201)


@router.get(
    "/comments/bulk-decisions/{decision_id}",
    auth=ACCOUNTS,
    operation_id="comments_get_bulk_decision",
    url_name="api-bulk-decision",
    response=shapes.BulkDecision,
    summary="Read a decision about many comments",
)
def bulk_decision(request: HttpRequest, decision_id: Annotated[Id, Path()]) -> HttpResponse:
    """Return the progress of a decision. The server keeps decisions for 30 days."""
    require_moderator(request)
    return _batch_response(request, batches.get(decision_id))


@router.post(
    "/comments/bulk-decisions/{decision_id}/undo",
    auth=ACCOUNTS,
    operation_id="comments_undo_bulk_decision",
    url_name="api-undo-bulk-decision",
    response=shapes.BulkDecision,
    summary="Undo a decision about many comments",
)
def undo(request: HttpRequest, decision_id: Annotated[Id, Path()]) -> HttpResponse:
    """Restore the comments that are still as the decision left them. You can safely send the request again."""
    return _batch_response(request, batches.undo(require_moderator(request), decision_id))


def _valid_form(filters: shapes.CommentFilters, place: str, state: str = "") -> SearchForm:
    """Return the form of the admin's search, filled in with these filters.

    Raises:
        Problem: 422 if a filter is invalid.
    """
    sent = {name: str(value) for name, value in filters.model_dump().items() if value}
    form = SearchForm({**sent, "state": state})
    errors = [(f"{place}.{name}", " ".join(messages)) for name, messages in form.errors.items()]
    errors += [(f"{place}.{name}", "This site has no such filter.") for name in sent if name not in form.fields]
    if errors:
        raise Problem("invalid", errors=errors)
    return form


def _batch_response(request: HttpRequest, batch: Batch | None) -> HttpResponse:
    if batch is None:
        raise Problem("not-found")
    return responses.json_response(request, serialize_batch(batch))


def serialize_batch(batch: Batch) -> dict[str, Any]:
    """Return the data of a decision about many comments."""
    fields = {name: getattr(batch, name) for name in shapes.BulkDecision.model_fields if name != "action"}
    return {**fields, "action": _ACTIONS[batch.verdict]}
