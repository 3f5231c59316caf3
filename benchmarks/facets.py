"""Uncached facet counts, compared with a covered $group over the same nodes, and with just reading the nodes."""

import io
import os
import statistics
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from benchmarks import report, site
from benchmarks.timing import measure_seconds

NODES = 2_400 if site.QUICK else 40_000
ROUNDS = 5 if site.QUICK else 15
INGREDIENTS = ("beans", "flour", "leek", "oats", "pears", "rice", "salt", "thyme")
PLACE = [("metadata.parent_id", 1), ("metadata.published", -1), ("_id", -1), ("metadata.expires", 1)]


def main() -> None:
    """Fill a site with nodes that have three values each, measure the counts, and publish the results."""
    os.environ["LOG_LEVEL"] = "WARNING"
    with site.temporary_site():
        site.set_up()
        from tests.support.nodes.content import Cookbook, Recipe, registered

        with registered(Recipe, Cookbook):
            _measure(_load())


def _load() -> Any:
    from bson import ObjectId
    from django.core.management import call_command

    from cms.testing.build import PAST, node
    from marginalia.mongo.connection import database

    call_command("setup_indexes", stdout=io.StringIO())
    section = node("cookbook", "cooking")
    nodes = database()["cms.nodes"]
    ids = [
        node(
            "recipe",
            f"recipe-{course}-{vegan}-{ingredient}",
            parent=section,
            text="Stir it well. " * 300,
            **dict[str, Any]({"detail.course": course, "detail.is_vegan": vegan, "detail.ingredients": [ingredient]}),
        )
        for course in ("starter", "main", "dessert")
        for vegan in (True, False)
        for ingredient in INGREDIENTS
    ]
    originals = list(nodes.find({"_id": {"$in": ids}}))
    # The covered $group uses these indexes, which contain the counted value.
    nodes.create_index([*PLACE, ("metadata.type", 1), ("metadata.detail.course", 1)], name="covering")
    nodes.create_index([("derived.facets", 1), *PLACE, ("metadata.detail.course", 1)], name="covering_narrowed")
    for first in range(0, NODES, 250):
        batch = []
        for number in range(first, min(first + 250, NODES)):
            original = originals[number % len(originals)]
            place = {"slug": f"copy-{number}", "published": PAST + timedelta(minutes=number)}
            batch.append({**original, "_id": ObjectId(), "metadata": {**original["metadata"], **place}})
        nodes.insert_many(batch)
    return section


def _measure(section: Any) -> None:
    from marginalia.mongo.clock import now
    from marginalia.mongo.connection import database
    from nodes.content.facets import format_facet
    from nodes.models import version_cache
    from nodes.selectors.listing import live
    from reader.selectors import faceted_lists

    nodes = database()["cms.nodes"]
    rows = []
    for name, chosen in (
        ("all of a section", []),
        ("a third", [("course", "main")]),
        ("an eighth", [("ingredients", "leek")]),
    ):
        index, covering = ("by_facet", "covering_narrowed") if chosen else ("by_section", "covering")
        criteria = {"derived.facets": format_facet("recipe", *chosen[0])} if chosen else {"metadata.type": "recipe"}
        match = {"$match": {"metadata.parent_id": section, **criteria, **live(now())}}
        raw = [match, {"$group": {"_id": "$metadata.detail.course", "count": {"$sum": 1}}}]
        read = [match, {"$group": {"_id": None, "one": {"$max": "$metadata.updated"}}}]

        def count(chosen: Any = chosen) -> None:
            version_cache.clear()
            faceted_lists.count_values(section, "recipe", chosen, now())

        times = _measure_in_turns(
            lambda: list(nodes.aggregate(raw, hint=covering)),  # noqa: B023
            lambda: list(nodes.aggregate(read, hint=index)),  # noqa: B023
            count,
        )
        ratio = statistics.median(counts / covered for covered, _read, counts in times)
        rows.append(
            [name, *(f"{statistics.median(column):.0f}" for column in zip(*times, strict=True)), f"{ratio:.1f}"]
        )
    about = (
        f"The section has {NODES:,} nodes with three facet values each. "
        f"The times are in milliseconds (medians of {ROUNDS} rounds). "
        "*Covered $group* counts the values of one facet with an index that covers the query. "
        "*Reading the nodes* reads every node without counting. "
        "*Counts* counts all values, as a section's page does if the counts aren't cached."
    )
    columns = ["Nodes", "Covered $group", "Reading the nodes", "Counts", "Counts ÷ covered"]
    report.publish("facets", [report.Table("Facet counts", about, columns, rows)])


def _measure_in_turns(*functions: Callable[[], object]) -> list[tuple[float, ...]]:
    """Call the functions alternately, and return the milliseconds of each function for each round."""
    rounds = [tuple(measure_seconds(function) * 1_000 for function in functions) for _ in range(ROUNDS + 1)]
    # The first round fills the caches.
    return rounds[1:]
