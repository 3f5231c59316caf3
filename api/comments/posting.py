"""Endpoints for posting, changing and deleting comments. The rules are the same as for comment forms."""

from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.crypto import salted_hmac

from api.comments import presenting, refusals, shapes
from api.comments.parameters import (
    COMMENT_PATH,
    COMMENTS_PATH,
    CommentSlug,
    IfMatch,
    Key,
    NodeId,
    if_match_rev,
    load_target,
)
from api.comments.reading import router
from api.http.idempotency import HEADER
from api.problems import Problem
from api.rights import principals
from api.rights.principals import ACCOUNTS, ANYONE, Principal
from api.rights.scopes import Scope
from marginalia.comments.moderators import is_moderator
from marginalia.comments.posting import likes, own, services
from marginalia.comments.posting.forms import CommentForm, EditForm, form_class, user_key
from marginalia.comments.posting.services import Refused, Sender
from marginalia.comments.posting.tokens import FormToken
from marginalia.comments.posting.views import submission
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, HeldComment, Target

# Minimum length of a visitor's Idempotency-Key. Visitors share a single key space, so short keys could collide.
MIN_VISITOR_KEY = 16


@router.post(
    COMMENTS_PATH,
    auth=ANYONE,
    operation_id="comments_post",
    url_name="api-comments",
    response={201: shapes.Comment},
    summary="Post a comment",
)
@refusals.as_problems()
def post(request: HttpRequest, node_id: NodeId, data: shapes.NewComment, key: Key) -> HttpResponse:
    """Post a comment as a visitor or with an account. A token needs the scope “write”.

    `state` tells you whether readers can see the comment, or whether it is pending. If you send a
    request again with the same key and text, you get the first response.
    """
    target, obj = load_target(node_id)
    principal = _writer(request)
    if not principal.is_authenticated and len(key) < MIN_VISITOR_KEY:
        raise Problem(
            "invalid",
            errors=[(f"header.{HEADER}", f"This key is too short. Use at least {MIN_VISITOR_KEY} characters.")],
        )
    sender = sender_of(request, principal)
    form = form_class(target)({**data.extra, **data.model_dump(exclude={"extra"}), "token": key}, user=principal)
    check_form(form)
    parent = data.parent or ""
    token = FormToken(str(target), parent, nonce_for(target, parent, principal, key), begun=0, user=user_key(principal))
    result = services.submit(sender, obj, submission(request, token, form))
    shown = selectors.with_likes(result.comment) if result.comment else result.held
    assert shown is not None
    response = presenting.comment_response(request, obj, shown, status=201)
    response["Location"] = reverse("api:api-comment", args=[node_id, shown.slug])
    return response


def _writer(request: HttpRequest) -> Principal:
    """Return the sender of a request that visitors can send, too. A token needs the scope “write”."""
    principal = principals.current(request)
    return principals.require_scope(request, Scope.WRITE) if principal.is_authenticated else principal


def nonce_for(target: Target, parent: str, principal: Principal, key: str) -> str:
    """Return the nonce for a new comment, which has the same purpose as the nonce in a comment form.

    The nonce is derived from the discussion, the parent comment, the account and the Idempotency-Key, so a repeated
    request doesn't post the comment again. Visitors can't be identified, so the nonces of two visitors differ only if
    their keys are random.
    """
    intent = "\0".join((str(target), parent, user_key(principal), key))
    return salted_hmac("api.comments.key", intent, algorithm="sha256").hexdigest()


def sender_of(request: HttpRequest, principal: Principal) -> Sender:
    """Return the sender of a request in the form that the comment rules need.

    The rules read `request.user`, so this function sets it to the principal, whose permissions are limited by the
    token's scopes.
    """
    request.user = principal
    return Sender(request, ())


def check_form(form: CommentForm | EditForm) -> None:
    """Raise a problem if a form is not valid.

    Raises:
        Problem: 422 with the paths of all invalid fields.
    """
    if not form.is_valid():
        errors = [(_path(name), message) for name, messages in form.errors.items() for message in messages]
        raise Problem("invalid", errors=errors)


def _path(name: str) -> str:
    if name == NON_FIELD_ERRORS:
        return "body"
    is_own = name in CommentForm.base_fields or name in EditForm.base_fields
    return f"body.{name}" if is_own else f"body.extra.{name}"


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
    comment = own.find_held(target, slug, (), principal) or selectors.get(target, slug)
    return sender_of(request, principal), comment, obj


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
    request: HttpRequest, node_id: NodeId, slug: CommentSlug, data: shapes.NewText, if_match: IfMatch = ""
) -> HttpResponse:
    """Replace the text of one of your own comments, if the site still allows it. Moderators can change any comment.

    If the comment has changed since you read it, the response is 412 and contains the current comment in `stored`.
    """
    rev = if_match_rev(request)
    sender, comment, obj = _load_for_change(request, node_id, slug)
    # The nonce is derived from `rev`, so a repeated request is recognized as the same change.
    form = EditForm({"text": data.text, "rev": rev, "nonce": f"api {rev}"})
    check_form(form)
    try:
        services.revise(sender, obj, comment, **form.cleaned_data)
    except Refused as refused:
        problem = refusals.problem_of(refused)
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
    rev = if_match_rev(request)
    sender, comment, _obj = _load_for_change(request, node_id, slug)
    no_content = HttpResponse(status=204)
    if isinstance(comment, Comment) and comment.removed:
        return no_content
    if isinstance(comment, HeldComment) and comment.rev != rev and services.may_delete(sender, comment):
        raise Problem("stale")
    services.delete(sender, comment, rev=rev)
    return no_content
