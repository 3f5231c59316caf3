"""Checks of the plans of commands that were sent: index scans, no sorting in memory, and few documents read in vain.

Exceptions, each with a limit, are text search, counts and lists of tags, which are cached under the site's version,
and maintenance that reads whole collections on purpose. Searches for the beginning of a word in comments can sort,
but must use an index.
"""

from collections.abc import Iterable
from typing import Any

from bson import ObjectId

from tests.support.commands import explain, stages

READS, WRITES = {"find", "aggregate", "distinct", "count"}, {"update", "delete", "findAndModify"}
# Documents that can be read in addition to twice the number returned, because ratios mean little for a few documents.
SLACK = 4
# Collections of the framework with a few rows, such as editors' accounts and permissions.
SMALL = {
    "auth_user",
    "auth_group",
    "auth_permission",
    "django_content_type",
    "auth_user_groups",
    "auth_group_permissions",
    "auth_user_user_permissions",
    "django_migrations",
    "django_admin_log",
}


def shape(value: Any) -> Any:
    """Return a command without its values. Queries with the same shape have the same plan."""
    if isinstance(value, dict):
        return tuple(
            (key, shape(part)) for key, part in value.items() if key not in ("lsid", "$clusterTime", "txnNumber")
        )
    if isinstance(value, list | tuple):
        return tuple(sorted({repr(shape(part)) for part in value}))
    return type(value).__name__ if isinstance(value, str | int | float | ObjectId) or value is not None else None


def bad_plans(db: Any, sent: Iterable[Any]) -> list[str]:
    """Return the faults in the plans of the commands that were sent. Each shape is checked once."""
    wrong, seen = [], set()
    for event in sent:
        command = dict(event.command)
        name, collection = event.command_name, command.get(event.command_name)
        if name not in READS | WRITES or not isinstance(collection, str) or event.database_name != db.name:
            continue
        key = name, collection, repr(shape(command))
        if key in seen or collection in SMALL or _is_excepted(name, command):
            continue
        seen.add(key)
        if reason := _reason(db, event, name, command):
            wrong.append(f"{name} {collection}: {reason}: {_told(command)}")
    return wrong


def _is_excepted(name: str, command: dict[str, Any]) -> bool:
    text = repr(command)
    counts = name == "aggregate" and "'$sum': 1" in text
    is_any = command.get("filter") == {} and command.get("limit") == 1  # asks only whether there is any document
    return "derived.terms" in text or "$listSearchIndexes" in text or counts or is_any or name in ("distinct", "count")


def _reason(db: Any, event: Any, name: str, command: dict[str, Any]) -> str:
    if name in WRITES:
        return _reason_of_write(db, name, command)
    plan = explain(db, event)
    found = stages(plan)
    if "COLLSCAN" in found:
        return "scans the collection"
    if _finds_beginnings(command):
        return ""
    if "SORT" in found:
        return "sorts in memory"
    figures = _figures(plan)
    if figures and figures["totalDocsExamined"] > 2 * figures["nReturned"] + SLACK:
        return f"reads {figures['totalDocsExamined']} documents to return {figures['nReturned']}"
    return ""


def _finds_beginnings(command: dict[str, Any]) -> bool:
    """Return whether a command searches comments by the beginning of a term, and limits the number of results.

    Many terms can have the same beginning, so no index yields these comments in the order of time. The server reads
    all of them, and keeps only as many as the limit while it sorts. The search box of the admin has a time limit.
    """
    return "'terms': {'$regex': '^" in repr(command.get("filter")) and command.get("limit", 0) > 0


def _reason_of_write(db: Any, name: str, command: dict[str, Any]) -> str:
    filters = [command["query"]] if name == "findAndModify" else [part["q"] for part in command[f"{name}s"]]
    for query in filters:
        plan = db.command("explain", {"find": command[name], "filter": query}, verbosity="queryPlanner")
        if "COLLSCAN" in stages(plan):
            return "scans the collection"
    return ""


def _figures(plan: Any) -> dict[str, int] | None:
    """Return the statistics of the first execution in a plan."""
    if isinstance(plan, dict):
        if "totalDocsExamined" in plan:
            return plan
        for part in plan.values():
            if (found := _figures(part)) is not None:
                return found
    if isinstance(plan, list):
        for part in plan:
            if (found := _figures(part)) is not None:
                return found
    return None


def _told(command: dict[str, Any]) -> str:
    kept = ("filter", "sort", "pipeline", "updates", "deletes", "query", "limit")
    return repr({key: command[key] for key in kept if key in command})[:600]
