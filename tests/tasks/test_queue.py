"""The stored jobs: leases, retries, keys, and the data kept of an ended job."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from smtplib import SMTPResponseException

import pytest
from bson import ObjectId

from marginalia.mongo.clock import now
from marginalia.tasks import backend, needing, queue, worker
from marginalia.tasks.compat import tasks
from tests.tasks import examples
from tests.tasks.examples import fail, later, note, urgent

pytestmark = pytest.mark.usefixtures("mongo")

Status = tasks.TaskResultStatus


@tasks.task
def call_mail_server(*args, **kwargs):
    with needing("the email server"):
        raise OSError(111, "Connection refused")


@tasks.task
def call_strict_mail_server():
    with needing("the email server"):
        raise SMTPResponseException(550, b"no mailbox of ann")


def work_all(clock, step=timedelta(hours=2)):
    """Run all jobs, including later retries."""
    while worker.work():
        clock(step)


def test_jobs_run_in_turn_once_each(seen):
    for n in range(3):
        note.enqueue(n)
    while worker.work():
        pass
    assert seen == [0, 1, 2]


def test_key_adds_one_job_even_after_it_is_done(seen, mongo):
    first = note.using(key="a").enqueue(1)
    assert note.using(key="a").enqueue(2).id == first.id
    worker.work()
    again = note.using(key="a").enqueue(3)
    assert (again.id, again.status) == (first.id, Status.SUCCESSFUL)
    assert worker.work() is None
    assert seen == [1]
    assert mongo.jobs.count_documents({}) == 1


def test_key_of_a_failed_job_retries_it(clock):
    first = fail.using(key="a").enqueue()
    work_all(clock)
    first.refresh()
    assert first.status == Status.FAILED
    again = fail.using(key="a").enqueue()
    assert (again.id, again.status, again.attempts) == (first.id, Status.READY, 0)
    assert queue.failures() == []
    assert worker.work().tries == 1


def test_one_key_enqueued_at_once_adds_one_job(mongo):
    with ThreadPoolExecutor(8) as pool:
        ids = {result.id for result in pool.map(lambda n: note.using(key="a").enqueue(n), range(40))}
    assert len(ids) == mongo.jobs.count_documents({}) == 1


def test_ended_jobs_expire_after_30_days_unless_retried(mongo, clock):
    fail.enqueue()
    work_all(clock)
    month = mongo.jobs.index_information()["done_long_ago"]
    assert (month["key"], month["expireAfterSeconds"]) == ([("finished", 1)], 30 * 24 * 3600)
    assert mongo.jobs.find_one({"finished": {"$type": "date"}})
    assert queue.retry_failures() == 1
    assert not mongo.jobs.find_one({"finished": {"$exists": True}})


def test_no_job_is_taken_twice():
    for n in range(60):
        note.enqueue(n)
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda _: queue.take(), range(64)))
    ids = [job.id for job in taken if job]
    assert len(ids) == len(set(ids)) == 60


def test_job_of_a_dead_worker_is_taken_after_its_lease(clock):
    note.enqueue(1)
    first = queue.take()
    clock(queue.LEASE / 2)
    assert queue.take() is None
    clock(queue.LEASE)
    second = queue.take()
    assert second.id == first.id
    assert not queue.done(first)
    assert queue.done(second)


def test_renewed_lease_keeps_the_job_and_reports_the_worker(clock):
    note.enqueue(1)
    job = queue.take()
    clock(queue.LEASE * 0.9)
    assert not queue.is_tended()
    assert queue.renew(job)
    assert queue.is_tended()
    clock(queue.LEASE * 0.9)
    assert queue.take() is None


def test_failure_is_retried_later_each_time_then_listed(clock):
    fail.enqueue()
    waits = []
    most = backend.RETRIES + 1
    for _ in range(most):
        while worker.work() is None:
            clock(queue.FIRST_WAIT)
            waits.append(1)
        waits.append(0)
    clock(timedelta(days=30))
    assert worker.work() is None
    assert [(job.tries, job.error) for job in queue.failures()] == [(most, "ValueError: no use")]
    # 1, 2, 4 … times the first wait.
    assert sum(waits) >= 2 ** (most - 1) - 1


def test_postponed_job_waits_without_an_error_in_the_log(caplog):
    later.enqueue()
    worker.work()
    assert worker.work() is None
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_each_try_is_logged_with_its_error_and_no_address(seen, clock, caplog, monkeypatch):
    for name in ("queue", "worker"):
        caplog.set_level("INFO", logger=f"marginalia.tasks.{name}")
    monkeypatch.setattr("tests.tasks.test_queue.call_mail_server", tasks.task(retries=1)(call_mail_server.func))
    note.enqueue(1)
    call_mail_server.enqueue(email="ann@example.org")
    work_all(clock)
    lines = [(record.levelname, record.getMessage().partition(" (")[2]) for record in caplog.records]
    called = "tests.tasks.test_queue.call_mail_server"
    refused = "the email server: ConnectionRefusedError (Connection refused)"
    assert lines == [
        ("INFO", "tests.tasks.examples.note) done"),
        ("WARNING", f"{called}): attempt 1 failed, next in 30 s: {refused}"),
        ("ERROR", f"{called}) failed permanently after 2 attempts: {refused}"),
    ]


def test_error_of_a_refused_email_has_no_text_of_the_server(mongo):
    call_strict_mail_server.enqueue()
    worker.work()
    assert mongo.jobs.find_one()["error"] == "the email server: SMTPResponseException (550)"


@pytest.mark.parametrize("name", ["comments.held", "comments.reply", "comments.confirm", "accounts.reset"])
def test_emails_are_urgent_and_retried_for_a_day(name):
    task = backend.task_of(queue.put(name, [], {})[0])
    assert task.priority > 0
    waits = [min(queue.FIRST_WAIT * 2**n, queue.LONGEST_WAIT) for n in range(task.retries)]
    assert timedelta(hours=23) < sum(waits, timedelta()) < timedelta(hours=25)


def test_numbers_distinguish_waiting_retrying_and_failed(mongo):
    for task in (later, fail, fail, note):
        task.enqueue()
    for _ in range(3):
        worker.work()
    mongo.jobs.update_one({"kind": fail.module_path}, {"$set": {"state": queue.FAILED}})
    assert queue.numbers(10) == queue.Numbers(waiting=1, retrying=2, failed=1)
    assert queue.numbers(2).retrying <= 2


def test_each_worker_reports_until_it_stops(monkeypatch):
    worker.tend()
    monkeypatch.setattr(queue.os, "getpid", lambda: 7)
    worker.tend()
    assert queue.running() == 2
    queue.leave()
    assert queue.running() == 1
    assert queue.is_tended()


def test_machine_is_silent_once_all_its_workers_are(mongo):
    worker.tend()
    host, old = mongo.workers.find_one()["host"], now() - queue.SILENT * 2
    mongo.workers.insert_many([{"_id": f"{name}:1", "host": name, "at": old} for name in (host, "other")])
    assert queue.silent_hosts() == ["other"]


def test_job_that_kills_its_workers_ends_as_failed(seen, clock):
    result = note.enqueue(1)
    for _ in range(backend.RETRIES + 1):
        assert queue.take()
        clock(queue.LEASE * 2)
    worker.work()
    assert seen == []
    assert len(queue.failures()) == 1
    result.refresh()
    assert (result.status, result.errors[-1].traceback) == (Status.FAILED, "every worker crashed")


def test_done_job_keeps_no_arguments_and_no_error_text(mongo, clock):
    result = examples.attempt.enqueue()
    note.enqueue(n="ann@example.org")
    work_all(clock)
    assert [(job["payload"], job["args"], job["error"]) for job in mongo.jobs.find()] == [({}, [], "")] * 2
    result.refresh()
    (error,) = result.errors
    assert (result.status, error.exception_class, error.traceback) == (Status.SUCCESSFUL, ValueError, "")


def test_higher_priority_is_taken_first_then_the_earlier(seen):
    note.enqueue(1)
    note.using(priority=-5).enqueue(2)
    note.using(priority=100).enqueue(3)
    note.enqueue(4)
    while worker.work():
        pass
    assert seen == [3, 1, 4, 2]


def test_worker_of_a_queue_takes_only_its_jobs(settings, seen):
    name = settings.TASKS["default"]["BACKEND"]
    settings.TASKS = {"default": {"BACKEND": name, "QUEUES": ["default", "slow"]}}
    note.using(queue_name="slow").enqueue(1)
    note.enqueue(2)
    assert worker.work(queues=["slow"]).queue == "slow"
    assert worker.work(queues=["slow"]) is None
    assert worker.work().queue == "default"
    assert seen == [1, 2]


def test_query_for_urgent_jobs_reads_no_others(mongo, seen):
    note.enqueue(0)
    urgent.enqueue(1)
    stored = {document["priority"]: document for document in mongo.jobs.find()}
    copies = [{**stored[0], "_id": ObjectId(), "key": str(n)} for n in range(500)]
    mongo.jobs.insert_many(copies)
    with_profile = {"state": queue.WAITING, "queue": "default"}
    distinct = mongo.command(
        "explain", {"distinct": "jobs", "key": "priority", "query": with_profile}, verbosity="executionStats"
    )
    assert distinct["executionStats"]["totalKeysExamined"] < 10
    wanted = {**with_profile, "queue": {"$in": ["default"]}, "priority": 20, "due": {"$lte": now()}}
    plan = mongo.jobs.find(wanted).sort({"due": 1, "_id": 1}).limit(1).explain()
    assert plan["executionStats"]["totalKeysExamined"] < 10
    assert queue.take(urgent_only=True).name == urgent.module_path
    assert queue.take(urgent_only=True) is None
    assert queue.take().name == note.module_path
