"""Scheduled tasks: one run per due time, missed times, time zones, the list of the admin, and mistakes."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from io import StringIO
from zoneinfo import ZoneInfo

import pytest
from django.core.checks import run_checks
from django.core.management import call_command
from django.utils import timezone

from marginalia.tasks import backend, queue, schedules, scheduling, worker
from marginalia.tasks.backend import Task
from tests.tasks import examples

BERLIN = ZoneInfo("Europe/Berlin")
NAME = "tests.nightly"
# The task `nightly` is due every day at 3:30.
DUE = datetime(2026, 11, 27, 3, 30, tzinfo=UTC)


@pytest.fixture
def at(monkeypatch, mongo, seen):
    """A function that sets the time for schedules. Only the task `nightly` has a schedule."""
    monkeypatch.setattr(backend, "_scheduled", {NAME: examples.nightly})
    monkeypatch.setattr(scheduling, "_time_zone", lambda: UTC)
    return lambda moment: monkeypatch.setattr(scheduling, "now", lambda: moment)


@pytest.fixture
def begun(at):
    """The function `at`, after a worker has first seen the schedule, half an hour before the task is due."""
    at(DUE - timedelta(minutes=30))
    assert scheduling.enqueue_due() == 0
    return at


def run_jobs():
    """Run all waiting jobs, and return how many ran."""
    count = 0
    while worker.work():
        count += 1
    return count


def test_task_runs_once_when_it_is_due(begun, seen, mongo):
    begun(DUE - timedelta(seconds=1))
    assert (scheduling.enqueue_due(), run_jobs()) == (0, 0)
    begun(DUE)
    assert (scheduling.enqueue_due(), run_jobs()) == (1, 1)
    begun(DUE + timedelta(hours=20))
    assert (scheduling.enqueue_due(), run_jobs()) == (0, 0)
    begun(DUE + timedelta(days=1, seconds=2))
    assert (scheduling.enqueue_due(), run_jobs()) == (1, 1)
    assert seen == ["nightly", "nightly"]
    assert [one["key"] for one in mongo.jobs.find().sort("_id")] == [
        f"{NAME}@2026-11-27T03:30:00Z",
        f"{NAME}@2026-11-28T03:30:00Z",
    ]


def test_new_schedule_does_not_run_for_times_before_it_existed(at):
    at(DUE + timedelta(hours=1))
    assert scheduling.enqueue_due() == 0
    at(DUE + timedelta(days=1))
    assert scheduling.enqueue_due() == 1


def test_missed_times_run_once_when_a_worker_is_back(begun, seen):
    begun(DUE + timedelta(days=5, hours=2))
    assert (scheduling.enqueue_due(), run_jobs()) == (1, 1)
    assert scheduling.enqueue_due() == 0
    assert schedules.last_runs([NAME])[NAME].due == DUE + timedelta(days=5)
    assert seen == ["nightly"]


def test_several_workers_store_one_job(begun, mongo):
    begun(DUE + timedelta(seconds=1))
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda _: scheduling.enqueue_due(), range(8))) >= 1
    assert mongo.jobs.count_documents({"kind": NAME}) == 1


def test_worker_that_died_before_recording_a_run_does_not_cause_a_second_one(begun, mongo, monkeypatch):
    begun(DUE)
    with monkeypatch.context() as patched:
        patched.setattr(schedules, "record", lambda *args: None)
        assert scheduling.enqueue_due() == 1
    assert run_jobs() == 1
    mongo.jobs.update_one({}, {"$set": {"state": queue.FAILED}})
    assert (scheduling.enqueue_due(), run_jobs()) == (1, 0)
    assert mongo.jobs.find_one()["state"] == queue.FAILED
    assert scheduling.enqueue_due() == 0


def test_schedule_follows_the_time_zone_and_its_clock_changes(begun, monkeypatch):
    monkeypatch.setattr(scheduling, "_time_zone", lambda: BERLIN)
    begun(datetime(2026, 11, 27, 2, 30, tzinfo=UTC))
    assert scheduling.enqueue_due() == 0  # The worker first saw the schedule after this time.
    begun(datetime(2026, 11, 28, 2, 29, 59, tzinfo=UTC))
    assert scheduling.enqueue_due() == 0
    begun(datetime(2026, 11, 28, 2, 30, tzinfo=UTC))
    assert scheduling.enqueue_due() == 1
    winter, summer = datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 3, 29, 12, tzinfo=UTC)
    assert schedules.latest("30 3 * * *", winter, BERLIN) == datetime(2026, 3, 28, 2, 30, tzinfo=UTC)
    assert schedules.latest("30 3 * * *", summer, BERLIN) == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    # At 2:00 on this day, clocks go forward to 3:00.
    assert schedules.latest("30 2 * * *", summer, BERLIN) == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    # On this day, 2:30 occurs twice, but the task runs once.
    first = schedules.following("30 2 * * *", datetime(2026, 10, 24, 12, tzinfo=UTC), BERLIN)
    assert first == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert schedules.following("30 2 * * *", first, BERLIN) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)
    assert schedules.latest("30 2 * * *", datetime(2026, 10, 25, 12, tzinfo=UTC), BERLIN) == first


def test_task_is_enqueued_by_its_own_backend(begun, mongo, settings, monkeypatch):
    path = "marginalia.tasks.backend.MongoDBBackend"
    settings.TASKS = {"default": {"BACKEND": path}, "slow": {"BACKEND": path, "QUEUES": ["slow"]}}
    slow = Task(func=examples.nightly.func, backend="slow", queue_name="slow", schedule="30 3 * * *", stored_as="")
    monkeypatch.setattr(backend, "_scheduled", {"tests.slow": slow, NAME: examples.nightly})
    assert scheduling.enqueue_due() == 0
    begun(DUE)
    assert scheduling.enqueue_due() == 2
    assert sorted(mongo.jobs.distinct("queue")) == ["default", "slow"]


def test_site_setting_determines_the_time_zone(mongo):
    from nodes.models import stored_site

    site = stored_site.current().settings
    assert scheduling._time_zone() == ZoneInfo(site.time_zone)
    scheduling.use_time_zone(timezone.get_default_timezone)
    try:
        assert scheduling._time_zone() == timezone.get_default_timezone()
    finally:
        scheduling.use_time_zone(lambda: ZoneInfo(stored_site.current().settings.time_zone))


def test_worker_enqueues_and_runs_due_tasks(begun, seen):
    begun(DUE + timedelta(minutes=1))
    out = StringIO()
    call_command("work", "--once", stdout=out)
    assert "1 jobs run." in out.getvalue()
    assert seen == ["nightly"]


def test_list_contains_last_and_next_run(at, mongo):
    at(DUE - timedelta(hours=1))
    [row] = scheduling.list_scheduled(["default"])
    assert (row.name, row.schedule, row.following, row.due, row.job) == (NAME, "30 3 * * *", DUE, None, None)
    assert mongo.schedules.count_documents({}) == 0
    scheduling.enqueue_due()
    assert scheduling.list_scheduled(["default"])[0].due is None
    at(DUE)
    scheduling.enqueue_due()
    run_jobs()
    [row] = scheduling.list_scheduled(["default"])
    assert (row.following, row.due, row.job.state) == (DUE + timedelta(days=1), DUE, queue.DONE)
    mongo.jobs.delete_many({})
    [row] = scheduling.list_scheduled(["default"])
    assert (row.due, row.job) == (DUE, None)


def test_copy_of_a_task_keeps_its_schedule_and_does_not_replace_it(at):
    assert examples.nightly.using(priority=5).schedule == "30 3 * * *"
    assert backend.scheduled_tasks("default") == {NAME: examples.nightly}


def with_argument(n):
    pass


def with_default(n=1):
    pass


@pytest.mark.parametrize(
    ("function", "schedule", "text"),
    [
        (with_default, "30 3 * *", "Wrong number of fields: '30 3 * *'."),
        (with_default, "0 30 3 * * *", "Wrong number of fields: '0 30 3 * * *'."),
        (with_default, "61 3 * * *", "Bad minute: '61 3 * * *'."),
        (with_default, "every day", "Wrong number of fields: 'every day'."),
        (with_argument, "30 3 * * *", "Scheduled tasks have no arguments: missing a required argument: 'n'."),
    ],
)
def test_check_reports_invalid_schedules(at, monkeypatch, function, schedule, text):
    monkeypatch.setattr(backend, "_scheduled", {})
    Task(func=with_default, schedule="*/5 * * * MON-FRI", stored_as="tests.valid")
    assert [message for message in run_checks() if message.id == "tasks.E004"] == []
    Task(func=function, schedule=schedule, stored_as="")
    [message] = [message for message in run_checks() if message.id == "tasks.E004"]
    assert message.msg == f"The schedule of the task {__name__}.{function.__name__} is invalid. {text}"
    assert list(backend.scheduled_tasks("default")) == ["tests.valid"]
    assert worker.work() is None
    assert scheduling.enqueue_due() == 0
