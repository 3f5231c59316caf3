"""Views for writing a comment: the form, the preview and the result.

If a comment is refused, the form is shown again with the text and a new token.
"""

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
from marginalia.comments.moderators import is_moderator
from marginalia.comments.posting import cookie, forms, ip_hash, likes, own, policy, preparation, services, spam, tokens
from marginalia.comments.posting.cookie import remember, sent_comments
from marginalia.comments.posting.forms import CommentForm
from marginalia.comments.posting.services import Refused, Sender
from marginalia.comments.posting.spam import Submission
from marginalia.comments.posting.tokens import BadToken, FormToken, SentComment
from marginalia.comments.reading import selectors
from marginalia.comments.reading.views import comment_url, discussion_url
from marginalia.comments.types import Comment, PostResult, Target
from marginalia.comments.views import GONE, error_page, get_target_or_404, page, personal

TOO_OLD = gettext_lazy(
    "You logged in again after you opened this form, or your browser blocks cookies. Please submit the form again."
)


@require_safe
def form(request: HttpRequest, label: str, pk: str) -> HttpResponse:
    """Show the form for a comment, or for a reply if the URL contains ?parent=SLUG.

    If the URL contains ?fragment, return only the form instead of a page, so that a script can insert it.
    """
    target, obj = get_target_or_404(label, pk)
    try:
        parent = _parent(target, request.GET.get("parent", ""))
    except InvalidParent as error:
        raise Http404(_("The comment that you want to reply to doesn't exist.")) from error
    blank = forms.blank_form(target, request.user, parent.slug if parent else "")
    name = "form_fragment" if "fragment" in request.GET else "form_page"
    return personal(page(request, target, name, _form_context(request, target, obj, blank, parent)))


@csrf_exempt
@require_POST
def post(request: HttpRequest) -> HttpResponse:
    """Accept a comment or show a preview of it. If the comment is refused, show the form again with the text."""
    try:
        token = tokens.read_form(request.POST.get("token", ""))
    except BadToken:
        return error_page(
            request,
            _("This form is invalid, so your comment wasn't saved. Reload the page and send it again. Your text:"),
        )
    form = forms.form_class(token.target)(request.POST, user=request.user, auto_id="comment-%s")
    try:
        obj = targets.resolve(token.target)
        _check_sender(request, token)
        if not form.is_valid():
            return _form_again(request, token, obj, form, None)
        if "preview" in request.POST:
            return _preview(request, token, obj, form)
        posted = services.submit(Sender(request, sent_comments(request)), obj, submission(request, token, form))
    except TargetNotFound:
        return error_page(request, GONE)
    except Refused as refused:
        return _form_again(request, token, obj, form, refused)
    except CommentError as error:
        return _form_again(request, token, obj, form, Refused.from_error(error))
    return _redirect_to_comment(request, token, obj, posted)


def submission(request: HttpRequest, token: FormToken, form: CommentForm) -> Submission:
    """Return the data of a valid form as the Submission that spam rules check."""
    data = form.cleaned_data
    return Submission(
        token=token,
        name=data.get("name") or form.author_name,
        email=data.get("email", ""),
        user=forms.user_key(request.user),
        source=data["text"],
        ip_hash=ip_hash.key(request),
        address=ip_hash.address(request),
        user_agent=request.headers.get("User-Agent", ""),
        trap=data["homepage"],
        notify=form.notice_email() if data["notify"] else "",
        networks=ip_hash.networks(request),
        own_email=form.notice_email(),
        extra=form.extra(),
    )


