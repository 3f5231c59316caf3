"""Views for readers: permalinks, the separate pages of a discussion and of a thread, and a reader's own comments."""

from urllib.parse import quote

from django.contrib.auth.decorators import login_required
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from marginalia.comments import targets
from marginalia.comments.errors import CommentError, CommentNotFound
from marginalia.comments.moderators import is_sent_by_moderator
from marginalia.comments.reading import lists, paging, selectors
from marginalia.comments.reading.lists import Subject
from marginalia.comments.reading.paging import PageRequest
from marginalia.comments.reading.presenter import Presenter, comments_html, join_html
from marginalia.comments.types import Comment, Page, Target
from marginalia.comments.views import get_target_or_404, page, personal

# Maximum length of the fragment of an old permalink.
MAX_ANCHOR = 200
MAX_OWN = 50


def get_comment_or_404(label: str, pk: str, slug: str) -> tuple[Comment, Model]:
    """Return a comment, even if it has been removed (a tombstone), and the object that it is about.

    Raises:
        Http404: The comment does not exist, or readers can't see the object.
    """
    target, obj = get_target_or_404(label, pk)
    try:
        return selectors.get(target, slug), obj
    except CommentNotFound as error:
        raise Http404(_("This comment doesn't exist.")) from error


@require_safe
def permalink(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Redirect to the page that contains a comment.

    The page has the order given by ?order=, or the discussion's default order.

    If the comment has been removed but has public replies, redirect to its thread. If it has been removed and has no
    public replies, return status 410.
    """
    target, obj = get_target_or_404(label, pk)
    result = _page_with(target, slug, request.GET.get("order", ""))
    if not any(comment.slug == slug and comment.removed for comment in result.comments):
        return HttpResponseRedirect(_page_url(obj.get_absolute_url(), result, slug))
    if all(comment.removed for comment in selectors.subdiscussion(target, slug).comments):
        return page(request, target, "gone", {"obj": obj}, status=410)
    return HttpResponseRedirect(reverse("comments-thread", args=[label, pk, slug]))


@require_safe
def old_permalink(request: HttpRequest, label: str, pk: str) -> HttpResponse:
    """Redirect from an imported comment's old permalink to the comment.

    `anchor` is the fragment of the old permalink. If it belongs to no comment, redirect to the object.
    """
    target, obj = get_target_or_404(label, pk)
    slug = selectors.imported_slug(target, request.GET.get("anchor", "")[:MAX_ANCHOR])
    return HttpResponseRedirect(comment_url(target, obj, slug) if slug else obj.get_absolute_url())


def discussion_url(target: Target, obj: Model) -> str:
    """Return the URL of the page on this site that shows the discussion.

    This is the object's own page, unless that page belongs to another site. Redirect to this URL after a form was sent,
    because the site's Content-Security-Policy doesn't allow forms to lead to other sites.
    """
    url: str = obj.get_absolute_url()
    return url if url.startswith("/") else reverse("comments-discussion", args=[target.label, target.pk])


def comment_url(target: Target, obj: Model, slug: str, *, is_shown: bool = False) -> str:
    """Return the URL of a comment on the page that contains it.

    If the page can't be determined at the moment, return the permalink.

    If `is_shown` is True, moderators see the place of the comment on this page even if the comment is hidden.
    """
    try:
        page = selectors.permalink(target, slug)
        return _page_url(discussion_url(target, obj), page, slug, is_shown=is_shown)
    except CommentError:
        return reverse("comments-url-redirect", args=[target.label, target.pk, slug])


def _page_with(target: Target, slug: str, order: str) -> Page:
    try:
        return selectors.permalink(target, slug, order=order)
    except CommentNotFound as error:
        raise Http404(_("This comment doesn't exist.")) from error


def _page_url(page_url: str, result: Page, slug: str, *, is_shown: bool = False) -> str:
    part = paging.parameter_at(result, slug) if is_shown else paging.parameter_for(result, slug)
    url = paging.url_with_part(page_url, part)
    return f"{url}#c-{slug.rpartition('/')[2]}"


@require_safe
def discussion(request: HttpRequest, label: str, pk: str) -> HttpResponse:
    """Show a discussion on a separate page."""
    target, obj = get_target_or_404(label, pk)
    page_request = PageRequest.from_request(request)
    result = selectors.requested_page(target, page_request)
    context = lists.list_context(
        Subject(target, obj),
        result,
        slug=page_request.at,
        url=paging.url_without_part(request),
        may_moderate=is_sent_by_moderator(request),
    )
    return page(request, target, "discussion", {**context, "obj": obj})


@require_safe
def thread(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Show a comment and its descendants on a separate page."""
    target, obj = get_target_or_404(label, pk)
    try:
        result = selectors.subdiscussion(target, slug, after=request.GET.get("after", ""))
        top = selectors.get(target, slug)
    except CommentNotFound as error:
        raise Http404(_("This comment doesn't exist.")) from error
    subject = Subject(target, obj)
    is_open = subject.is_open(result.discussion)
    presenter = Presenter(
        target,
        result.comments,
        order=result.order,
        may_reply=is_open,
        authors=subject.authors(),
        restrictions=result.discussion.restrictions,
        may_moderate=is_sent_by_moderator(request),
        may_like=subject.may_like,
    )
    context = {
        **lists.discussion_context(subject, result),
        "obj": obj,
        "top": top,
        "rendered": join_html(comments_html(presenter)),
        "next": f"?after={quote(result.next, safe='/:.')}" if result.next else "",
    }
    return page(request, target, "thread", context)


@login_required
@require_safe
def mine(request: HttpRequest) -> HttpResponse:
    """Show logged-in readers their own comments."""
    comments = targets.with_objects(selectors.by_author(str(request.user.pk), limit=MAX_OWN))
    return personal(page(request, None, "mine", {"comments": lists.present_across(comments)}))
