"""Endpoints for projects that install only the comments app. The rules are the same as for comment forms.

Accounts are recognized by the session, or by the project's own middleware. Visitors need no cookies, because they send
the signed values in the headers Comments-Own and Comments-Guest.
"""

from typing import Annotated, Any

from django.conf import settings
from django.db.models import Model
from django.http import HttpRequest
from ninja import Header, Path, Query, Router

import marginalia.comments.converters  # noqa: F401 registers the converters
from marginalia.comments import targets
from marginalia.comments.api import presenting, shapes, writing
from marginalia.comments.api.rejections import KEY_HEADER, KEY_PATTERN, Rejected, as_rejections
from marginalia.comments.posting import likes, own, services, tokens
from marginalia.comments.posting.services import Sender
from marginalia.comments.posting.views import is_forged
from marginalia.comments.reading import paging, selectors
from marginalia.comments.reading.lists import Subject
from marginalia.comments.reading.outages import limited
from marginalia.comments.reading.paging import PageRequest
from marginalia.comments.types import Comment, HeldComment, Order, Target

DEFAULT_LIMIT, MAX_LIMIT = 50, 100
MAX_COUNTED = 100
TARGET_PATH = "/on/{label:label}/{commentkey:pk}"
COMMENT_PATH = "/c/{label:label}/{commentkey:pk}/{commentslug:slug}"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

Label = Annotated[str, Path(examples=["shop.item"])]
Key = Annotated[str, Path(examples=["12"])]
CommentSlug = Annotated[shapes.Slug, Path()]
OrderName = Annotated[
    str, Query(pattern=f"^({'|'.join(Order)})?$", description="By default, the discussion's own order.")
]
Cursor = Annotated[str, Query(max_length=paging.MAX_LENGTH, description="`next` or `previous` from another page.")]
IfMatch = Annotated[str, Header(alias="If-Match", max_length=200, description="The `rev` of the comment you read.")]
IdempotencyKey = Annotated[
    str,
    Header(
        alias=KEY_HEADER,
        pattern=KEY_PATTERN,
        description="Identifies the comment. Sending the same key and text again posts nothing. "
        "Visitors need at least 16 random characters.",
    ),
]


def check_forgery(request: HttpRequest) -> bool:
    """Return True unless another site could have made a browser send this request.

    Raises:
        Rejected: The request has a session cookie, would change something, and has no valid CSRF token.
    """
    has_session = settings.SESSION_COOKIE_NAME in request.COOKIES
    if request.method not in SAFE_METHODS and has_session and is_forged(request):
        raise Rejected("forbidden", "Requests with a session cookie need a CSRF token. Send it as X-CSRFToken.")
    return True


router = Router(tags=["Comments"], auth=check_forgery)


def _load(request: HttpRequest, label: str, pk: str) -> tuple[Sender, Target, Model]:
    """Return the sender of a request, the target of a discussion, and its object.

    Raises:
        TargetNotFound: Readers can't see the object.
    """
    target = Target(label, pk)
    return Sender(request, writing.sent_comments(request)), target, targets.resolve(target)


def _serialize(sender: Sender, obj: Model, comment: Comment | HeldComment) -> dict[str, Any]:
    comment = selectors.with_likes(comment) if isinstance(comment, Comment) else comment
    is_liked = isinstance(comment, Comment) and likes.is_liked(comment, _reader(sender))
    liked = [comment.slug] if is_liked else []
    return presenting.serialize_for(sender, obj, [comment], selectors.discussion(comment.target), liked)[0]


def _reader(sender: Sender) -> str:
    return likes.reader(sender.request.user, writing.guest(sender.request))


@router.get("/counts", operation_id="counts", url_name="counts", response=shapes.Counts, summary="Count comments")
@limited
@as_rejections()
def counts(
    request: HttpRequest,
    target: Annotated[
        list[str],
        Query(
            min_length=1,
            max_length=MAX_COUNTED,
            examples=[["shop.item:12"]],
            description="The objects whose comments to count. Repeat the parameter for several objects.",
        ),
    ],
) -> Any:
    """Return the number of comments on each of the given objects. Objects that readers can't see are left out."""
    wanted = list(dict.fromkeys(map(Target.parse, target)))
    visible = targets.resolve_many(wanted)
    discussions = selectors.discussions(target for target in wanted if target in visible)
    return {"items": [{"target": str(target), "count": found.count} for target, found in discussions.items()]}


