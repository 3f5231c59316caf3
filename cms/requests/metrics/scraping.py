"""The response for /metrics, and the permission check. For clients without permission, the response is 404."""

import ipaddress
from hmac import compare_digest

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Info, generate_latest

from cms.release import versions
from cms.requests.metrics.database_metrics import DatabaseCollector
from cms.requests.metrics.multiprocess import AllProcessesCollector
from marginalia.comments import conf

PATH = "metrics"


def is_allowed_scrape(request: HttpRequest) -> bool:
    """Return whether a request is for /metrics and is allowed by METRICS_NETWORKS or METRICS_TOKEN."""
    return (
        request.path_info == f"/{PATH}"
        and request.method in ("GET", "HEAD")
        and (_is_from_allowed_network(request) or _has_token(request))
    )


def metrics_response() -> HttpResponse:
    """Return all metrics in Prometheus's text format."""
    registry = CollectorRegistry()
    Info("marginalia_build", "Versions of the site and its platform.", registry=registry).info(versions())
    registry.register(AllProcessesCollector())
    registry.register(DatabaseCollector())
    return HttpResponse(
        generate_latest(registry), content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"}
    )


def not_found(request: HttpRequest) -> HttpResponse:
    """Raise Http404. MetricsMiddleware has already handled the requests from clients with permission."""
    raise Http404


def _is_from_allowed_network(request: HttpRequest) -> bool:
    # If BEHIND_PROXY is off, requests that come through a local proxy seem to come from this machine, so they are
    # rejected.
    if not settings.BEHIND_PROXY and "X-Forwarded-For" in request.headers:
        return False
    try:
        address = ipaddress.ip_address(conf.load("ADDRESS")(request))
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return any(address in ipaddress.ip_network(network) for network in settings.METRICS_NETWORKS)


def _has_token(request: HttpRequest) -> bool:
    token = settings.METRICS_TOKEN
    header = request.headers.get("Authorization", "")
    return bool(token) and compare_digest(header.encode(), f"Bearer {token}".encode())
