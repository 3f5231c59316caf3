"""Changing what is there: authors edit and delete their own, readers flag, moderators approve. A GET only asks."""

import contextlib
from typing import Any

from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from comments import (
    addresses,
    flags,
    forms,
    links,
    notices,
    own,
    policy,
    selectors,
    services,
    signals,
    slugs,
    spam,
    targets,
)
from comments.errors import CommentError, CommentNotFound, EditConflict, HeldChanged
from comments.forms import EditForm
from comments.policy import Mode
from comments.types import Comment, Held
from comments.views.base import comment_of, own_of, page, personal, target_of
from comments.views.reading import whereabouts

MODERATE = "comments.can_moderate"
ask_or_do = require_http_methods(["GET", "HEAD", "POST"])


@ask_or_do
def edit(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Let authors change their comment for a while, and moderators always."""
    comment, obj = _found(request, label, pk, slug)
    form = EditForm(request.POST or None, initial=EditForm.first(comment))
    refused: Any = ""
    if not _may_edit(request, comment, obj):
        if request.method != "POST":
            raise Http404(_("This comment can no longer be changed."))
        refused = _("This comment can no longer be changed. Your text:")
    elif request.method == "POST" and form.is_valid():
        refused = _change(request, comment, form)
        if not refused:
            return HttpResponseRedirect(_where(comment, obj))
        form = form.again(_found(request, label, pk, slug)[0].rev)
    context = {"form": form, "comment": comment, "obj": obj, "refused": refused}
    return personal(page(request, comment.target, "edit", context, status=422 if refused or form.errors else 200))


@ask_or_do
def delete(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Let authors delete their comment for a while, and moderators always."""
    comment, obj = _found(request, label, pk, slug)
    if isinstance(comment, Comment) and comment.removed:
        return HttpResponseRedirect(obj.get_absolute_url())
    is_moderator = request.user.has_perm(MODERATE)
    if not is_moderator and not own.may_change(comment, own_of(request), request.user):
        raise Http404(_("This comment can no longer be deleted."))
    if request.method == "POST" and isinstance(comment, Held):
        with contextlib.suppress(CommentNotFound):  # a moderator was faster: where it is now, it can be deleted again
            services.withdraw(comment.id)
        return HttpResponseRedirect(obj.get_absolute_url())
    if request.method == "POST":
        removed = services.remove(comment.target, slug, by=forms.user_key(request.user))
        if is_moderator:
            flags.settle(comment.target, slug)
            signals.comment_was_flagged.send(Comment, comment=removed, flag="removal", created=True, request=request)
        return HttpResponseRedirect(obj.get_absolute_url())
    return _asked(request, comment, obj, _("Delete this comment?"), _("Delete"))


@ask_or_do
def flag(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Let readers bring a comment before the moderators."""
    comment, obj = comment_of(label, pk, slug)
    if comment.removed:
        raise Http404(_("This comment was removed."))
    if request.method == "POST":
        key = forms.user_key(request.user)
        created = flags.flag(comment, f"user:{key}" if key else f"address:{addresses.key(request)}")
        signals.comment_was_flagged.send(Comment, comment=comment, flag="flag", created=created, request=request)
        return personal(page(request, comment.target, "flagged", {"obj": obj, "comment": comment}))
    return _asked(request, comment, obj, _("Bring this comment before a moderator?"), _("Flag it"))


@permission_required(MODERATE)
@ask_or_do
def approve(request: HttpRequest, held_id: str) -> HttpResponse:
    """Let moderators publish a held comment: the page that notices lead to."""
    try:
        held = selectors.get_held(held_id)
    except CommentNotFound as error:
        raise Http404(_("This comment does not wait any more.")) from error
    obj = targets.resolve_many([held.target]).get(held.target)
    if obj is None:
        raise Http404(_("What this comment is about is not public."))
    if request.method == "POST":
        try:
            comment = services.approve(held_id, by=forms.user_key(request.user), rev=_seen(request))
        except HeldChanged:
            held = selectors.get_held(held_id)
            return _asked(request, held, obj, _("Its author changed it meanwhile. Publish this comment?"), _("Publish"))
        except CommentError as error:
            raise PermissionDenied(error.sentence) from error
        notices.published(comment, links.origin(request))
        signals.comment_was_flagged.send(Comment, comment=comment, flag="approval", created=True, request=request)
        return HttpResponseRedirect(whereabouts(comment.target, obj, comment.slug))
    return _asked(request, held, obj, _("Publish this comment?"), _("Publish"))


def _seen(request: HttpRequest) -> int:
    return forms.revision(request.POST.get("rev", ""))


def _asked(request: HttpRequest, comment: Any, obj: Model, question: str, answer: str) -> HttpResponse:
    context = {
        "comment": comment, "obj": obj, "text": SafeString(comment.html), "question": question, "answer": answer,
    }  # fmt: skip
    return personal(page(request, comment.target, "ask", context))


def _found(request: HttpRequest, label: str, pk: str, slug: str) -> tuple[Comment | Held, Model]:
    """Return a public comment, or to its author one that waits. Raises Http404."""
    target, obj = target_of(label, pk)
    if held := own.waiting(target, slug, own_of(request), request.user):
        return held, obj
    return comment_of(label, pk, slug)


def _where(comment: Comment | Held, obj: Model) -> str:
    if isinstance(comment, Held):
        return own.done_url(comment.target, comment.slug)
    return whereabouts(comment.target, obj, comment.slug)


def _may_edit(request: HttpRequest, comment: Comment | Held, obj: Model) -> bool:
    if isinstance(comment, Held):
        return own.may_change(comment, own_of(request), request.user)
    if comment.removed:
        return False
    if request.user.has_perm(MODERATE):
        return True
    # Where everything is looked at first, nothing may change after it was.
    return policy.of(obj).mode is not Mode.HOLD_ALL and own.may_change(comment, own_of(request), request.user)


def _change(request: HttpRequest, comment: Comment | Held, form: EditForm) -> Any:
    """Change the text, as often as authors may; return a sentence that says why not, "" when it is done."""
    # What was changed since it was seen is not written over: this form was sent before, or has to be looked at again.
    is_counted = form.cleaned_data["rev"] >= comment.rev and not request.user.has_perm(MODERATE)
    # A form's nonce could be sent again with another text, or over the next revision, as another change.
    said = f"{comment.slug} {form.cleaned_data['rev']} {form.cleaned_data['nonce']} {form.cleaned_data['text']}"
    who = {"address": addresses.key(request), "user": forms.user_key(request.user), "token": slugs.part(said)}
    if is_counted:
        # By the revision that was seen: over no other is it written, however many are sent at once.
        if not own.may_revise(form.cleaned_data["rev"]):
            return _("You have changed this comment very often. It stays as it is now.")
        if not spam.may_change(**who):
            return _("You have sent or changed many comments in a short time. Please wait a few minutes.")
    refused = _edit_held(comment, form) if isinstance(comment, Held) else _edit(request, comment, form)
    if refused and is_counted:
        spam.take_back_change(**who)
    return refused


def _edit_held(held: Held, form: EditForm) -> Any:
    """Change the text of a comment that waits; return a sentence that says why not, "" when it is done."""
    try:
        services.change_held(held.id, source=form.cleaned_data["text"], rev=form.cleaned_data["rev"])
    except HeldChanged:
        return _("The comment was changed meanwhile, perhaps in another window. Sending this replaces that.")
    except CommentNotFound:
        return _("A moderator is just publishing this comment. Your text:")
    except CommentError as error:
        return error.sentence
    return ""


def _edit(request: HttpRequest, comment: Comment, form: EditForm) -> Any:
    """Change the text; return a sentence that says why not, "" when it is done."""
    source = form.cleaned_data["text"]
    minds = spam.has_many_links(services.render(source)) or spam.listed_words(source)
    if minds and not request.user.has_perm(MODERATE):
        return _("With these links or words it would have to wait for a moderator: post it as a new comment instead.")
    try:
        services.edit(
            comment.target,
            comment.slug,
            source=source,
            rev=form.cleaned_data["rev"],
            token=form.cleaned_data["nonce"],
            by=forms.user_key(request.user),
        )
    except EditConflict:
        return _("The comment was changed meanwhile, perhaps in another window. Sending this replaces that.")
    except CommentError as error:
        return error.sentence
    return ""
