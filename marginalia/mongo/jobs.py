"""The job queue: an app puts work that may wait or fail; a worker (`manage.py work`) takes each job by one findAndModify.

A worker leases the job that it takes: when it dies, the next worker takes the job after the lease. A worker tries a failed job
again, after twice the wait each time, an hour at most. After the last try that its kind has, the job stays as failed, for an
operator. It is deleted after 30 days, as jobs that are done: its payload may name a person. A `key` names the work: if put
twice, it is done once. Each worker has a second thread that takes only mails, so that none waits behind a long job.
"""

import logging
import os
import re
import socket
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bson import ObjectId
from django.db import DEFAULT_DB_ALIAS
from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from marginalia.mongo import rate_limit
from marginalia.mongo.clock import now
from marginalia.mongo.collections import Collection, Index, declared_collections
from marginalia.mongo.connection import Document, database
from marginalia.mongo.schemas import DATE, ID, INTEGER, TEXT, document, one_of, optional

COLLECTION = "jobs"
# Each worker has a document with the time of its last report.
WORKERS = "workers"
WAITING = "waiting"
RUNNING = "running"
DONE = "done"
FAILED = "failed"
DAY = 24 * 60 * 60
COLLECTIONS = (
    Collection(
        COLLECTION,
        (
            Index("by_key", (("key", 1),), unique=True),
            Index("by_due", (("state", 1), ("due", 1), ("_id", 1))),
            Index("by_kind", (("state", 1), ("kind", 1), ("due", 1), ("_id", 1))),
            Index("done_long_ago", (("finished", 1),), expire_after_seconds=30 * DAY),
        ),
        validator=document(
            {
                "_id": ID,
                "kind": TEXT,
                "key": TEXT,
                "payload": document({}),
                "state": one_of(WAITING, RUNNING, DONE, FAILED),
                "created": DATE,
                "due": DATE,
                "tries": INTEGER,
                "lease": optional(ID),
                "error": TEXT,
            },
            {"finished": DATE, "once": DATE},
        ),
        unsharded_because="a queue: findAndModify takes the one that is due first",
        is_busy=True,
    ),
    Collection(
        WORKERS,
        (Index("silent_long_ago", (("at", 1),), expire_after_seconds=DAY),),
        validator=document({"at": DATE}, {"host": TEXT}),
        unsharded_because="a document a worker",
    ),
)

LEASE = timedelta(minutes=5)
# A worker says each minute that it runs.
SILENT = timedelta(minutes=3)
FIRST_WAIT = timedelta(seconds=30)
LONGEST_WAIT = timedelta(hours=1)
# Tries of a job: eight end after an hour. 31 end after a day, for work that waits for a server which others run.
TRIES, TRIES_FOR_A_DAY = 8, 31
# Of an error, kept with the job. Never its payload, and no address: a message must not keep what an erasure removes.
LONGEST_ERROR = 500
_ADDRESS = re.compile(r"[^\s@<>\"'(]+@[^\s@<>\"')]+")

logger = logging.getLogger(__name__)
Handler = Callable[["Job"], None]
_handlers: dict[str, Handler] = {}
_mails: set[str] = set()
_regular: list[Callable[[], object]] = []
_frequent: list[Callable[[], object]] = []
_beside: list[Callable[[threading.Event], object]] = []
# Seconds between two rounds of a worker over what is to be done regularly, and over what is to be done frequently.
ROUND = 60
PAUSE = 2


class Postponed(Exception):
    """Raised by a handler: it could not be done now, and is to be tried again. The message is kept with the job."""


@contextmanager
def needing(server: str) -> Iterator[None]:
    """Postpone the job if a server fails or refuses in the block. The reason has no text of the server, which may quote an
    address. (An SMTPException is an OSError.)"""
    try:
        yield
    except OSError as error:
        detail = getattr(error, "smtp_code", None) or error.strerror
        raise Postponed(f"{server}: {type(error).__name__}" + (f" ({detail})" if detail else "")) from error


