"""Counts of facets that are not kept, beside a covered $group of the same nodes, and where the time goes."""

import io
import os
import statistics
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from benchmarks import report, site
from benchmarks.timing import clocked

NODES = 2_400 if site.QUICK else 40_000
ROUNDS = 5 if site.QUICK else 15
INGREDIENTS = ("beans", "flour", "leek", "oats", "pears", "rice", "salt", "thyme")
PLACE = [("metadata.parent_id", 1), ("metadata.published", -1), ("_id", -1), ("metadata.expires", 1)]


def main() -> None:
    """Fill a site with nodes of three values each; measure, print, publish."""
    os.environ["LOG_LEVEL"] = "WARNING"
    with site.served_by_mongod():
        site.set_up()
        from tests.support.nodes.content import Cookbook, Recipe, registered

        with registered(Recipe, Cookbook):
            _measure(_load())


def _load() -> Any:
    from bson import ObjectId
    from django.core.management import call_command

    from marginalia.mongo.connection import database
    from tests.support.nodes.build import PAST, node

    call_command("setup_indexes", stdout=io.StringIO())
    section = node("cookbook", "cooking")
    nodes = database()["cms.nodes"]
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
    from marginalia.mongo.clock import now
    from marginalia.mongo.connection import database
    from nodes.content.facets import format_facet
    from nodes.models import version_cache
    from nodes.selectors.listing import live
    from reader.selectors import facets

    nodes = database()["cms.nodes"]
    rows = []
    for name, wanted in (
        ("all of a section", []),
        ("a third", [("course", "main")]),
        ("an eighth", [("ingredients", "leek")]),
    ):
        index, covering = ("by_facet", "covering_narrowed") if wanted else ("by_section", "covering")
        kind = {"derived.facets": format_facet("recipe", *wanted[0])} if wanted else {"metadata.type": "recipe"}
        match = {"$match": {"metadata.parent_id": section, **kind, **live(now())}}
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
    rounds = [tuple(clocked(work) * 1_000 for work in works) for _ in range(ROUNDS + 1)]
    # The first round fills the caches.
    return rounds[1:]
