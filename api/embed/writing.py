"""Endpoints that post comments, change and delete comments, and decide about pending comments."""

from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from pydantic import Field, StrictBool

from api.comments import refusals
from api.comments.parameters import CommentSlug, IfMatch, Key
from api.embed import pages, presenting
from api.embed.parameters import OPTIONS, Address, PageShape, embed_sender, parse_address
from api.embed.reading import router
from api.http import responses
from api.models import EmbeddedPage
from api.problems import Problem
from marginalia.comments.api import shapes, writing
from marginalia.comments.moderation import actions
from marginalia.comments.posting import likes, tokens
from marginalia.comments.posting.services import Sender
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, HeldComment, Verdict

COMMENT_PATH = "/embed/comments/{commentslug:slug}"


class NewEmbeddedComment(shapes.NewComment, PageShape):
    """A comment to post, with the address and title of its page."""

    title: str = Field("", max_length=shapes.MAX_LENGTH)


class NewEmbeddedText(shapes.NewText, PageShape):
    """The new text of a comment."""


class EmbeddedLike(PageShape):
    """A like of a comment. `liked` is false if the like is taken back."""

    liked: StrictBool


class EmbeddedDecision(PageShape):
    """A moderator's decision about a pending comment."""

    action: Literal["approve", "reject", "spam"]


@router.post("/embed/comments", url_name="embed-comments", **OPTIONS)
@refusals.as_problems()
def post(request: HttpRequest, data: NewEmbeddedComment, key: Key) -> HttpResponse:
    """Post a comment. Add it to the list in `own`, which the browser sends in the header Comments-Own from then on."""
    address = parse_address(data.page, "body.page")
    sender = embed_sender(request)
    new = writing.read_comment(sender, address.target, data, key)
    page = pages.get_or_create(address, data.title)
    comment, own = writing.post(sender, page, new)
    sender = Sender(request, tokens.read_sent(own))
    return _comment_response(sender, page, comment, status=201, own=own)


@router.patch(COMMENT_PATH, url_name="embed-comment", **OPTIONS)
@refusals.as_problems()
def change(request: HttpRequest, slug: CommentSlug, data: NewEmbeddedText, if_match: IfMatch = "") -> HttpResponse:
    """Replace the text of your own comment, or of any comment if you are a moderator."""
    rev = writing.if_match_rev(request)
    sender = embed_sender(request)
    page, comment = _load(sender, data.page, "body.page", slug)
    writing.change(sender, page, comment, data.text, rev)
    return _comment_response(sender, *_load(sender, data.page, "body.page", slug))


@router.delete(COMMENT_PATH, url_name="embed-comment", **OPTIONS)
@refusals.as_problems()
def delete(request: HttpRequest, slug: CommentSlug, page: Address, if_match: IfMatch = "") -> HttpResponse:
    """Delete your own comment, or any comment if you are a moderator."""
    rev = writing.if_match_rev(request)
    sender = embed_sender(request)
    _page, comment = _load(sender, page, "query.page", slug)
    writing.delete(sender, comment, rev)
    return HttpResponse(status=204)


@router.post(f"{COMMENT_PATH}/like", url_name="embed-like", **OPTIONS)
@refusals.as_problems()
def like(request: HttpRequest, slug: CommentSlug, data: EmbeddedLike) -> HttpResponse:
    """Like a comment, or take the like back. Browsers of guests send `guest` in the header Comments-Guest afterwards."""
    sender = embed_sender(request)
    address = parse_address(data.page, "body.page")
    comment = selectors.get(address.target, slug)
    guest = tokens.guest_or_new(writing.guest(request))
    who = likes.reader(request.user, guest)
    likes.set_like(sender, pages.get(address), comment, who, liked=data.liked)
    changed = selectors.with_likes(comment)
    return responses.json_response(request, {"likes": changed.likes, "liked": data.liked, "guest": guest})


@router.post(f"{COMMENT_PATH}/decision", url_name="embed-decision", **OPTIONS)
@refusals.as_problems()
def decide(request: HttpRequest, slug: CommentSlug, data: EmbeddedDecision, if_match: IfMatch = "") -> HttpResponse:
    """Approve or reject a pending comment, or mark it as spam. Only moderators can do this."""
    rev = writing.if_match_rev(request)
    sender = embed_sender(request)
    page, comment = _load(sender, data.page, "body.page", slug)
    if isinstance(comment, HeldComment):
        decided = actions.decide(sender, data.action, [f"{comment.id}.{rev}"], seen=Verdict.WAITING)
        if decided.failed:
            raise Problem("stale", str(decided.failed[0][1]))
    return HttpResponse(status=204)


def _load(sender: Sender, page: str, field: str, slug: str) -> tuple[EmbeddedPage, Comment | HeldComment]:
    """Return a page and one of its comments. Pending comments are returned only to their authors and to moderators.

    Raises:
        Problem: 422 if the address of the page is invalid.
        CommentNotFound: There is no such comment.
    """
    address = parse_address(page, field)
    held = selectors.find_held(address.target, slug) if sender.is_moderator else None
    return pages.get(address), held or writing.load(sender, address.target, slug)


def _comment_response(
    sender: Sender, page: EmbeddedPage, comment: Comment | HeldComment, *, status: int = 200, **more: Any
) -> HttpResponse:
    discussion = selectors.discussion(comment.target)
    if isinstance(comment, Comment):
        comment = selectors.with_likes(comment)
    data = presenting.serialize_comments(sender, page, [comment], discussion)[0]
    return responses.json_response(sender.request, {"comment": data, **more}, status=status)
