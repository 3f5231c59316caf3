"""Reading: permalinks, a discussion on a page of its own, a part of one, a reader's own comments."""

from urllib.parse import quote

from django.contrib.auth.decorators import login_required
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from marginalia.comments import targets
from marginalia.comments.errors import CommentError, CommentNotFound
from marginalia.comments.reading import lists, paging, selectors
from marginalia.comments.reading.lists import Subject
from marginalia.comments.reading.paging import PageRequest
from marginalia.comments.reading.presenter import Presenter, comments_html, joined
from marginalia.comments.types import Comment, Page, Target
from marginalia.comments.views import page, personal, target_of

MINE = 50


def comment_of(label: str, pk: str, slug: str) -> tuple[Comment, Model]:
    """Return a comment, tombstones too, and what it is about. Raises Http404."""
    target, obj = target_of(label, pk)
    try:
        return selectors.get(target, slug), obj
    except CommentNotFound as error:
        raise Http404(_("This comment is not here.")) from error


@require_safe
def permalink(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Redirect to the page that holds a comment, in the order ?order= or the discussion's own; to the answers to one that was
    removed, and without any say that it is gone."""
    target, obj = target_of(label, pk)
    found = _page_with(target, slug, request.GET.get("order", ""))
    if not any(comment.slug == slug and comment.removed for comment in found.comments):
        return HttpResponseRedirect(_address(obj, found, slug))
    if all(comment.removed for comment in selectors.subdiscussion(target, slug).comments):
        return page(request, target, "gone", {"obj": obj}, status=410)
    return HttpResponseRedirect(reverse("comments-thread", args=[label, pk, slug]))


def whereabouts(target: Target, obj: Model, slug: str) -> str:
    """Return the address of the page that holds a comment, at the comment; its permalink where that cannot be told now."""
    try:
        return _address(obj, selectors.permalink(target, slug), slug)
    except CommentError:
        return reverse("comments-url-redirect", args=[target.label, target.pk, slug])


def _page_with(target: Target, slug: str, order: str) -> Page:
    try:
        return selectors.permalink(target, slug, order=order)
    except CommentNotFound as error:
        raise Http404(_("This comment is not here.")) from error


def _address(obj: Model, found: Page, slug: str) -> str:
    address = paging.part_at(obj.get_absolute_url(), paging.parameter_of(found, slug))
    return f"{address}#c-{slug.rpartition('/')[2]}"


@require_safe
def discussion(request: HttpRequest, label: str, pk: str) -> HttpResponse:
    """Show a discussion on a page of its own."""
    target, obj = target_of(label, pk)
    wanted = PageRequest.of(request)
    found = selectors.requested(target, wanted)
    shown = lists.listing(Subject(target, obj), found, at=wanted.at, address=paging.shown_at(request))
    return page(request, target, "discussion", {**shown, "obj": obj})


@require_safe
def thread(request: HttpRequest, label: str, pk: str, slug: str) -> HttpResponse:
    """Show a comment with all that hangs below it."""
    target, obj = target_of(label, pk)
    try:
        found = selectors.subdiscussion(target, slug, after=request.GET.get("after", ""))
        top = selectors.get(target, slug)
    except CommentNotFound as error:
        raise Http404(_("This comment is not here.")) from error
    subject = Subject(target, obj)
    is_open = subject.is_open(found.discussion)
    presenter = Presenter(target, found.comments, order=found.order, may_reply=is_open, authors=subject.authors())
    context = {
        **lists.described(subject, found),
        "obj": obj,
        "top": top,
        "rendered": joined(comments_html(presenter)),
        "next": f"?after={quote(found.next, safe='/:.')}" if found.next else "",
    }
    return page(request, target, "thread", context)


@login_required
@require_safe
def mine(request: HttpRequest) -> HttpResponse:
    """Show logged-in readers what they wrote."""
    found = targets.with_objects(selectors.by_author(str(request.user.pk), limit=MINE))
    return personal(page(request, None, "mine", {"comments": lists.scattered(found)}))
