"""Logs as lines: one for each event, with the request it belongs to, an error with its cause, and no visitor's address."""

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
# Of the request that a proxy or a program has begun to trace (W3C Trace Context), "" for none.
trace_id: ContextVar[str] = ContextVar("trace_id", default="")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?")
_REQUEST_ID = re.compile(r"[0-9a-f-]{16,36}")

# What stands in an address for what is for one person alone: links from mails and for previews.
SECRETS = frozenset({"signed", "token", "uidb64"})

# Errors quote what they are about: an address of mail, also as it stands in a URL, and the values of a key that is taken.
# Their parts have bounds, or a long line would keep the process busy for seconds.
_MAIL = re.compile(r"[^\s<>\"'(),;:=/?&@]{1,64}(?:@|%40)[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", re.IGNORECASE)
_KEY = re.compile(r"dup key: \{.*?\}|'keyValue': \{.*?\}", re.DOTALL)
# The user and the password of a connection string.
_LOGIN = re.compile(r"\b(\w{1,20}://)[^\s/@]{1,200}@")
# Characters of a line, and of the address in it.
LONGEST, LONGEST_PATH = 10_000, 500


def impersonal(text: str) -> str:
    """Return a log line's text on one line, without what identifies a person."""
    text = f"{text[:LONGEST]}…" if len(text) > LONGEST else text
    text = _KEY.sub("dup key: {…}", _LOGIN.sub(r"\1…@", text))
    return _MAIL.sub("‹address›", text).replace("\n", " ⏎ ")


def traced(request: HttpRequest) -> str:
    """Return the trace id of a request's traceparent header, "" if there is none that can be read."""
    found = _TRACEPARENT.fullmatch(request.headers.get("traceparent", "")[:100])
    return found[1] if found else ""


def given_id(request: HttpRequest) -> str:
    """Return the request id that the proxy in front set, "" without such a proxy or if it can't be one."""
    given = request.headers.get("X-Request-ID", "") if settings.BEHIND_PROXY else ""
    return given if _REQUEST_ID.fullmatch(given) else ""


def user_class(request: HttpRequest) -> str:
    """Return who asked: "token", "staff", "account" or "anonymous". A session that no view has looked at is not looked at."""
    if getattr(getattr(request, "auth", None), "token", None):
        return "token"
    user = getattr(request, "_cached_user", None)  # of Django's AuthenticationMiddleware
    if user is None or not user.is_authenticated:
        return "anonymous"
    return "staff" if user.is_staff else "account"


def public_path(request: HttpRequest) -> str:
    """Return a request's path, quoted, without the secrets that open something; not more than LONGEST_PATH of it."""
    path = request.path_info
    known = next((prefix for prefix in _prefixes_of_secrets() if path.startswith(prefix) and path != prefix), None)
    if known:
        return f"{quote(known)}…"
    path = quote(path)
    return f"{path[:LONGEST_PATH]}…" if len(path) > LONGEST_PATH else path


@cache
def _prefixes_of_secrets() -> tuple[str, ...]:
    """Return how the addresses begin that end with a secret, whether or not the rest of one is as it should be."""

    def routes(patterns: Iterable[URLPattern | URLResolver], before: str) -> Iterator[str]:
        for one in patterns:
            route = before + str(one.pattern)
            if isinstance(one, URLResolver):
                yield from routes(one.url_patterns, route)
            elif SECRETS & one.pattern.converters.keys():
                yield route.partition("<")[0]

    return tuple(sorted({f"/{route}" for route in routes(get_resolver().url_patterns, "")}))


class PublicPaths(logging.Filter):
    """Has Django's own lines about a request name its public path."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
            record.args = tuple(public_path(request) if part == request.path else part for part in record.args)
        return True


class Refusals(logging.Filter):
    """Lowers to one line of WARNING what Django takes for an error and is an answer that was meant.

    What a client may cause at will (a false host, a form that is too large), and a 503 that says when to come back.
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
    """`time level logger request-id message`; an exception as its chain of causes, innermost frame first named."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name} {request_id} {message}", style="{")

    def format(self, record: logging.LogRecord) -> str:
        record.request_id = request_id.get()
        return impersonal(super().format(record))

    def formatException(self, ei: object) -> str:  # noqa: N802 - the name is the base class's
        return "; caused by ".join(_causes(ei))


class JsonFormatter(logging.Formatter):
    """The same as one JSON object a line, for programs that collect logs; a request's own line has its `fields`."""

    def format(self, record: logging.LogRecord) -> str:
        event: dict[str, object] = {
            "time": self.formatTime(record),
            "level": record.levelname,
            "logger": record.name,
            "request": request_id.get(),
            "message": impersonal(record.getMessage()),
        }
        if trace := trace_id.get():
            event["trace"] = trace
        fields: Mapping[str, object] = getattr(record, "fields", {})
        event |= {name: impersonal(said) if isinstance(said, str) else said for name, said in fields.items()}
        if record.exc_info:
            event["causes"] = [impersonal(cause) for cause in _causes(record.exc_info)]
        return json.dumps(event, ensure_ascii=False)


def _causes(raised: object) -> list[str]:
    """Return an exception and what caused it, each with the place where it was raised."""
    error = raised[1] if isinstance(raised, tuple) else None
    causes: list[str] = []
    while isinstance(error, BaseException):
        causes.append(f"{type(error).__name__}: {error}{_where(error)}")
        error = error.__cause__ or error.__context__
    return causes


def _where(error: BaseException) -> str:
    traceback = error.__traceback__
    while traceback and traceback.tb_next:
        traceback = traceback.tb_next
    if traceback is None:
        return ""
    code = traceback.tb_frame.f_code
    return f" (in {code.co_qualname}, {code.co_filename.rpartition('/')[2]}:{traceback.tb_lineno})"
