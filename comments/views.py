"""Functions that the views of all features share: targets, pages in the template of the site, responses to errors."""

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

from marginalia.comments import targets
from marginalia.comments.errors import CommentError, CommentNotFound, DiscussionBusy, DiscussionDamaged, TargetNotFound
from marginalia.comments.types import Target

PAGE_TEMPLATES = ["comments/frame.html", "base.html", "comments/bare.html"]
GONE = gettext_lazy("What you commented on is not here any more. Your text:")


class _ErrorMiddleware:
    """Middleware for single views. It only runs if the view raises an exception."""

    def __init__(self, view: Callable[..., HttpResponse]) -> None:
        self.view = view

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the response to an error that readers should know about, None for any other error.

        Raises Http404.
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
        return None


View = Callable[..., HttpResponse]

# Decorator for views. It returns a response to each CommentError and never loses the text of a form: 404 if something
# does not exist (or no longer exists), 503 if a discussion cannot be read or written now, 409 if another writer
# changed the comment.
handle_comment_errors: Callable[[View], View] = decorator_from_middleware(_ErrorMiddleware)


def error_page(request: HttpRequest, sentence: str | Promise, *, status: int = 422) -> HttpResponse:
    """Return a page with an error message for requests without a page of their own.

    It shows the text of a submitted form, so that the author can copy it.
    """
    text = request.POST.get("text", "")
    return personal(page(request, None, "stray", {"sentence": sentence, "text": text}, status=status))


def get_target_or_404(label: str, pk: str) -> tuple[Target, Model]:
    """Return a target and its object. Raises Http404 unless readers can see the object."""
    target = Target(label, pk)
    try:
        return target, targets.resolve(target)
    except TargetNotFound as error:
        raise Http404(_("There is nothing here to comment on.")) from error


def page(
    request: HttpRequest, target: Target | None, name: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """Render a template of comments as a page of the site, inside the first of PAGE_TEMPLATES that exists."""
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


def template_names(target: Target, name: str) -> list[str]:
    """Return the names to try for a template: for the model, for the app, for all targets."""
    app, _dot, model = target.label.partition(".")
    return [f"comments/{app}/{model}/{name}.html", f"comments/{app}/{name}.html", f"comments/{name}.html"]


def personal(response: HttpResponse) -> HttpResponse:
    """Mark a response as private to one reader: caches must not store it, search engines must not index it."""
    add_never_cache_headers(response)
    response["X-Robots-Tag"] = "noindex"
    return response
