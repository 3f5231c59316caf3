"""Writing a comment: the form, its preview, what came of it. A refused form comes back with its text and a fresh token."""

from typing import Any

from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.middleware.csrf import CsrfViewMiddleware, rotate_token
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from marginalia.comments import targets
from marginalia.comments.errors import CommentError, CommentNotFound, InvalidParent, TargetNotFound
from marginalia.comments.posting import forms, ip_hash, own, policy, preparation, services, spam, tokens
from marginalia.comments.posting.cookie import own_of, remember
from marginalia.comments.posting.forms import CommentForm
from marginalia.comments.posting.policy import Mode
from marginalia.comments.posting.services import Refused, Sender
from marginalia.comments.posting.spam import Submission
from marginalia.comments.posting.tokens import BadToken, FormToken, Own
from marginalia.comments.reading import selectors
from marginalia.comments.reading.views import whereabouts
from marginalia.comments.types import Comment, Posted, Target
from marginalia.comments.views import GONE, page, personal, stray, target_of

TOO_OLD = gettext_lazy(
    "You logged in anew since this form was opened, or your browser keeps no cookies. Please send it again."
)


@require_safe
def form(request: HttpRequest, label: str, pk: str) -> HttpResponse:
    """Show the form for a comment, or for a reply to ?parent=SLUG; with ?fragment alone, for a script to put in place."""
    target, obj = target_of(label, pk)
    try:
        parent = _parent(target, request.GET.get("parent", ""))
    except InvalidParent as error:
        raise Http404(_("The comment that you want to answer is not here.")) from error
    blank = forms.blank(target, request.user, parent.slug if parent else "")
    name = "form_fragment" if "fragment" in request.GET else "form_page"
    return personal(page(request, target, name, _around(request, target, obj, blank, parent)))


@csrf_exempt
@require_POST
def post(request: HttpRequest) -> HttpResponse:
    """Take a comment, or show its preview. What cannot be taken comes back as a form with the text."""
    try:
        token = tokens.read_form(request.POST.get("token", ""))
    except BadToken:
        return stray(request, _("This form is not ours, or it was changed. Your text:"))
    form = CommentForm(request.POST, user=request.user, auto_id="comment-%s")
    try:
        obj = targets.resolve(token.target)
        _check_sender(request, token)
        if not form.is_valid():
            return _again(request, token, obj, form, None)
        if "preview" in request.POST:
            return _preview(request, token, obj, form)
        posted = services.submit(Sender(request, own_of(request)), obj, submission(request, token, form))
    except TargetNotFound:
        return stray(request, GONE)
    except Refused as refused:
        return _again(request, token, obj, form, refused)
    except CommentError as error:
        return _again(request, token, obj, form, Refused.by(error))
    return _done(request, token, obj, posted)


def submission(request: HttpRequest, token: FormToken, form: CommentForm) -> Submission:
    """Return what a valid form says, for the rules."""
    data = form.cleaned_data
    return Submission(
        token=token,
        name=data.get("name") or form.author_name,
        email=data.get("email", ""),
        user=forms.user_key(request.user),
        source=data["text"],
        ip_hash=ip_hash.key(request),
        trap=data["homepage"],
        notify=form.reply_to() if data["notify"] else "",
    )


@require_safe
def done(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Show an author the comment just sent: where it appeared, or that it waits."""
    target, obj = target_of(label, pk)
    held = own.waiting(target, slug, own_of(request), request.user)
    try:
        shown = held or selectors.get(target, slug)
    except CommentNotFound as error:
        raise Http404(_("This comment is not here.")) from error
    context = {"obj": obj, "comment": shown, "waits": held is not None, "text": SafeString(shown.html)}
    return personal(page(request, target, "posted", context))


def _check_sender(request: HttpRequest, token: FormToken) -> None:
    if is_forged(request):
        rotate_token(request)
        raise Refused("csrf", TOO_OLD)
    if token.user and token.user != forms.user_key(request.user):
        raise Refused("logged out", _("You are no longer logged in. Log in again, or post under a name."))


def _parent(target: Target, slug: str) -> Comment | None:
    if not slug:
        return None
    try:
        parent = selectors.get(target, slug)
    except CommentNotFound as error:
        raise InvalidParent(slug) from error
    if parent.removed:
        raise InvalidParent(slug)
    return parent


def _around(
    request: HttpRequest, target: Target, obj: Model, form: CommentForm, parent: Comment | None
) -> dict[str, Any]:
    rules = policy.of(obj)
    final = rules.mode is Mode.HOLD_ALL and not policy.is_moderator(request.user)
    return {
        "form": form,
        "obj": obj,
        "parent": parent,
        "parent_html": SafeString(parent.html) if parent else "",
        "is_closed": rules.is_closed(selectors.discussion(target)),
        "needs_login": rules.mode is Mode.MEMBERS and not forms.user_key(request.user),
        "own": own.in_discussion(own_of(request), target, request.user, final=final),
        # A script fetched the form into the page: it shows there what waits.
        "is_in_place": "fragment" in request.GET or "in_place" in request.POST,
    }


def _again(
    request: HttpRequest, token: FormToken, obj: Model, form: CommentForm, refused: Refused | None
) -> HttpResponse:
    """Show the form with all that was typed, a fresh token, and why. Where it is not known whether the form was sent before, it
    keeps its token: under another one it could be posted twice."""
    fresh = token if refused and refused.is_unsure else token.again(forms.user_key(request.user))
    try:
        parent = _parent(token.target, token.parent)
    except InvalidParent:
        parent = None
        fresh = FormToken.new(token.target, user=fresh.user)
    form.point()
    form.data = form.data.copy()
    form.data["token"] = fresh.signed()
    context = {**_around(request, token.target, obj, form, parent), "refused": refused}
    return personal(page(request, token.target, "form_page", context, status=422))


def _preview(request: HttpRequest, token: FormToken, obj: Model, form: CommentForm) -> HttpResponse:
    """Show the text as it would stand there. Raises Refused, CommentError."""
    if not spam.may_preview(ip_hash=ip_hash.key(request), user=forms.user_key(request.user)):
        raise Refused(
            "rate", _("You have looked at many previews in a short time. Wait a few minutes, or post it as it is.")
        )
    parent = _parent(token.target, token.parent)
    context = _around(request, token.target, obj, form, parent)
    context["preview"] = SafeString(preparation.render(form.cleaned_data["text"]))
    context["preview_name"] = form.cleaned_data.get("name") or form.author_name
    return personal(page(request, token.target, "preview", context))


def _done(request: HttpRequest, token: FormToken, obj: Model, posted: Posted) -> HttpResponse:
    slug = posted.comment.slug if posted.comment else posted.held.slug if posted.held else ""
    if posted.comment:
        where = whereabouts(token.target, obj, slug)
    elif "in_place" in request.POST:
        page_of = whereabouts(token.target, obj, token.parent) if token.parent else obj.get_absolute_url()
        where = f"{page_of.partition('#')[0]}#{own.waiting_anchor(slug)}"
    else:
        where = own.done_url(token.target, slug)
    response = HttpResponseRedirect(where)
    remember(request, response, Own(token.discussion, slug, token.nonce))
    return response


def is_forged(request: HttpRequest) -> bool:
    """Return whether a POST lacks the CSRF token: for views that answer this themselves, because a form would get lost.

    They must be csrf_exempt, or the middleware answers first.
    """
    return CsrfViewMiddleware(lambda _request: HttpResponse()).process_view(request, _guarded, (), {}) is not None


def _guarded(request: HttpRequest) -> HttpResponse:
    return HttpResponse()
