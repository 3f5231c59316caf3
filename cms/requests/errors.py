"""Error pages. Those of a failing database or program need neither."""

import sys
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, RawPostDataException, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.template import loader
from django.utils.cache import add_never_cache_headers
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.views.csrf import csrf_failure as stock_csrf_failure

from api import problems
from api.middleware import is_of_api
from api.problems import Problem
from cms.requests.logs import request_id
from editor.relogin import show_again
from marginalia.mongo.servers import is_outage

# Of a box with text that comes back: letters in a line, lines at the most.
LINE, MOST_LINES = 70, 16
# What forms of ours carry along without anybody having written it is shorter.
LONGEST_TOKEN = 500
# Never sent back, not even to who sent it.
_SECRET = ("password",)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer an exception that no view caught: 503 where the database is away, else 500. Uses no database."""
    if is_outage(sys.exception()):
        return unavailable(request)
    if is_of_api(request):
        return problems.answer(Problem("failed"))
    return _page(request, 500, _("Something went wrong"), _("The error was recorded. Please try again in a moment."))


def unavailable(request: HttpRequest) -> HttpResponse:
    """Answer 503; what a form had sent comes back in a form that sends it again."""
    if is_of_api(request):
        return problems.answer(problems.unavailable())
    return _later(
        request, _("The site cannot reach its database right now. Nothing is lost: please try again in a few seconds.")
    )


def busy(request: HttpRequest) -> HttpResponse:
    """Answer 503 where other long requests keep the site busy; a form comes back, as from `unavailable`."""
    if is_of_api(request):
        told = "Other long requests keep the site busy: Retry-After says when to come back."
        return problems.answer(Problem("unavailable", told, headers={"Retry-After": str(problems.RETRY_AFTER)}))
    return _later(
        request,
        _("The site is busy with other long texts and uploads. Nothing was saved. Please try again in a few seconds."),
    )


def _later(request: HttpRequest, message: str) -> HttpResponse:
    response = _page(request, 503, _("Back in a moment"), message, sent=_sent_again(request))
    response["Retry-After"] = str(problems.RETRY_AFTER)
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a request that is refused before any view looks at it: 413 where it is too large, else 400. Uses no database.

    503 where a session could not be kept because the database is away, which Django takes for a log-out in another window.
    """
    if is_outage(exception):
        return unavailable(request)
    if is_of_api(request):
        return problems.answer(problems.of(exception))
    too_large = isinstance(exception, RequestDataTooBig | TooManyFieldsSent | TooManyFilesSent)
    template, status = ("413.html", 413) if too_large else ("400.html", 400)
    page = loader.render_to_string(template, {"most": settings.DATA_UPLOAD_MAX_MEMORY_SIZE})
    response = HttpResponse(page, status=status)
    add_never_cache_headers(response)
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form without a valid security token: an editor gets what was typed back, anybody else a page that explains."""
    return show_again(request) or stock_csrf_failure(request, reason)


def _sent_again(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the text fields of a form that was sent, to be sent again, and of how many lines a box for each is; files cannot
    be given back."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if request.method != "POST" or not length.isdecimal() or int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        return []
    try:
        sent = request.POST
    except (UnreadablePostError, SuspiciousOperation, MultiPartParserError, RawPostDataException):
        return []
    return [
        {"name": name, "label": capfirst(name.strip("_").replace("_", " ")), "value": value, "lines": _lines(value)}
        for name, values in sent.lists()
        for value in values
        if not any(secret in name.lower() for secret in _SECRET)
    ]


def _lines(value: str) -> int:
    """Return how many lines show what a visitor wrote; 0 for a word, a number or a token, which need not be seen."""
    # Not every script has spaces between words.
    if len(value.split()) < 2 and value.isascii() and len(value) <= LONGEST_TOKEN:
        return 0
    return min(sum(1 + len(line) // LINE for line in value.splitlines()), MOST_LINES)


def _page(request: HttpRequest, status: int, title: str, message: str, **more: Any) -> HttpResponse:
    context = {
        "title": title,
        "message": message,
        "request_id": request_id.get(),
        "path": request.get_full_path(),
        **more,
    }
    response = HttpResponse(loader.render_to_string("errors/plain.html", context), status=status)
    add_never_cache_headers(response)
    return response
