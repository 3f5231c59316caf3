"""Endpoints that post comments, change and delete comments, and decide about pending comments."""

from typing import Any, Literal

from django.http import HttpRequest, HttpResponse
from pydantic import Field, StrictBool

from api.comments import refusals, shapes
from api.comments.parameters import CommentSlug, IfMatch, Key, if_match_rev
from api.comments.posting import MIN_VISITOR_KEY, check_form, nonce_for
from api.embed import pages, presenting
from api.embed.parameters import OPTIONS, Address, PageShape, embed_guest, embed_sender, parse_address
from api.embed.reading import router
from api.http import responses
from api.http.idempotency import HEADER
from api.models import EmbeddedPage
from api.problems import Problem
from api.rights import principals
from marginalia.comments.moderation import actions
from marginalia.comments.posting import likes, own, services, tokens
from marginalia.comments.posting.forms import CommentForm, EditForm, user_key
from marginalia.comments.posting.services import Sender
from marginalia.comments.posting.tokens import FormToken, SentComment
from marginalia.comments.posting.views import submission
from marginalia.comments.reading import selectors
from marginalia.comments.types import Comment, HeldComment, Target, Verdict

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
    if len(key) < MIN_VISITOR_KEY:
        raise Problem("invalid", errors=[(f"header.{HEADER}", "This key is too short.")])
    address = parse_address(data.page, "body.page")
    sender = embed_sender(request)
    principal = principals.current(request)
    form = CommentForm({**data.model_dump(exclude={"page", "title", "extra"}), "token": key}, user=principal)
    check_form(form)
    target = address.target
    parent = data.parent or ""
    token = FormToken(str(target), parent, nonce_for(target, parent, principal, key), begun=0, user=user_key(principal))
    page = pages.get_or_create(address, data.title)
    result = services.submit(sender, page, submission(request, token, form))
    comment = result.comment or result.held
    assert comment is not None
    sent = SentComment(str(target), comment.slug, token.nonce)
    sender = Sender(request, (sent, *(entry for entry in sender.sent if entry != sent)))
    return _comment_response(sender, page, comment, status=201, own=tokens.sign_sent(sender.sent))


@router.patch(COMMENT_PATH, url_name="embed-comment", **OPTIONS)
@refusals.as_problems()
def change(request: HttpRequest, slug: CommentSlug, data: NewEmbeddedText, if_match: IfMatch = "") -> HttpResponse:
    """Replace the text of your own comment, or of any comment if you are a moderator."""
    rev = if_match_rev(request)
    sender = embed_sender(request)
    page, comment = _load(sender, data.page, "body.page", slug)
    form = EditForm({"text": data.text, "rev": rev, "nonce": f"api {rev}"})
    check_form(form)
    services.revise(sender, page, comment, **form.cleaned_data)
    return _comment_response(sender, *_load(sender, data.page, "body.page", slug))


@router.delete(COMMENT_PATH, url_name="embed-comment", **OPTIONS)
@refusals.as_problems()
def delete(request: HttpRequest, slug: CommentSlug, page: Address, if_match: IfMatch = "") -> HttpResponse:
    """Delete your own comment, or any comment if you are a moderator."""
    rev = if_match_rev(request)
    sender = embed_sender(request)
    _page, comment = _load(sender, page, "query.page", slug)
    if not (isinstance(comment, Comment) and comment.removed):
        if isinstance(comment, HeldComment) and comment.rev != rev:
            raise Problem("stale")
        services.delete(sender, comment, rev=rev)
    return HttpResponse(status=204)


@router.post(f"{COMMENT_PATH}/like", url_name="embed-like", **OPTIONS)
@refusals.as_problems()
def like(request: HttpRequest, slug: CommentSlug, data: EmbeddedLike) -> HttpResponse:
    """Like a comment, or take the like back. Browsers of guests send `guest` in the header Comments-Guest afterwards."""
    sender = embed_sender(request)
    address = parse_address(data.page, "body.page")
    comment = selectors.get(address.target, slug)
    guest = tokens.guest_or_new(embed_guest(request))
    who = likes.reader(request.user, guest)
    likes.set_like(sender, pages.get(address), comment, who, liked=data.liked)
    changed = selectors.with_likes(comment)
    return responses.json_response(request, {"likes": changed.likes, "liked": data.liked, "guest": guest})


@router.post(f"{COMMENT_PATH}/decision", url_name="embed-decision", **OPTIONS)
@refusals.as_problems()
def decide(request: HttpRequest, slug: CommentSlug, data: EmbeddedDecision, if_match: IfMatch = "") -> HttpResponse:
    """Approve or reject a pending comment, or mark it as spam. Only moderators can do this."""
    rev = if_match_rev(request)
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
    held = _find_held(sender, address.target, slug)
    return pages.get(address), held or selectors.get(address.target, slug)


def _find_held(sender: Sender, target: Target, slug: str) -> HeldComment | None:
    if sender.is_moderator:
        return selectors.find_held(target, slug)
    return own.find_held(target, slug, sender.sent, sender.request.user)


def _comment_response(
    sender: Sender, page: EmbeddedPage, comment: Comment | HeldComment, *, status: int = 200, **more: Any
) -> HttpResponse:
    discussion = selectors.discussion(comment.target)
    if isinstance(comment, Comment):
        comment = selectors.with_likes(comment)
    data = presenting.serialize_comments(sender, page, [comment], discussion)[0]
    return responses.json_response(sender.request, {"comment": data, **more}, status=status)
