"""Who may read /metrics, and the answer. For all others there is no such page."""

import ipaddress
from hmac import compare_digest

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Info, generate_latest

from cms.release import releases
from cms.requests.metrics.asked import Asked
from cms.requests.metrics.processes import Everyone
from marginalia.comments import conf

PATH = "metrics"


def is_asked_for(request: HttpRequest) -> bool:
    """Return whether a request asks for the metrics and may have them: from a named network, or with the token."""
    return (
        request.path_info == f"/{PATH}"
        and request.method in ("GET", "HEAD")
        and (_is_from_named_network(request) or _has_token(request))
    )


def answer() -> HttpResponse:
    """Return all metrics, in the text format of Prometheus."""
    registry = CollectorRegistry()
    Info("marginalia_build", "Versions of the site and of what it runs on.", registry=registry).info(releases())
    registry.register(Everyone())
    registry.register(Asked())
    return HttpResponse(
        generate_latest(registry), content_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"}
    )


def hidden(request: HttpRequest) -> HttpResponse:
    """Say that there is no such page."""
    raise Http404


def _is_from_named_network(request: HttpRequest) -> bool:
    # What came through a proxy that the settings do not name seems to come from this machine itself.
    if not settings.BEHIND_PROXY and "X-Forwarded-For" in request.headers:
        return False
    try:
        address = ipaddress.ip_address(conf.imported("ADDRESS")(request))
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return any(address in ipaddress.ip_network(named) for named in settings.METRICS_NETWORKS)


def _has_token(request: HttpRequest) -> bool:
    wanted = settings.METRICS_TOKEN
    sent = request.headers.get("Authorization", "")
    return bool(wanted) and compare_digest(sent.encode(), f"Bearer {wanted}".encode())
