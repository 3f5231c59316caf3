"""MongoDBBackend, and a Task class with additional fields: `key`, `retries`, `stored_as` and `schedule`."""

import inspect
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from bson import ObjectId
from bson.errors import InvalidId
from django.apps import apps
from django.core.checks import CheckMessage, Error
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils.module_loading import autodiscover_modules, import_string

from marginalia.tasks import queue, schedules
from marginalia.tasks.compat import InvalidTask, normalize_json, signals, tasks
from marginalia.tasks.queue import Job

# Default number of retries. The last of the eight attempts takes place about an hour after the first.
RETRIES = 7
# Number of retries for emails. The retries continue for a day, so emails aren't lost if the mail server is down
# overnight.
RETRIES_FOR_A_DAY = 30
MAX_RETRIES = 100
# The priority of tasks that people are waiting for. Each worker has a second thread for tasks with a priority above 0.
URGENT = 10

STATUSES = {
    queue.WAITING: tasks.TaskResultStatus.READY,
    queue.RUNNING: tasks.TaskResultStatus.RUNNING,
    queue.DONE: tasks.TaskResultStatus.SUCCESSFUL,
    queue.FAILED: tasks.TaskResultStatus.FAILED,
}

# Maps the names that tasks set with `stored_as` to the current import paths of these tasks.
_paths: dict[str, str] = {}
# The tasks with a schedule, keyed by the names under which their jobs are stored.
_scheduled: dict[str, "Task"] = {}


@dataclass(frozen=True, kw_only=True)
class Task(tasks.base.Task):
    """Django's Task with four fields that only MongoDBBackend uses.

    Attributes:
        key: A name for the work. While a job with this key is stored, enqueue() doesn't add another job with the key.
        retries: How many times a task is retried if it fails or its worker dies.
        stored_as: The name under which jobs are stored, so that the function can be moved. If it is empty, the
            function's import path is used.
        schedule: A cron expression. Workers run the task whenever the expression matches the current time.
    """

    key: str = ""
    retries: int = RETRIES
    stored_as: str = ""
    schedule: str = ""

    def __post_init__(self) -> None:
        # An app can define a task before the project configures the task's backend. In that case, enqueue() validates
        # the task.
        if self.backend in tasks.task_backends.settings:
            super().__post_init__()
        if self.stored_as and _paths.setdefault(self.stored_as, self.module_path) != self.module_path:
            raise InvalidTask(f"{self.module_path} and {_paths[self.stored_as]} are both stored as {self.stored_as!r}.")
        if self.schedule:
            # Use setdefault, so that the copies that `using` returns don't replace the task itself.
            _scheduled.setdefault(_name(self), self)

    def using(self, *, key: str | None = None, **changes: Any) -> Any:
        """Return a copy of the Task with changed values, as in Django. `key` is a name for the work."""
        changed = super().using(**changes)
        return changed if key is None else replace(changed, key=key)


def task(function: Callable[..., Any] | None = None, **fields: Any) -> Any:
    """Turn a function into a Task, as Django's decorator does.

    An app can set the additional fields no matter which backend the project uses, because other backends ignore them.
    """

    def decorate(function: Callable[..., Any]) -> Task:
        return Task(func=function, **fields)

    return decorate(function) if function else decorate


