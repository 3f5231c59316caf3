"""Endpoints for posting, changing and deleting comments. The rules are the same as for comment forms."""

from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from api.comments import presenting, refusals, shapes
from api.comments.parameters import COMMENT_PATH, COMMENTS_PATH, CommentSlug, IfMatch, Key, NodeId, load_target
from api.comments.reading import router
from api.rights import principals
from api.rights.principals import ACCOUNTS, ANYONE, Principal
from api.rights.scopes import Scope
from marginalia.comments.api import writing
from marginalia.comments.api.rejections import from_refused
from marginalia.comments.api.shapes import NewComment, NewText
from marginalia.comments.moderators import is_moderator
from marginalia.comments.posting import likes, services
from marginalia.comments.posting.services import Refused, Sender
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, HeldComment


@router.post(
    COMMENTS_PATH,
    auth=ANYONE,
    operation_id="comments_post",
    url_name="api-comments",
    response={201: shapes.Comment},
    summary="Post a comment",
)
@refusals.as_problems()
def post(request: HttpRequest, node_id: NodeId, data: NewComment, key: Key) -> HttpResponse:
    """Post a comment as a visitor or with an account. A token needs the scope “write”.

    `state` tells you whether readers can see the comment, or whether it is pending. If you send a
    request again with the same key and text, you get the first response.
    """
    target, obj = load_target(node_id)
    sender = sender_of(request, _writer(request))
    posted, _own = writing.post(sender, obj, writing.read_comment(sender, target, data, key))
    shown = selectors.with_likes(posted) if isinstance(posted, Comment) else posted
    response = presenting.comment_response(request, obj, shown, status=201)
    response["Location"] = reverse("api:api-comment", args=[node_id, shown.slug])
    return response


def _writer(request: HttpRequest) -> Principal:
    """Return the sender of a request that visitors can send, too. A token needs the scope “write”."""
    principal = principals.current(request)
    return principals.require_scope(request, Scope.WRITE) if principal.is_authenticated else principal


def sender_of(request: HttpRequest, principal: Principal) -> Sender:
    """Return the sender of a request in the form that the comment rules need.

    The rules read `request.user`, so this function sets it to the principal, whose permissions are limited by the
    token's scopes.
    """
    request.user = principal
    return Sender(request, ())


def _load_for_change(request: HttpRequest, node_id: str, slug: str) -> tuple[Sender, Comment | HeldComment, Model]:
    """Return the sender of a change, the comment to change, and the object that the comment is about.

    Raises:
        Problem: 403 if a token lacks a scope, 404 if readers can't see the object.
        CommentNotFound: There is no such comment.
    """
    principal = principals.current(request)
    if not is_moderator(principal):
        principals.require_scope(request, Scope.WRITE)
    target, obj = load_target(node_id)
    sender = sender_of(request, principal)
    return sender, writing.load(sender, target, slug), obj


@router.post(
    f"{COMMENT_PATH}/flag",
    auth=ANYONE,
    operation_id="comments_flag",
    url_name="api-flag",
    response={204: None},
    summary="Report a comment to the moderators",
)
@refusals.as_problems()
def flag(request: HttpRequest, node_id: NodeId, slug: CommentSlug) -> HttpResponse:
    """Report a comment as a visitor or with an account. You can safely send the request again."""
    principal = _writer(request)
    target, _obj = load_target(node_id)
    services.flag(sender_of(request, principal), selectors.get(target, slug))
    return HttpResponse(status=204)


@router.put(
    f"{COMMENT_PATH}/like",
    auth=ACCOUNTS,
    operation_id="comments_like",
    url_name="api-like",
    response=shapes.Comment,
    summary="Like a comment",
)
@refusals.as_problems()
def like(request: HttpRequest, node_id: NodeId, slug: CommentSlug) -> HttpResponse:
    """Count your account among the readers who like a comment. You can safely send the request again."""
    return _set_like(request, node_id, slug, liked=True)


@router.delete(
    f"{COMMENT_PATH}/like",
    auth=ACCOUNTS,
    operation_id="comments_unlike",
    url_name="api-like",
    response=shapes.Comment,
    summary="Take back a like",
)
@refusals.as_problems()
def unlike(request: HttpRequest, node_id: NodeId, slug: CommentSlug) -> HttpResponse:
    """Take back your account's like of a comment. You can safely send the request again."""
    return _set_like(request, node_id, slug, liked=False)


def _set_like(request: HttpRequest, node_id: str, slug: str, *, liked: bool) -> HttpResponse:
    principal = principals.require_scope(request, Scope.WRITE)
    target, obj = load_target(node_id)
    comment = selectors.get(target, slug)
    who = likes.reader(principal, "")
    likes.set_like(sender_of(request, principal), obj, comment, who, liked=liked)
    return presenting.comment_response(request, obj, selectors.with_likes(comment))


@router.patch(
    COMMENT_PATH,
    auth=ACCOUNTS,
    operation_id="comments_change",
    url_name="api-comment",
    response=shapes.Comment,
    summary="Change a comment",
)
@refusals.as_problems()
def change(
    request: HttpRequest, node_id: NodeId, slug: CommentSlug, data: NewText, if_match: IfMatch = ""
) -> HttpResponse:
    """Replace the text of one of your own comments, if the site still allows it. Moderators can change any comment.

    If the comment has changed since you read it, the response is 412 and contains the current comment in `stored`.
    """
    rev = writing.if_match_rev(request)
    sender, comment, obj = _load_for_change(request, node_id, slug)
    try:
        writing.change(sender, obj, comment, data.text, rev)
    except Refused as refused:
        problem = refusals.problem_of(from_refused(refused))
        if problem.kind == "stale":
            stored = _load_for_change(request, node_id, slug)[1]
            problem.more["stored"] = presenting.serialize_comments(request, obj, [stored])[0]
        raise problem from refused
    changed = _load_for_change(request, node_id, slug)[1]
    if isinstance(changed, Comment):
        changed = selectors.with_likes(changed)
    return presenting.comment_response(request, obj, changed)


@router.delete(
    COMMENT_PATH,
    auth=ACCOUNTS,
    operation_id="comments_delete",
    url_name="api-comment",
    response={204: None},
    summary="Delete a comment",
)
@refusals.as_problems()
def delete(request: HttpRequest, node_id: NodeId, slug: CommentSlug, if_match: IfMatch = "") -> HttpResponse:
    """Delete one of your own comments, if the site still allows it.

    If the comment is still waiting for a moderator, it is withdrawn. Moderators can remove any comment. A removed
    comment keeps its position in the discussion, and moderators can restore it.
    """
    rev = writing.if_match_rev(request)
    sender, comment, _obj = _load_for_change(request, node_id, slug)
    writing.delete(sender, comment, rev)
    return HttpResponse(status=204)
