"""Error pages. The pages for outages and internal errors don't use the database."""

import sys
from typing import Any

from bson.errors import InvalidId
from django.conf import settings
from django.core.exceptions import (
    BadRequest,
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFieldsSent,
    TooManyFilesSent,
    ValidationError,
)
from django.http import HttpRequest, HttpResponse, RawPostDataException, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from django.template import loader
from django.utils.cache import add_never_cache_headers
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.views.csrf import csrf_failure as stock_csrf_failure

from api import problems
from api.middleware import is_api_request
from api.problems import Problem
from cms.requests.logs import request_id
from editor.relogin import show_again
from marginalia.mongo.servers import is_outage

# Size of the text area that shows a submitted value: the number of characters per line, and the maximum number of
# lines.
LINE_LENGTH, MAX_LINES = 70, 16
# Maximum length of a hidden value. All hidden values in the site's own forms are shorter.
MAX_TOKEN_LENGTH = 500
# Words in the names of secret fields. The value of a field whose name contains such a word is never sent back, not even
# to its sender.
_SECRET_FIELDS = ("password",)


def server_error(request: HttpRequest) -> HttpResponse:
    """Return an error page for an uncaught exception, without using the database.

    The status is 503 if the database is unavailable, and 500 otherwise.
    """
    if is_outage(sys.exception()):
        return unavailable(request)
    if is_api_request(request):
        return problems.problem_response(Problem("failed"))
    return _page(request, 500, _("Something went wrong"), _("The error was logged. Please try again in a moment."))


def unavailable(request: HttpRequest) -> HttpResponse:
    """Return the 503 response for an unavailable database.

    The response contains a form for sending the submitted fields again.
    """
    if is_api_request(request):
        return problems.problem_response(problems.unavailable())
    return _retry_page(
        request, _("The site can't reach its database right now. Nothing is lost. Please try again in a few seconds.")
    )


def busy(request: HttpRequest, message: str | Promise) -> HttpResponse:
    """Return the 503 response to a request that is rejected because too many others are being processed.

    Like the response from `unavailable`, this response contains a form for sending the submitted fields again.
    """
    if is_api_request(request):
        detail = "The site is busy processing other requests. Try again after the number of seconds in Retry-After."
        return problems.problem_response(
            Problem("unavailable", detail, headers={"Retry-After": str(problems.RETRY_AFTER)})
        )
    return _retry_page(request, str(message))


def _retry_page(request: HttpRequest, message: str) -> HttpResponse:
    response = _page(request, 503, _("Back in a moment"), message, sent=sent_fields(request))
    response["Retry-After"] = str(problems.RETRY_AFTER)
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return an error page for a request that Django rejects, without using the database.

    The status is 413 if the request is too large, and 400 for most other requests. If the session couldn't be saved
    because the database is unavailable, the status is 503. In this case, Django raises SessionInterrupted, as if the
    user had logged out in another window.
    """
    if is_outage(exception):
        return unavailable(request)
    if is_api_request(request):
        return problems.problem_response(problems.from_exception(exception))
    too_large = isinstance(exception, RequestDataTooBig | TooManyFieldsSent | TooManyFilesSent)
    template, status = ("413.html", 413) if too_large else ("400.html", 400)
    page = loader.render_to_string(template, {"most": settings.DATA_UPLOAD_MAX_MEMORY_SIZE})
    response = HttpResponse(page, status=status)
    add_never_cache_headers(response)
    return response


def is_invalid_id(exception: Exception) -> bool:
    """Return whether the database backend has rejected an invalid id."""
    cause = exception.__cause__ or exception.__context__
    return isinstance(exception, ValidationError) and isinstance(cause, InvalidId)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """If an editor's CSRF token is invalid, show the form again, with its content. Otherwise, return an error page."""
    return show_again(request) or stock_csrf_failure(request, reason)


def sent_fields(request: HttpRequest) -> SafeString:
    """Return the submitted fields as HTML, so that a form can send them again.

    Return "" if the form is too large or can't be read. The result doesn't include files.
    """
    length = request.META.get("CONTENT_LENGTH") or "0"
    if request.method != "POST" or not length.isdecimal() or int(length) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        return SafeString()
    try:
        sent = request.POST
    except (BadRequest, UnreadablePostError, SuspiciousOperation, MultiPartParserError, RawPostDataException):
        return SafeString()
    fields = (
        _field(name, value)
        for name, values in sent.lists()
        for value in values
        if not any(secret in name.lower() for secret in _SECRET_FIELDS)
    )
    return format_html_join("", "{}", ((field,) for field in fields))


def _field(name: str, value: str) -> SafeString:
    lines = _textarea_rows(value)
    if not lines:
        return format_html('<input type="hidden" name="{}" value="{}">\n', name, value)
    label = capfirst(name.strip("_").replace("_", " "))
    if lines == 1:
        return format_html('<p><label>{}<br><input name="{}" value="{}"></label></p>\n', label, name, value)
    # Browsers remove the first line break in a text area.
    return format_html(
        '<p><label>{}<br><textarea name="{}" rows="{}">\n{}</textarea></label></p>\n', label, name, lines, value
    )


def _textarea_rows(value: str) -> int:
    """Return the number of lines needed to show a value, or 0 if the value is a single word, a number or a token.

    Values with 0 lines are hidden.
    """
    # Always show values with non-ASCII characters, because in scripts without spaces between words, a long text can
    # look like a single word.
    if len(value.split()) < 2 and value.isascii() and len(value) <= MAX_TOKEN_LENGTH:
        return 0
    return min(sum(1 + len(line) // LINE_LENGTH for line in value.splitlines()), MAX_LINES)


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
