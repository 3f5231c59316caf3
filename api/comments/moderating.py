"""Endpoints for moderators: list the queue, decide on comments as in the admin, and restore removed comments."""

from typing import Annotated

from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from ninja import Query

from api.comments import presenting, refusals, shapes
from api.comments.parameters import COMMENT_PATH, CommentSlug, IfMatch, NodeId, load_target
from api.comments.posting import router, sender_of
from api.http import responses
from api.problems import Problem
from api.rights import principals
from api.rights.principals import ACCOUNTS
from api.rights.scopes import Scope
from marginalia.comments.api import writing
from marginalia.comments.errors import CommentNotFound
from marginalia.comments.moderation import actions, pending
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import selectors
from marginalia.comments.types import RestrictionChanges, Restrictions, Target, Verdict

DEFAULT_LIMIT, MAX_LIMIT = 25, 100
QUEUES = (Verdict.WAITING, Verdict.SPAM, Verdict.REJECTED)


def require_moderator(request: HttpRequest) -> Sender:
    """Return the sender of a request.

    Raises:
        Problem: 403 if the sender is not a moderator.
    """
    sender = sender_of(request, principals.require_scope(request, Scope.MODERATE))
    if not sender.is_moderator:
        raise Problem("forbidden", "Only moderators can do this.")
    return sender


@router.get(
    "/comments/pending",
    auth=ACCOUNTS,
    operation_id="comments_list_pending",
    url_name="api-pending",
    response=shapes.Queue,
    summary="List pending comments",
)
def queue(
    request: HttpRequest,
    state: Annotated[str, Query(pattern=f"^({'|'.join(QUEUES)})$")] = Verdict.WAITING.value,
    cursor: Annotated[str, Query(max_length=100)] = "",
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
) -> HttpResponse:
    """Return comments that are waiting for a moderator, oldest first.

    Use `state` to get rejected comments or spam instead. A token needs the scope “moderate”.
    """
    require_moderator(request)
    try:
        held = selectors.held(verdict=Verdict(state), limit=limit + 1, after=cursor)
    except CommentNotFound:
        raise Problem("invalid", errors=[("query.cursor", "This cursor is not valid for this list.")]) from None
    return responses.page_response(
        request,
        held,
        limit,
        cursor=lambda comment: comment.id,
        serialize=lambda shown: list(map(presenting.serialize_queued, pending.cases(shown))),
    )


@router.post(
    "/comments/decisions",
    auth=ACCOUNTS,
    operation_id="comments_decide",
    url_name="api-decisions",
    response=shapes.Decided,
    summary="Approve, reject or mark pending comments",
)
@refusals.as_problems()
def decide(request: HttpRequest, decisions: shapes.Decisions) -> HttpResponse:
    """Apply the same action to several comments in the queue.

    The action approves or rejects the comments, marks them as spam, or returns them to the queue. A comment isn't
    approved if its author has changed the text since you read it, or if another moderator has made a different
    decision. You can safely send the request again.
    """
    moderator = require_moderator(request)
    ids = [f"{item.id}.{item.rev}" for item in decisions.items]
    decided = actions.decide(moderator, decisions.action, ids, seen=Verdict(decisions.seen))
    reasons = dict(decided.failed)
    items = [
        {"id": item.id, "done": item.id not in reasons, "reason": reasons.get(item.id)} for item in decisions.items
    ]
    return responses.json_response(request, {"items": items})


@router.get(
    "/nodes/{node_id}/discussion",
    auth=ACCOUNTS,
    operation_id="comments_get_discussion",
    url_name="api-discussion",
    response=shapes.ManagedDiscussion,
    summary="Read the restrictions of a discussion",
)
@refusals.as_problems()
def managed(request: HttpRequest, node_id: NodeId) -> HttpResponse:
    """Return a discussion with what moderators have set for it."""
    require_moderator(request)
    return _managed_response(request, *load_target(node_id))


@router.post(
    "/nodes/{node_id}/discussion",
    auth=ACCOUNTS,
    operation_id="comments_change_discussion",
    response=shapes.ManagedDiscussion,
    summary="Restrict a discussion, lock a thread or pin a comment",
)
@refusals.as_problems()
def manage(request: HttpRequest, node_id: NodeId, changes: shapes.DiscussionChanges) -> HttpResponse:
    """Open or close a discussion, change its restrictions, and lock or unlock a thread.

    You can safely send the request again.
    """
    moderator = require_moderator(request)
    target, obj = load_target(node_id)
    sent = changes.model_dump(exclude_unset=True)
    restrictions: RestrictionChanges = {}
    if "slow_seconds" in sent:
        restrictions["slow_seconds"] = changes.slow_seconds
    if "hold_until" in sent:
        restrictions["hold_until"] = changes.hold_until
    if "hours" in sent:
        restrictions["hours"] = (_minutes(changes.hours.begin), _minutes(changes.hours.end)) if changes.hours else None
    if "pinned" in sent:
        restrictions["pinned"] = changes.pinned
    try:
        Restrictions(**restrictions)
    except ValueError as error:
        raise Problem("invalid", errors=[("body", f"{error}.")]) from error
    actions.change_discussion(moderator, target, is_open=sent.get("open"), **restrictions)
    for slug, locked in ((changes.lock, True), (changes.unlock, False)):
        if slug:
            actions.lock_thread(moderator, target, slug, locked=locked)
    return _managed_response(request, target, obj)


def _managed_response(request: HttpRequest, target: Target, obj: Model) -> HttpResponse:
    discussion = selectors.discussion(target)
    return responses.json_response(request, presenting.serialize_managed(target, obj, discussion))


def _minutes(clock: str) -> int:
    return 60 * int(clock[:2]) + int(clock[3:])


@router.post(
    f"{COMMENT_PATH}/restore",
    auth=ACCOUNTS,
    operation_id="comments_restore",
    url_name="api-restore",
    response=shapes.Comment,
    summary="Restore a comment",
)
@refusals.as_problems()
def restore(request: HttpRequest, node_id: NodeId, slug: CommentSlug, if_match: IfMatch = "") -> HttpResponse:
    """Restore the text and author of a removed comment.

    In If-Match, send the version in which you read the removed comment. You can safely send the request again.
    """
    moderator = require_moderator(request)
    rev = writing.if_match_rev(request)
    target, obj = load_target(node_id)
    restored = actions.restore(moderator, target, slug, rev=rev)
    return presenting.comment_response(request, obj, selectors.with_likes(restored))
