"""The doctor on the worker and its jobs."""

from datetime import timedelta

from mongo import doctor, jobs
from mongo.clock import now
from mongo.doctor import ADVICE, WARNING


def findings(name: str) -> list[doctor.Finding]:
    return [finding for finding in doctor.examine() if finding.name == name]


def test_no_worker(mongo):
    (finding,) = findings("no-worker")
    assert (finding.level, finding.fix) == (WARNING, "Run manage.py work beside the site.")
    jobs.tend()
    assert findings("no-worker") == []
    mongo.workers.update_one({}, {"$set": {"at": now() - timedelta(minutes=4)}})
    assert len(findings("no-worker")) == 1


def test_jobs_that_no_worker_does(mongo):
    jobs.put("kind", {})
    assert findings("jobs-waiting") == []
    mongo.jobs.update_one({}, {"$set": {"due": now() - timedelta(minutes=11)}})
    assert [finding.level for finding in findings("jobs-waiting")] == [WARNING]
    jobs.take()
    assert findings("stale-lease") == []
    mongo.jobs.update_one({}, {"$set": {"due": now() - timedelta(minutes=11)}})
    assert [finding.where for finding in findings("stale-lease")] == ["jobs"]
    mongo.jobs.update_one({}, {"$set": {"state": jobs.FAILED}})
    assert [finding.level for finding in findings("jobs-failed")] == [ADVICE]
