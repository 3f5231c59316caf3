"""The stored jobs. A job is a task that was enqueued. A worker claims a job with a single findAndModify command.

The claim gives the worker a lease on the job. If the worker dies, another worker claims the job after the lease has
expired. A failed job is retried. The delay doubles with each attempt, up to one hour. After its last attempt, the job
remains failed until an operator acts. Jobs that are done or failed are deleted after 30 days. When a job is done, its
arguments are deleted, because they can identify a person. While a job with a `key` is stored, no other job with the
same key can be added.
"""

import logging
import os
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from bson import ObjectId
from django.db import DEFAULT_DB_ALIAS
from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from marginalia.mongo.clock import now
from marginalia.mongo.collections import Collection, Index
from marginalia.mongo.connection import Document, database
from marginalia.mongo.schemas import DATE, ID, INTEGER, TEXT, array_of, document, one_of, optional

COLLECTION = "jobs"
# The collection that contains a document for each worker, with the time of the worker's last report.
WORKERS = "workers"
WAITING = "waiting"
RUNNING = "running"
DONE = "done"
FAILED = "failed"
DEFAULT_QUEUE = "default"
DAY = 24 * 60 * 60
COLLECTIONS = (
    Collection(
        COLLECTION,
        (
            Index("by_key", (("key", 1),), unique=True),
            Index("by_due", (("state", 1), ("due", 1), ("_id", 1))),
            Index("by_queue", (("state", 1), ("queue", 1), ("priority", 1), ("due", 1), ("_id", 1))),
            Index("done_long_ago", (("finished", 1),), expire_after_seconds=30 * DAY),
        ),
        validator=document(
            {
                "_id": ID,
                # The fields for the task's name and keyword arguments. Their names date from before jobs became tasks.
                "kind": TEXT,
                "payload": document({}),
                "key": TEXT,
                "state": one_of(WAITING, RUNNING, DONE, FAILED),
                "created": DATE,
                "due": DATE,
                "tries": INTEGER,
                "lease": optional(ID),
                "error": TEXT,
            },
            {
                "args": array_of({}),
                "priority": INTEGER,
                "queue": TEXT,
                "after": optional(DATE),
                "started": DATE,
                "attempted": DATE,
                "finished": DATE,
                "workers": array_of(TEXT),
                "errors": array_of(TEXT),
                "once": DATE,
            },
        ),
        unsharded_because="A queue: workers claim the job that is due first.",
    ),
    Collection(
        WORKERS,
        (Index("silent_long_ago", (("at", 1),), expire_after_seconds=DAY),),
        validator=document({"at": DATE}, {"host": TEXT}),
        unsharded_because="One document per worker.",
    ),
)

LEASE = timedelta(minutes=5)
# Workers report every minute, so a worker that has been silent for this long isn't running.
SILENT = timedelta(minutes=3)
FIRST_WAIT = timedelta(seconds=30)
LONGEST_WAIT = timedelta(hours=1)
# Maximum number of characters of an error message that the queue stores with a job. Email addresses are removed, so
# stored errors don't contain data that was erased elsewhere.
LONGEST_ERROR = 500
_ADDRESS = re.compile(r"[^\s@<>\"'(]+@[^\s@<>\"')]+")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """A stored job.

    `tries` includes the current attempt. Only the owner of `lease` can renew the lease or end the job. `errors` lists
    the exception class of each failed attempt, and `returned` is the task's return value.
    """

    id: ObjectId
    name: str
    key: str
    args: list[Any]
    kwargs: dict[str, Any]
    priority: int
    queue: str
    after: datetime | None
    state: str
    created: datetime
    started: datetime | None
    attempted: datetime | None
    finished: datetime | None
    tries: int
    workers: list[str]
    errors: list[str]
    error: str
    returned: Any
    lease: ObjectId | None
    alias: str


@dataclass(frozen=True)
class Numbers:
    """The number of jobs `waiting` for their first attempt, `retrying` after a failure, and `failed` permanently."""

    waiting: int
    retrying: int
    failed: int


