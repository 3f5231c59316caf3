"""Changing what is there: authors edit and delete their own, readers flag, moderators approve. A GET only asks."""

import contextlib
from typing import Any

from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from marginalia.comments import signals
from marginalia.comments.errors import CommentNotFound
from marginalia.comments.posting import flags, forms, ip_hash, own, policy, services, spam
from marginalia.comments.posting.cookie import own_of
from marginalia.comments.posting.forms import EditForm
from marginalia.comments.posting.services import Refused, Sender
from marginalia.comments.posting.views import TOO_OLD, is_forged
from marginalia.comments.reading import selectors
from marginalia.comments.reading.lists import ANCHOR
from marginalia.comments.reading.views import comment_of, whereabouts
from marginalia.comments.types import Comment, Held
from marginalia.comments.views import page, personal, target_of

ask_or_do = require_http_methods(["GET", "HEAD", "POST"])


@csrf_exempt
@ask_or_do
def edit(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Let authors change their comment for a while, and moderators always. What cannot be taken comes back with the text."""
    is_sent = request.method == "POST"
    comment, obj = _found(request, label, pk, slug)
    sender = Sender(request, own_of(request))
    form = EditForm(request.POST if is_sent else None, initial=EditForm.first(comment))
    refused: Any = ""
    if not is_sent:
        if not services.may_edit(sender, obj, comment):
            raise Http404(_("This comment can no longer be changed."))
    elif is_forged(request):
        refused = TOO_OLD
    elif form.is_valid():
        try:
            services.revise(sender, obj, comment, **form.cleaned_data)
            return HttpResponseRedirect(_where(comment, obj))
        except Refused as error:
            refused = error.sentence
            form = form.again(_found(request, label, pk, slug)[0].rev)
    context = {"form": form, "comment": comment, "obj": obj, "refused": refused}
    return personal(page(request, comment.target, "edit", context, status=422 if refused or form.errors else 200))


@ask_or_do
def delete(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Let authors delete their comment for a while, and moderators always."""
    comment, obj = _found(request, label, pk, slug)
    if isinstance(comment, Comment) and comment.removed:
        return HttpResponseRedirect(obj.get_absolute_url())
    is_moderator = policy.is_moderator(request.user)
    if not is_moderator and not own.may_change(comment, own_of(request), request.user):
        raise Http404(_("This comment can no longer be deleted."))
    if request.method == "POST" and isinstance(comment, Held):
        with contextlib.suppress(CommentNotFound):  # a moderator was faster: where it is now, it can be deleted again
            services.withdraw(comment.id)
        return HttpResponseRedirect(_answered(comment, obj))
    if request.method == "POST":
        removed = services.remove(comment.target, slug, by=forms.user_key(request.user))
        if is_moderator:
            flags.settle(comment.target, slug)
            signals.comment_was_flagged.send(Comment, comment=removed, flag="removal", created=True, request=request)
        return HttpResponseRedirect(_answered(comment, obj))
    return ask(request, comment, obj, _("Delete this comment?"), _("Delete"))


@ask_or_do
def flag(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Let readers bring a comment before the moderators."""
    comment, obj = comment_of(label, pk, slug)
    if comment.removed:
        raise Http404(_("This comment was removed."))
    if request.method == "POST":
        key = forms.user_key(request.user)
        network = ip_hash.key(request)
        if not policy.is_moderator(request.user) and not spam.may_flag(ip_hash=network, user=key):
            refused = _("You have flagged many comments in a short time. Please wait a few minutes.")
            return ask(request, comment, obj, refused, _("Flag it"), status=429)
        created = flags.flag(comment, f"user:{key}" if key else f"ip_hash:{network}")
        signals.comment_was_flagged.send(Comment, comment=comment, flag="flag", created=created, request=request)
        context = {"obj": obj, "comment": comment, "back": _where(comment, obj)}
        return personal(page(request, comment.target, "flagged", context))
    return ask(request, comment, obj, _("Bring this comment before a moderator?"), _("Flag it"))


def ask(
    request: HttpRequest, comment: Any, obj: Model, question: str, answer: str, *, status: int = 200
) -> HttpResponse:
    """Return the page that asks before something is done to a comment; its button posts to the same URL."""
    context = {
        "comment": comment, "obj": obj, "text": SafeString(comment.html), "question": question, "answer": answer,
        "back": obj.get_absolute_url() if isinstance(comment, Held) else _where(comment, obj),
    }  # fmt: skip
    return personal(page(request, comment.target, "ask", context, status=status))


def _found(request: HttpRequest, label: str, pk: str, slug: str) -> tuple[Comment | Held, Model]:
    """Return a public comment, or to its author one that waits. Raises Http404."""
    target, obj = target_of(label, pk)
    if held := own.waiting(target, slug, own_of(request), request.user):
        return held, obj
    return comment_of(label, pk, slug)


def _answered(comment: Comment | Held, obj: Model) -> str:
    """Return where a reader goes on whose comment is gone: at the comment that it answered, else at the discussion."""
    with contextlib.suppress(CommentNotFound):
        if comment.parent and not selectors.get(comment.target, comment.parent).removed:
            return whereabouts(comment.target, obj, comment.parent)
    return f"{obj.get_absolute_url()}#{ANCHOR}"


def _where(comment: Comment | Held, obj: Model) -> str:
    if isinstance(comment, Held):
        return own.done_url(comment.target, comment.slug)
    return whereabouts(comment.target, obj, comment.slug)
