"""The site's middleware, and the health checks."""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

from csp.constants import HEADER
from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone, translation
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.functional import cached_property

from cms.requests import heavy
from cms.requests.errors import busy, is_invalid_id, unavailable
from cms.requests.gate import Gate
from cms.requests.logs import incoming_trace_id, proxy_request_id, public_path, request_id, trace_id, user_class
from cms.requests.metrics import commands, request_metrics, scraping
from cms.requests.metrics.request_metrics import HEAVY_REFUSED
from editor import relogin
from marginalia.mongo.engine import secondaries
from marginalia.mongo.servers import primary_answers, secondary_answers
from nodes.models import stored_site
from reader.page_cache.cacheable import is_personal
from reader.views.finding import not_found

logger = logging.getLogger("cms.requests")

# A request whose body has more bytes than this counts as an upload.
UPLOAD_BYTES = 1_000_000


def alive(request: HttpRequest) -> HttpResponse:
    """Report that this process is running."""
    return _text_response("ok", 200)


def ready(request: HttpRequest) -> HttpResponse:
    """Report whether this process can serve pages, which means that the database accepts writes."""
    return _text_response("ready", 200) if _database_answers() else _text_response("the database doesn't respond", 503)


_check_lock = threading.Lock()
_last_answer = False


def _database_answers() -> bool:
    """Return whether the database accepts writes. If another thread is already checking, return the last result.

    If the database doesn't respond, only one thread at a time is blocked, for up to a second, no matter how often this
    function is called.
    """
    global _last_answer
    if _check_lock.acquire(blocking=False):
        try:
            _last_answer = primary_answers()
        finally:
            _check_lock.release()
    return _last_answer


def _text_response(text: str, status: int) -> HttpResponse:
    content = f"{text}\n".encode()
    # The client can reuse the connection only if the length is known.
    headers = {"Content-Type": "text/plain", "Content-Length": str(len(content))}
    return HttpResponse(content, headers=headers, status=status)


# Health checks, keyed by path without the leading slash. The paths are also registered as routes, so that no page can
# use them.
HEALTH_CHECKS = {"healthz": alive, "readyz": ready}


class HealthMiddleware:
    """Middleware that serves the paths in HEALTH_CHECKS.

    This must be the first middleware, because load balancers send plain HTTP requests to an IP address, which other
    middleware would reject. The checks must also work while the database is unavailable.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        view = HEALTH_CHECKS.get(request.path_info[1:])
        return view(request) if view else self.get_response(request)


class MetricsMiddleware:
    """Middleware that serves /metrics to permitted clients.

    The middleware works even if clients use the site's IP address as the host, and even while the database is
    unavailable.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return scraping.metrics_response() if scraping.is_allowed_scrape(request) else self.get_response(request)


class RequestIdMiddleware:
    """Middleware that gives each request an id, logs one line for the request, and counts the request in the metrics.

    The id appears in all log lines of the request, in a response header, and on error pages. The log line doesn't
    contain personal data such as query strings, IP addresses and names.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        id_token = request_id.set(proxy_request_id(request) or secrets.token_hex(8))
        trace_token = trace_id.set(incoming_trace_id(request))
        started = time.perf_counter()
        commands_before = commands.sent_by_this_thread()
        try:
            response = self.get_response(request)
            response["X-Request-ID"] = request_id.get()
            seconds = time.perf_counter() - started
            request_metrics.record(request, response, seconds)
            self._log(request, response, seconds * 1000, commands.sent_by_this_thread() - commands_before)
            return response
        finally:
            request_id.reset(id_token)
            trace_id.reset(trace_token)

    def _log(self, request: HttpRequest, response: HttpResponse, ms: float, command_count: int) -> None:
        path = public_path(request)
        status = response.status_code
        fields = {
            "method": request.method,
            "path": path,
            "status": status,
            "ms": round(ms, 1),
            "commands": command_count,
            "cache": getattr(request, "page_cache", "none"),
            "user": user_class(request),
        }
        logger.info("%s %s %d %.0f ms", request.method, path, status, ms, extra={"fields": fields})


class InvalidIdMiddleware:
    """Middleware that returns 404 if a path contains an invalid id. In the admin, the admin site shows the error.

    The database backend raises an error for an invalid id, and Django's own views don't catch this error.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return a 404 page for an invalid id, or None for any other exception."""
        return not_found(request, exception) if is_invalid_id(exception) else None


class ReloginMiddleware:
    """Middleware that lets editors log in again without losing their form after their session has expired.

    See editor.relogin.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        """Return the form that asks for the password, or None if the view should handle the request."""
        return relogin.log_in_again(request)


