"""Functions that comment views share. They find targets, render pages and handle errors."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.template.loader import select_template
from django.utils.cache import add_never_cache_headers
from django.utils.decorators import decorator_from_middleware
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from marginalia.cached_urls import reverse_around
from marginalia.comments import targets
from marginalia.comments.errors import CommentError, CommentNotFound, DiscussionBusy, DiscussionDamaged, TargetNotFound
from marginalia.comments.types import Target
from marginalia.mongo.servers import Outage

PAGE_TEMPLATES = ["comments/frame.html", "base.html", "comments/bare.html"]
# During an outage, clients are asked to try again after this many seconds.
RETRY_AFTER = 5
GONE = gettext_lazy("The page that you commented on no longer exists. Your text:")


class _ErrorMiddleware:
    """Middleware that converts exceptions to responses. `handle_comment_errors` applies it to single views."""

    def __init__(self, view: Callable[..., HttpResponse]) -> None:
        self.view = view

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return an error response, or None for exceptions that this app doesn't handle.

        Raises:
            Http404: The comment or its target does not exist.
        """
        if isinstance(error, (Http404, CommentNotFound, TargetNotFound)):
            if "text" in request.POST:
                return error_page(request, GONE, status=404)
            if isinstance(error, CommentError):
                raise Http404(error.sentence) from error
        elif isinstance(error, (DiscussionBusy, DiscussionDamaged)):
            is_read = request.method in ("GET", "HEAD")
            return error_page(request, DiscussionDamaged.sentence if is_read else error.sentence, status=503)
        elif isinstance(error, CommentError):
            return error_page(request, error.sentence, status=409)
        elif isinstance(error, Outage):
            return _unavailable(request)
        return None


View = Callable[..., HttpResponse]

# A decorator for views. It converts any CommentError to a response, which shows the submitted text again, so that the
# text isn't lost. The status is 404 if the comment or its target does not exist, 503 if the discussion can't be read or
# written at the moment, and 409 for any other CommentError, for example if someone else has changed the comment.
handle_comment_errors: Callable[[View], View] = decorator_from_middleware(_ErrorMiddleware)


def error_page(request: HttpRequest, sentence: str | Promise, *, status: int = 422) -> HttpResponse:
    """Return a page with the error message `sentence`.

    The page also shows the submitted text, so that the author can copy it.
    """
    text = request.POST.get("text", "")
    return personal(page(request, None, "stray", {"sentence": sentence, "text": text}, status=status))


def _unavailable(request: HttpRequest) -> HttpResponse:
    response = error_page(
        request, _("Comments aren't available right now. Please try again in a few seconds."), status=503
    )
    response["Retry-After"] = str(RETRY_AFTER)
    return response


def get_target_or_404(label: str, pk: str) -> tuple[Target, Model]:
    """Return a target and its object.

    Raises:
        Http404: The object does not exist, or readers can't see it.
    """
    target = Target(label, pk)
    try:
        return target, targets.resolve(target)
    except TargetNotFound as error:
        raise Http404(_("This page doesn't exist or doesn't allow comments.")) from error


def page(
    request: HttpRequest, target: Target | None, name: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """Render a comments template. Its base template is the first of PAGE_TEMPLATES that exists."""
    parts = {part: select_template(_names(target, part)) for part in ("list", "form")}
    context = {
        **context,
        "target": target,
        "base_template": select_template(PAGE_TEMPLATES),
        "list_template": parts["list"],
        "form_template": parts["form"],
        "login_url": resolve_url(settings.LOGIN_URL),
    }
    return HttpResponse(select_template(_names(target, name)).render(context, request), status=status)


def _names(target: Target | None, name: str) -> list[str]:
    return template_names(target, name) if target else [f"comments/{name}.html"]


def target_url(name: str, target: Target, *slug: str) -> str:
    """Return the URL `name` of the target's discussion, or of the comment with the given slug."""
    return reverse_around(name, (target.label,), target.pk, slug)


def template_names(target: Target, name: str) -> list[str]:
    """Return the names of the templates to try: one for the model, one for the app, and the default."""
    app, _dot, model = target.label.partition(".")
    return [f"comments/{app}/{model}/{name}.html", f"comments/{app}/{name}.html", f"comments/{name}.html"]


def personal(response: HttpResponse) -> HttpResponse:
    """Mark `response` as private, so that caches don't store it and search engines don't index it."""
    add_never_cache_headers(response)
    response["X-Robots-Tag"] = "noindex"
    return response