def put(
    name: str,
    args: list[Any],
    kwargs: Mapping[str, Any],
    *,
    key: str = "",
    priority: int = 0,
    queue: str = DEFAULT_QUEUE,
    after: datetime | None = None,
    retry_failed: bool = True,
    alias: str = DEFAULT_DB_ALIAS,
) -> tuple[Job, bool]:
    """Store a job. Return the job, and whether it is new.

    If a job with this key exists, that job is returned.

    Args:
        name: The task's name.
        args: The task's positional arguments.
        kwargs: The task's keyword arguments.
        key: A name for the work, or "" to always store a new job.
        priority: The priority. Workers claim jobs with higher priorities first.
        queue: The name of the queue.
        after: The earliest time at which to run the job.
        retry_failed: Whether to retry an existing job with this key if it failed permanently.
        alias: The alias of the connection.
    """
    job_id = ObjectId()
    moment = now()
    new = {
        "_id": job_id,
        "kind": name,
        "payload": dict(kwargs),
        "args": args,
        "key": key or str(job_id),
        "priority": priority,
        "queue": queue,
        "after": after,
        "state": WAITING,
        "created": moment,
        "due": max(moment, after) if after else moment,
        "tries": 0,
        "lease": None,
        "error": "",
    }
    while True:
        try:
            _jobs(alias).insert_one(new)
        except DuplicateKeyError:
            if retry_failed:
                _retry({"key": key}, alias)
            if stored := _jobs(alias).find_one({"key": key}):
                return _job(stored, alias), False
        else:
            return _job(new, alias), True


def get(job_id: ObjectId, alias: str = DEFAULT_DB_ALIAS) -> Job | None:
    """Return the job with the id `job_id`, or None if there is no such job."""
    stored = _jobs(alias).find_one({"_id": job_id})
    return _job(stored, alias) if stored else None


def take(alias: str = DEFAULT_DB_ALIAS, *, queues: Sequence[str] = (), urgent_only: bool = False) -> Job | None:
    """Claim the next due job, or return None if no job is due.

    Jobs whose lease has expired come first. Other jobs are ordered by priority, and then by the time when they are due.

    Args:
        alias: The alias of the connection.
        queues: The queues from which to claim jobs. If empty, jobs are claimed from all queues.
        urgent_only: Whether to claim only jobs with a priority above 0.
    """
    moment = now()
    lapsed: Document = {"state": RUNNING, "due": {"$lte": moment}}
    if queues:
        lapsed["queue"] = {"$in": list(queues)}
    if urgent_only:
        lapsed["priority"] = {"$gt": 0}
    if job := _claim(lapsed, moment, alias):
        return job
    queues = queues or _jobs(alias).distinct("queue", {"state": WAITING})
    priorities: set[int] = set()
    for queue in queues:
        priorities.update(_jobs(alias).distinct("priority", {"state": WAITING, "queue": queue}))
    for priority in sorted(priorities, reverse=True):
        if urgent_only and priority <= 0:
            break
        due = {"state": WAITING, "queue": {"$in": list(queues)}, "priority": priority, "due": {"$lte": moment}}
        if job := _claim(due, moment, alias):
            return job
    return None


def _claim(query: Document, moment: datetime, alias: str) -> Job | None:
    lease = {"state": RUNNING, "due": moment + LEASE, "lease": ObjectId(), "attempted": moment}
    stored = _jobs(alias).find_one_and_update(
        query,
        {"$set": lease, "$min": {"started": moment}, "$inc": {"tries": 1}, "$push": {"workers": _worker_id()}},
        sort=[("due", 1), ("_id", 1)],
        return_document=ReturnDocument.AFTER,
    )
    return _job(stored, alias) if stored else None


def renew(job: Job) -> bool:
    """Renew the lease on a long job, and report that its worker is running.

    Return whether the worker still owned the lease.
    """
    report(job.alias)
    changed = _jobs(job.alias).update_one(_leased(job), {"$set": {"due": now() + LEASE}})
    return bool(changed.matched_count)


