"""Schedules of tasks: cron expressions, and the stored time at which each scheduled task was last due."""

from collections.abc import Collection as Names
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from bson import ObjectId
from cronsim import CronSim, CronSimError
from django.db import DEFAULT_DB_ALIAS

from marginalia.mongo.collections import Collection
from marginalia.mongo.connection import database
from marginalia.mongo.schemas import DATE, ID, TEXT, document, optional

COLLECTION = "schedules"
# Minute, hour, day of the month, month, day of the week. CronSim also accepts seconds, but workers look for due tasks
# too rarely for that.
FIELDS = 5
COLLECTIONS = (
    Collection(
        COLLECTION,
        validator=document({"_id": TEXT, "due": DATE, "job": optional(ID)}),
        unsharded_because="One document per scheduled task.",
    ),
)


@dataclass(frozen=True)
class LastRun:
    """The last due time for which a job was stored, and the id of the job.

    Before the first job, `due` is the time when a worker first saw the schedule, and `job_id` is None.
    """

    due: datetime
    job_id: ObjectId | None


def problem(expression: str) -> str:
    """Return why a cron expression is invalid, or "" if it is valid."""
    if len(expression.split()) != FIELDS:
        return "Wrong number of fields"
    try:
        following(expression, datetime(2000, 1, 1, tzinfo=UTC), UTC)
    except CronSimError as error:
        return str(error)
    except StopIteration:
        return "It never occurs"
    return ""


def following(expression: str, moment: datetime, zone: tzinfo) -> datetime:
    """Return the first time after `moment` that matches a cron expression in a time zone."""
    return next(CronSim(expression, moment.astimezone(zone))).astimezone(UTC)


def latest(expression: str, moment: datetime, zone: tzinfo) -> datetime:
    """Return the last time that matches a cron expression in a time zone, and isn't after `moment`."""
    after = moment.replace(microsecond=0) + timedelta(seconds=1)
    return next(CronSim(expression, after.astimezone(zone), reverse=True)).astimezone(UTC)


def start(names: Names[str], moment: datetime, alias: str = DEFAULT_DB_ALIAS) -> dict[str, LastRun]:
    """Return the last run of each schedule, keyed by name. New schedules are stored, and start at `moment`."""
    runs = last_runs(names, alias)
    for name in names:
        if name not in runs:
            new = {"$setOnInsert": {"due": moment, "job": None}}
            database(alias)[COLLECTION].update_one({"_id": name}, new, upsert=True)
            runs[name] = LastRun(moment, None)
    return runs


def last_runs(names: Names[str], alias: str = DEFAULT_DB_ALIAS) -> dict[str, LastRun]:
    """Return the last run of each schedule that a worker has seen, keyed by name."""
    stored = database(alias)[COLLECTION].find({"_id": {"$in": list(names)}})
    return {one["_id"]: LastRun(one["due"], one["job"]) for one in stored}


def record(name: str, due: datetime, job_id: ObjectId, alias: str = DEFAULT_DB_ALIAS) -> None:
    """Store that a job exists for a due time, unless a job exists for a later one."""
    earlier = {"_id": name, "due": {"$lt": due}}
    database(alias)[COLLECTION].update_one(earlier, {"$set": {"due": due, "job": job_id}})
