"""Tasks that run on a schedule. Workers store a job for each time at which a task is due."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from django.db import DEFAULT_DB_ALIAS
from django.utils import timezone
from django.utils.module_loading import autodiscover_modules

from marginalia.mongo.clock import now
from marginalia.tasks import queue, schedules
from marginalia.tasks.backend import backend_of, scheduled_tasks
from marginalia.tasks.queue import Job

_time_zone: Callable[[], tzinfo] = timezone.get_default_timezone


@dataclass(frozen=True)
class ScheduledTask:
    """A task with a schedule.

    Attributes:
        name: The name of the task.
        schedule: The cron expression.
        following: The next time at which the task is due.
        due: The time of the last run, or None if the task hasn't run yet.
        job: The job of the last run, or None if it has been deleted.
    """

    name: str
    schedule: str
    following: datetime
    due: datetime | None
    job: Job | None


def use_time_zone(function: Callable[[], tzinfo]) -> None:
    """Set the function that returns the time zone of schedules. The default is the setting TIME_ZONE."""
    global _time_zone  # noqa: PLW0603 - set once, when the project starts
    _time_zone = function


def enqueue_due(alias: str = DEFAULT_DB_ALIAS) -> int:
    """Store a job for each scheduled task that has become due since its last run. Return the number of tasks.

    If a task was due several times, for example because no worker was running, it gets only one job. All workers call
    this function. They use the same key for the same due time, so only one job is stored.
    """
    tasks = scheduled_tasks(alias)
    if not tasks:
        return 0
    moment = now()
    zone = _time_zone()
    last_runs = schedules.start(tasks, moment, alias)
    count = 0
    for name, task in tasks.items():
        due = schedules.latest(task.schedule, moment, zone)
        if due > last_runs[name].due:
            # If this worker dies before it records the run, another worker finds the job by its key, and doesn't store
            # it again.
            job = backend_of(task).enqueue_due(task, due)
            schedules.record(name, due, job.id, alias)
            count += 1
    return count


def list_scheduled(aliases: Sequence[str]) -> list[ScheduledTask]:
    """Return the scheduled tasks of all installed apps, with their last and next runs."""
    autodiscover_modules("tasks")
    moment = now()
    zone = _time_zone()
    found = []
    for alias in aliases:
        tasks = scheduled_tasks(alias)
        last_runs = schedules.last_runs(tasks, alias) if tasks else {}
        for name, task in sorted(tasks.items()):
            last = last_runs.get(name)
            job_id = last.job_id if last else None
            found.append(
                ScheduledTask(
                    name=name,
                    schedule=task.schedule,
                    following=schedules.following(task.schedule, moment, zone),
                    due=last.due if last and job_id else None,
                    job=queue.get(job_id, alias) if job_id else None,
                )
            )
    return found
