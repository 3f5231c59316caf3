"""What the views share: finding what is discussed, pages in the site's own frame, the cookie of one's own comments."""

from typing import Any

from django.conf import settings
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from django.shortcuts import resolve_url
from django.template.loader import select_template
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from comments import selectors, showing, targets, tokens
from comments.errors import CommentNotFound, TargetNotFound
from comments.tokens import Own
from comments.types import Comment, Target

FRAMES = ["comments/frame.html", "base.html", "comments/bare.html"]


def target_of(label: str, pk: str) -> tuple[Target, Model]:
    """Return a target and its object. Raises Http404 unless readers may see it."""
    target = Target(label, pk)
    try:
        return target, targets.resolve(target)
    except TargetNotFound as error:
        raise Http404(_("There is nothing here to comment on.")) from error


def comment_of(label: str, pk: str, slug: str) -> tuple[Comment, Model]:
    """Return a comment, tombstones too, and what it is about. Raises Http404."""
    target, obj = target_of(label, pk)
    try:
        return selectors.get(target, slug), obj
    except CommentNotFound as error:
        raise Http404(_("This comment is not here.")) from error


def page(
    request: HttpRequest, target: Target | None, name: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """Render a template of comments as a page in the site's frame."""
    parts = {part: select_template(_names(target, part)) for part in ("list", "form")}
    context = {
        **context,
        "target": target,
        "frame": select_template(FRAMES),
        "list_template": parts["list"],
        "form_template": parts["form"],
        "login_url": resolve_url(settings.LOGIN_URL),
    }
    return HttpResponse(select_template(_names(target, name)).render(context, request), status=status)


def _names(target: Target | None, name: str) -> list[str]:
    return showing.template_names(target, name) if target else [f"comments/{name}.html"]


def personal(response: HttpResponse) -> HttpResponse:
    """Return the response, marked as one reader's own."""
    add_never_cache_headers(response)
    response["X-Robots-Tag"] = "noindex"
    return response


def own_of(request: HttpRequest) -> tuple[Own, ...]:
    """Return the comments that the browser says it sent."""
    return tokens.read_own(request.COOKIES.get(tokens.OWN_COOKIE, ""))


def remember(request: HttpRequest, response: HttpResponse, sent: Own) -> None:
    """Have the browser remember a comment as its own, in a cookie that goes to the addresses of comments alone."""
    response.set_cookie(
        tokens.OWN_COOKIE,
        tokens.signed_own([sent, *(own for own in own_of(request) if own != sent)]),
        max_age=tokens.OWN_SECONDS,
        path=cookie_path(),
        secure=request.is_secure(),
        httponly=True,
        samesite="Lax",
    )


def cookie_path() -> str:
    """Return the path that all addresses of comments share."""
    return reverse("comments-post-comment").removesuffix("post")


def is_forged(request: HttpRequest) -> bool:
    """Return whether a POST lacks the CSRF token: for views that answer this themselves, because a form would get lost.

    They must be csrf_exempt, or the middleware answers first.
    """
    return CsrfViewMiddleware(lambda _request: HttpResponse()).process_view(request, _guarded, (), {}) is not None


def _guarded(request: HttpRequest) -> HttpResponse:
    return HttpResponse()
