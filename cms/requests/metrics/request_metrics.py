"""Metrics that each worker process counts. Labels have few values, and never identify clients, pages or accounts."""

from functools import cache

from django.http import HttpRequest, HttpResponse
from prometheus_client import Counter, Gauge, Histogram

from cms.requests.metrics.multiprocess import REGISTRY

# Values of the "route" label, keyed by the first segment of the path. All other paths are counted as pages.
_ROUTES = {name: name for name in ("admin", "api", "comments", "static")} | {"media": "photos", "feed": "feed"}

REQUESTS = Histogram(
    "marginalia_request_seconds",
    "Requests and their time to first byte, by type of URL and status class.",
    ("route", "status"),
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
    registry=REGISTRY,
)
PAGES = Counter(
    "marginalia_page_cache",
    "Requests for pages, by result of the page cache: hit, 304 (cached, and unchanged in the "
    "browser), miss (rendered and cached), renewed (only the discussion was rendered again), stale "
    "(cached before the database was unavailable), unkeepable (not cacheable).",
    ("result",),
    registry=REGISTRY,
)
GATE_WAITING = Gauge(
    "marginalia_gate_waiting",
    "Requests waiting for other requests before they query the database.",
    multiprocess_mode="livesum",
    registry=REGISTRY,
)
GATE_REFUSED = Counter(
    "marginalia_gate_refused", "Requests refused because the database doesn't respond.", registry=REGISTRY
)
HEAVY_REFUSED = Counter(
    "marginalia_heavy_refused",
    "Long requests and comments refused because too many are in progress.",
    registry=REGISTRY,
)
COMMANDS = Histogram(
    "marginalia_mongodb_command_seconds",
    "MongoDB's response times for commands from web processes.",
    buckets=(0.001, 0.005, 0.02, 0.1, 0.5, 2),
    registry=REGISTRY,
)
CONNECTIONS_IN_USE = Gauge(
    "marginalia_mongodb_connections_in_use",
    "Web processes' connections that are waiting for a response from MongoDB.",
    multiprocess_mode="livesum",
    registry=REGISTRY,
)


def route_label(path: str) -> str:
    """Return the "route" label for a path: admin, api, comments, feed, photos, static or page."""
    label = _ROUTES.get(path[1:].partition("/")[0], "page")
    return "feed" if label == "page" and "/feed/" in path else label


def record(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    """Record a request in the metrics, with its response, its duration in seconds, and the page cache's result."""
    _requests(route_label(request.path_info), response.status_code // 100).observe(seconds)
    if result := getattr(request, "page_cache", ""):
        _pages(result).inc()


@cache
def _requests(route: str, hundreds: int) -> Histogram:
    return REQUESTS.labels(route, f"{hundreds}xx")


@cache
def _pages(result: str) -> Counter:
    return PAGES.labels(result)