@router.get(TARGET_PATH, operation_id="list", url_name="list", response=shapes.Comments, summary="Read a discussion")
@limited
@as_rejections()
def comments(
    request: HttpRequest,
    label: Label,
    pk: Key,
    order: OrderName = "",
    cursor: Cursor = "",
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
) -> Any:
    """Return a page of a discussion. If you send a cursor, the response has the order of the cursor."""
    sender, target, obj = _load(request, label, pk)
    page = selectors.requested_page(target, PageRequest.parse(cursor) if cursor else PageRequest(order), size=limit)
    previous, following = paging.cursors(page)
    listed = own.list_own(sender.sent, target, request.user)
    pending = [entry.comment for entry in listed if entry.waits]
    liked = likes.liked(target, _reader(sender))
    return {
        "items": presenting.serialize_for(sender, obj, page.comments, page.discussion, liked),
        "pending": presenting.serialize_for(sender, obj, pending, page.discussion),
        "previous": previous or None,
        "next": following or None,
        "order": page.order,
        "discussion": presenting.serialize_discussion_for(sender, Subject(target, obj), page.discussion),
    }


@router.post(
    TARGET_PATH,
    operation_id="post",
    url_name="post",
    response={201: shapes.Posted},
    summary="Post a comment or a reply",
)
@limited
@as_rejections()
def post(request: HttpRequest, label: Label, pk: Key, data: shapes.NewComment, key: IdempotencyKey) -> Any:
    """Post a comment. `state` is `pending` if it is waiting for a moderator."""
    sender, target, obj = _load(request, label, pk)
    comment, signed = writing.post(sender, obj, writing.read_comment(sender, target, data, key))
    sender = Sender(request, tokens.read_sent(signed))
    return {"comment": _serialize(sender, obj, comment), "own": signed}


@router.get(
    COMMENT_PATH, operation_id="read", url_name="read", response=shapes.OfferedComment, summary="Read a comment"
)
@limited
@as_rejections()
def comment(request: HttpRequest, label: Label, pk: Key, slug: CommentSlug) -> Any:
    """Return a comment. You can also read your own pending comments."""
    sender, target, obj = _load(request, label, pk)
    return _serialize(sender, obj, writing.load(sender, target, slug))


@router.patch(
    COMMENT_PATH, operation_id="change", url_name="change", response=shapes.OfferedComment, summary="Change a comment"
)
@limited
@as_rejections()
def change(
    request: HttpRequest,
    label: Label,
    pk: Key,
    slug: CommentSlug,
    data: shapes.NewText,
    if_match: IfMatch = "",
) -> Any:
    """Replace the text of your own comment, or of any comment if you are a moderator."""
    rev = writing.if_match_rev(request)
    sender, target, obj = _load(request, label, pk)
    writing.change(sender, obj, writing.load(sender, target, slug), data.text, rev)
    return _serialize(sender, obj, writing.load(sender, target, slug))


@router.delete(COMMENT_PATH, operation_id="delete", url_name="delete", response={204: None}, summary="Delete a comment")
@limited
@as_rejections()
def delete(request: HttpRequest, label: Label, pk: Key, slug: CommentSlug, if_match: IfMatch = "") -> None:
    """Delete your own comment, or any comment if you are a moderator. A pending comment is withdrawn."""
    rev = writing.if_match_rev(request)
    sender, target, _obj = _load(request, label, pk)
    writing.delete(sender, writing.load(sender, target, slug), rev)


@router.post(
    f"{COMMENT_PATH}/flag", operation_id="flag", url_name="flag", response={204: None}, summary="Report a comment"
)
@limited
@as_rejections()
def flag(request: HttpRequest, label: Label, pk: Key, slug: CommentSlug) -> None:
    """Report a comment to the moderators. Each reader is counted once."""
    sender, target, _obj = _load(request, label, pk)
    services.flag(sender, selectors.get(target, slug))


@router.put(
    f"{COMMENT_PATH}/like", operation_id="like", url_name="like", response=shapes.Liked, summary="Like a comment"
)
@limited
@as_rejections()
def like(request: HttpRequest, label: Label, pk: Key, slug: CommentSlug) -> Any:
    """Like a comment. Each reader is counted once."""
    return _set_like(request, label, pk, slug, liked=True)


@router.delete(
    f"{COMMENT_PATH}/like", operation_id="unlike", url_name="unlike", response=shapes.Liked, summary="Take back a like"
)
@limited
@as_rejections()
def unlike(request: HttpRequest, label: Label, pk: Key, slug: CommentSlug) -> Any:
    """Take back a like of a comment."""
    return _set_like(request, label, pk, slug, liked=False)


def _set_like(request: HttpRequest, label: str, pk: str, slug: str, *, liked: bool) -> dict[str, Any]:
    sender, target, obj = _load(request, label, pk)
    comment = selectors.get(target, slug)
    guest = tokens.guest_or_new(writing.guest(request))
    likes.set_like(sender, obj, comment, likes.reader(request.user, guest), liked=liked)
    return {"likes": selectors.with_likes(comment).likes, "liked": liked, "guest": guest}
