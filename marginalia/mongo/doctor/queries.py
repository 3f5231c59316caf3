"""Hot queries, which are declared as data and checked with the server's explain command."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pymongo.database import Database

from marginalia.mongo.collections import Collection, app_modules
from marginalia.mongo.connection import Document
from marginalia.mongo.doctor.findings import ADVICE, ERROR, WARNING, Examination, Finding, check
from marginalia.mongo.reading import read_documents
from marginalia.mongo.sharding.targeting import is_targeted

# Maximum number of documents that a query can read per returned document.
READS_PER_RESULT = 2
# If a query reads at most this many documents, the number of documents read per returned document is meaningless, and
# isn't checked.
_MIN_READS = 20
# Maximum number of stored documents to try when building a query from a stored document.
_MAX_EXAMPLES = 5


@dataclass(frozen=True)
class HotQuery:
    """A find query that runs often, for example each time a page or post is requested.

    Attributes:
        name: The query's name in findings.
        collection: The collection that the query reads.
        query: A function that builds {filter, sort, limit…} from a stored document of `collection`.
        example: A filter that selects documents from which to build the query.
        broadcast_because: Why it is acceptable to send the query to every shard, or "" if it isn't acceptable.
        level: The level of the finding if the query reads the whole collection or sorts in memory.
        fix: How to make the query fast.
    """

    name: str
    collection: str
    query: Callable[[Document], dict[str, Any]]
    example: dict[str, Any] = field(default_factory=dict)
    broadcast_because: str = ""
    level: str = ERROR
    fix: str = "Run manage.py setup_indexes, or declare an index for this query."


@dataclass(frozen=True)
class Explanation:
    """How a query was executed: the stages of its plan, and how many documents were read and returned.

    `sorts` is True if every plan that the server considered sorts in memory. If there are few documents, all plans cost
    the same, so a chosen plan that sorts in memory doesn't necessarily indicate a problem.
    """

    stages: frozenset[str]
    sorts: bool
    documents_read: int
    returned: int


def hot_queries() -> list[HotQuery]:
    """Return the hot queries that the installed apps declare as HOT_QUERIES in their `doctor` modules."""
    return [query for module in app_modules("doctor") for query in getattr(module, "HOT_QUERIES", ())]


def explain(db: Database[Document], collection: str, find: dict[str, Any]) -> Explanation:
    """Explain a query (`find`: {filter, sort, limit, projection}), and return its plan and cost."""
    answer = db.command("explain", {"find": collection, **find}, verbosity="executionStats")
    figures = answer["executionStats"]
    planner = answer["queryPlanner"]
    plans = [frozenset(_stages(plan)) for plan in (planner["winningPlan"], *planner["rejectedPlans"])]
    return Explanation(
        plans[0],
        all("SORT" in stages for stages in plans),
        figures["totalDocsExamined"],
        figures["nReturned"],
    )


@check
def explained_queries(examination: Examination) -> Iterator[Finding]:
    """Check that every hot query uses an index, returns most of the documents it reads, and doesn't sort in memory."""
    for query, collection, find in build_queries(examination.db, examination.collections):
        yield from judge(query, find, explain(examination.db, query.collection, find))
        if asks_every_shard(find, collection) and not query.broadcast_because:
            yield Finding(
                ADVICE,
                "query-broadcast",
                query.collection,
                f"“{query.name}” doesn't filter by the shard key, so it queries every shard of a cluster.",
                "Add the shard key to its filter, or set broadcast_because.",
            )


def build_queries(
    db: Database[Document], collections: Iterable[Collection]
) -> Iterator[tuple[HotQuery, Collection, dict[str, Any]]]:
    """Yield the hot queries on `collections`, built from stored documents. Skip queries without a suitable document."""
    known = {collection.name: collection for collection in collections}
    for query in hot_queries():
        collection = known.get(query.collection)
        examples = db[query.collection].find(query.example).limit(_MAX_EXAMPLES) if collection else ()
        find = next(read_documents(query.collection, examples, query.query), None)
        if collection is not None and find is not None:
            yield query, collection, find


def asks_every_shard(find: Mapping[str, Any], collection: Collection) -> bool:
    """Return whether mongos would send a query (`find`) to every shard that contains data from `collection`."""
    key = collection.shard_key
    return key is not None and not is_targeted(find.get("filter", {}), key.keys)


def judge(query: HotQuery, find: dict[str, Any], explained: Explanation) -> Iterator[Finding]:
    """Yield a finding for each problem with an explained query."""
    level = query.level
    fix = query.fix
    if "COLLSCAN" in explained.stages:
        yield Finding(level, "query-scan", query.collection, f"“{query.name}” reads the whole collection: {find}.", fix)
    if explained.sorts:
        yield Finding(level, "query-sort", query.collection, f"“{query.name}” sorts in memory: {find}.", fix)
    if explained.documents_read > max(_MIN_READS, READS_PER_RESULT * explained.returned):
        message = f"“{query.name}” read {explained.documents_read} documents to return {explained.returned}."
        yield Finding(WARNING, "query-reads-much", query.collection, message, fix)


def _stages(plan: Any) -> Iterator[str]:
    if isinstance(plan, dict):
        if isinstance(plan.get("stage"), str):
            yield plan["stage"]
        for value in plan.values():
            yield from _stages(value)
    elif isinstance(plan, list):
        for value in plan:
            yield from _stages(value)
