"""Endpoints for moderators: list the queue, decide on comments as in the admin, and restore removed comments."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query

from api.comments import presenting, refusals, shapes
from api.comments.parameters import COMMENT_PATH, CommentSlug, IfMatch, NodeId, if_match_rev, load_target
from api.comments.posting import router, sender_of
from api.http import responses
from api.problems import Problem
from api.rights import principals
from api.rights.principals import ACCOUNTS
from api.rights.scopes import Scope
from marginalia.comments.errors import CommentNotFound
from marginalia.comments.moderation import actions, pending
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import selectors
from marginalia.comments.types import Verdict

DEFAULT_LIMIT, MAX_LIMIT = 25, 100
QUEUES = (Verdict.WAITING, Verdict.SPAM, Verdict.REJECTED)


def _moderator(request: HttpRequest) -> Sender:
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
    _moderator(request)
    try:
        held = selectors.held(verdict=Verdict(state), limit=limit + 1, after=cursor)
    except CommentNotFound:
        raise Problem("invalid", errors=[("query.cursor", "This cursor is not valid for this list.")]) from None
    shown = held[:limit]
    following = shown[-1].id if len(held) > limit else None
    return responses.list_response(
        request, [presenting.serialize_queued(case) for case in pending.cases(shown)], following
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
    moderator = _moderator(request)
    ids = [f"{item.id}.{item.rev}" for item in decisions.items]
    decided = actions.decide(moderator, decisions.action, ids, seen=Verdict(decisions.seen))
    reasons = dict(decided.failed)
    items = [
        {"id": item.id, "done": item.id not in reasons, "reason": reasons.get(item.id)} for item in decisions.items
    ]
    return responses.json_response(request, {"items": items})


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
    moderator = _moderator(request)
    rev = if_match_rev(request)
    target, obj = load_target(node_id)
    restored = actions.restore(moderator, target, slug, rev=rev)
    return presenting.comment_response(request, obj, restored)
