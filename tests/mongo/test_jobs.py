"""The worker queue: leases, retries, and work that is named done once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO
from smtplib import SMTPResponseException

import pytest
from bson import ObjectId
from django.core.management import CommandError, call_command
from pymongo.errors import PyMongoError

from marginalia.mongo import jobs
from marginalia.mongo.clock import now
from marginalia.mongo.management.commands import work

pytestmark = pytest.mark.usefixtures("mongo")

JOB = {
    "payload": {},
    "state": jobs.WAITING,
    "created": now(),
    "due": now(),
    "tries": 0,
    "lease": None,
    "error": "",
}


@pytest.fixture
def seen():
    """What the handler of the kind "note" was given; "fail" fails, "later" is postponed."""
    payloads = []
    jobs.handler("note")(lambda job: payloads.append(job.payload["n"]))

    @jobs.handler("fail")
    def fail(job):
        raise ValueError("no use")

    @jobs.handler("later")
    def later(job):
        raise jobs.Postponed("not yet")

    return payloads


@pytest.fixture
def clock(monkeypatch):
    """A function that moves the queue's clock on."""
    ahead = timedelta()

    def move(step):
        nonlocal ahead
        ahead += step

    monkeypatch.setattr(jobs, "now", lambda: now() + ahead)
    return move


def test_jobs_are_done_in_turn_once_each(seen):
    for n in range(3):
        jobs.put("note", {"n": n})
    while jobs.work():
        pass
    assert seen == [0, 1, 2]


def test_named_work_is_put_once_also_after_it_is_done(seen):
    assert jobs.put("note", {"n": 1}, key="a")
    assert not jobs.put("note", {"n": 2}, key="a")
    jobs.work()
    assert not jobs.put("note", {"n": 3}, key="a")
    assert jobs.work() is None
    assert seen == [1]


def test_named_work_that_failed_for_good_is_tried_anew_when_it_is_put_again(seen, clock):
    assert jobs.put("fail", {"n": 1}, key="a")
    while jobs.work():
        clock(timedelta(hours=2))
    (failed,) = jobs.failures()
    assert jobs.put("fail", {"n": 1}, key="a")
    assert jobs.failures() == []
    assert (again := jobs.work()).id == failed.id
    assert again.tries == 1


def test_failed_jobs_go_by_themselves_after_a_month_unless_they_are_tried_again(mongo, seen, clock):
    """Also what they were given: it may name a person."""
    jobs.put("fail", {"n": 1})
    while jobs.work():
        clock(timedelta(hours=2))
    month = mongo.jobs.index_information()["done_long_ago"]
    assert (month["key"], month["expireAfterSeconds"]) == ([("finished", 1)], 30 * 24 * 3600)
    assert mongo.jobs.find_one({"finished": {"$type": "date"}})
    assert jobs.retry_failures() == 1
    assert not mongo.jobs.find_one({"finished": {"$exists": True}})


def test_no_job_is_taken_by_two(seen):
    for n in range(60):
        jobs.put("note", {"n": n})
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda _: jobs.take(), range(64)))
    ids = [job.id for job in taken if job]
    assert len(ids) == len(set(ids)) == 60


def test_job_of_a_worker_that_died_is_taken_after_its_lease_and_not_before(clock):
    jobs.put("note", {"n": 1})
    first = jobs.take()
    clock(jobs.LEASE / 2)
    assert jobs.take() is None
    clock(jobs.LEASE)
    second = jobs.take()
    assert second.id == first.id
    assert not jobs.done(first)
    assert jobs.done(second)


def test_lease_is_renewed_and_a_worker_with_a_long_job_is_no_silent_one(clock):
    jobs.put("note", {"n": 1})
    job = jobs.take()
    clock(jobs.LEASE * 0.9)
    assert not jobs.is_tended()
    assert jobs.keep(job)
    assert jobs.is_tended()
    clock(jobs.LEASE * 0.9)
    assert jobs.take() is None


def test_failure_is_tried_again_later_each_time_and_then_listed(seen, clock):
    jobs.put("fail", {})
    waits = []
    for _ in range(jobs.TRIES):
        while jobs.work() is None:
            clock(jobs.FIRST_WAIT)
            waits.append(1)
        waits.append(0)
    clock(timedelta(days=30))
    assert jobs.work() is None
    assert [(job.tries, job.error) for job in jobs.failures()] == [(jobs.TRIES, "ValueError: no use")]
    # 1, 2, 4 … times the first wait.
    assert sum(waits) >= 2 ** (jobs.TRIES - 1) - 1


