"""Jobs stored before jobs ran tasks: they run under their stored names."""

from datetime import timedelta

import pytest
from bson import ObjectId

from marginalia.comments.backends import backend
from marginalia.mongo.clock import now
from marginalia.tasks import queue, worker
from marginalia.tasks.backend import backend_on
from marginalia.tasks.compat import tasks
from tests.support.comments import site

pytestmark = pytest.mark.usefixtures("mongo")

ORIGIN = "http://testserver"
STORED = {
    "comments.held": {"held": "0" * 24, "origin": ORIGIN},
    "comments.reply": {
        "subscription": "0" * 40,
        "discussion": f"nodes.node:{'0' * 24}",
        "slug": "abc",
        "origin": ORIGIN,
    },
    "comments.confirm": {"subscription": "0" * 40, "origin": ORIGIN},
    "photos.copies": {"photo": ObjectId(), "content": ObjectId()},
    "accounts.invite": {"user_id": "0" * 24, "origin": ORIGIN, "language": ""},
    "accounts.reset": {"email": "nobody@example.org", "origin": ORIGIN, "language": ""},
}


def former(kind, payload, state=queue.WAITING, **fields):
    """A job as it was stored."""
    return {
        "_id": ObjectId(),
        "kind": kind,
        "key": str(ObjectId()),
        "payload": payload,
        "state": state,
        "created": now(),
        "due": now(),
        "tries": 0,
        "lease": None,
        "error": "",
        **fields,
    }


@pytest.mark.parametrize("kind", STORED)
def test_waiting_jobs_of_a_former_release_run(mongo, kind):
    job = former(kind, STORED[kind])
    mongo.jobs.insert_one(job)
    worker.tend()
    assert worker.work().name == kind
    stored = mongo.jobs.find_one()
    assert (stored["state"], stored["payload"], stored["error"]) == (queue.DONE, {}, "")
    result = backend_on("default").get_result(str(job["_id"]))
    assert (result.status, result.attempts) == (tasks.TaskResultStatus.SUCCESSFUL, 1)


def test_waiting_conversion_of_a_former_release_runs(mongo, client, post_page):
    site.post(client, post_page, "One")
    mongo.jobs.insert_one(
        former("comments.convert", {"discussion": str(post_page), "layout": "buckets", "order": "threaded"})
    )
    worker.tend()
    assert worker.work()
    assert backend().discussion(post_page).layout == "buckets"


def test_running_and_failed_jobs_of_a_former_release_run_again(mongo):
    payload = STORED["comments.confirm"]
    running = former("comments.confirm", payload, queue.RUNNING, due=now() - timedelta(1), lease=ObjectId(), tries=1)
    failed = former("comments.confirm", payload, queue.FAILED, finished=now(), tries=31, error="OSError: away")
    mongo.jobs.insert_many([running, failed])
    result = backend_on("default").get_result(str(failed["_id"]))
    assert (result.status, result.errors) == (tasks.TaskResultStatus.FAILED, [])
    assert worker.work().id == running["_id"]
    queue.retry_failures()
    worker.tend()
    assert worker.work().id == failed["_id"]
    assert mongo.jobs.count_documents({"state": queue.DONE}) == 2


def test_key_of_a_former_release_still_identifies_its_work(mongo, client, post_page, rules):
    rules(MODE="hold-all", MODERATORS=["mona@example.org"])
    site.post(client, post_page, "Please look")
    key = mongo.jobs.find_one({"kind": "comments.held"})["key"]
    assert key == f"held:{mongo['comments.pending'].find_one()['_id']}"
