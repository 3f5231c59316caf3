"""The worker (`manage.py work`), which runs jobs one by one, and does the apps' periodic work between jobs."""

import logging
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from bson.errors import BSONError
from django.db import DEFAULT_DB_ALIAS, close_old_connections
from pymongo.errors import DocumentTooLarge, PyMongoError

from marginalia.mongo import servers
from marginalia.tasks import queue, scheduling
from marginalia.tasks.backend import RETRIES, as_json, backend_on, task_of, tries_of
from marginalia.tasks.compat import InvalidTask, signals, tasks
from marginalia.tasks.queue import Job
from marginalia.tasks.running import Postponed

# Number of seconds between two rounds of regular work, and between two rounds of frequent work.
ROUND = 60
PAUSE = 2
# Number of seconds between two renewals of a running job's lease.
RENEWAL = queue.LEASE.total_seconds() / 5
# Exceptions that are raised if JSON or MongoDB can't represent a return value, or if it is too large.
NOT_STORABLE = (TypeError, ValueError, OverflowError, RecursionError, BSONError, DocumentTooLarge)

logger = logging.getLogger(__name__)
_regular: list[Callable[[], object]] = []
_frequent: list[Callable[[], object]] = []
_beside: list[Callable[[threading.Event], object]] = []


def work(alias: str = DEFAULT_DB_ALIAS, *, queues: Sequence[str] = (), urgent_only: bool = False) -> Job | None:
    """Claim one job and run its task. Return the job, or None if no job was due.

    If the task raises an exception, the exception is stored with the job.

    Args:
        alias: The alias of the connection.
        queues: The queues from which to claim jobs. If empty, jobs are claimed from all queues.
        urgent_only: Whether to claim only jobs with a priority above 0.
    """
    job = queue.take(alias, queues=queues, urgent_only=urgent_only)
    if job is None:
        return None
    backend = backend_on(alias)
    try:
        result = backend.result_of(job, task_of(job))
    except InvalidTask as error:
        # Retry the job, because another worker may be running newer code that contains the task.
        _fail(job, error, str(error), is_final=job.tries > RETRIES)
        return job
    most = tries_of(result.task)
    if job.tries > most:
        # All workers that claimed the job died, perhaps because of the job itself.
        ended = _fail(job, RuntimeError(), job.error or "every worker crashed", is_final=True)
    else:
        signals.task_started.send_robust(type(backend), task_result=result)
        ended = _run(job, result, is_last=job.tries == most)
    if ended and ended.finished:
        signals.task_finished.send_robust(type(backend), task_result=backend.result_of(ended, result.task))
    return job


def _run(job: Job, result: Any, *, is_last: bool) -> Job | None:
    """Run a job's task. Return the stored job, or None if another worker now owns its lease."""
    context = (tasks.TaskContext(task_result=result),) if result.task.takes_context else ()
    try:
        with _renewed(job):
            answer = result.task.call(*context, *result.args, **result.kwargs)
    except Postponed as error:
        return _fail(job, error, str(error), is_final=is_last)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a failing job must not prevent other jobs from running
        trace = "".join(traceback.format_tb(error.__traceback__))
        logger.error("Job %s (%s) failed: %s\n%s", job.id, job.name, type(error).__name__, trace)
        return _fail(job, error, f"{type(error).__name__}: {error}", is_final=is_last)
    finally:
        close_old_connections()
    try:
        ended = queue.done(job, as_json(answer))
    except NOT_STORABLE as error:
        # Don't retry the job, because another attempt would repeat all the work and return the same value.
        return _fail(job, error, "The return value can't be stored.", is_final=True)
    logger.info("Job %s (%s) done", job.id, job.name)
    return ended


def _fail(job: Job, error: BaseException, text: str, *, is_final: bool) -> Job | None:
    kind = type(error)
    return queue.failed(job, text, path=f"{kind.__module__}.{kind.__qualname__}", is_final=is_final)


@contextmanager
def _renewed(job: Job) -> Iterator[None]:
    """Renew the lease on a job while the block is running, and report that its worker is running."""
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(RENEWAL):
            try:
                queue.renew(job)
            except PyMongoError as error:
                logger.warning("The lease of job %s (%s) was not renewed: %s", job.id, job.name, type(error).__name__)

    threading.Thread(target=renew, daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def regularly(work: Callable[[], object]) -> Callable[[], object]:
    """Register work that each worker does every ROUND seconds. Several workers can do the work at the same time."""
    _regular.append(work)
    return work


def frequently(work: Callable[[], object]) -> Callable[[], object]:
    """Register work that each worker does every PAUSE seconds between jobs. Several workers can do it at once."""
    _frequent.append(work)
    return work


def beside(work: Callable[[threading.Event], object]) -> Callable[[threading.Event], object]:
    """Register work that each worker does continuously in a thread.

    The worker passes an event to `work`, and sets this event to stop the work.

    Several workers can do the work at the same time.
    """
    _beside.append(work)
    return work


class Patience:
    """Waits while the database is unavailable, and logs each reason only once."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._reason = ""

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """If the database is unavailable in the block, wait for PAUSE seconds. Other exceptions are raised."""
        try:
            yield
            reason = ""
        except Exception as error:
            if not servers.is_outage(error):
                raise
            reason = f"{type(error).__name__}: {servers.first_clause(error)}"
        if reason and reason != self._reason:
            logger.warning("The worker waits for the database: %s", reason)
        self._reason = reason
        if reason:
            self._stopping.wait(PAUSE)


def begin_beside(stopping: threading.Event) -> None:
    """Start the continuous work in threads. The worker doesn't wait for these threads when it exits."""
    for work in _beside:
        threading.Thread(target=work, args=(stopping,), daemon=True).start()


def tend(aliases: Iterable[str] = (DEFAULT_DB_ALIAS,)) -> None:
    """Report that a worker is running, and do the regular work that apps have registered.

    If any of it fails, log the error and retry in the next round.

    Args:
        aliases: The aliases of the connections that have queues.

    Raises:
        PyMongoError: The report couldn't be written.
    """
    for alias in aliases:
        queue.report(alias)
        queue.adopt(alias)
    _do(_regular)


def follow(aliases: Iterable[str] = (DEFAULT_DB_ALIAS,)) -> None:
    """Do the frequent work, and store the jobs of scheduled tasks that are due.

    If any of it fails, log the error and retry in the next round.

    Args:
        aliases: The aliases of the connections that have queues.
    """
    _do([*_frequent, *(partial(scheduling.enqueue_due, alias) for alias in aliases)])


def _do(pieces: Iterable[Callable[[], object]]) -> None:
    for work in pieces:
        try:
            work()
        except Exception:
            logger.exception("Regular maintenance failed.")
