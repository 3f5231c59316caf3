"""The doctor on the worker and its jobs."""

from datetime import UTC, datetime, timedelta

import pytest

from marginalia.mongo.clock import now
from marginalia.mongo.doctor import WARNING
from marginalia.tasks import queue, worker
from tests.support.doctor import findings


@pytest.mark.slow
def test_missing_worker_is_reported(mongo):
    (finding,) = findings("no-worker")
    assert (finding.level, finding.fix) == (WARNING, "Run manage.py work alongside the site.")
    worker.tend()
    assert findings("no-worker") == []
    mongo.workers.update_one({}, {"$set": {"at": now() - timedelta(minutes=4)}})
    assert len(findings("no-worker")) == 1


@pytest.mark.slow
def test_jobs_of_unserved_queues_are_reported(mongo):
    queue.put("kind", [], {})
    assert findings("jobs-waiting") == []
    mongo.jobs.update_one({}, {"$set": {"due": now() - timedelta(minutes=11)}})
    assert [finding.level for finding in findings("jobs-waiting")] == [WARNING]
    queue.take()
    assert findings("stale-lease") == []
    mongo.jobs.update_one({}, {"$set": {"due": now() - timedelta(minutes=11)}})
    assert [finding.where for finding in findings("stale-lease")] == ["jobs"]


def test_failed_jobs_are_warnings_with_kind_and_error(mongo):
    queue.put("kind", [], {})
    mongo.jobs.update_one({}, {"$set": {"tries": 5, "error": "the email server: SMTPAuthenticationError (535)"}})
    (retried,) = findings("jobs-retrying")
    assert (retried.level, "kind: the email server: SMTPAuth" in retried.message) == (WARNING, True)
    mongo.jobs.update_one({}, {"$set": {"state": queue.FAILED}})
    (failed,) = findings("jobs-failed")
    assert (failed.level, failed.message) == (WARNING, "1 jobs failed permanently: kind.")
    assert findings("jobs-retrying") == []


@pytest.mark.slow
def test_machine_with_a_killed_worker_is_reported(mongo):
    worker.tend()
    assert findings("worker-silent") == []
    mongo.workers.insert_one({"_id": "web2:7", "host": "web2", "at": now() - timedelta(minutes=4)})
    (finding,) = findings("worker-silent")
    assert (finding.level, "web2" in finding.message) == (WARNING, True)


@pytest.mark.slow
def test_schedule_that_a_wrong_clock_moved_ahead_is_reported(mongo):
    mongo.schedules.insert_one({"_id": "tidy", "due": now() + timedelta(minutes=5), "job": None})
    assert findings("schedule-ahead") == []
    mongo.schedules.update_one({}, {"$set": {"due": datetime(2999, 1, 2, 3, 4, tzinfo=UTC)}})
    (finding,) = findings("schedule-ahead")
    assert finding.message == "A clock was ahead, so 1 scheduled tasks don't run: tidy until 2999-01-02 03:04 UTC."
