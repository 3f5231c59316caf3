"""The worker queue: leases, retries, and work that is named done once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from mongo import queue
from mongo.connection import now

pytestmark = pytest.mark.usefixtures("mongo")


@pytest.fixture
def seen(monkeypatch):
    """What the handler of the kind "note" was given; "fail" fails, "later" is postponed."""
    monkeypatch.setattr(queue, "_handlers", {})
    payloads = []
    queue.handler("note")(lambda job: payloads.append(job.payload["n"]))

    @queue.handler("fail")
    def fail(job):
        raise ValueError("no use")

    @queue.handler("later")
    def later(job):
        raise queue.Postponed("not yet")

    return payloads


@pytest.fixture
def clock(monkeypatch):
    """A function that moves the queue's clock on."""
    ahead = timedelta()

    def move(step):
        nonlocal ahead
        ahead += step

    monkeypatch.setattr(queue, "now", lambda: now() + ahead)
    return move


def test_jobs_are_done_in_turn_once_each(seen):
    for n in range(3):
        queue.put("note", {"n": n})
    while queue.work():
        pass
    assert seen == [0, 1, 2]


def test_named_work_is_put_once_also_after_it_is_done(seen):
    assert queue.put("note", {"n": 1}, key="a")
    assert not queue.put("note", {"n": 2}, key="a")
    queue.work()
    assert not queue.put("note", {"n": 3}, key="a")
    assert queue.work() is None
    assert seen == [1]


def test_no_job_is_taken_by_two(seen):
    for n in range(60):
        queue.put("note", {"n": n})
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda _: queue.take(), range(64)))
    ids = [job.id for job in taken if job]
    assert len(ids) == len(set(ids)) == 60


def test_job_of_a_worker_that_died_is_taken_after_its_lease_and_not_before(clock):
    queue.put("note", {"n": 1})
    first = queue.take()
    clock(queue.LEASE / 2)
    assert queue.take() is None
    clock(queue.LEASE)
    second = queue.take()
    assert second.id == first.id
    assert not queue.done(first)
    assert queue.done(second)


def test_lease_is_renewed(clock):
    queue.put("note", {"n": 1})
    job = queue.take()
    clock(queue.LEASE * 0.9)
    assert queue.keep(job)
    clock(queue.LEASE * 0.9)
    assert queue.take() is None


def test_failure_is_tried_again_later_each_time_and_then_listed(seen, clock):
    queue.put("fail", {})
    waits = []
    for _ in range(queue.TRIES):
        while queue.work() is None:
            clock(queue.FIRST_WAIT)
            waits.append(1)
        waits.append(0)
    clock(timedelta(days=30))
    assert queue.work() is None
    assert [(job.tries, job.error) for job in queue.failures()] == [(queue.TRIES, "ValueError: no use")]
    # 1, 2, 4 … times the first wait.
    assert sum(waits) >= 2 ** (queue.TRIES - 1) - 1


def test_postponed_job_waits_without_an_error_in_the_log(seen, caplog):
    queue.put("later", {})
    queue.work()
    assert queue.work() is None
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_job_that_kills_its_workers_ends_as_failed(seen, clock):
    queue.put("note", {"n": 1})
    for _ in range(queue.TRIES):
        assert queue.take()
        clock(queue.LEASE * 2)
    queue.work()
    assert seen == []
    assert len(queue.failures()) == 1


def test_what_is_done_keeps_no_payload(seen, mongo):
    queue.put("note", {"n": 1, "email": "a@b.example"})
    queue.work()
    assert mongo.jobs.find_one()["payload"] == {}


def test_command_works_once_lists_failures_and_tries_them_again(seen):
    queue.put("note", {"n": 1})
    out = StringIO()
    call_command("work", "--once", stdout=out)
    assert "1 jobs taken." in out.getvalue()
    call_command("work", "--failed", stdout=StringIO())
    queue.put("none such", {})
    job = queue.take()
    queue._jobs("default").update_one({"_id": job.id}, {"$set": {"state": "failed"}})
    with pytest.raises(CommandError, match="1 jobs failed"):
        call_command("work", "--failed", stdout=StringIO())
    assert queue.retry_failures() == 1
