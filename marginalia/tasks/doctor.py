"""Doctor checks for the worker, the job queue and the schedules of tasks."""

from collections.abc import Iterator
from datetime import timedelta

from marginalia.mongo.clock import now
from marginalia.mongo.doctor import WARNING, Examination, Finding, HotQuery, check
from marginalia.tasks import queue, schedules

# If a job has been due for this long, the workers are considered dead.
OVERDUE = timedelta(minutes=10)
# A job is reported after this many attempts. After fewer attempts, the cause of the failures may be temporary, such as
# a restart of the mail server.
MIN_TRIES = 5
# Maximum number of failed jobs to count, and to list by name.
MAX_COUNTED = 1_000
# Maximum number of scheduled tasks listed in one finding.
NAMED = 3


HOT_QUERIES = (
    HotQuery(
        "the job that is due first",
        queue.COLLECTION,
        lambda job: {
            "filter": {
                "state": queue.WAITING,
                "queue": job.get("queue", queue.DEFAULT_QUEUE),
                "priority": job.get("priority", 0),
                "due": {"$lte": now()},
            },
            "sort": {"due": 1, "_id": 1},
            "limit": 1,
        },
    ),
)


@check
def jobs_done(examination: Examination) -> Iterator[Finding]:
    """Check that a worker is running and keeping up, that no worker died during a job, and that jobs don't fail."""
    if not examination.declared(queue.COLLECTION):
        return
    if not queue.is_tended(alias=examination.alias):
        message = "No worker is running, so emails aren't sent and interrupted writes aren't repaired."
        yield Finding(WARNING, "no-worker", queue.WORKERS, message, "Run manage.py work alongside the site.")
    stored = examination.db[queue.COLLECTION]
    due = now() - OVERDUE
    if stored.find_one({"state": queue.RUNNING, "due": {"$lt": due}}):
        message = "A worker died during a job, and no other worker has taken over."
        yield Finding(WARNING, "stale-lease", queue.COLLECTION, message, "Run manage.py work.")
    if stored.find_one({"state": queue.WAITING, "due": {"$lt": due}}):
        message = f"Jobs have been overdue for more than {OVERDUE.seconds // 60} minutes."
        yield Finding(WARNING, "jobs-waiting", queue.COLLECTION, message, "Run manage.py work.")
    for host in queue.silent_hosts(alias=examination.alias):
        message = f"The worker on {host} stopped in the last 24 hours without exiting normally."
        yield Finding(
            WARNING, "worker-silent", queue.WORKERS, message, "Check its service and its log, then restart it."
        )
    if retried := stored.find_one({"state": queue.WAITING, "tries": {"$gte": MIN_TRIES}}):
        message = f"Jobs are failing and being retried, such as {retried['kind']}: {retried['error']}."
        yield Finding(
            WARNING, "jobs-retrying", queue.COLLECTION, message, "Fix the cause. The worker retries the jobs."
        )
    if failed := queue.failed_count(MAX_COUNTED, examination.alias):
        names = ", ".join(sorted({job.name for job in queue.failures(MAX_COUNTED, alias=examination.alias)}))
        message = f"{failed} jobs failed permanently: {names}."
        fix = "Run manage.py work --failed to list them. Fix the cause, then run manage.py work --retry-failed."
        yield Finding(WARNING, "jobs-failed", queue.COLLECTION, message, fix)


@check
def schedules_not_ahead(examination: Examination) -> Iterator[Finding]:
    """Check for schedules that stopped because a machine's clock was ahead when it ran the task."""
    for name in examination.declared(schedules.COLLECTION):
        ahead = examination.db[name].find({"due": {"$gt": now() + OVERDUE}}).sort("due", -1).limit(MAX_COUNTED)
        if tasks := list(ahead):
            some = ", ".join(f"{task['_id']} until {task['due']:%Y-%m-%d %H:%M} UTC" for task in tasks[:NAMED])
            message = f"A clock was ahead, so {len(tasks)} scheduled tasks don't run: {some}."
            fix = f"Check the clocks of all machines. Then delete the documents of these tasks in {name}."
            yield Finding(WARNING, "schedule-ahead", name, message, fix)
