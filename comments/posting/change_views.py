"""Views for changing a comment: authors edit or delete their own comments, and readers flag or like comments.

GET requests only show a form or a page that asks for confirmation.
"""

import contextlib
from typing import Any

from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from marginalia.comments.errors import CommentNotFound
from marginalia.comments.posting import cookie, forms, likes, own, services, tokens
from marginalia.comments.posting.cookie import sent_comments
from marginalia.comments.posting.forms import EditForm
from marginalia.comments.posting.services import Refused, Sender
from marginalia.comments.posting.views import TOO_OLD, is_forged
from marginalia.comments.reading import selectors
from marginalia.comments.reading.lists import ANCHOR
from marginalia.comments.reading.views import comment_url, discussion_url, get_comment_or_404
from marginalia.comments.types import Comment, HeldComment
from marginalia.comments.views import get_target_or_404, page, personal

get_or_post = require_http_methods(["GET", "HEAD", "POST"])


@csrf_exempt
@get_or_post
def edit(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Let authors edit their recent comments, and let moderators edit any comment.

    If the change is not accepted, show the form again with the new text.
    """
    is_sent = request.method == "POST"
    comment, obj = _get_comment(request, label, pk, slug)
    sender = Sender(request, sent_comments(request))
    form = EditForm(request.POST if is_sent else None, initial=EditForm.initial_data(comment))
    refused: Any = ""
    if not is_sent:
        if not services.may_edit(sender, obj, comment):
            raise Http404(_("This comment can no longer be edited."))
    elif is_forged(request):
        refused = TOO_OLD
    elif form.is_valid():
        try:
            services.revise(sender, obj, comment, **form.cleaned_data)
            return HttpResponseRedirect(_comment_url(comment, obj))
        except Refused as error:
            refused = error.sentence
            form = form.renew(_get_comment(request, label, pk, slug)[0].rev)
    is_own = own.may_change(comment, sender.sent, request.user)
    context = {"form": form, "comment": comment, "obj": obj, "is_own": is_own, "refused": refused}
    return personal(page(request, comment.target, "edit", context, status=422 if refused or form.errors else 200))


@get_or_post
def delete(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Let authors delete their recent comments, and let moderators delete any comment."""
    comment, obj = _get_comment(request, label, pk, slug)
    if isinstance(comment, Comment) and comment.removed:
        return HttpResponseRedirect(discussion_url(comment.target, obj))
    sender = Sender(request, sent_comments(request))
    if request.method == "POST":
        try:
            services.delete(sender, comment)
        except Refused as error:
            raise Http404(error.sentence) from error
        except CommentNotFound:
            # The pending comment is gone, perhaps because a moderator has just approved it. Ignore the error, because
            # the author can still delete the published comment.
            if not isinstance(comment, HeldComment):
                raise
        return HttpResponseRedirect(_url_after_deletion(comment, obj))
    if not services.may_delete(sender, comment):
        raise Http404(_("This comment can no longer be deleted."))
    return confirmation_page(request, comment, obj, _("Delete this comment?"), _("Delete"))


@get_or_post
def flag(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Let readers report a comment to the moderators."""
    comment, obj = get_comment_or_404(label, pk, slug)
    if comment.removed:
        raise Http404(_("This comment was removed."))
    if request.method == "POST":
        try:
            services.flag(Sender(request, ()), comment)
        except Refused as refused:
            return confirmation_page(request, comment, obj, str(refused.sentence), _("Report comment"), status=429)
        context = {"obj": obj, "comment": comment, "back": _comment_url(comment, obj)}
        return personal(page(request, comment.target, "flagged", context))
    return confirmation_page(request, comment, obj, _("Report this comment to the moderators?"), _("Report comment"))


@get_or_post
def like(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Let readers like a comment, or take their like back.

    If the URL contains ?fragment, return only the form instead of a page, so that a script can read it.
    """
    comment, obj = get_comment_or_404(label, pk, slug)
    if not likes.can_be_liked(comment, obj):
        raise Http404(_("This comment can't be liked."))
    if request.method != "POST":
        return _like_page(request, comment, obj, likes.reader(request.user, cookie.guest(request)))
    guest = tokens.guest_or_new(cookie.guest(request))
    who = likes.reader(request.user, guest)
    try:
        likes.set_like(Sender(request, ()), obj, comment, who, liked=request.POST.get("liked") == "1")
    except Refused as refused:
        return _like_page(request, comment, obj, who, refused)
    response: HttpResponse
    if "fragment" in request.GET:
        response = _like_page(request, comment, obj, who)
    else:
        response = HttpResponseRedirect(_comment_url(comment, obj))
    if not forms.user_key(request.user):
        cookie.remember_guest(request, response, guest)
    return response


def _like_page(
    request: HttpRequest, comment: Comment, obj: Model, who: str, refused: Refused | None = None
) -> HttpResponse:
    context = {
        "obj": obj,
        "comment": comment,
        "text": SafeString(comment.html),
        "count": selectors.likes(comment.target, [comment.slug]).get(comment.slug, 0),
        "is_liked": likes.is_liked(comment, who),
        "refused": refused,
        "back": _comment_url(comment, obj),
    }
    status = 200
    if refused:
        status = 429 if refused.rule == "rate" else 403
    name = "like_form" if "fragment" in request.GET else "like"
    return personal(page(request, comment.target, name, context, status=status))


def confirmation_page(
    request: HttpRequest, comment: Any, obj: Model, question: str, answer: str, *, status: int = 200
) -> HttpResponse:
    """Return a page that asks for confirmation before a comment is changed. Its button submits to the same URL."""
    context = {
        "comment": comment,
        "obj": obj,
        "text": SafeString(comment.html),
        "question": question,
        "answer": answer,
        "back": obj.get_absolute_url() if isinstance(comment, HeldComment) else _comment_url(comment, obj),
    }
    return personal(page(request, comment.target, "ask", context, status=status))


def _get_comment(request: HttpRequest, label: str, pk: str, slug: str) -> tuple[Comment | HeldComment, Model]:
    """Return a comment and the object that it is about.

    A pending comment is returned only if the user is its author.

    Raises:
        Http404: There is no such comment for this user.
    """
    target, obj = get_target_or_404(label, pk)
    if held := own.find_held(target, slug, sent_comments(request), request.user):
        return held, obj
    return get_comment_or_404(label, pk, slug)


def _url_after_deletion(comment: Comment | HeldComment, obj: Model) -> str:
    """Return the URL to redirect to after a deletion: that of the parent comment or, without one, of the discussion."""
    with contextlib.suppress(CommentNotFound):
        if comment.parent and not selectors.get(comment.target, comment.parent).removed:
            return comment_url(comment.target, obj, comment.parent)
    return f"{discussion_url(comment.target, obj)}#{ANCHOR}"


def _comment_url(comment: Comment | HeldComment, obj: Model) -> str:
    if isinstance(comment, HeldComment):
        return own.done_url(comment.target, comment.slug)
    return comment_url(comment.target, obj, comment.slug)
