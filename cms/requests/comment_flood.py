"""A flood of comments: each worker accepts few comments at a time, and refuses the others before Django handles them.

A refusal must cost much less than a comment, because a flood consists mostly of refused comments, and readers wait while
a worker refuses them. It needs neither the database nor a template. The text in a refused form is never lost: the
response contains a form with the text, which a script sends again after RETRY_AFTER.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from csp.utils import build_policy
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.utils.cache import add_never_cache_headers
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _

from api import problems
from api.middleware import ApiMiddleware, is_api_request
from api.problems import Problem
from cms.requests import errors
from cms.requests.heavy import Slots
from cms.requests.metrics.request_metrics import HEAVY_REFUSED

# The ends of the paths to which forms and API clients send comments. Anyone can send many of these requests.
PATHS = ("/comments/post", "/comments")
# Maximum number of requests with comments that a worker accepts at the same time, running and waiting. There are fewer
# slots than threads (cms/serving/gunicorn_conf.py), so the other threads are free for readers.
AT_ONCE = 4
# Maximum number of requests with comments that run at the same time.
CONCURRENT = 1
# After a comment, the next one waits this many times as long as the comment took, for each comment that is waiting.
# Otherwise, a flood of comments would use all of a worker's time, and readers would wait for a thread even though there
# are enough threads. A single comment never waits.
PAUSE = 1.0
# Number of seconds after which scripts send a refused comment again.
RETRY_AFTER = 5
_FIELDS = "[[fields]]"

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def is_comment(method: str, path: str) -> bool:
    """Return whether a request sends a comment, with a form or with the API."""
    return method == "POST" and path.endswith(PATHS)


class CommentLimit:
    """A WSGI application that passes requests to another one, but only a limited number of comments at a time."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._slots = Slots(AT_ONCE, CONCURRENT, pause=PAUSE)
        # This middleware lets scripts of other sites read the refusal of an embedded comment.
        self._api_refusal = ApiMiddleware(_api_refusal)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if not is_comment(environ["REQUEST_METHOD"], environ["PATH_INFO"]):
            return self._application(environ, start_response)
        if not self._slots.enter():
            HEAVY_REFUSED.inc()
            headers, body = self._refusal(WSGIRequest(environ))
            headers |= {"Retry-After": str(RETRY_AFTER), "Content-Length": str(len(body))}
            start_response("503 Service Unavailable", list(headers.items()))
            return [body]
        try:
            return self._application(environ, start_response)
        finally:
            self._slots.leave()

    def _refusal(self, request: HttpRequest) -> tuple[dict[str, str], bytes]:
        """Return the headers and the body of a refusal.

        For a form, the result isn't an HttpResponse, because building one would take longer than all the rest.
        """
        if is_api_request(request):
            response = self._api_refusal(request)
            return dict(response.items()), response.content
        headers, before, after = _page()
        return dict(headers), before + errors.sent_fields(request).encode() + after


def _api_refusal(request: HttpRequest) -> HttpResponse:
    detail = "The site is busy processing other comments. Try again after the number of seconds in Retry-After."
    return problems.problem_response(Problem("unavailable", detail))


@cache
def _page() -> tuple[dict[str, str], bytes, bytes]:
    """Return the headers of a refused form, and its page before and after the fields. Each process renders it once."""
    context = {
        "title": _("Please wait a moment"),
        "message": _(
            "Many people are commenting right now. Your comment hasn't been saved yet. It will be sent again in a few "
            "seconds. If nothing happens, press the button."
        ),
        "sent": mark_safe(_FIELDS),  # noqa: S308 - constant
        "retry_after": RETRY_AFTER,
    }
    page = HttpResponse(loader.render_to_string("errors/plain.html", context))
    add_never_cache_headers(page)
    page["Content-Security-Policy"] = build_policy()
    page["Referrer-Policy"] = settings.SECURE_REFERRER_POLICY
    page["X-Content-Type-Options"] = "nosniff"
    page["X-Frame-Options"] = settings.X_FRAME_OPTIONS
    before, _fields, after = page.content.partition(_FIELDS.encode())
    return dict(page.items()), before, after