def test_postponed_job_waits_without_an_error_in_the_log(seen, caplog):
    jobs.put("later", {})
    jobs.work()
    assert jobs.work() is None
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_each_try_is_logged_with_error_and_without_address(seen, clock, caplog, monkeypatch):
    caplog.set_level("INFO", logger="marginalia.mongo.jobs")
    monkeypatch.setattr(jobs, "TRIES", 2)
    jobs.handler("refused")(lambda job: refuse(OSError(111, "Connection refused")))
    jobs.put("note", {"n": 1})
    jobs.put("refused", {"email": "ann@example.org"})
    while jobs.work():
        clock(jobs.LONGEST_WAIT)
    lines = [(record.levelname, record.getMessage().partition(" (")[2]) for record in caplog.records]
    assert lines == [
        ("INFO", "note) done"),
        (
            "WARNING",
            "refused): try 1 failed, next in 30 s: the mail server: ConnectionRefusedError (Connection refused)",
        ),
        (
            "ERROR",
            "refused) failed permanently after 2 tries: the mail server: ConnectionRefusedError (Connection refused)",
        ),
    ]


def refuse(error):
    with jobs.needing("the mail server"):
        raise error


def test_reason_of_a_refused_mail_has_code_and_no_text_of_server(mongo):
    jobs.handler("refused")(lambda job: refuse(SMTPResponseException(550, b"no mailbox of ann")))
    jobs.put("refused", {})
    jobs.work()
    assert mongo.jobs.find_one()["error"] == "the mail server: SMTPResponseException (550)"


@pytest.mark.parametrize("kind", ["comments.held", "comments.reply", "comments.confirm", "accounts.reset"])
def test_mails_are_retried_for_a_day(monkeypatch, clock, kind):
    monkeypatch.setitem(jobs._handlers, kind, lambda job: refuse(ConnectionRefusedError()))
    jobs.put(kind, {})
    start = jobs.now()
    while jobs.work():
        clock(jobs.LONGEST_WAIT)
    (failed,) = jobs.failures()
    assert failed.tries == jobs.TRIES_FOR_A_DAY
    waits = [min(jobs.FIRST_WAIT * 2**n, jobs.LONGEST_WAIT) for n in range(failed.tries - 1)]
    assert timedelta(hours=23) < sum(waits, timedelta()) < timedelta(hours=25) < jobs.now() - start


def test_numbers_tell_waiting_from_retried_and_failed(seen, mongo):
    for kind in ("later", "fail", "fail", "none such"):
        jobs.put(kind, {})
    for _ in range(3):
        jobs.work()
    mongo.jobs.update_one({"kind": "fail"}, {"$set": {"state": jobs.FAILED}})
    assert jobs.numbers(10) == jobs.Numbers(waiting=1, retrying=2, failed=1)
    assert jobs.numbers(2).retrying <= 2


def test_each_worker_reports_and_a_stopped_one_leaves(mongo, monkeypatch):
    jobs.tend()
    monkeypatch.setattr(jobs.os, "getpid", lambda: 7)
    jobs.tend()
    assert jobs.running() == 2
    jobs.leave()
    assert jobs.running() == 1
    assert jobs.is_tended()


def test_machine_is_silent_once_all_its_workers_are(mongo):
    jobs.tend()
    host, old = mongo.workers.find_one()["host"], now() - jobs.SILENT * 2
    mongo.workers.insert_many([{"_id": f"{name}:1", "host": name, "at": old} for name in (host, "other")])
    assert jobs.silent_hosts() == ["other"]


def test_command_deletes_failed_jobs(seen, mongo):
    for kind in ("fail", "note"):
        jobs.put(kind, {"n": 1})
    mongo.jobs.update_one({"kind": "fail"}, {"$set": {"state": jobs.FAILED}})
    out = StringIO()
    call_command("work", "--delete-failed", stdout=out)
    assert "1 failed jobs deleted." in out.getvalue()
    assert [job["kind"] for job in mongo.jobs.find()] == ["note"]


