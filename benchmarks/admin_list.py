"""Response times of the admin list with 100,000 nodes, by filter: the raw query, the selector, and the whole page."""

import os
import statistics
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import report, site
from benchmarks.timing import measure_seconds

NODES = 1_000 if site.QUICK else 100_000
ROUNDS = 5 if site.QUICK else 15


def main() -> None:
    """Load the demo's bulk content, measure the lists, and publish the results."""
    os.environ["LOG_LEVEL"] = "WARNING"
    with site.temporary_site():
        site.set_up(NODES)
        _measure()


def _measure() -> None:
    from django.contrib.auth import get_user_model
    from django.test import Client

    from marginalia.mongo.clock import now
    from marginalia.mongo.connection import database
    from nodes.selectors import lists
    from nodes.selectors.listing import FIELDS

    fields = FIELDS["cms.nodes"] | {"draft.saved_at": 1, "draft.due": 1}
    nodes = database()["cms.nodes"]
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(get_user_model().objects.get_or_create(username="bench", is_staff=True, is_superuser=True)[0])
    rows: list[list[object]] = []
    for name, query, filters in _filters(nodes):
        criteria = filters.query(now())
        order = [(filters.order, -1), ("_id", -1)]
        raw = _median(lambda: list(nodes.find(criteria, fields).sort(order).limit(lists.SIZE + 1)))  # noqa: B023
        selector = _median(lambda: lists.page(filters, now()))  # noqa: B023
        page = _median(lambda: client.get("/admin/nodes/node/", query))  # noqa: B023
        rows.append([name, f"{raw:.2f}", f"{selector:.2f}", f"{selector / raw:.1f}", f"{page:.1f}"])
    about = (
        f"These are the times of the admin's list with {NODES:,} nodes, in milliseconds (medians of {ROUNDS} rounds). "
        "*Query* is the MongoDB query, sent directly with the driver. "
        "*Selector* also creates the rows, and should take at most three times as long as the query. "
        "*Page* is the complete page with counts, filters and rendering."
    )
    report.publish(
        "admin_list",
        [report.Table("Admin lists", about, ["Filter", "Query", "Selector", "Ratio", "Page"], rows)],
    )


def _filters(nodes: Any) -> Iterator[tuple[str, dict[str, Any], Any]]:
    from nodes.selectors.lists import Filters

    metadata = nodes.find_one({"metadata.type": "blog-entry", "metadata.tags.0": {"$exists": True}})["metadata"]
    section = metadata["parent_id"]
    tag = metadata["tags"][0]
    yield "none", {}, Filters()
    yield "section", {"section": section}, Filters(section=section)
    yield "type", {"type": "blog-entry"}, Filters(type="blog-entry")
    yield "tag", {"tag": tag}, Filters(tag=tag)
    for state in ("live", "scheduled", "unpublished", "expired", "drafted"):
        yield state, {"state": state}, Filters(state=state)
    yield "section, live", {"section": section, "state": "live"}, Filters(section=section, state="live")


def _median(work: Callable[[], object]) -> float:
    work()
    return statistics.median(measure_seconds(work) for _ in range(ROUNDS)) * 1_000