class ContentSecurityPolicyMiddleware(CSPMiddleware):
    """Middleware that sends the Content-Security-Policy. The policy is built only once, unless a view changes it."""

    @cached_property
    def _policy(self) -> str:
        """Return the policy if it is the same for all pages, or "" if the settings allow different policies."""
        differs = settings.CONTENT_SECURITY_POLICY.get("EXCLUDE_URL_PREFIXES") or settings.DEBUG
        return "" if differs or getattr(settings, "CONTENT_SECURITY_POLICY_REPORT_ONLY", None) else build_policy()

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Add the policy to a response and return the response."""
        is_changed = any(name.startswith("_csp") for name in (*vars(request), *vars(response)))
        if is_changed or not self._policy:
            return super().process_response(request, response)
        response.headers.setdefault(HEADER, self._policy)
        return response


class PermissionsPolicyMiddleware:
    """Middleware that sends the Permissions-Policy, which denies browser features to pages and embedded content."""

    POLICY = ", ".join(
        f"{feature}=()"
        for feature in (
            "accelerometer",
            "browsing-topics",
            "camera",
            "display-capture",
            "geolocation",
            "gyroscope",
            "magnetometer",
            "microphone",
            "midi",
            "payment",
            "serial",
            "usb",
            "xr-spatial-tracking",
        )
    )

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Permissions-Policy", self.POLICY)
        return response


class HeavyMiddleware:
    """Middleware that limits how many long requests a worker handles at once, so that some threads are free for readers."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        # There are fewer slots than threads (cms/serving/gunicorn_conf.py), so the other threads are free for readers.
        self.slots = heavy.Slots(settings.REQUESTS_AT_ONCE, heavy.CONCURRENT)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not heavy.is_heavy(request):
            return self.get_response(request)
        if not self.slots.enter():
            HEAVY_REFUSED.inc()
            return busy(request, heavy.TOO_MANY_LONG_REQUESTS)
        try:
            return self.get_response(request)
        finally:
            self.slots.leave()


class GateMiddleware:
    """Middleware that returns the outage page while the database isn't responding (cms.requests.gate)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.gate = Gate(settings.REQUESTS_AT_ONCE, primary_answers)
        self.secondary_gate = Gate(settings.REQUESTS_AT_ONCE, secondary_answers)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Uploads don't count toward the gate's limit. A slow upload makes little use of the database, but would block
        # another request for a long time.
        counted = not _is_upload(request)
        gate = self.secondary_gate if secondaries.is_reading() else self.gate
        if not gate.enter(counted=counted):
            return unavailable(request)
        try:
            return self.get_response(request)
        finally:
            gate.leave(counted=counted)


def _is_upload(request: HttpRequest) -> bool:
    length = request.META.get("CONTENT_LENGTH") or "0"
    return not length.isdecimal() or int(length) > UPLOAD_BYTES


class SiteMiddleware:
    """Middleware that reads the site document before all other data, and activates the site's language and time zone.

    Because the site document is read first, a response is at least as new as the site version under which it is cached.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # The page cache may have already read the site document to validate a cached page. In that case, don't read it
        # again.
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