@dataclass(frozen=True)
class Job:
    """A job as it was taken: `tries` counts this one; only the owner of `lease` renews or finishes it."""

    id: ObjectId
    kind: str
    payload: Mapping[str, Any]
    tries: int
    lease: ObjectId | None = None
    error: str = ""
    alias: str = DEFAULT_DB_ALIAS


@dataclass(frozen=True)
class Numbers:
    """Numbers of jobs: `waiting` for their first try, `retrying` after one that failed, and `failed` permanently."""

    waiting: int
    retrying: int
    failed: int


def handler(kind: str, *, mail: bool = False) -> Callable[[Handler], Handler]:
    """Register the function that does the jobs of a kind; it may be called again for the same job, after a worker died.

    A `mail` is tried for a day, and other jobs never hold it up.
    """

    def register(work: Handler) -> Handler:
        _handlers[kind] = work
        if mail:
            _mails.add(kind)
        return work

    return register


def regularly(work: Callable[[], object]) -> Callable[[], object]:
    """Register what a worker does each ROUND seconds; several workers may do it at once."""
    _regular.append(work)
    return work


def frequently(work: Callable[[], object]) -> Callable[[], object]:
    """Register what a worker does each PAUSE seconds, between two jobs; several workers may do it at once."""
    _frequent.append(work)
    return work


def beside(work: Callable[[threading.Event], object]) -> Callable[[threading.Event], object]:
    """Register what a worker does all the time, in a thread of its own, until the event is set; several workers may do it at
    once."""
    _beside.append(work)
    return work


def begin_beside(stopping: threading.Event) -> None:
    """Begin what is done beside the jobs. A worker that ends does not wait for it."""
    for work in _beside:
        threading.Thread(target=work, args=(stopping,), daemon=True).start()


def tend(aliases: Iterable[str] = (DEFAULT_DB_ALIAS,)) -> None:
    """Say that a worker runs, and do what is to be done regularly: what fails of that is logged, and done the next time.

    Raises PyMongoError where it cannot be said: as it could take no job either, a worker ends then, to be started again.
    """
    for alias in aliases:
        _report(alias)
    _do(_regular)


def _report(alias: str) -> None:
    host = socket.gethostname()
    report = {"$set": {"at": now(), "host": host}}
    database(alias)[WORKERS].update_one({"_id": f"{host}:{os.getpid()}"}, report, upsert=True)


def leave(aliases: Iterable[str] = (DEFAULT_DB_ALIAS,)) -> None:
    """Remove the report of this worker, which ends: it isn't missed."""
    for alias in aliases:
        database(alias)[WORKERS].delete_one({"_id": f"{socket.gethostname()}:{os.getpid()}"})


def follow() -> None:
    """Do what is to be done frequently. What fails is logged, and done the next time."""
    _do(_frequent)


def _do(pieces: Iterable[Callable[[], object]]) -> None:
    for work in pieces:
        try:
            work()
        except Exception:
            logger.exception("A regular piece of work failed.")


@contextmanager
def exclusively(name: str, time: timedelta) -> Iterator[bool]:
    """Hold the lease `name` in the block, for at most `time`: then a process that died loses it. Give whether it is held, False
    if another process has it."""
    leases = database()[rate_limit.COLLECTION]
    moment = now()
    token = str(ObjectId())
    document = {"passed": [{"token": token, "at": moment}], "expires": moment + time}
    key = f"lease:{name}"
    try:
        leases.update_one({"_id": key, "expires": {"$lte": moment}}, {"$set": document}, upsert=True)
    except DuplicateKeyError:
        yield False
        return
    try:
        yield True
    finally:
        leases.delete_one({"_id": key, "passed.token": token})


def last_tended(alias: str = DEFAULT_DB_ALIAS) -> datetime | None:
    """Return when a worker last reported that it runs, None if none did in the last day."""
    last = database(alias)[WORKERS].find_one({}, sort=[("at", -1)])
    return last["at"] if last else None


