"""What every request begins with."""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

from bson.errors import InvalidId
from csp.constants import HEADER
from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone, translation
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.functional import cached_property

from cms.requests import heavy
from cms.requests.errors import busy, unavailable
from cms.requests.gate import Gate
from cms.requests.logs import given_id, public_path, request_id, trace_id, traced, user_class
from cms.requests.metrics import commands, counted, scraping
from cms.requests.metrics.counted import HEAVY_REFUSED
from editor import relogin
from marginalia.mongo.engine import secondaries
from marginalia.mongo.servers import primary_answers, secondary_answers
from nodes.models import stored_site
from reader.page_cache.keepable import is_personal
from reader.views.finding import not_found

logger = logging.getLogger("cms.requests")

# Of a request's body, above which it is an upload.
LONG_BYTES = 1_000_000


def alive(request: HttpRequest) -> HttpResponse:
    """Say that this process lives."""
    return _said("ok", 200)


def ready(request: HttpRequest) -> HttpResponse:
    """Say whether this process can serve: whether the database takes writes."""
    return _said("ready", 200) if _database_answers() else _said("the database does not answer", 503)


_asking = threading.Lock()
_answered = False


def _database_answers() -> bool:
    """Return whether the database takes writes: what was said last, while another thread asks. A database that is silent holds
    one thread for a second, however often it is asked for."""
    global _answered
    if _asking.acquire(blocking=False):
        try:
            _answered = primary_answers()
        finally:
            _asking.release()
    return _answered


def _said(text: str, status: int) -> HttpResponse:
    content = f"{text}\n".encode()
    # With its length a connection can be asked again.
    headers = {"Content-Type": "text/plain", "Content-Length": str(len(content))}
    return HttpResponse(content, headers=headers, status=status)


# By path, without the slash. They are routes too, so that no page can have these addresses.
HEALTH = {"healthz": alive, "readyz": ready}


class HealthMiddleware:
    """Answer the paths of HEALTH.

    The first of all: a load balancer asks by address, over plain HTTP, and also while the database is away.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        view = HEALTH.get(request.path_info[1:])
        return view(request) if view else self.get_response(request)


class MetricsMiddleware:
    """Answer /metrics to who may read it: also by address, and while the database is away."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return scraping.answer() if scraping.is_asked_for(request) else self.get_response(request)


class RequestIdMiddleware:
    """Give every request an id that its log lines, its answer and the error page carry, log one line for it and count it.

    The line has no query, no address, no name: nothing personal.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        id_token = request_id.set(given_id(request) or secrets.token_hex(8))
        trace_token = trace_id.set(traced(request))
        started = time.perf_counter()
        sent_before = commands.of_this_thread()
        try:
            response = self.get_response(request)
            response["X-Request-ID"] = request_id.get()
            took = time.perf_counter() - started
            counted.note(request, response, took)
            self._log(request, response, took * 1000, commands.of_this_thread() - sent_before)
            return response
        finally:
            request_id.reset(id_token)
            trace_id.reset(trace_token)

    def _log(self, request: HttpRequest, response: HttpResponse, ms: float, sent: int) -> None:
        path = public_path(request)
        status = response.status_code
        fields = {
            "method": request.method,
            "path": path,
            "status": status,
            "ms": round(ms, 1),
            "commands": sent,
            "cache": getattr(request, "page_cache", "none"),
            "user": user_class(request),
        }
        logger.info("%s %s %d %.0f ms", request.method, path, status, ms, extra={"fields": fields})


class NoSuchIdMiddleware:
    """Answer 404 where Django's own views look for what an address names and that is no id: the backend raises instead."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return the answer to what is no id; None for any other exception."""
        cause = exception.__cause__ or exception.__context__
        is_no_id = isinstance(exception, ValidationError) and isinstance(cause, InvalidId)
        return not_found(request, exception) if is_no_id else None


class ReloginMiddleware:
    """Let an editor whose log-in has expired log in again on the spot, with all that was typed (editor.relogin)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        """Return the form that asks for the password; None where the view is to answer."""
        return relogin.log_in_again(request)


class PolicyMiddleware(CSPMiddleware):
    """Send the policy of the settings as it was built once, where nothing is added to it."""

    @cached_property
    def _policy(self) -> str:
        """The policy of every page, "" where settings have another one for some of them."""
        of_some = settings.CONTENT_SECURITY_POLICY.get("EXCLUDE_URL_PREFIXES") or settings.DEBUG
        return "" if of_some or getattr(settings, "CONTENT_SECURITY_POLICY_REPORT_ONLY", None) else build_policy()

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Return the answer with its policy."""
        adds = any(name.startswith("_csp") for name in (*vars(request), *vars(response)))
        if adds or not self._policy:
            return super().process_response(request, response)
        response.headers.setdefault(HEADER, self._policy)
        return response


class PermissionsMiddleware:
    """Tell browsers that no page here, nor what it might be made to embed, needs any of these."""

    POLICY = ", ".join(
        f"{feature}=()"
        for feature in (
            "accelerometer", "browsing-topics", "camera", "display-capture", "geolocation", "gyroscope", "magnetometer",
            "microphone", "midi", "payment", "serial", "usb", "xr-spatial-tracking",
        )
    )  # fmt: skip

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Permissions-Policy", self.POLICY)
        return response


class HeavyMiddleware:
    """Run few long requests at once, and refuse those that would take a thread of readers (cms.requests.heavy)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        # The server has some threads more (cms/serving/gunicorn_conf.py).
        self.places = heavy.Places(settings.REQUESTS_AT_ONCE, heavy.AT_ONCE)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not heavy.is_heavy(request):
            return self.get_response(request)
        if not self.places.enter():
            HEAVY_REFUSED.inc()
            return busy(request)
        try:
            return self.get_response(request)
        finally:
            self.places.leave()


class GateMiddleware:
    """Refuse requests with the page of an outage while the database hangs and enough wait for it (cms.requests.gate)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.gate = Gate(settings.REQUESTS_AT_ONCE, primary_answers)
        self.gate_of_secondaries = Gate(settings.REQUESTS_AT_ONCE, secondary_answers)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # A picture that comes slowly asks the database little, and would keep others out for long.
        counted = not _is_long(request)
        gate = self.gate_of_secondaries if secondaries.is_reading() else self.gate
        if not gate.enter(counted=counted):
            return unavailable(request)
        try:
            return self.get_response(request)
        finally:
            gate.leave(counted=counted)


def _is_long(request: HttpRequest) -> bool:
    length = request.META.get("CONTENT_LENGTH") or "0"
    return not length.isdecimal() or int(length) > LONG_BYTES


class SiteMiddleware:
    """Read the site once, before anything else is read, and speak its language and keep its time.

    Everything that the request shows is then at least as new as the version that it will be kept under.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # The page cache has read it where it had to compare a page with it.
        site = stored_site.begin_request(getattr(request, "site", None))
        try:
            with timezone.override(ZoneInfo(site.settings.time_zone)), translation.override(site.settings.language):
                response = self.get_response(request)
                response.headers.setdefault("Content-Language", site.settings.language)
                if is_personal(request) and not response.has_header("Cache-Control"):
                    patch_cache_control(response, private=True)
                    patch_vary_headers(response, ["Cookie"])
                return response
        finally:
            stored_site.forget()
