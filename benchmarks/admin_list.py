"""The admin's list of pages at 100,000 nodes, by filter: the raw query, the selector, the whole page."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import report
from benchmarks.site import QUICK
from tests.support.throwaway import EphemeralMongod

NODES = int(os.environ.get("NODES", "1000" if QUICK else "100000"))
ROUNDS = 5 if QUICK else 15


def main() -> None:
    """Load the demo's bulk content into a throw-away server and print medians in milliseconds."""
    server = EphemeralMongod()
    os.environ |= {
        "MONGODB_URI": os.environ.get("BENCH_MONGODB_URI") or server.start(),
        "MONGODB_DATABASE": "bench_list",
    }
    os.environ |= {"VAR_DIR": tempfile.mkdtemp(prefix="marginalia-bench-"), "LOG_LEVEL": "ERROR"}
    os.environ["DJANGO_SETTINGS_MODULE"] = "cms.settings"
    import django
    from django.conf import settings

    settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    django.setup()
    try:
        _load()
        _measure()
    finally:
        server.stop()


def _load() -> None:
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("setup_indexes", verbosity=0)
    call_command("load_demo", nodes=NODES)


def _measure() -> None:
    from django.contrib.auth import get_user_model
    from django.test import Client

    from mongo.clock import now
    from mongo.connection import database
    from nodes.selectors import lists

    nodes = database()["cms.nodes"]
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(get_user_model().objects.get_or_create(username="bench", is_staff=True, is_superuser=True)[0])
    rows: list[list[object]] = []
    for name, query, filters in _filters(nodes):
        wanted, order = filters.query(now()), [(filters.order, -1), ("_id", -1)]
        fields = lists._FIELDS["cms.nodes"]
        raw = _median(lambda: list(nodes.find(wanted, fields).sort(order).limit(lists.SIZE + 1)))  # noqa: B023
        selector = _median(lambda: lists.page(filters, now()))  # noqa: B023
        page = _median(lambda: client.get("/admin/nodes/node/", query))  # noqa: B023
        rows.append([name, f"{raw:.2f}", f"{selector:.2f}", f"{selector / raw:.1f}", f"{page:.1f}"])
    about = (
        f"{NODES:,} nodes. Milliseconds, medians of {ROUNDS}: the bare query through the driver, the selector that makes rows "
        "of it (at most 3 × the query), and the whole page with its counts, filters and rendering."
    )
    report.publish(
        "admin_list",
        [report.Table("Lists of the admin", about, ["Filter", "Query", "Selector", "Ratio", "Page"], rows)],
    )


def _filters(nodes: Any) -> Iterator[tuple[str, dict[str, Any], Any]]:
    from nodes.selectors.lists import Filters

    some = nodes.find_one({"metadata.type": "blog-entry", "metadata.tags.0": {"$exists": True}})["metadata"]
    section, tag = some["parent_id"], some["tags"][0]
    yield "none", {}, Filters()
    yield "section", {"section": section}, Filters(section=section)
    yield "type", {"type": "blog-entry"}, Filters(type="blog-entry")
    yield "tag", {"tag": tag}, Filters(tag=tag)
    for state in ("live", "scheduled", "unpublished", "expired", "drafted"):
        yield state, {"state": state}, Filters(state=state)
    yield "section, live", {"section": section, "state": "live"}, Filters(section=section, state="live")


def _median(work: Callable[[], object]) -> float:
    work()
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        taken.append((time.perf_counter() - began) * 1_000)
    return statistics.median(taken)