def done(job: Job, returned: Any = None) -> Job | None:
    """Mark `job` as done, and delete the job's arguments.

    Return the stored job, or None if the worker no longer owned its lease.
    """
    fields = {
        "state": DONE,
        "finished": now(),
        "payload": {},
        "args": [],
        "lease": None,
        "error": "",
        "returned": returned,
    }
    if not _jobs(job.alias).update_one(_leased(job), {"$set": fields}).matched_count:
        return None
    return replace(
        job, state=DONE, finished=fields["finished"], args=[], kwargs={}, lease=None, error="", returned=returned
    )


def failed(job: Job, error: str, *, path: str, is_final: bool) -> Job | None:
    """Schedule another attempt at `job`, or mark it as failed after the last attempt. The delay doubles each time.

    Args:
        job: The job that failed.
        error: The error message. Email addresses are removed from it.
        path: The import path of the error's class.
        is_final: Whether this was the last attempt.

    Returns:
        The stored job, or None if the worker no longer owned its lease.
    """
    moment = now()
    wait = min(FIRST_WAIT * 2 ** (job.tries - 1), LONGEST_WAIT)
    error = _ADDRESS.sub("…@…", error)[:LONGEST_ERROR]
    fields = {
        "state": FAILED if is_final else WAITING,
        "due": moment + wait,
        "lease": None,
        "error": error,
        **({"finished": moment} if is_final else {}),
    }
    update = {"$set": fields, "$push": {"errors": path}}
    if not _jobs(job.alias).update_one(_leased(job), update).matched_count:
        return None
    if is_final:
        logger.error("Job %s (%s) failed permanently after %d attempts: %s", job.id, job.name, job.tries, error)
    else:
        seconds = wait.total_seconds()
        logger.warning(
            "Job %s (%s): attempt %d failed, next in %.0f s: %s", job.id, job.name, job.tries, seconds, error
        )
    return replace(
        job,
        state=FAILED if is_final else WAITING,
        finished=moment if is_final else None,
        lease=None,
        errors=[*job.errors, path],
        error=error,
    )


def adopt(alias: str = DEFAULT_DB_ALIAS) -> None:
    """Add a queue and a priority to waiting jobs from older releases, so that `take` finds them."""
    former = {"state": WAITING, "queue": None}
    _jobs(alias).update_many(former, {"$set": {"queue": DEFAULT_QUEUE, "priority": 0}})


