"""Checks of the worker and the job queue."""

from collections.abc import Iterator
from datetime import timedelta

from marginalia.mongo import jobs
from marginalia.mongo.clock import now
from marginalia.mongo.doctor.findings import WARNING, Examination, Finding, check

# How long a job can be due before its worker counts as dead.
OVERDUE = timedelta(minutes=10)
# Fewer failed tries may only mean that the mail server restarts.
MIN_TRIES = 5
# Failed jobs that are counted, and from which the kinds are listed.
MAX_COUNTED = 1_000


@check
def jobs_done(examination: Examination) -> Iterator[Finding]:
    """Check that a worker runs and does due jobs, that no worker died during a job, and that no job failed permanently."""
    if not examination.declared(jobs.COLLECTION):
        return
    if not jobs.is_tended(alias=examination.alias):
        message = "No worker runs: mails are not sent, and what crashes leave behind waits."
        yield Finding(WARNING, "no-worker", jobs.WORKERS, message, "Run manage.py work beside the site.")
    queue = examination.db[jobs.COLLECTION]
    due = now() - OVERDUE
    if queue.find_one({"state": jobs.RUNNING, "due": {"$lt": due}}):
        message = "A worker died over a job, and no other has taken it."
        yield Finding(WARNING, "stale-lease", jobs.COLLECTION, message, "Run manage.py work.")
    if queue.find_one({"state": jobs.WAITING, "due": {"$lt": due}}):
        message = f"Jobs have been due for more than {OVERDUE.seconds // 60} minutes."
        yield Finding(WARNING, "jobs-waiting", jobs.COLLECTION, message, "Run manage.py work.")
    for host in jobs.silent_hosts(alias=examination.alias):
        message = f"The worker of {host} stopped without notice in the last 24 hours."
        yield Finding(
            WARNING, "worker-silent", jobs.WORKERS, message, "Check its service and its log, then restart it."
        )
    if retried := queue.find_one({"state": jobs.WAITING, "tries": {"$gte": MIN_TRIES}}):
        message = f"Jobs fail and are tried again, such as {retried['kind']}: {retried['error']}."
        yield Finding(WARNING, "jobs-retrying", jobs.COLLECTION, message, "Fix the cause. The worker tries them again.")
    if failed := jobs.failed_count(MAX_COUNTED, examination.alias):
        kinds = ", ".join(sorted({job.kind for job in jobs.failures(MAX_COUNTED, alias=examination.alias)}))
        message = f"{failed} jobs failed permanently: {kinds}."
        fix = "manage.py work --failed lists them. Fix the cause, then run manage.py work --retry-failed."
        yield Finding(WARNING, "jobs-failed", jobs.COLLECTION, message, fix)
