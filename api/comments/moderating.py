"""Moderating: what waits, deciding about it as the queue does, bringing back what was removed."""

from typing import Annotated

from django.http import HttpRequest, HttpResponse
from ninja import Query

from api.comments import presenting, refusals, shapes
from api.comments.addresses import ONE, CommentSlug, IfMatch, NodeId, discussed, seen_rev
from api.comments.posting import router
from api.http import answers
from api.problems import Problem
from api.rights import principals
from api.rights.principals import ACCOUNTS, Principal
from api.rights.scopes import Scope
from marginalia.comments import signals
from marginalia.comments.errors import CommentNotFound
from marginalia.comments.moderation import pending
from marginalia.comments.posting import flags, policy, services
from marginalia.comments.posting.forms import user_key
from marginalia.comments.reading import links, selectors
from marginalia.comments.types import Comment, Verdict

SIZE, MOST = 25, 100
LISTED = (Verdict.WAITING, Verdict.SPAM, Verdict.REJECTED)


def _moderator(request: HttpRequest) -> Principal:
    """Return who moderates. Raises Problem (403)."""
    principal = principals.having(request, Scope.MODERATE)
    if not policy.is_moderator(principal):
        raise Problem("forbidden", "This is for moderators.")
    return principal


@router.get(
    "/comments/pending", auth=ACCOUNTS, url_name="api-pending", response=shapes.Queue, summary="List what waits"
)  # fmt: skip
def queue(
    request: HttpRequest,
    state: Annotated[str, Query(pattern=f"^({'|'.join(LISTED)})$")] = Verdict.WAITING.value,
    cursor: Annotated[str, Query(max_length=100)] = "",
    limit: Annotated[int, Query(ge=1, le=MOST)] = SIZE,
) -> HttpResponse:
    """Answer the comments that wait for a moderator, the longest waiting first, or what was decided against. Needs the scope
    “moderate”."""
    _moderator(request)
    try:
        found = selectors.held(verdict=Verdict(state), limit=limit + 1, after=cursor)
    except CommentNotFound:
        raise Problem("invalid", errors=[("query.cursor", "This is no cursor of this list.")]) from None
    shown = found[:limit]
    following = shown[-1].id if len(found) > limit else None
    return answers.page(request, [presenting.queued(case) for case in pending.cases(shown)], following)


@router.post(
    "/comments/decisions", auth=ACCOUNTS, url_name="api-decisions", response=shapes.Decided, summary="Decide what waits"
)
@refusals.told()
def decide(request: HttpRequest, said: shapes.Decisions) -> HttpResponse:
    """Do the same to several comments of the queue: approve them, reject them, call them spam, or let them wait again. What its
    author changed since it was seen is not approved, nor what another moderator decided otherwise. Safe to send again."""
    moderator = _moderator(request)
    ids = [f"{one.id}.{one.rev}" for one in said.items]
    decided = pending.decide(said.action, ids, user_key(moderator), links.origin(request), seen=Verdict(said.seen))
    for comment in decided.published:
        signals.comment_was_flagged.send(Comment, comment=comment, flag="approval", created=True, request=request)
    for comment in decided.removed:
        signals.comment_was_flagged.send(Comment, comment=comment, flag="removal", created=True, request=request)
    reasons = dict(decided.failed)
    items = [{"id": one.id, "done": one.id not in reasons, "reason": reasons.get(one.id)} for one in said.items]
    return answers.told(request, {"items": items})


@router.post(
    f"{ONE}/restore", auth=ACCOUNTS, url_name="api-restore", response=shapes.Comment, summary="Restore a comment"
)
@refusals.told()
def restore(request: HttpRequest, node_id: NodeId, slug: CommentSlug, if_match: IfMatch = "") -> HttpResponse:
    """Give a removed comment its text and author back. If-Match names the removed one as it was seen. Safe to send again."""
    moderator = _moderator(request)
    rev = seen_rev(request)
    target, obj = discussed(node_id)
    restored = services.restore(target, slug, rev=rev, by=user_key(moderator))
    flags.settle(target, slug)
    return presenting.one(request, obj, restored)