def test_job_that_kills_its_workers_ends_as_failed(seen, clock):
    jobs.put("note", {"n": 1})
    for _ in range(jobs.TRIES):
        assert jobs.take()
        clock(jobs.LEASE * 2)
    jobs.work()
    assert seen == []
    assert len(jobs.failures()) == 1


def test_what_is_done_keeps_no_payload(seen, mongo):
    jobs.put("note", {"n": 1, "email": "a@b.example"})
    jobs.work()
    assert mongo.jobs.find_one()["payload"] == {}


def test_command_works_once_lists_failures_and_tries_them_again(seen, mongo):
    jobs.put("note", {"n": 1})
    out = StringIO()
    call_command("work", "--once", stdout=out)
    assert "1 jobs taken." in out.getvalue()
    call_command("work", "--failed", stdout=StringIO())
    jobs.put("none such", {})
    job = jobs.take()
    mongo.jobs.update_one({"_id": job.id}, {"$set": {"state": "failed"}})
    with pytest.raises(CommandError, match="1 jobs failed"):
        call_command("work", "--failed", stdout=StringIO())
    assert jobs.retry_failures() == 1
    for _ in range(101):
        jobs.put("none such", {})
    mongo.jobs.update_many({}, {"$set": {"state": "failed"}})
    with pytest.raises(CommandError, match="103 jobs failed"):
        call_command("work", "--failed", stdout=StringIO())


@pytest.fixture
def worker(monkeypatch):
    """A worker of which a test says when it ends; it looks for jobs all the time."""
    monkeypatch.setattr(jobs, "PAUSE", 0.01)
    stopping = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(work.Command().run, ["default"], stopping)
        yield running
        stopping.set()


def test_mails_do_not_wait_behind_a_long_job(mongo, request):
    began, sent, end = threading.Event(), threading.Event(), threading.Event()

    @jobs.handler("long")
    def long(job):
        began.set()
        assert end.wait(30)

    jobs.handler("mail", mail=True)(lambda job: sent.set())
    jobs.put("long", {})
    jobs.put("long", {})
    request.getfixturevalue("worker")
    try:
        assert began.wait(30)
        jobs.put("mail", {})
        assert sent.wait(30)
        assert mongo.jobs.count_documents({"kind": "long", "state": jobs.RUNNING}) == 1
        assert mongo.jobs.count_documents({"kind": "long", "state": jobs.DONE}) == 0
    finally:
        end.set()


@pytest.mark.parametrize("of_mails", [True, False])
def test_worker_ends_when_one_of_its_loops_fails(monkeypatch, request, of_mails):
    def fail(alias, mails_only=False):
        if mails_only == of_mails:
            raise PyMongoError("away")

    monkeypatch.setattr(jobs, "work", fail)
    with pytest.raises(PyMongoError, match="away"):
        request.getfixturevalue("worker").result(30)


def test_looking_for_mails_reads_no_other_jobs(mongo):
    jobs.handler("mail", mail=True)(lambda job: None)
    mongo.jobs.insert_many(
        [{**JOB, "_id": ObjectId(), "key": str(n), "kind": "mail" if n == 400 else "note"} for n in range(500)]
    )
    wanted = {"state": jobs.WAITING, "due": {"$lte": now()}, "kind": {"$in": sorted(jobs._mails)}}
    plan = mongo.jobs.find(wanted).sort({"due": 1, "_id": 1}).limit(1).explain()
    assert plan["executionStats"]["totalKeysExamined"] < 50
    assert jobs.take(mails_only=True).kind == "mail"
    assert jobs.take(mails_only=True) is None
    assert jobs.take().kind == "note"


def test_what_is_done_all_the_time_has_a_thread_of_its_own_until_the_worker_ends(monkeypatch):
    began, ended, stopping = threading.Event(), threading.Event(), threading.Event()

    def work(stopping):
        began.set()
        stopping.wait(10)
        ended.set()

    monkeypatch.setattr(jobs, "_beside", [])
    assert jobs.beside(work) is work
    call_command("work", "--once", stdout=StringIO())
    assert not began.is_set()
    jobs.begin_beside(stopping)
    assert began.wait(10)
    assert not ended.is_set()
    stopping.set()
    assert ended.wait(10)
