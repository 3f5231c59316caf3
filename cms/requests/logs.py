"""Log formatters and filters. Log lines contain the request id and the causes of errors, but no personal data."""

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from urllib.parse import quote

from django.conf import settings
from django.http import HttpRequest
from django.urls import URLPattern, URLResolver, get_resolver

request_id: ContextVar[str] = ContextVar("request_id", default="-")
# The trace id set by a proxy or another program (W3C Trace Context), or "" if there is none.
trace_id: ContextVar[str] = ContextVar("trace_id", default="")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?")
_REQUEST_ID = re.compile(r"[0-9a-f-]{16,36}")

# Secret URL parameters. They occur in links that are meant for one person, such as links in emails and preview links.
SECRET_PARAMETERS = frozenset({"signed", "token", "uidb64"})

# These patterns find personal data in error messages: email addresses, even in URLs, and the values of a duplicate key.
# The patterns limit the number of repetitions, because matching a long line could otherwise take seconds.
_EMAIL = re.compile(r"[^\s<>\"'(),;:=/?&@]{1,64}(?:@|%40)[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", re.IGNORECASE)
_DUPLICATE_KEY = re.compile(r"dup key: \{.*?\}|'keyValue': \{.*?\}", re.DOTALL)
# The username and password in a connection string.
_CREDENTIALS = re.compile(r"\b(\w{1,20}://)[^\s/@]{1,200}@")
# Maximum number of characters in a log line, and in the path that it contains.
MAX_LENGTH, MAX_PATH_LENGTH = 10_000, 500


def redact(text: str) -> str:
    """Return the text of a log record as a single line without personal data."""
    text = f"{text[:MAX_LENGTH]}…" if len(text) > MAX_LENGTH else text
    text = _DUPLICATE_KEY.sub("dup key: {…}", text)
    if "@" in text or "%40" in text:
        text = _EMAIL.sub("‹address›", _CREDENTIALS.sub(r"\1…@", text))
    return text.replace("\n", " ⏎ ")


def incoming_trace_id(request: HttpRequest) -> str:
    """Return the trace id in a request's traceparent header, or "" if there is no valid trace id."""
    match = _TRACEPARENT.fullmatch(request.META.get("HTTP_TRACEPARENT", "")[:100])
    return match[1] if match else ""


def proxy_request_id(request: HttpRequest) -> str:
    """Return the request id set by the proxy, or "" if there is no proxy or no valid id."""
    header = request.headers.get("X-Request-ID", "") if settings.BEHIND_PROXY else ""
    return header if _REQUEST_ID.fullmatch(header) else ""


def user_class(request: HttpRequest) -> str:
    """Return the kind of user: "token", "staff", "account" or "anonymous".

    This function doesn't load the session. If the session hasn't been loaded, the user counts as anonymous.
    """
    if getattr(getattr(request, "auth", None), "token", None):
        return "token"
    user = getattr(request, "_cached_user", None)  # set by Django's AuthenticationMiddleware
    if user is None or not user.is_authenticated:
        return "anonymous"
    return "staff" if user.is_staff else "account"


def public_path(request: HttpRequest) -> str:
    """Return a request's quoted path, without secret parameters, truncated to MAX_PATH_LENGTH characters."""
    path = request.path_info
    public_prefix = next(
        (prefix for prefix in _secret_url_prefixes() if path.startswith(prefix) and path != prefix), None
    )
    if public_prefix:
        return f"{quote(public_prefix)}…"
    path = quote(path)
    return f"{path[:MAX_PATH_LENGTH]}…" if len(path) > MAX_PATH_LENGTH else path


@cache
def _secret_url_prefixes() -> tuple[str, ...]:
    """Return the public prefixes of all URLs that have a secret parameter.

    The caller compares prefixes instead of resolving the URL, because malformed URLs don't match any route.
    """

    def prefixes(patterns: Iterable[URLPattern | URLResolver], parent: str) -> Iterator[str]:
        for pattern in patterns:
            route = parent + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                yield from prefixes(pattern.url_patterns, route)
            elif SECRET_PARAMETERS & pattern.pattern.converters.keys():
                yield route.partition("<")[0]

    return tuple(sorted({f"/{prefix}" for prefix in prefixes(get_resolver().url_patterns, "")}))


class PublicPathFilter(logging.Filter):
    """A filter that replaces a request's path with its public path in Django's own log lines."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
            record.args = tuple(public_path(request) if part == request.path else part for part in record.args)
        return True


class RefusalFilter(logging.Filter):
    """A filter for records that Django logs as errors although the response is expected.

    The filter changes their level to WARNING and removes their traceback.

    There are two kinds of such responses: rejections that any client can provoke, for example with a wrong host or a
    form that is too large, and responses with status 503 and a Retry-After header.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        is_refusal = record.name.startswith("django.security.")
        is_announced = getattr(record, "status_code", None) == 503 and not record.exc_info
        if is_refusal or is_announced:
            record.levelno = logging.WARNING
            record.levelname = "WARNING"
            record.exc_info = record.exc_text = None
        return record.levelno >= logging.getLogger().level


class OneLineFormatter(logging.Formatter):
    """A formatter that writes each record as `time level logger request-id message`.

    For an exception, the line contains the chain of causes, each with the function and line where it was raised.
    """

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name} {request_id} {message}", style="{")

    def format(self, record: logging.LogRecord) -> str:
        record.request_id = request_id.get()
        return redact(super().format(record))

    def formatException(self, ei: object) -> str:  # noqa: N802 - overrides logging.Formatter
        return "; caused by ".join(_causes(ei))


class JsonFormatter(logging.Formatter):
    """A formatter that writes each record as one line of JSON, for programs that collect logs.

    A request's log line also contains the items in `fields`.
    """

    def format(self, record: logging.LogRecord) -> str:
        event: dict[str, object] = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "request": request_id.get(),
            "message": redact(record.getMessage()),
        }
        if trace := trace_id.get():
            event["trace"] = trace
        fields: Mapping[str, object] = getattr(record, "fields", {})
        event |= {name: redact(value) if isinstance(value, str) else value for name, value in fields.items()}
        if record.exc_info:
            event["causes"] = [redact(cause) for cause in _causes(record.exc_info)]
        return json.dumps(event, ensure_ascii=False)


def _causes(exc_info: object) -> list[str]:
    """Return an exception and its chain of causes, each with the location where it was raised."""
    error = exc_info[1] if isinstance(exc_info, tuple) else None
    causes: list[str] = []
    while isinstance(error, BaseException):
        causes.append(f"{type(error).__name__}: {error}{_location(error)}")
        error = error.__cause__ or error.__context__
    return causes


def _location(error: BaseException) -> str:
    traceback = error.__traceback__
    while traceback and traceback.tb_next:
        traceback = traceback.tb_next
    if traceback is None:
        return ""
    code = traceback.tb_frame.f_code
    return f" (in {code.co_qualname}, {code.co_filename.rpartition('/')[2]}:{traceback.tb_lineno})"