def is_tended(alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Return whether a worker has reported within SILENT that it runs."""
    return running(alias) > 0


def running(alias: str = DEFAULT_DB_ALIAS) -> int:
    """Return how many workers have reported within SILENT."""
    return int(database(alias)[WORKERS].count_documents({"at": {"$gte": now() - SILENT}}))


def silent_hosts(alias: str = DEFAULT_DB_ALIAS) -> list[str]:
    """Return the machines whose workers all ended within the last day without `leave`, as killed ones do."""
    last: dict[str, datetime] = {}
    for worker in database(alias)[WORKERS].find({"host": {"$exists": True}}):
        last[worker["host"]] = max(worker["at"], last.get(worker["host"], worker["at"]))
    return sorted(host for host, at in last.items() if at < now() - SILENT)


def put(kind: str, payload: Mapping[str, Any], *, key: str = "", alias: str = DEFAULT_DB_ALIAS) -> bool:
    """Put a job; return whether it is to be done now, False if one with its key was put before and did not fail permanently."""
    job_id = ObjectId()
    moment = now()
    try:
        _jobs(alias).insert_one(
            {
                "_id": job_id,
                "kind": kind,
                "key": key or str(job_id),
                "payload": dict(payload),
                "state": WAITING,
                "created": moment,
                "due": moment,
                "tries": 0,
                "lease": None,
                "error": "",
            }
        )
    except DuplicateKeyError:
        return bool(_retry({"key": key}, alias))
    return True


def aliases() -> list[str]:
    """Return the connections behind which apps declare a queue."""
    return list(dict.fromkeys(item.alias for item in declared_collections() if item.collection.name == COLLECTION))


def take(alias: str = DEFAULT_DB_ALIAS, *, mails_only: bool = False) -> Job | None:
    """Take the job that is due first, also one whose worker's lease has run out; None if nothing is due."""
    moment = now()
    wanted = {"kind": {"$in": sorted(_mails)}} if mails_only else {}
    found = None
    # `due` of a running job is the end of its lease.
    for state in (RUNNING, WAITING):
        found = _jobs(alias).find_one_and_update(
            {"state": state, **wanted, "due": {"$lte": moment}},
            {"$set": {"state": RUNNING, "due": moment + LEASE, "lease": ObjectId()}, "$inc": {"tries": 1}},
            sort=[("due", 1), ("_id", 1)],
            return_document=ReturnDocument.AFTER,
        )
        if found:
            break
    return _job(found, alias) if found else None


def keep(job: Job) -> bool:
    """Renew the lease of a long job, and report that its worker runs; return whether the worker still owned it."""
    _report(job.alias)
    changed = _jobs(job.alias).update_one(_leased(job), {"$set": {"due": now() + LEASE}})
    return bool(changed.matched_count)


def done(job: Job) -> bool:
    """Record that a job is done, its payload dropped; return whether the worker still owned its lease."""
    update = {"$set": {"state": DONE, "finished": now(), "payload": {}, "lease": None, "error": ""}}
    return bool(_jobs(job.alias).update_one(_leased(job), update).matched_count)


def failed(job: Job, error: str) -> None:
    """Let a job be tried again, after twice as long each time, or leave it as failed after the last try of its kind."""
    final = job.tries >= _tries_of(job)
    wait = min(FIRST_WAIT * 2 ** (job.tries - 1), LONGEST_WAIT)
    error = _ADDRESS.sub("…@…", error)[:LONGEST_ERROR]
    fields = {
        "state": FAILED if final else WAITING,
        "due": now() + wait,
        "lease": None,
        "error": error,
        **({"finished": now()} if final else {}),
    }
    if not _jobs(job.alias).update_one(_leased(job), {"$set": fields}).matched_count:
        return
    if final:
        logger.error("Job %s (%s) failed permanently after %d tries: %s", job.id, job.kind, job.tries, error)
    else:
        seconds = wait.total_seconds()
        logger.warning("Job %s (%s): try %d failed, next in %.0f s: %s", job.id, job.kind, job.tries, seconds, error)


def _tries_of(job: Job) -> int:
    return TRIES_FOR_A_DAY if job.kind in _mails else TRIES


def work(alias: str = DEFAULT_DB_ALIAS, *, mails_only: bool = False) -> Job | None:
    """Take one job and do it; return it, None if nothing was due. What a handler raises is kept with the job."""
    job = take(alias, mails_only=mails_only)
    if job is None:
        return None
    if job.tries > _tries_of(job):
        # Its workers died, every one: it may be what kills them.
        failed(job, job.error or "no worker survived it")
        return job
    run = _handlers.get(job.kind)
    if run is None:
        failed(job, f"nothing handles jobs of the kind {job.kind!r}")
        return job
    try:
        run(job)
    except Postponed as error:
        failed(job, str(error))
    except Exception as error:  # noqa: BLE001 - one job that fails must not keep the others from being done
        trace = "".join(traceback.format_tb(error.__traceback__))
        logger.error("Job %s (%s) failed: %s\n%s", job.id, job.kind, type(error).__name__, trace)
        failed(job, f"{type(error).__name__}: {error}")
    else:
        done(job)
        logger.info("Job %s (%s) done", job.id, job.kind)
    return job


def once(job: Job) -> bool:
    """Return True to the first worker that asks for a job: for work that must not be done twice, even if that worker dies."""
    query = {"_id": job.id, "once": {"$exists": False}}
    return bool(_jobs(job.alias).update_one(query, {"$set": {"once": now()}}).modified_count)


def once_more(job: Job) -> None:
    """Undo `once`: it was certainly not done."""
    _jobs(job.alias).update_one({"_id": job.id}, {"$unset": {"once": 1}})


def failures(limit: int = 0, alias: str = DEFAULT_DB_ALIAS) -> list[Job]:
    """Return the jobs that failed permanently, the oldest first: `limit` of them, or all."""
    return [_job(document, alias) for document in _jobs(alias).find({"state": FAILED}).sort("due", 1).limit(limit)]


def failed_count(most: int, alias: str = DEFAULT_DB_ALIAS) -> int:
    """Return how many jobs failed permanently, counted up to `most`."""
    return int(_jobs(alias).count_documents({"state": FAILED}, limit=most))


def numbers(most: int, alias: str = DEFAULT_DB_ALIAS) -> Numbers:
    """Return the numbers of jobs, each counted among the first `most`."""
    first: list[Document] = [{"$match": {"state": WAITING}}, {"$sort": {"due": 1, "_id": 1}}, {"$limit": most}]
    is_retry = {"$cond": [{"$gt": ["$tries", 0]}, 1, 0]}
    counted = [*first, {"$group": {"_id": None, "all": {"$sum": 1}, "retrying": {"$sum": is_retry}}}]
    found = next(iter(_jobs(alias).aggregate(counted)), {"all": 0, "retrying": 0})
    return Numbers(found["all"] - found["retrying"], found["retrying"], failed_count(most, alias))


def retry_failures(alias: str = DEFAULT_DB_ALIAS) -> int:
    """Let all failed jobs be tried anew; return how many."""
    return _retry({}, alias)


def delete_failures(alias: str = DEFAULT_DB_ALIAS) -> int:
    """Delete the jobs that failed permanently; return how many."""
    return int(_jobs(alias).delete_many({"state": FAILED}).deleted_count)


def _retry(query: Mapping[str, Any], alias: str) -> int:
    update = {"$set": {"state": WAITING, "due": now(), "tries": 0}, "$unset": {"finished": ""}}
    return int(_jobs(alias).update_many({"state": FAILED, **query}, update).modified_count)


def _leased(job: Job) -> Document:
    return {"_id": job.id, "state": RUNNING, "lease": job.lease}


def _job(document: Document, alias: str) -> Job:
    return Job(
        document["_id"],
        document["kind"],
        document["payload"],
        document["tries"],
        document["lease"],
        document["error"],
        alias,
    )


def _jobs(alias: str) -> Any:
    return database(alias)[COLLECTION]
