"""Tasks for tests, and a record of their runs."""

from typing import Any

from marginalia.mongo.connection import database
from marginalia.tasks import Postponed, backend, once
from marginalia.tasks.compat import tasks

# The arguments of `note`.
seen: list[Any] = []


@tasks.task
def note(n):
    seen.append(n)


@tasks.task
def fail(*args, **kwargs):
    raise ValueError("no use")


@tasks.task(retries=0)
def fail_once():
    raise ValueError("no use")


@tasks.task
def later():
    raise Postponed("not yet")


@tasks.task
def answer(value):
    return value


@tasks.task(retries=0)
def answer_badly(kind):
    return {"object": object(), "number": 2**80, "large": "x" * 17_000_000, "surrogate": "\ud800"}[kind]


@tasks.task
async def slowly(n):
    seen.append(n)
    return n + 1


@tasks.task(takes_context=True, retries=1)
def attempt(context):
    seen.append(context.attempt)
    if context.attempt == 1:
        raise ValueError("once more")
    return context.task_result.id


@tasks.task(retries=0)
def leave():
    raise SystemExit(3)


@tasks.task(stored_as="tests.renamed")
def renamed(n):
    seen.append(n)


@tasks.task(priority=20, queue_name="default")
def urgent(n=0):
    seen.append(n)


@tasks.task
def write(name):
    """Count a run in the database, where other processes see it."""
    database()["runs"].update_one({"_id": name}, {"$inc": {"runs": 1}}, upsert=True)


@tasks.task(takes_context=True)
def write_once(context, name):
    if once(context):
        database()["runs"].update_one({"_id": name}, {"$inc": {"runs": 1}}, upsert=True)


def no_task():
    pass


@tasks.task(schedule="30 3 * * *", stored_as="tests.nightly", retries=0)
def nightly():
    seen.append("nightly")


# Only tests that add this task again run it on its schedule.
del backend._scheduled[nightly.stored_as]
