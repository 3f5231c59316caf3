"""What the views of every feature share: finding what is discussed, pages in the site's own frame, answers to what fails."""

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

FRAMES = ["comments/frame.html", "base.html", "comments/bare.html"]
GONE = gettext_lazy("What you commented on is not here any more. Your text:")


class _Answers:
    """Middleware of single views. A request that meets no error passes through none of this."""

    def __init__(self, view: Callable[..., HttpResponse]) -> None:
        self.view = view

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the answer to an error that says something to readers; None for any other. Raises Http404."""
        if isinstance(error, (Http404, CommentNotFound, TargetNotFound)):
            if "text" in request.POST:
                return stray(request, GONE, status=404)
            if isinstance(error, CommentError):
                raise Http404(error.sentence) from error
        elif isinstance(error, (DiscussionBusy, DiscussionDamaged)):
            is_read = request.method in ("GET", "HEAD")
            return stray(request, DiscussionDamaged.sentence if is_read else error.sentence, status=503)
        elif isinstance(error, CommentError):
            return stray(request, error.sentence, status=409)
        return None


# The decorator of a view that answers each CommentError which it meets, and never loses the text of a form: 404 for what is
# not there (any more), 503 for a discussion that cannot be read or written just now, 409 for what others changed.
answered: Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]] = decorator_from_middleware(_Answers)


def stray(request: HttpRequest, sentence: str | Promise, *, status: int = 422) -> HttpResponse:
    """Answer what has no page to be shown on: say why, and show the text that a form had, so that it can be copied."""
    text = request.POST.get("text", "")
    return personal(page(request, None, "stray", {"sentence": sentence, "text": text}, status=status))


def target_of(label: str, pk: str) -> tuple[Target, Model]:
    """Return a target and its object. Raises Http404 unless readers may see it."""
    target = Target(label, pk)
    try:
        return target, targets.resolve(target)
    except TargetNotFound as error:
        raise Http404(_("There is nothing here to comment on.")) from error


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
    return template_names(target, name) if target else [f"comments/{name}.html"]


def template_names(target: Target, name: str) -> list[str]:
    """Return where a template is looked for: by model, by app, for all."""
    app, _dot, model = target.label.partition(".")
    return [f"comments/{app}/{model}/{name}.html", f"comments/{app}/{name}.html", f"comments/{name}.html"]


def personal(response: HttpResponse) -> HttpResponse:
    """Return the response, marked as one reader's own."""
    add_never_cache_headers(response)
    response["X-Robots-Tag"] = "noindex"
    return response