@require_safe
def done(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Show authors the comment that they just sent.

    If the comment is waiting for a moderator, a message says so.
    """
    target, obj = get_target_or_404(label, pk)
    held = own.find_held(target, slug, sent_comments(request), request.user)
    try:
        shown = held or selectors.get(target, slug)
    except CommentNotFound as error:
        raise Http404(_("This comment doesn't exist.")) from error
    context = {"obj": obj, "comment": shown, "waits": held is not None, "text": SafeString(shown.html)}
    return personal(page(request, target, "posted", context))


def _check_sender(request: HttpRequest, token: FormToken) -> None:
    if is_forged(request):
        rotate_token(request)
        raise Refused("csrf", TOO_OLD)
    if token.user and token.user != forms.user_key(request.user):
        raise Refused(
            "logged out", _("You are no longer logged in. Log in again or enter a name, then send your comment.")
        )


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


def _form_context(
    request: HttpRequest, target: Target, obj: Model, form: CommentForm, parent: Comment | None
) -> dict[str, Any]:
    rules = policy.policy_for(obj)
    final = rules.holds_all and not is_moderator(request.user)
    return {
        "form": form,
        "obj": obj,
        "parent": parent,
        "parent_html": SafeString(parent.html) if parent else "",
        "is_closed": rules.is_closed(selectors.discussion(target)),
        "needs_login": rules.needs_account(forms.user_key(request.user)),
        "liked": _liked(request, target) if rules.likes else "",
        "own": own.list_own(sent_comments(request), target, request.user, final=final),
        # Whether a script has inserted the form into the page that contains the discussion.
        "is_in_place": "fragment" in request.GET or "in_place" in request.POST,
    }


def _liked(request: HttpRequest, target: Target) -> str:
    """Return the anchors of the comments that the reader likes, separated by spaces."""
    slugs = likes.liked(target, likes.reader(request.user, cookie.guest(request)))
    return " ".join(f"c-{slug.rpartition('/')[2]}" for slug in sorted(slugs))


def _form_again(
    request: HttpRequest, token: FormToken, obj: Model, form: CommentForm, refused: Refused | None
) -> HttpResponse:
    """Show the form with the entered text, a new token and the reason why the comment was refused.

    If the comment may nevertheless have been stored, the form keeps its token. With a new token, the comment could be
    posted twice.
    """
    fresh = token if refused and refused.is_unsure else token.renew(forms.user_key(request.user))
    try:
        parent = _parent(token.target, token.parent)
    except InvalidParent:
        parent = None
        fresh = FormToken.new(token.target, user=fresh.user)
    form.focus_first_error()
    form.data = form.data.copy()
    form.data["token"] = fresh.signed()
    context = {**_form_context(request, token.target, obj, form, parent), "refused": refused}
    return personal(page(request, token.target, "form_page", context, status=422))


def _preview(request: HttpRequest, token: FormToken, obj: Model, form: CommentForm) -> HttpResponse:
    """Show a preview of the comment.

    Raises:
        Refused: The author has requested too many previews.
        CommentError: The comment can't be stored.
    """
    if not spam.may_preview(ip_hash=ip_hash.key(request), user=forms.user_key(request.user)):
        raise Refused(
            "rate",
            _(
                "You have opened many previews in a short time. Wait a few minutes, or post "
                "the comment without a preview."
            ),
        )
    parent = _parent(token.target, token.parent)
    context = _form_context(request, token.target, obj, form, parent)
    context["preview"] = SafeString(preparation.render(form.cleaned_data["text"]))
    context["preview_name"] = form.cleaned_data.get("name") or form.author_name
    return personal(page(request, token.target, "preview", context))


def _redirect_to_comment(request: HttpRequest, token: FormToken, obj: Model, posted: PostResult) -> HttpResponse:
    slug = posted.comment.slug if posted.comment else posted.held.slug if posted.held else ""
    if posted.comment:
        url = comment_url(token.target, obj, slug)
    elif "in_place" in request.POST:
        page_url = comment_url(token.target, obj, token.parent) if token.parent else discussion_url(token.target, obj)
        url = f"{page_url.partition('#')[0]}#{own.waiting_anchor(slug)}"
    else:
        url = own.done_url(token.target, slug)
    response = HttpResponseRedirect(url)
    remember(request, response, SentComment(token.discussion, slug, token.nonce))
    return response


def is_forged(request: HttpRequest) -> bool:
    """Return whether a POST request has no valid CSRF token.

    Use this function in csrf_exempt views that return an error response of their own. Django's middleware would return
    an error response without the text that the author typed.
    """
    return CsrfViewMiddleware(lambda _request: HttpResponse()).process_view(request, _guarded, (), {}) is not None


def _guarded(request: HttpRequest) -> HttpResponse:
    return HttpResponse()
