"""Metrics that are queried from MongoDB on each scrape. Metrics that can't be queried within SECONDS are omitted."""

import logging
import math
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from django.conf import settings
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from marginalia.comments.backends import backend
from marginalia.comments.types import Verdict
from marginalia.mongo import status
from marginalia.mongo.clock import now
from marginalia.mongo.servers import is_outage, outage_after
from marginalia.tasks import queue
from marginalia.tasks.backend import databases
from reader import purging

logger = logging.getLogger("cms.requests.metrics")

# Time limit in seconds for all queries together. By default, Prometheus waits ten seconds.
SECONDS = 3.0
# Counting stops at this number, so that scraping remains cheap.
COUNTED = 1_000

Values = Iterator[tuple[str, str, float]]


def _comments() -> Values:
    yield (
        "comments_pending",
        f"Pending comments, at most {COUNTED:,}.",
        backend().count_held(Verdict.WAITING, COUNTED),
    )
    oldest = backend().held(limit=1)
    age = (now() - oldest[0].posted).total_seconds() if oldest else 0
    yield "comments_pending_oldest_seconds", "Age of the oldest pending comment.", age
    claims = len(backend().claimed_before(now(), COUNTED))
    yield (
        "comment_claims_open",
        "Discussions with a write that is in progress or was interrupted.",
        claims,
    )


def _worker() -> Values:
    yield (
        "worker_silent_seconds",
        "Time since a worker (manage.py work) last reported.",
        _seconds_since(queue.last_tended()),
    )
    yield "workers", "Workers that reported in the last three minutes.", queue.running()
    numbers = [queue.numbers(COUNTED, alias) for alias in databases()]
    yield "jobs_waiting", "Jobs waiting for their first attempt.", sum(number.waiting for number in numbers)
    yield "jobs_retrying", "Jobs that failed and will be retried.", sum(number.retrying for number in numbers)
    yield "jobs_failed", "Jobs that failed permanently, in the last 30 days.", sum(number.failed for number in numbers)


def _caches() -> Values:
    if caches := settings.CDN_PURGE_URLS:
        seconds = max(_seconds_since(purging.last_notified(cache)) for cache in caches)
        yield (
            "caches_silent_seconds",
            ("Time since the CDN or reverse-proxy cache that is furthest behind was last purged."),
            seconds,
        )


def _seconds_since(moment: datetime | None) -> float:
    """Return the number of seconds since `moment`.

    If `moment` is None, return infinity, so that an alert also fires if the monitored work has never been done.
    """
    return (now() - moment).total_seconds() if moment else math.inf


def _members() -> Values:
    if members := status.members():
        yield (
            "mongodb_members_down",
            "Members of the replica set that are neither primary nor secondary.",
            len(members.down),
        )
        yield "mongodb_election_term", "Election term of the primary. It increases with each election.", members.term
        if members.lag:
            worst = max(members.lag.values())
            yield "mongodb_replication_lag_seconds", "Largest lag of a secondary behind the primary.", worst


def _server() -> Values:
    if server := status.server():
        yield "mongodb_connections_open", "Open connections of all clients to the server.", server.connections
        yield (
            "mongodb_connections_limit",
            "Maximum number of connections that the server accepts.",
            server.max_connections,
        )
    if oplog := status.oplog():
        yield (
            "mongodb_oplog_window_seconds",
            "Time span that the oplog covers. A member can be down for up to that long.",
            oplog.seconds,
        )
        yield (
            "mongodb_oplog_filled_ratio",
            "Fill level of the oplog. At 1, its oldest entries are removed.",
            oplog.filled,
        )


def _disk() -> Values:
    if disk := status.disk():
        yield "mongodb_disk_free_bytes", "Free bytes on the database's disk.", disk.free
        yield "mongodb_disk_bytes", "Total bytes on the database's disk.", disk.total


_QUERIES: tuple[Callable[[], Values], ...] = (_members, _server, _disk, _comments, _worker, _caches)


class DatabaseCollector:
    """A Prometheus collector that queries MongoDB."""

    def collect(self) -> Iterable[Metric]:
        """Return `mongodb_up`, and the current values of all metrics that could be queried."""
        values: list[tuple[str, str, float]] = []
        with outage_after(SECONDS):
            is_up = all(_add_values(query, values) for query in _QUERIES)
        values.append(("mongodb_up", "Whether MongoDB answered all queries for these metrics in time.", float(is_up)))
        return [GaugeMetricFamily(f"marginalia_{name}", text, value) for name, text, value in values]


def _add_values(query: Callable[[], Values], values: list[tuple[str, str, float]]) -> bool:
    """Run a query and add its results to `values`. Return False if the next query would also fail."""
    try:
        values += query()
    except Exception as error:  # noqa: BLE001 - a failing query must not hide the results of the others
        logger.warning("%s could not be read: %s: %s", query.__name__, type(error).__name__, error)
        return not is_outage(error)
    return True