def once(job_id: ObjectId, alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Return True only on the first call for a job, so that work isn't done twice, even if the job's worker dies."""
    query = {"_id": job_id, "once": {"$exists": False}}
    return bool(_jobs(alias).update_one(query, {"$set": {"once": now()}}).modified_count)


def once_more(job_id: ObjectId, alias: str = DEFAULT_DB_ALIAS) -> None:
    """Undo `once`. Call this function only if you know that the work wasn't done."""
    _jobs(alias).update_one({"_id": job_id}, {"$unset": {"once": 1}})


def failures(limit: int = 0, alias: str = DEFAULT_DB_ALIAS) -> list[Job]:
    """Return up to `limit` jobs that failed permanently, oldest first. A `limit` of 0 means all jobs."""
    return [_job(document, alias) for document in _jobs(alias).find({"state": FAILED}).sort("due", 1).limit(limit)]


def failed_count(most: int, alias: str = DEFAULT_DB_ALIAS) -> int:
    """Return how many jobs failed permanently. The count stops at `most`."""
    return int(_jobs(alias).count_documents({"state": FAILED}, limit=most))


def numbers(most: int, alias: str = DEFAULT_DB_ALIAS) -> Numbers:
    """Return the number of jobs in each state. At most `most` jobs are counted."""
    first: list[Document] = [{"$match": {"state": WAITING}}, {"$sort": {"due": 1, "_id": 1}}, {"$limit": most}]
    is_retry = {"$cond": [{"$gt": ["$tries", 0]}, 1, 0]}
    counted = [*first, {"$group": {"_id": None, "all": {"$sum": 1}, "retrying": {"$sum": is_retry}}}]
    counts = next(iter(_jobs(alias).aggregate(counted)), {"all": 0, "retrying": 0})
    return Numbers(counts["all"] - counts["retrying"], counts["retrying"], failed_count(most, alias))


def retry_failures(alias: str = DEFAULT_DB_ALIAS) -> int:
    """Schedule another attempt for all failed jobs. Return the number of jobs."""
    return _retry({}, alias)


def delete_failures(alias: str = DEFAULT_DB_ALIAS) -> int:
    """Delete the jobs that failed permanently. Return the number of jobs."""
    return int(_jobs(alias).delete_many({"state": FAILED}).deleted_count)


def _retry(query: Mapping[str, Any], alias: str) -> int:
    again = {"state": WAITING, "due": now(), "tries": 0, "workers": [], "errors": []}
    update = {"$set": again, "$unset": {"finished": ""}}
    return int(_jobs(alias).update_many({"state": FAILED, **query}, update).modified_count)


def report(alias: str = DEFAULT_DB_ALIAS) -> None:
    """Report that this worker is running."""
    report = {"$set": {"at": now(), "host": socket.gethostname()}}
    database(alias)[WORKERS].update_one({"_id": _worker_id()}, report, upsert=True)


def leave(alias: str = DEFAULT_DB_ALIAS) -> None:
    """Remove this worker's report before the worker exits, so that the doctor doesn't report the worker as missing."""
    database(alias)[WORKERS].delete_one({"_id": _worker_id()})


def last_tended(alias: str = DEFAULT_DB_ALIAS) -> datetime | None:
    """Return the time of the last report from any worker, or None if there was no report in the last day."""
    last = database(alias)[WORKERS].find_one({}, sort=[("at", -1)])
    return last["at"] if last else None


def is_tended(alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Return whether a worker has reported within SILENT that it is running."""
    return running(alias) > 0


def running(alias: str = DEFAULT_DB_ALIAS) -> int:
    """Return how many workers have reported within SILENT."""
    return int(database(alias)[WORKERS].count_documents({"at": {"$gte": now() - SILENT}}))


def silent_hosts(alias: str = DEFAULT_DB_ALIAS) -> list[str]:
    """Return the machines on which all workers were killed (exited without calling `leave`) in the last day."""
    last: dict[str, datetime] = {}
    for worker in database(alias)[WORKERS].find({"host": {"$exists": True}}):
        last[worker["host"]] = max(worker["at"], last.get(worker["host"], worker["at"]))
    return sorted(host for host, at in last.items() if at < now() - SILENT)


def _worker_id() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def _leased(job: Job) -> Document:
    return {"_id": job.id, "state": RUNNING, "lease": job.lease}


def _job(stored: Document, alias: str) -> Job:
    """Return the Job for a stored document.

    The document may come from an older release, in which documents had fewer fields, and ids in the payload weren't
    strings.
    """
    return Job(
        id=stored["_id"],
        name=stored["kind"],
        key=stored["key"],
        args=stored.get("args", []),
        kwargs={
            name: str(value) if isinstance(value, ObjectId) else value for name, value in stored["payload"].items()
        },
        priority=stored.get("priority", 0),
        queue=stored.get("queue", DEFAULT_QUEUE),
        after=stored.get("after"),
        state=stored["state"],
        created=stored["created"],
        started=stored.get("started"),
        attempted=stored.get("attempted"),
        finished=stored.get("finished"),
        tries=stored["tries"],
        workers=stored.get("workers", []),
        errors=stored.get("errors", []),
        error=stored["error"],
        returned=stored.get("returned"),
        lease=stored["lease"],
        alias=alias,
    )


def _jobs(alias: str) -> Any:
    return database(alias)[COLLECTION]
