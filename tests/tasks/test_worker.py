"""The worker: its command, its threads, and its work alongside jobs."""

import threading
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from pymongo.errors import AutoReconnect, PyMongoError

from marginalia.tasks import queue, worker
from marginalia.tasks.compat import tasks
from marginalia.tasks.management.commands import work
from tests.support.processes import until
from tests.tasks.examples import fail, note

pytestmark = pytest.mark.usefixtures("mongo")

began, sent, end = threading.Event(), threading.Event(), threading.Event()


@tasks.task
def wait_for_end():
    began.set()
    assert end.wait(30)


@tasks.task(priority=1)
def send():
    sent.set()


@pytest.fixture
def events():
    for event in (began, sent, end):
        event.clear()
    yield
    end.set()


@pytest.fixture
def started(monkeypatch, events):
    """A function that starts a worker, which polls continuously and ends with the test."""
    monkeypatch.setattr(worker, "PAUSE", 0.01)
    stopping = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        yield lambda: pool.submit(work.Command().run, ["default"], stopping)
        end.set()
        stopping.set()


def test_command_works_once_lists_failures_and_retries_them(seen, mongo):
    note.enqueue(1)
    out = StringIO()
    call_command("work", "--once", stdout=out)
    assert "1 jobs run." in out.getvalue()
    call_command("work", "--failed", stdout=StringIO())
    fail.enqueue()
    job = queue.take()
    mongo.jobs.update_one({"_id": job.id}, {"$set": {"state": "failed"}})
    with pytest.raises(CommandError, match="1 jobs failed"):
        call_command("work", "--failed", stdout=StringIO())
    assert queue.retry_failures() == 1
    for _ in range(101):
        fail.enqueue()
    mongo.jobs.update_many({}, {"$set": {"state": "failed"}})
    with pytest.raises(CommandError, match="103 jobs failed"):
        call_command("work", "--failed", stdout=StringIO())


def test_command_deletes_failed_jobs(mongo):
    fail.enqueue()
    note.enqueue(1)
    mongo.jobs.update_one({"kind": fail.module_path}, {"$set": {"state": queue.FAILED}})
    out = StringIO()
    call_command("work", "--delete-failed", stdout=out)
    assert "1 failed jobs deleted." in out.getvalue()
    assert [job["kind"] for job in mongo.jobs.find()] == [note.module_path]


def test_command_takes_only_jobs_of_the_given_queues(seen, settings):
    settings.TASKS = {"default": {**settings.TASKS["default"], "QUEUES": ["default", "slow"]}}
    note.enqueue(1)
    note.using(queue_name="slow").enqueue(2)
    call_command("work", "--once", "--queue", "slow", stdout=StringIO())
    assert seen == [2]


def test_database_without_a_queue_is_refused():
    with pytest.raises(CommandError, match="no queue in 'elsewhere'. Specify one of: default"):
        call_command("work", "--once", "--database", "elsewhere")


def test_urgent_jobs_do_not_wait_behind_a_long_one(mongo, started):
    wait_for_end.enqueue()
    wait_for_end.enqueue()
    started()
    assert began.wait(30)
    send.enqueue()
    assert sent.wait(30)
    assert mongo.jobs.count_documents({"kind": wait_for_end.module_path, "state": queue.RUNNING}) == 1
    assert mongo.jobs.count_documents({"kind": wait_for_end.module_path, "state": queue.DONE}) == 0


def test_lease_of_a_long_job_is_renewed_while_it_runs(mongo, started, monkeypatch):
    monkeypatch.setattr(worker, "RENEWAL", 0.02)
    wait_for_end.enqueue()
    started()
    assert began.wait(30)
    first = mongo.jobs.find_one()["due"]
    until(lambda: mongo.jobs.find_one()["due"] > first)
    end.set()
    until(lambda: mongo.jobs.find_one({"state": queue.DONE}))


@pytest.mark.parametrize("of_urgent", [True, False])
def test_worker_ends_when_one_of_its_loops_fails(monkeypatch, started, of_urgent):
    def fail(alias, queues=(), urgent_only=False):
        if urgent_only == of_urgent:
            raise PyMongoError("away")

    monkeypatch.setattr(worker, "work", fail)
    with pytest.raises(PyMongoError, match="away"):
        started().result(30)


def test_worker_waits_while_the_database_is_unavailable(mongo, started, monkeypatch, caplog):
    real, failures = queue.take, []

    def take(*args, **kwargs):
        if len(failures) < 5:
            failures.append(args)
            raise AutoReconnect("connection closed")
        return real(*args, **kwargs)

    monkeypatch.setattr(queue, "take", take)
    send.enqueue()
    started()
    assert sent.wait(30)
    assert 1 <= caplog.text.count("connection closed") <= 2  # once per thread


def test_parallel_work_has_a_thread_until_the_worker_ends(monkeypatch):
    began, ended, stopping = threading.Event(), threading.Event(), threading.Event()

    def work(stopping):
        began.set()
        stopping.wait(10)
        ended.set()

    monkeypatch.setattr(worker, "_beside", [])
    assert worker.beside(work) is work
    call_command("work", "--once", stdout=StringIO())
    assert not began.is_set()
    worker.begin_beside(stopping)
    assert began.wait(10)
    assert not ended.is_set()
    stopping.set()
    assert ended.wait(10)