class MongoDBBackend(tasks.backends.base.BaseTaskBackend):
    """A backend for Django's Tasks that stores jobs in MongoDB. OPTIONS["DATABASE"] is the alias of the connection."""

    task_class = Task
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self.database = str(self.options.get("DATABASE", DEFAULT_DB_ALIAS))

    def validate_task(self, task: Any) -> None:
        """Check that this backend can run `task`.

        Raises:
            InvalidTask: This backend can't run the task.
        """
        super().validate_task(task)
        retries = _retries(task)
        if not isinstance(retries, int) or not 0 <= retries <= MAX_RETRIES:
            raise InvalidTask(f"retries must be a whole number from 0 to {MAX_RETRIES}.")

    def enqueue(self, task: Any, args: Iterable[Any], kwargs: dict[str, Any]) -> Any:
        """Store a job that runs `task`, and return its result.

        If a job with the task's key exists, return the result of that job. If that job failed permanently, retry it.
        """
        job, is_new = self._put(task, args, kwargs)
        result = self.result_of(job, task)
        if is_new:
            signals.task_enqueued.send(type(self), task_result=result)
        return result

    def enqueue_due(self, task: Task, due: datetime) -> Job:
        """Store a job for a time at which a scheduled task is due. If the job exists, return it, even if it failed."""
        task = task.using(key=f"{_name(task)}@{due:%Y-%m-%dT%H:%M:%SZ}")
        job, is_new = self._put(task, (), {}, retry_failed=False)
        if is_new:
            signals.task_enqueued.send(type(self), task_result=self.result_of(job, task))
        return job

    def _put(
        self, task: Any, args: Iterable[Any], kwargs: dict[str, Any], *, retry_failed: bool = True
    ) -> tuple[Job, bool]:
        self.validate_task(task)
        return queue.put(
            _name(task),
            as_json(list(args)),
            as_json(kwargs),
            key=getattr(task, "key", ""),
            priority=task.priority,
            queue=task.queue_name,
            after=task.run_after,
            retry_failed=retry_failed,
            alias=self.database,
        )

    def get_result(self, result_id: str) -> Any:
        """Return the result with the id `result_id`.

        Raises:
            TaskResultDoesNotExist: There is no such result. Results are deleted 30 days after their job is done or has
                failed.
        """
        try:
            job = queue.get(ObjectId(result_id), self.database)
        except InvalidId:
            job = None
        if job is None:
            raise tasks.exceptions.TaskResultDoesNotExist(result_id)
        return self.result_of(job, task_of(job))

    def result_of(self, job: Job, task: Any) -> Any:
        """Return the TaskResult for a job that runs `task`."""
        fields = {"priority": job.priority, "queue_name": job.queue, "run_after": job.after, "backend": self.alias}
        if isinstance(task, Task):
            fields["key"] = "" if job.key == str(job.id) else job.key
        result = tasks.TaskResult(
            task=replace(task, **fields),
            id=str(job.id),
            status=STATUSES[job.state],
            enqueued_at=job.created,
            started_at=job.started,
            finished_at=job.finished,
            last_attempted_at=job.attempted,
            args=job.args,
            kwargs=job.kwargs,
            backend=self.alias,
            errors=_errors(job),
            worker_ids=list(job.workers),
        )
        object.__setattr__(result, "_return_value", job.returned)
        return result

    def check(self, **kwargs: Any) -> Iterable[CheckMessage]:
        """Check OPTIONS, INSTALLED_APPS and the schedules of tasks."""
        name = f"TASKS[{self.alias!r}]"
        for option in sorted(set(self.options) - {"DATABASE"}):
            yield Error(
                f"{name} has the unknown option {option!r}.", hint="The only option is DATABASE.", id="tasks.E001"
            )
        if self.database not in connections or connections[self.database].vendor != "mongodb":
            yield Error(
                f"The DATABASE of {name} is {self.database!r}, which isn't a MongoDB connection in DATABASES.",
                hint="Set OPTIONS['DATABASE'] to the alias of a connection with the engine 'marginalia.mongo.engine'.",
                id="tasks.E002",
            )
        if not apps.is_installed("marginalia.tasks"):
            yield Error(
                f"{name} needs the app 'marginalia.tasks'.",
                hint="Add 'marginalia.tasks' to INSTALLED_APPS, then run setup_indexes.",
                id="tasks.E003",
            )
        autodiscover_modules("tasks")
        for name, task in _scheduled.items():
            if task.backend == self.alias and (problem := _schedule_problem(task)):
                yield Error(
                    f"The schedule of the task {name} is invalid. {problem}",
                    hint="Use a cron expression with five fields, such as '30 3 * * *', and a task without arguments.",
                    id="tasks.E004",
                )


def task_of(job: Job) -> Any:
    """Return the task that `job` runs.

    Raises:
        InvalidTask: The function no longer exists, or it isn't a task.
    """
    path = _paths.get(job.name, job.name)
    try:
        task = import_string(path)
    except ImportError as error:
        raise InvalidTask(f"The task {job.name!r} doesn't exist.") from error
    if not isinstance(task, tasks.base.Task):
        raise InvalidTask(f"{path!r} is not a task.")
    return task


def tries_of(task: Any) -> int:
    """Return the maximum number of attempts to run `task`."""
    return 1 + _retries(task)


def scheduled_tasks(database: str) -> dict[str, Task]:
    """Return the tasks with a valid schedule whose queue uses the connection `database`, keyed by name."""
    aliases = {backend.alias for backend in backends() if backend.database == database}
    return {name: task for name, task in _scheduled.items() if task.backend in aliases and not _schedule_problem(task)}


def backends() -> list[MongoDBBackend]:
    """Return the backends in TASKS that store their queue in MongoDB."""
    return [backend for backend in tasks.task_backends.all() if isinstance(backend, MongoDBBackend)]


def backend_on(database: str) -> MongoDBBackend:
    """Return the first backend in TASKS that uses the connection `database`."""
    return next(backend for backend in backends() if backend.database == database)


def backend_of(task: Task) -> MongoDBBackend:
    """Return the backend of a task that `scheduled_tasks` returned."""
    return next(backend for backend in backends() if backend.alias == task.backend)


def databases() -> list[str]:
    """Return the aliases of the connections that have queues."""
    return list(dict.fromkeys(backend.database for backend in backends()))


def as_json(value: Any) -> Any:
    """Return `value` after a round trip through JSON.

    Raises:
        TypeError: JSON can't represent the value.
        ValueError: JSON can't represent the value.
    """
    return json.loads(json.dumps(normalize_json(value)))


def _name(task: Any) -> str:
    """Return the name under which jobs of a task are stored."""
    return getattr(task, "stored_as", "") or str(task.module_path)


@cache
def _schedule_problem(task: Task) -> str:
    """Return why a task can't run on its schedule, or "" if it can."""
    if problem := schedules.problem(task.schedule):
        return f"{problem}: {task.schedule!r}."
    try:
        inspect.signature(task.func).bind(*[None] if task.takes_context else [])
    except TypeError as error:
        return f"Scheduled tasks have no arguments: {error}."
    return ""


def _retries(task: Any) -> Any:
    # Tasks that were defined with Django's decorator have no `retries` field, so use the default for them.
    return getattr(task, "retries", RETRIES)


def _errors(job: Job) -> list[Any]:
    """Return the errors from all attempts. Only the last one has a message, because the queue stores no others."""
    texts = [*([""] * len(job.errors))[1:], job.error]
    return [
        tasks.base.TaskError(exception_class_path=path, traceback=text)
        for path, text in zip(job.errors, texts, strict=False)
    ]
