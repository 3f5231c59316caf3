"""Counts of facets that are not kept, beside a covered $group of the same nodes, and where the time goes."""

import io
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from benchmarks import report
from benchmarks.site import QUICK
from tests.support.throwaway import EphemeralMongod

NODES = int(os.environ.get("NODES", "2400" if QUICK else "40000"))
ROUNDS = 5 if QUICK else 15
INGREDIENTS = ("beans", "flour", "leek", "oats", "pears", "rice", "salt", "thyme")
PLACE = [("metadata.parent_id", 1), ("metadata.published", -1), ("_id", -1), ("metadata.expires", 1)]


def main() -> None:
    """Fill a throw-away server with nodes of three values each and print medians in milliseconds."""
    server = EphemeralMongod()
    os.environ |= {"MONGODB_URI": server.start(), "MONGODB_DATABASE": "bench_facets", "LOG_LEVEL": "ERROR"}
    os.environ |= {"VAR_DIR": tempfile.mkdtemp(prefix="marginalia-bench-"), "DJANGO_SETTINGS_MODULE": "cms.settings"}
    import django

    django.setup()
    from tests.support.nodes.content import Cookbook, Recipe, registered

    try:
        with registered(Recipe, Cookbook):
            _measure(_load())
    finally:
        server.stop()


def _load() -> Any:
    from bson import ObjectId
    from django.core.management import call_command

    from mongo.connection import database
    from tests.support.nodes.build import PAST, node

    call_command("setup_indexes", stdout=io.StringIO())
    section, nodes = node("cookbook", "cooking"), database()["cms.nodes"]
    made = [
        node(
            "recipe", f"recipe-{course}-{vegan}-{one}", parent=section, text="Stir it well. " * 300,
            **dict[str, Any]({"detail.course": course, "detail.is_vegan": vegan, "detail.ingredients": [one]}),
        )
        for course in ("starter", "main", "dessert") for vegan in (True, False) for one in INGREDIENTS
    ]  # fmt: skip
    originals = list(nodes.find({"_id": {"$in": made}}))
    # What a covered $group reads: an index that holds the one value that it counts.
    nodes.create_index([*PLACE, ("metadata.type", 1), ("metadata.detail.course", 1)], name="covering")
    nodes.create_index([("derived.facets", 1), *PLACE, ("metadata.detail.course", 1)], name="covering_narrowed")
    for first in range(0, NODES, 250):
        batch = []
        for number in range(first, min(first + 250, NODES)):
            one = originals[number % len(originals)]
            place = {"slug": f"copy-{number}", "published": PAST + timedelta(minutes=number)}
            batch.append({**one, "_id": ObjectId(), "metadata": {**one["metadata"], **place}})
        nodes.insert_many(batch)
    return section


def _measure(section: Any) -> None:
    from mongo.clock import now
    from mongo.connection import database
    from nodes.models import version_cache
    from nodes.selectors import facets
    from nodes.selectors.listing import live

    nodes, rows = database()["cms.nodes"], []
    for name, wanted, covering in (
        ("all of a section", [], "covering"),
        ("a third", [("course", "main")], "covering_narrowed"),
        ("an eighth", [("ingredients", "leek")], "covering_narrowed"),
    ):
        base, index = facets._query(section, "recipe", wanted)
        match = {"$match": {**base, **live(now())}}
        raw = [match, {"$group": {"_id": "$metadata.detail.course", "count": {"$sum": 1}}}]
        read = [match, {"$group": {"_id": None, "one": {"$max": "$metadata.updated"}}}]

        def counted(wanted: Any = wanted) -> None:
            version_cache.clear()
            facets.counts(section, "recipe", wanted, now())

        taken = _alternately(
            lambda: list(nodes.aggregate(raw, hint=covering)),  # noqa: B023
            lambda: list(nodes.aggregate(read, hint=index)),  # noqa: B023
            counted,
        )
        ratio = statistics.median(counts / least for least, _read, counts in taken)
        rows.append(
            [name, *(f"{statistics.median(column):.0f}" for column in zip(*taken, strict=True)), f"{ratio:.1f}"]
        )
    about = (
        f"What is counted of a section of {NODES:,} nodes with three values each. Milliseconds, medians of {ROUNDS} rounds in "
        "alternation, and of their ratios: a `$group` of one value that an index covers, reading each node without counting "
        "anything, and the counts of all values as a section's page asks for them when they are not kept. "
        "`python -m benchmarks facets`"
    )
    columns = ["Of", "Covered $group", "Reading the nodes", "Counts", "Counts ÷ covered"]
    report.publish("facets", [report.Table("Counts of facets", about, columns, rows)])


def _alternately(*works: Callable[[], object]) -> list[tuple[float, ...]]:
    """Return the milliseconds of each of some works, by round."""
    rounds = []
    for _ in range(ROUNDS + 1):
        taken = []
        for work in works:
            began = time.perf_counter()
            work()
            taken.append((time.perf_counter() - began) * 1_000)
        rounds.append(tuple(taken))
    # The first round fills the caches.
    return rounds[1:]


if __name__ == "__main__":
    main()
