"""The contract of Django's Tasks for every back end, and the additions of this one."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import FrozenInstanceError
from datetime import datetime, timedelta
from typing import Any

import pytest
from bson import ObjectId
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured

from marginalia.mongo.clock import now
from marginalia.tasks import MongoDBBackend, Task, queue, worker
from marginalia.tasks import task as own_task
from marginalia.tasks.compat import InvalidTask, signals, tasks
from tests.tasks import examples
from tests.tasks.examples import answer, answer_badly, attempt, fail_once, leave, note, renamed, slowly

pytestmark = pytest.mark.usefixtures("mongo")

Status = tasks.TaskResultStatus
IMMEDIATE = {"BACKEND": f"{tasks.__name__}.backends.immediate.ImmediateBackend"}


def ended(task, *args, **kwargs):
    """Enqueue a task, run it, and return its result."""
    result = task.enqueue(*args, **kwargs)
    worker.work()
    result.refresh()
    return result


# The task


def test_task_keeps_function_and_defaults():
    assert isinstance(note, Task)
    assert (note.name, note.module_path) == ("note", "tests.tasks.examples.note")
    assert (note.priority, note.queue_name, note.backend, note.run_after) == (0, "default", "default", None)
    assert isinstance(note.get_backend(), MongoDBBackend)
    with pytest.raises(FrozenInstanceError):
        note.priority = 5


def test_using_returns_a_changed_task_and_leaves_the_first():
    later = now() + timedelta(hours=1)
    changed = note.using(priority=10, run_after=later, key="k")
    assert (changed.priority, changed.run_after, changed.key, changed.func) == (10, later, "k", note.func)
    assert changed.using(priority=0).key == "k"
    assert (note.priority, note.run_after, note.key) == (0, None, "")
    with pytest.raises(TypeError):
        note.using(func=answer.func)


def test_task_can_be_called_without_a_queue(seen, mongo):
    note.call(5)
    assert (slowly.call(6), asyncio.run(slowly.acall(7)), asyncio.run(answer.acall(8))) == (7, 8, 8)
    assert seen == [5, 6, 7]
    assert mongo.jobs.count_documents({}) == 0


@pytest.mark.parametrize("function", [print, examples.note, 5], ids=["builtin", "task", "int"])
def test_only_functions_of_modules_become_tasks(function):
    def inner():
        pass

    for wrong in (function, inner):
        with pytest.raises(InvalidTask):
            tasks.task()(wrong)


@pytest.mark.parametrize(
    "fields",
    [
        {"priority": 101},
        {"priority": -101},
        {"priority": 1.5},
        {"queue_name": "unknown"},
        {"takes_context": True},
        {"retries": -1},
        {"retries": 101},
        {"retries": 1.5},
        {"stored_as": "tests.renamed"},
    ],
    ids=str,
)
def test_impossible_fields_are_refused(fields):
    with pytest.raises(InvalidTask):
        tasks.task(**fields)(examples.no_task)


def test_naive_time_and_unknown_back_end_are_refused():
    with pytest.raises(InvalidTask):
        note.using(run_after=datetime(2030, 1, 1))
    with pytest.raises(ImproperlyConfigured):
        note.using(backend="unknown").enqueue(1)


def test_queue_that_was_removed_is_refused_when_enqueuing(settings):
    settings.TASKS = {"default": {**settings.TASKS["default"], "QUEUES": ["default", "slow"]}}
    slow = note.using(queue_name="slow")
    settings.TASKS = {"default": {**settings.TASKS["default"], "QUEUES": ["default"]}}
    with pytest.raises(InvalidTask):
        slow.enqueue(1)


# The result


def test_result_of_a_new_job_is_ready():
    before = now()
    result = answer.enqueue("a")
    assert (result.status, result.is_finished, result.attempts) == (Status.READY, False, 0)
    assert (result.args, result.kwargs, result.backend, result.task) == (["a"], {}, "default", answer)
    assert (result.errors, result.worker_ids) == ([], [])
    assert before <= result.enqueued_at <= now()
    assert result.started_at is result.finished_at is result.last_attempted_at is None
    with pytest.raises(ValueError, match="not finished"):
        result.return_value  # noqa: B018


def test_result_of_a_running_job_names_its_worker():
    result = note.enqueue(1)
    queue.take()
    result.refresh()
    assert (result.status, result.attempts, len(result.worker_ids)) == (Status.RUNNING, 1, 1)
    assert result.started_at == result.last_attempted_at


def test_result_of_a_finished_job_contains_the_return_value():
    result = ended(answer, {"n": [1, None, True, 1.5, "é"]})
    assert (result.status, result.is_finished) == (Status.SUCCESSFUL, True)
    assert result.return_value == {"n": [1, None, True, 1.5, "é"]}
    assert result.enqueued_at <= result.started_at <= result.last_attempted_at <= result.finished_at


def test_result_of_a_failed_job_has_the_error():
    result = ended(fail_once)
    assert (result.status, result.is_finished) == (Status.FAILED, True)
    assert [(error.exception_class, error.traceback) for error in result.errors] == [(ValueError, "ValueError: no use")]
    with pytest.raises(ValueError, match="failed"):
        result.return_value  # noqa: B018


def test_refresh_changes_only_the_result_that_is_refreshed():
    result = answer.enqueue(1)
    worker.work()
    other = answer.get_result(result.id)
    assert (result.status, other.status) == (Status.READY, Status.SUCCESSFUL)
    asyncio.run(result.arefresh())
    assert (result.status, result.return_value) == (Status.SUCCESSFUL, 1)


def test_result_is_found_by_its_id_with_all_fields(mongo):
    later = now() + timedelta(hours=1)
    task = note.using(priority=7, run_after=later, key="k")
    result = task.enqueue(1)
    found = note.get_result(result.id)
    assert found == result
    assert (found.task.priority, found.task.run_after, found.task.key) == (7, later, "k")
    assert asyncio.run(note.aget_result(result.id)) == result
    assert len(result.id) <= 64


@pytest.mark.parametrize("unknown", ["", "123", "0" * 24, "x" * 64])
def test_unknown_result_does_not_exist(unknown):
    for find in (note.get_result, note.get_backend().get_result):
        with pytest.raises(tasks.exceptions.TaskResultDoesNotExist):
            find(unknown)


def test_result_of_another_task_is_refused():
    result = answer.enqueue(1)
    with pytest.raises(tasks.exceptions.TaskResultMismatch):
        note.get_result(result.id)
    with pytest.raises(tasks.exceptions.TaskResultMismatch):
        asyncio.run(note.aget_result(result.id))


def test_values_are_returned_as_json_converts_them():
    result = ended(answer, value=(1, {"2": b"three"}))
    assert result.return_value == [1, {"2": "three"}]
    assert ended(answer, {4: 5}).return_value == {"4": 5}
    assert ended(answer, {"$a.b": {"$c": float("inf")}}).return_value == {"$a.b": {"$c": float("inf")}}


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, ObjectId(), now(), b"\xff"], ids=lambda value: type(value).__name__
)
def test_arguments_that_are_not_json_are_refused(value, mongo):
    for enqueue in (lambda: answer.enqueue(value), lambda: answer.enqueue(value=value)):
        with pytest.raises((TypeError, ValueError)):
            enqueue()
    assert mongo.jobs.count_documents({}) == 0


@pytest.mark.parametrize("kind", ["object", "number", "large", "surrogate"])
def test_return_value_that_cannot_be_stored_fails_the_job(kind):
    result = ended(answer_badly, kind)
    assert (result.status, result.errors[-1].traceback) == (Status.FAILED, "The return value can't be stored.")


# The run


def test_coroutines_run(seen):
    result = asyncio.run(slowly.aenqueue(5))
    worker.work()
    result.refresh()
    assert (seen, result.return_value) == ([5], 6)


def test_deferred_job_waits_for_its_time(seen, clock):
    note.using(run_after=now() + timedelta(hours=1)).enqueue(1)
    note.using(run_after=now() - timedelta(hours=1)).enqueue(2)
    clock(timedelta(minutes=59))
    assert worker.work().args == [2]
    assert worker.work() is None
    clock(timedelta(minutes=1))
    assert worker.work()
    assert seen == [2, 1]


def test_task_with_context_knows_its_attempt_and_result(seen, clock):
    result = attempt.enqueue()
    worker.work()
    result.refresh()
    assert (result.status, result.attempts) == (Status.READY, 1)
    clock(timedelta(minutes=1))
    worker.work()
    result.refresh()
    assert seen == [1, 2]
    assert (result.status, result.return_value, result.attempts) == (Status.SUCCESSFUL, result.id, 2)


def test_task_that_exits_fails_its_job_and_not_the_worker():
    assert ended(leave).errors[0].exception_class is SystemExit


def test_interrupted_worker_leaves_the_job_to_the_next(monkeypatch, clock, seen):
    result = note.enqueue(1)
    with monkeypatch.context() as patched:
        patched.setattr("tests.tasks.examples.seen", Interrupting())
        with pytest.raises(KeyboardInterrupt):
            worker.work()
    result.refresh()
    assert result.status == Status.RUNNING
    clock(queue.LEASE)
    worker.work()
    assert seen == [1]


class Interrupting(list):
    def append(self, item):
        raise KeyboardInterrupt


def test_signals_are_sent_once_for_each_step():
    with received() as sent:
        result = answer.enqueue(1)
        worker.work()
        fail_once.enqueue()
        worker.work()
    assert [(name, status) for name, status, _ in sent] == [
        ("enqueued", Status.READY),
        ("started", Status.RUNNING),
        ("finished", Status.SUCCESSFUL),
        ("enqueued", Status.READY),
        ("started", Status.RUNNING),
        ("finished", Status.FAILED),
    ]
    assert sent[2][2].id == result.id
    assert sent[2][2].return_value == 1


def test_retried_job_is_finished_once_and_a_key_enqueued_once(clock, seen):
    with received() as sent:
        for _ in range(2):
            attempt.using(key="k").enqueue()
        worker.work()
        clock(timedelta(minutes=1))
        worker.work()
    assert [name for name, _, _ in sent] == ["enqueued", "started", "started", "finished"]


def test_receiver_that_fails_does_not_stop_the_worker(seen):
    def fail(**kwargs):
        raise ValueError

    signals.task_started.connect(fail)
    try:
        assert ended(answer, 1).return_value == 1
    finally:
        signals.task_started.disconnect(fail)


@contextmanager
def received() -> Iterator[list[tuple[str, Any, Any]]]:
    """Yield a list to which each signal adds its name, the status of the result at that time, and the result."""
    found: list[tuple[str, Any, Any]] = []
    receivers = []
    for name in ("enqueued", "started", "finished"):

        def receive(sender, task_result, name=name, **kwargs):
            assert sender is MongoDBBackend
            found.append((name, task_result.status, task_result))

        receivers.append((getattr(signals, f"task_{name}"), receive))
    for signal, receive in receivers:
        signal.connect(receive)
    try:
        yield found
    finally:
        for signal, receive in receivers:
            signal.disconnect(receive)


# Names


def test_job_is_stored_under_the_name_that_its_task_sets(mongo, seen):
    result = ended(renamed, 1)
    note.enqueue(2)
    assert {job["kind"] for job in mongo.jobs.find()} == {"tests.renamed", "tests.tasks.examples.note"}
    assert renamed.get_result(result.id).task == renamed


@pytest.mark.parametrize(
    "name", ["gone.module.task", "tests.tasks.examples.gone", "tests.tasks.examples.no_task", "gone"]
)
def test_job_without_a_task_is_retried_then_failed(name, clock, mongo):
    job, _ = queue.put(name, [], {})
    worker.work()
    assert mongo.jobs.find_one()["state"] == queue.WAITING
    for _ in range(7):
        clock(timedelta(hours=2))
        worker.work()
    (failed,) = queue.failures()
    assert name in failed.error
    with pytest.raises(InvalidTask):
        note.get_backend().get_result(str(job.id))


# Settings


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, []),
        ({"DATABASE": "default"}, []),
        ({"DATABASE": "unknown"}, ["tasks.E002"]),
        ({"DB": "default"}, ["tasks.E001"]),
    ],
    ids=str,
)
def test_check_reports_wrong_options(settings, options, wanted):
    settings.TASKS = {"default": {**settings.TASKS["default"], "OPTIONS": options}}
    assert [message.id for message in run_checks() if message.id.startswith("tasks.")] == wanted


def test_check_reports_the_missing_app(monkeypatch):
    monkeypatch.setattr("marginalia.tasks.backend.apps.is_installed", lambda name: name != "marginalia.tasks")
    assert [message.id for message in note.get_backend().check()] == ["tasks.E003"]


def test_own_decorator_works_with_every_back_end(settings, seen):
    settings.TASKS = {"default": IMMEDIATE, "queue": settings.TASKS["default"]}
    with pytest.raises(TypeError):
        tasks.task(retries=3)(examples.no_task)
    task = own_task(retries=3, stored_as="tests.anywhere")(examples.note.func)
    assert task.using(key="k").enqueue(1).status == Status.SUCCESSFUL
    assert seen == [1]
    missing = own_task(backend="missing")(examples.note.func)
    missing.using(backend="queue").enqueue(2)
    assert worker.work()
    assert seen == [1, 2]


def test_task_of_another_back_end_can_be_enqueued_here(settings, seen):
    mongodb = settings.TASKS["default"]
    settings.TASKS = {"default": IMMEDIATE, "queue": mongodb}
    plain = tasks.task(examples.note.func)
    assert type(plain) is tasks.base.Task
    result = plain.using(backend="queue").enqueue(3)
    worker.work()
    result.refresh()
    assert (seen, result.status) == ([3], Status.SUCCESSFUL)
